/* The functions of FMI 3.0 for co-simulation, or with EXCHANGE for model exchange, and when each may be called; core.c and
 * exchange.c do the work.
 *
 * An array has the value reference of its first element, and its other elements are the next places of the table of
 * variables: arrays.h has their number. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "categories.h"
#include "core.h"

#include "arrays.h"
#include "fmi3Functions.h"

/* Phases in which each function may be called (FMI 3.0.2, 2.3 and 4.2); a discarded step changes nothing. IN_STEP is
 * the Intermediate Update Mode, in which the FMU calls the importer. */
enum { IN_STEP = 64, READ = INITIALISING | RUNNING | AT_EVENT | TERMINATED, STARTED = RUNNING | AT_EVENT };
enum call {
    SET_DEBUG_LOGGING, ENTER_INITIALIZATION_MODE, EXIT_INITIALIZATION_MODE, ENTER_EVENT_MODE, ENTER_STEP_MODE,
    TERMINATE, RESET, GET_FLOAT64, GET_INT32, GET_INT64, GET_BOOLEAN, SET_FLOAT64, SET_INT32, SET_INT64, SET_BOOLEAN, GET_STATE, SET_STATE,
    FREE_STATE, STATE_SIZE, SERIALIZE, DESERIALIZE, COUNT_DEPENDENCIES, GET_DEPENDENCIES, DIRECTIONAL_DERIVATIVE,
    ADJOINT_DERIVATIVE, OUTPUT_DERIVATIVES, UPDATE_DISCRETE_STATES, GET_CLOCK, SET_CLOCK, GET_INTERVAL,
    GET_SHIFT, DO_STEP, ENTER_CONTINUOUS_TIME_MODE, COMPLETED_INTEGRATOR_STEP, SET_TIME, SET_CONTINUOUS_STATES,
    GET_DERIVATIVES, GET_EVENT_INDICATORS, GET_CONTINUOUS_STATES, GET_NOMINALS, COUNT_INDICATORS, COUNT_STATES
};
static const struct {
    const char *name;
    int phases;
} CALLS[] = {
    [SET_DEBUG_LOGGING] = {"fmi3SetDebugLogging", ANY | IN_STEP},
    [ENTER_INITIALIZATION_MODE] = {"fmi3EnterInitializationMode", INSTANTIATED},
    [EXIT_INITIALIZATION_MODE] = {"fmi3ExitInitializationMode", INITIALISING},
    [ENTER_EVENT_MODE] = {"fmi3EnterEventMode", RUNNING},
    [ENTER_STEP_MODE] = {"fmi3EnterStepMode", AT_EVENT},
    [TERMINATE] = {"fmi3Terminate", STARTED},
    [RESET] = {"fmi3Reset", ANY},
    [GET_FLOAT64] = {"fmi3GetFloat64", ANY | IN_STEP},
    [GET_INT32] = {"fmi3GetInt32", ANY | IN_STEP},
    [GET_INT64] = {"fmi3GetInt64", ANY | IN_STEP},
    [GET_BOOLEAN] = {"fmi3GetBoolean", ANY | IN_STEP},
    [SET_FLOAT64] = {"fmi3SetFloat64", INSTANTIATED | INITIALISING | STARTED | IN_STEP},
    [SET_INT32] = {"fmi3SetInt32", INSTANTIATED | INITIALISING | STARTED},
    [SET_INT64] = {"fmi3SetInt64", INSTANTIATED | INITIALISING | STARTED},
    [SET_BOOLEAN] = {"fmi3SetBoolean", INSTANTIATED | INITIALISING | STARTED},
    [GET_STATE] = {"fmi3GetFMUState", ANY},
    [SET_STATE] = {"fmi3SetFMUState", ANY},
    [FREE_STATE] = {"fmi3FreeFMUState", ANY},
    [STATE_SIZE] = {"fmi3SerializedFMUStateSize", ANY},
    [SERIALIZE] = {"fmi3SerializeFMUState", ANY},
    [DESERIALIZE] = {"fmi3DeserializeFMUState", ANY},
    [COUNT_DEPENDENCIES] = {"fmi3GetNumberOfVariableDependencies", ANY | IN_STEP},
    [GET_DEPENDENCIES] = {"fmi3GetVariableDependencies", ANY | IN_STEP},
    [DIRECTIONAL_DERIVATIVE] = {"fmi3GetDirectionalDerivative", READ},
    [ADJOINT_DERIVATIVE] = {"fmi3GetAdjointDerivative", READ},
    [OUTPUT_DERIVATIVES] = {"fmi3GetOutputDerivatives", STARTED | TERMINATED | IN_STEP},
    [UPDATE_DISCRETE_STATES] = {"fmi3UpdateDiscreteStates", AT_EVENT},
    [GET_CLOCK] = {"fmi3GetClock", READ},
    [SET_CLOCK] = {"fmi3SetClock", AT_EVENT},
    [GET_INTERVAL] = {"fmi3GetIntervalDecimal", INITIALISING | AT_EVENT},
    [GET_SHIFT] = {"fmi3GetShiftDecimal", INITIALISING},
    [DO_STEP] = {"fmi3DoStep", RUNNING},
    [ENTER_CONTINUOUS_TIME_MODE] = {"fmi3EnterContinuousTimeMode", AT_EVENT},
    [COMPLETED_INTEGRATOR_STEP] = {"fmi3CompletedIntegratorStep", RUNNING},
    [SET_TIME] = {"fmi3SetTime", STARTED},
    [SET_CONTINUOUS_STATES] = {"fmi3SetContinuousStates", RUNNING},
    [GET_DERIVATIVES] = {"fmi3GetContinuousStateDerivatives", READ},
    [GET_EVENT_INDICATORS] = {"fmi3GetEventIndicators", READ},
    [GET_CONTINUOUS_STATES] = {"fmi3GetContinuousStates", READ},
    [GET_NOMINALS] = {"fmi3GetNominalsOfContinuousStates", READ},
    [COUNT_INDICATORS] = {"fmi3GetNumberOfEventIndicators", ANY},
    [COUNT_STATES] = {"fmi3GetNumberOfContinuousStates", ANY},
};

/* The importer: its functions and its choices. */
struct master {
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
    fmi3IntermediateUpdateCallback update;
    int event_mode, early_return; /* whether the importer handles events, and steps that end before their time */
    int categories;               /* bits of the categories to log */
};

struct component {
    struct core core;
    struct master master;
    int in_step;         /* whether the importer has been called from within a step */
    struct state before; /* at the beginning of a step that is taken in parts */
    unsigned int unknowns[N_VARIABLES], knowns[N_VARIABLES]; /* value references of elements */
    double effects[N_VARIABLES];
};

static const fmi3Status STATUS[] = {
    [DONE] = fmi3OK, [NOTED] = fmi3Warning, [DISCARDED] = fmi3Discard, [REFUSED] = fmi3Error};

/* -- the importer ------------------------------------------------------------------------------------------------- */

static void tell(void *who, enum outcome severity, const char *text) {
    const struct master *master = who;
    if (!master->log || !is_wanted(master->categories, severity)) return;
    master->log(master->environment, STATUS[severity], CATEGORIES[category_of(severity)], text);
}

static void *allocate(void *who, size_t size) {
    (void)who;
    return calloc(1, size);
}

static void release(void *who, void *block) {
    (void)who;
    free(block);
}

#define refuse(m, ...) STATUS[core_say(&(m)->core.host, REFUSED, __VA_ARGS__)]

#ifdef EXCHANGE
#define STEPS_OR_TIME "in continuous-time mode"
#define KIND "model exchange"
#else
#define STEPS_OR_TIME "in step mode"
#define KIND "co-simulation"
#endif

/* The instance of a call, if it may be made now. */
static struct component *enter(fmi3Instance instance, enum call which) {
    struct component *m = instance;
    if (!m) return 0;
    const int64_t phase = m->in_step ? IN_STEP : m->core.now.phase;
    if (phase & CALLS[which].phases) return m;
#ifndef EXCHANGE
    if (which == DO_STEP && !core_may_step(&m->core, REFUSED)) return 0;
#endif
    core_say(&m->core.host, REFUSED, "%s may not be called %s", CALLS[which].name,
             phase == INSTANTIATED   ? "before the initialisation mode"
             : phase == INITIALISING ? "in the initialisation mode"
             : phase == RUNNING      ? STEPS_OR_TIME
             : phase == AT_EVENT     ? "in event mode"
             : phase == IN_STEP      ? "in an intermediate update"
                                     : "after fmi3Terminate");
    return 0;
}

static fmi3Status missing(struct component *m, enum call which) {
    return refuse(m, "%s: an argument is NULL", CALLS[which].name);
}

/* -- life cycle --------------------------------------------------------------------------------------------------- */

const char *fmi3GetVersion(void) { return fmi3Version; }

static fmi3Instance absent(fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, const char *what) {
    struct master master = {environment, log, 0, 0, 0, ALL_CATEGORIES};
    const struct host host = {&master, tell, allocate, release};
    core_say(&host, REFUSED, "this binary is for " KIND ", not for %s", what);
    return 0;
}

fmi3Instance fmi3InstantiateScheduledExecution(fmi3String instanceName, fmi3String instantiationToken,
                                               fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                               fmi3InstanceEnvironment instanceEnvironment,
                                               fmi3LogMessageCallback logMessage, fmi3ClockUpdateCallback clockUpdate,
                                               fmi3LockPreemptionCallback lockPreemption,
                                               fmi3UnlockPreemptionCallback unlockPreemption) {
    (void)instanceName, (void)instantiationToken, (void)resourcePath, (void)visible, (void)loggingOn;
    (void)clockUpdate, (void)lockPreemption, (void)unlockPreemption;
    return absent(instanceEnvironment, logMessage, "scheduled execution");
}

/* A new instance for a master of which all but the choice of messages is known; NULL, with a message, if the name or the
 * token is wrong. */
static struct component *instantiate(struct master *master, fmi3String name, fmi3String token, int logging) {
    struct host host = {master, tell, allocate, release};
    double settings[N_SETTINGS];
    if (!name || !*name) {
        core_say(&host, REFUSED, "an instance needs a name");
        return 0;
    }
    if (!token || !core_read_guid(token, settings)) {
        core_say(&host, REFUSED,
                 "the instantiation token is %s and not {%s-...}: modelDescription.xml belongs to another FMU",
                 token ? token : "NULL", MODEL_CODE);
        return 0;
    }
    struct component *m = calloc(1, sizeof *m);
    if (!m) {
        core_say(&host, REFUSED, "there is no memory");
        return 0;
    }
    m->master = *master;
    if (!logging) m->master.categories = 0;
    host.who = &m->master;
    core_open(&m->core, &host, settings);
    return m;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String instanceName, fmi3String instantiationToken,
                                          fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                          fmi3InstanceEnvironment instanceEnvironment,
                                          fmi3LogMessageCallback logMessage) {
    (void)resourcePath, (void)visible;
#ifdef EXCHANGE
    struct master master = {instanceEnvironment, logMessage, 0, 1, 0, ALL_CATEGORIES};
    return instantiate(&master, instanceName, instantiationToken, loggingOn);
#else
    (void)instanceName, (void)instantiationToken, (void)loggingOn;
    return absent(instanceEnvironment, logMessage, "model exchange");
#endif
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String instanceName, fmi3String instantiationToken,
                                         fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                         fmi3Boolean eventModeUsed, fmi3Boolean earlyReturnAllowed,
                                         const fmi3ValueReference requiredIntermediateVariables[],
                                         size_t nRequiredIntermediateVariables,
                                         fmi3InstanceEnvironment instanceEnvironment,
                                         fmi3LogMessageCallback logMessage,
                                         fmi3IntermediateUpdateCallback intermediateUpdate) {
    (void)resourcePath, (void)visible;
#ifdef EXCHANGE
    (void)instanceName, (void)instantiationToken, (void)loggingOn, (void)eventModeUsed, (void)earlyReturnAllowed;
    (void)requiredIntermediateVariables, (void)nRequiredIntermediateVariables, (void)intermediateUpdate;
    return absent(instanceEnvironment, logMessage, "co-simulation");
#else
    struct master master = {
        instanceEnvironment, logMessage, intermediateUpdate, eventModeUsed, earlyReturnAllowed, ALL_CATEGORIES};
    const struct host host = {&master, tell, allocate, release};
    if (eventModeUsed && !HAS_EVENTS) {
        core_say(&host, REFUSED, "this FMU has no events and no event mode: hasEventMode is false");
        return 0;
    }
    for (size_t i = 0; i < nRequiredIntermediateVariables; ++i)
        if (!requiredIntermediateVariables || requiredIntermediateVariables[i] >= N_VARIABLES ||
            !SPANS[requiredIntermediateVariables[i]]) {
            core_say(&host, REFUSED, "entry %lu of the required intermediate variables is no variable",
                     (unsigned long)i);
            return 0;
        }
    return instantiate(&master, instanceName, instantiationToken, loggingOn);
#endif
}

void fmi3FreeInstance(fmi3Instance instance) {
    struct component *m = instance;
    if (m && m->in_step)
        refuse(m, "fmi3FreeInstance may not be called in an intermediate update");
    else
        free(m);
}

fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean loggingOn, size_t nCategories,
                               const fmi3String categories[]) {
    struct component *m = enter(instance, SET_DEBUG_LOGGING);
    if (!m) return fmi3Error;
    if (nCategories && !categories) return missing(m, SET_DEBUG_LOGGING);
    const int chosen = chosen_categories(&m->core.host, nCategories, categories);
    if (chosen < 0) return fmi3Error;
    if (loggingOn)
        m->master.categories |= chosen;
    else
        m->master.categories &= ~chosen;
    return fmi3OK;
}

static fmi3Status change_phase(fmi3Instance instance, enum call which, enum phase phase) {
    struct component *m = enter(instance, which);
    return m ? STATUS[core_enter(&m->core, phase)] : fmi3Error;
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean toleranceDefined, fmi3Float64 tolerance,
                                       fmi3Float64 startTime, fmi3Boolean stopTimeDefined, fmi3Float64 stopTime) {
    struct component *m = enter(instance, ENTER_INITIALIZATION_MODE);
    (void)toleranceDefined, (void)tolerance;
    if (!m) return fmi3Error;
    if (!isfinite(startTime)) return refuse(m, "the start time %g is not a finite number", startTime);
    core_start_at(&m->core, startTime);
    core_stop_at(&m->core, stopTimeDefined ? stopTime : INFINITY);
    return STATUS[core_enter(&m->core, INITIALISING)];
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance instance) {
    struct component *m = enter(instance, EXIT_INITIALIZATION_MODE);
    if (!m) return fmi3Error;
#ifdef EXCHANGE
    return STATUS[core_enter(&m->core, AT_EVENT)];
#else
    const enum outcome outcome = core_enter(&m->core, RUNNING);
    if (outcome == DONE && m->master.event_mode) core_enter(&m->core, AT_EVENT);
    return STATUS[outcome];
#endif
}

fmi3Status fmi3EnterEventMode(fmi3Instance instance) {
    struct component *m = enter(instance, ENTER_EVENT_MODE);
    if (!m) return fmi3Error;
    if (!m->master.event_mode)
        return refuse(m, "fmi3EnterEventMode: this instance was made without event mode (eventModeUsed)");
    return STATUS[core_enter(&m->core, AT_EVENT)];
}

#ifndef EXCHANGE
fmi3Status fmi3EnterStepMode(fmi3Instance instance) {
    struct component *m = enter(instance, ENTER_STEP_MODE);
    if (!m) return fmi3Error;
    if (core_waiting(&m->core) == FALLEN)
        return refuse(m, "fmi3EnterStepMode: an event waits at t = %.9g s: fmi3UpdateDiscreteStates lets it act",
                      m->core.now.time);
    return STATUS[core_enter(&m->core, RUNNING)];
}

#endif

fmi3Status fmi3Terminate(fmi3Instance instance) { return change_phase(instance, TERMINATE, TERMINATED); }

fmi3Status fmi3Reset(fmi3Instance instance) {
    struct component *m = enter(instance, RESET);
    if (!m) return fmi3Error;
    core_reset(&m->core);
    return fmi3OK;
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *discreteStatesNeedUpdate,
                                    fmi3Boolean *terminateSimulation, fmi3Boolean *nominalsOfContinuousStatesChanged,
                                    fmi3Boolean *valuesOfContinuousStatesChanged, fmi3Boolean *nextEventTimeDefined,
                                    fmi3Float64 *nextEventTime) {
    struct component *m = enter(instance, UPDATE_DISCRETE_STATES);
    if (!m) return fmi3Error;
    if (!discreteStatesNeedUpdate || !terminateSimulation || !nominalsOfContinuousStatesChanged ||
        !valuesOfContinuousStatesChanged || !nextEventTimeDefined || !nextEventTime)
        return missing(m, UPDATE_DISCRETE_STATES);
    *discreteStatesNeedUpdate = *terminateSimulation = fmi3False;
    *nominalsOfContinuousStatesChanged = *valuesOfContinuousStatesChanged = *nextEventTimeDefined = fmi3False;
#ifdef EXCHANGE
    struct update done = {0, INFINITY};
    const enum outcome outcome = core_update(&m->core, &done);
    const double next = done.next;
    *valuesOfContinuousStatesChanged = done.changed != 0;
#else
    const enum outcome outcome = core_settle(&m->core);
    const double next = core_next_event(&m->core);
#endif
    if (outcome != DONE || !isfinite(next)) return STATUS[outcome];
    *nextEventTimeDefined = fmi3True;
    *nextEventTime = next;
    return fmi3OK;
}

/* -- values ------------------------------------------------------------------------------------------------------- */

static const char *const TYPES[] = {TYPE_NAMES};
enum { ANY_TYPE = -1 };

static int is_variable(struct component *m, fmi3ValueReference vr) {
    if (vr < N_VARIABLES && SPANS[vr]) return 1;
    if (vr < N_VARIABLES)
        core_say(&m->core.host, REFUSED, "value reference %u: %s is an element of an array, which has the reference of "
                 "its first element", (unsigned)vr, core_variable(vr).name);
    else if (vr < N_VARIABLES + N_CLOCKS)
        core_say(&m->core.host, REFUSED, "value reference %u: %s is a clock", (unsigned)vr, CLOCKS[vr - N_VARIABLES]);
    else
        core_say(&m->core.host, REFUSED, "value reference %u: there is no such variable", (unsigned)vr);
    return 0;
}

static fmi3Status other_type(struct component *m, const char *call, const char *verb, fmi3ValueReference vr) {
    const struct about v = core_variable(vr);
    return refuse(m, "%s: %s is of type %s: use fmi3%s%s", call, v.name, TYPES[v.type], verb,
                  v.type == ENUMERATION ? "Int64" : TYPES[v.type]);
}

/* The value references of all elements of n variables, and their number; NULL, with a message, if a variable does not
 * exist, has another type, or if all together have another number of elements than there are values. */
static const unsigned int *elements(struct component *m, enum call which, int type, const fmi3ValueReference vr[],
                                    size_t n, size_t values, unsigned int room[]) {
    size_t count = 0, used = 0;
    for (size_t i = 0; i < n; ++i) {
        if (!is_variable(m, vr[i])) return 0;
        if (type != ANY_TYPE && (int)core_variable(vr[i]).type != type) {
            other_type(m, CALLS[which].name, which >= SET_FLOAT64 ? "Set" : "Get", vr[i]);
            return 0;
        }
        count += SPANS[vr[i]];
    }
    if (count != values) {
        refuse(m, "%s: the variables have %lu elements, and there is room for %lu values", CALLS[which].name,
               (unsigned long)count, (unsigned long)values);
        return 0;
    }
    if (count == n) return n ? vr : room;
    if (count > N_VARIABLES) {
        refuse(m, "%s: %lu elements at once, and the FMU has %d", CALLS[which].name, (unsigned long)count, N_VARIABLES);
        return 0;
    }
    for (size_t i = 0; i < n; ++i)
        for (unsigned int k = 0; k < SPANS[vr[i]]; ++k) room[used++] = vr[i] + k;
    return room;
}

fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                          fmi3Float64 values[], size_t nValues) {
    struct component *m = enter(instance, GET_FLOAT64);
    if (!m) return fmi3Error;
    if (!nValueReferences && !nValues) return fmi3OK;
    if (!valueReferences || !values) return missing(m, GET_FLOAT64);
    const unsigned int *all = elements(m, GET_FLOAT64, REAL, valueReferences, nValueReferences, nValues, m->unknowns);
    return all ? STATUS[core_get(&m->core, all, nValues, values)] : fmi3Error;
}

fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                          const fmi3Float64 values[], size_t nValues) {
    struct component *m = enter(instance, SET_FLOAT64);
    if (!m) return fmi3Error;
    if (!nValueReferences && !nValues) return fmi3OK;
    if (!valueReferences || !values) return missing(m, SET_FLOAT64);
    const unsigned int *all = elements(m, SET_FLOAT64, REAL, valueReferences, nValueReferences, nValues, m->unknowns);
    if (!all) return fmi3Error;
    for (size_t i = 0; m->in_step && i < nValues; ++i)
        if (!core_variable(all[i]).input)
            return refuse(m, "%s is no input, and only inputs may be set in an intermediate update",
                          core_variable(all[i]).name);
    return STATUS[core_set(&m->core, all, nValues, values)];
}

fmi3Status fmi3GetInt32(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        fmi3Int32 values[], size_t nValues) {
    struct component *m = enter(instance, GET_INT32);
    if (!m) return fmi3Error;
    if (!nValueReferences && !nValues) return fmi3OK;
    if (!valueReferences || !values) return missing(m, GET_INT32);
    const unsigned int *all = elements(m, GET_INT32, INTEGER, valueReferences, nValueReferences, nValues, m->unknowns);
    return all ? STATUS[core_get_whole(&m->core, INTEGER, all, nValues, values)] : fmi3Error;
}

fmi3Status fmi3SetInt32(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        const fmi3Int32 values[], size_t nValues) {
    struct component *m = enter(instance, SET_INT32);
    if (!m) return fmi3Error;
    if (!nValueReferences && !nValues) return fmi3OK;
    if (!valueReferences || !values) return missing(m, SET_INT32);
    const unsigned int *all = elements(m, SET_INT32, INTEGER, valueReferences, nValueReferences, nValues, m->unknowns);
    return all ? STATUS[core_set_whole(&m->core, INTEGER, all, nValues, values)] : fmi3Error;
}

fmi3Status fmi3GetInt64(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        fmi3Int64 values[], size_t nValues) {
    struct component *m = enter(instance, GET_INT64);
    enum outcome outcome = DONE;
    if (!m) return fmi3Error;
    if (!nValueReferences && !nValues) return fmi3OK;
    if (!valueReferences || !values) return missing(m, GET_INT64);
    const unsigned int *all = elements(m, GET_INT64, ENUMERATION, valueReferences, nValueReferences, nValues, m->unknowns);
    if (!all) return fmi3Error;
    for (size_t i = 0; i < nValues && outcome == DONE; ++i) {
        int value = 0;
        outcome = core_get_whole(&m->core, ENUMERATION, all + i, 1, &value);
        values[i] = value;
    }
    return STATUS[outcome];
}

fmi3Status fmi3SetInt64(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        const fmi3Int64 values[], size_t nValues) {
    struct component *m = enter(instance, SET_INT64);
    enum outcome worst = DONE;
    if (!m) return fmi3Error;
    if (!nValueReferences && !nValues) return fmi3OK;
    if (!valueReferences || !values) return missing(m, SET_INT64);
    const unsigned int *all = elements(m, SET_INT64, ENUMERATION, valueReferences, nValueReferences, nValues, m->unknowns);
    if (!all) return fmi3Error;
    for (size_t i = 0; i < nValues; ++i) {
        const int value = values[i] < INT_MIN ? INT_MIN : values[i] > INT_MAX ? INT_MAX : (int)values[i];
        const enum outcome outcome = core_set_whole(&m->core, ENUMERATION, all + i, 1, &value);
        if (outcome > worst) worst = outcome;
    }
    return STATUS[worst];
}

fmi3Status fmi3GetBoolean(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                          fmi3Boolean values[], size_t nValues) {
    struct component *m = enter(instance, GET_BOOLEAN);
    enum outcome outcome = DONE;
    if (!m) return fmi3Error;
    if (!nValueReferences && !nValues) return fmi3OK;
    if (!valueReferences || !values) return missing(m, GET_BOOLEAN);
    const unsigned int *all = elements(m, GET_BOOLEAN, BOOLEAN, valueReferences, nValueReferences, nValues, m->unknowns);
    if (!all) return fmi3Error;
    for (size_t i = 0; i < nValues && outcome == DONE; ++i) {
        int value = 0;
        outcome = core_get_whole(&m->core, BOOLEAN, all + i, 1, &value);
        values[i] = value != 0;
    }
    return STATUS[outcome];
}

fmi3Status fmi3SetBoolean(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                          const fmi3Boolean values[], size_t nValues) {
    struct component *m = enter(instance, SET_BOOLEAN);
    enum outcome worst = DONE;
    if (!m) return fmi3Error;
    if (!nValueReferences && !nValues) return fmi3OK;
    if (!valueReferences || !values) return missing(m, SET_BOOLEAN);
    const unsigned int *all = elements(m, SET_BOOLEAN, BOOLEAN, valueReferences, nValueReferences, nValues, m->unknowns);
    if (!all) return fmi3Error;
    for (size_t i = 0; i < nValues; ++i) {
        const int value = values[i];
        const enum outcome outcome = core_set_whole(&m->core, BOOLEAN, all + i, 1, &value);
        if (outcome > worst) worst = outcome;
    }
    return STATUS[worst];
}

/* Refuse a call for variables of a type that this FMU has none of. */
static fmi3Status no_such_type(fmi3Instance instance, const char *call, const char *verb,
                               const fmi3ValueReference vr[], size_t n) {
    struct component *m = instance;
    if (!m) return fmi3Error;
    if (!n) return fmi3OK;
    if (!vr) return refuse(m, "%s: an argument is NULL", call);
    if (!is_variable(m, vr[0])) return fmi3Error;
    return other_type(m, call, verb, vr[0]);
}

#define NO_TYPE(T)                                                                                                     \
    fmi3Status fmi3Get##T(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,  \
                          fmi3##T values[], size_t nValues) {                                                          \
        (void)values, (void)nValues;                                                                                   \
        return no_such_type(instance, "fmi3Get" #T, "Get", valueReferences, nValueReferences);                     \
    }                                                                                                                  \
    fmi3Status fmi3Set##T(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,  \
                          const fmi3##T values[], size_t nValues) {                                                    \
        (void)values, (void)nValues;                                                                                   \
        return no_such_type(instance, "fmi3Set" #T, "Set", valueReferences, nValueReferences);                     \
    }

NO_TYPE(Float32)
NO_TYPE(Int8)
NO_TYPE(UInt8)
NO_TYPE(Int16)
NO_TYPE(UInt16)
NO_TYPE(UInt32)
NO_TYPE(UInt64)
NO_TYPE(String)

fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                         size_t valueSizes[], fmi3Binary values[], size_t nValues) {
    (void)valueSizes, (void)values, (void)nValues;
    return no_such_type(instance, "fmi3GetBinary", "Get", valueReferences, nValueReferences);
}

fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                         const size_t valueSizes[], const fmi3Binary values[], size_t nValues) {
    (void)valueSizes, (void)values, (void)nValues;
    return no_such_type(instance, "fmi3SetBinary", "Set", valueReferences, nValueReferences);
}

/* -- clocks ------------------------------------------------------------------------------------------------------- */

enum { FIRST_SAMPLED = N_CLOCKS - N_SAMPLED }; /* before them, the clock of events */

/* Whether these are references of clocks, and sampled ones if `periodic`; logs the first that is not. */
static int are_clocks(struct component *m, const char *call, const fmi3ValueReference vr[], size_t n, int periodic) {
    if (n && !vr) {
        refuse(m, "%s: an argument is NULL", call);
        return 0;
    }
    for (size_t i = 0; i < n; ++i) {
        if (vr[i] < N_VARIABLES || vr[i] >= N_VARIABLES + N_CLOCKS) {
            if (vr[i] >= N_VARIABLES || is_variable(m, vr[i]))
                refuse(m, "%s: value reference %u is no clock", call, (unsigned)vr[i]);
            return 0;
        }
        if (periodic && vr[i] < N_VARIABLES + FIRST_SAMPLED) {
            refuse(m, "%s: %s is an output that events trigger", call, CLOCKS[vr[i] - N_VARIABLES]);
            return 0;
        }
    }
    return 1;
}

/* The period of a sampled block and the instant of its next sampling, s. */
static double instant(struct component *m, unsigned int clock, double *period) {
#if N_SAMPLED
    double timing[2 * N_SAMPLED], *const results[] = {timing};
    const double *const in[] = {m->core.now.p};
    const unsigned int k = clock - N_VARIABLES - FIRST_SAMPLED;
    clock_timing(in, results, m->core.work);
    *period = timing[2 * k];
    return timing[2 * k + 1] + m->core.now.x[NX - 1 - N_SAMPLED + k] * *period; /* x has the numbers of the next ones */
#else
    (void)m, (void)clock;
    return *period = NAN;
#endif
}

/* Whether a clock ticks at this instant of the event mode. */
static int ticks(struct component *m, unsigned int clock) {
    double period;
    if (m->core.now.phase != AT_EVENT) return 0;
#ifndef EXCHANGE /* which has no clocks */
    if (clock < N_VARIABLES + FIRST_SAMPLED) return core_waiting(&m->core) == FALLEN;
#endif
    const double next = instant(m, clock, &period), now = m->core.now.time;
    return next - now <= CLOSE * period + TIME_PART * fabs(now);
}

fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        fmi3Clock values[]) {
    struct component *m = enter(instance, GET_CLOCK);
    if (!m || !are_clocks(m, CALLS[GET_CLOCK].name, valueReferences, nValueReferences, 0)) return fmi3Error;
    if (nValueReferences && !values) return missing(m, GET_CLOCK);
    for (size_t i = 0; i < nValueReferences; ++i) values[i] = ticks(m, valueReferences[i]);
    return fmi3OK;
}

fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        const fmi3Clock values[]) {
    struct component *m = enter(instance, SET_CLOCK);
    if (!m || !are_clocks(m, CALLS[SET_CLOCK].name, valueReferences, nValueReferences, 1)) return fmi3Error;
    if (nValueReferences && !values) return missing(m, SET_CLOCK);
    for (size_t i = 0; i < nValueReferences; ++i) {
        double period;
        if (ticks(m, valueReferences[i]) == values[i]) continue;
        return refuse(m, "%s: %s %s at t = %.9g s, its next tick is at t = %.9g s", CALLS[SET_CLOCK].name,
                      CLOCKS[valueReferences[i] - N_VARIABLES], values[i] ? "does not tick" : "ticks",
                      m->core.now.time, instant(m, valueReferences[i], &period));
    }
    return fmi3OK;
}

fmi3Status fmi3GetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                  size_t nValueReferences, fmi3Float64 intervals[],
                                  fmi3IntervalQualifier qualifiers[]) {
    struct component *m = enter(instance, GET_INTERVAL);
    if (!m || !are_clocks(m, CALLS[GET_INTERVAL].name, valueReferences, nValueReferences, 1)) return fmi3Error;
    if (nValueReferences && (!intervals || !qualifiers)) return missing(m, GET_INTERVAL);
    for (size_t i = 0; i < nValueReferences; ++i) {
        instant(m, valueReferences[i], &intervals[i]);
        qualifiers[i] = m->core.now.phase == INITIALISING ? fmi3IntervalChanged : fmi3IntervalUnchanged;
    }
    return fmi3OK;
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                               size_t nValueReferences, fmi3Float64 shifts[]) {
    struct component *m = enter(instance, GET_SHIFT);
    if (!m || !are_clocks(m, CALLS[GET_SHIFT].name, valueReferences, nValueReferences, 1)) return fmi3Error;
    if (nValueReferences && !shifts) return missing(m, GET_SHIFT);
    if (core_prepare(&m->core) != DONE) return fmi3Error;
    for (size_t i = 0; i < nValueReferences; ++i) {
        double period;
        shifts[i] = fmax(0, instant(m, valueReferences[i], &period) - m->core.now.time);
    }
    return fmi3OK;
}

static fmi3Status no_fraction(fmi3Instance instance, const char *call) {
    struct component *m = instance;
    return m ? refuse(m, "%s: no clock has a period that is a fraction (supportsFraction)", call) : fmi3Error;
}

static fmi3Status own_period(fmi3Instance instance, const char *call) {
    struct component *m = instance;
    return m ? refuse(m, "%s: the instants of clocks follow from parameters", call) : fmi3Error;
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, fmi3UInt64 counters[], fmi3UInt64 resolutions[],
                                   fmi3IntervalQualifier qualifiers[]) {
    (void)valueReferences, (void)nValueReferences, (void)counters, (void)resolutions, (void)qualifiers;
    return no_fraction(instance, "fmi3GetIntervalFraction");
}

fmi3Status fmi3GetShiftFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                size_t nValueReferences, fmi3UInt64 counters[], fmi3UInt64 resolutions[]) {
    (void)valueReferences, (void)nValueReferences, (void)counters, (void)resolutions;
    return no_fraction(instance, "fmi3GetShiftFraction");
}

fmi3Status fmi3SetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                  size_t nValueReferences, const fmi3Float64 intervals[]) {
    (void)valueReferences, (void)nValueReferences, (void)intervals;
    return own_period(instance, "fmi3SetIntervalDecimal");
}

fmi3Status fmi3SetIntervalFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, const fmi3UInt64 counters[],
                                   const fmi3UInt64 resolutions[]) {
    (void)valueReferences, (void)nValueReferences, (void)counters, (void)resolutions;
    return own_period(instance, "fmi3SetIntervalFraction");
}

fmi3Status fmi3SetShiftDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                               size_t nValueReferences, const fmi3Float64 shifts[]) {
    (void)valueReferences, (void)nValueReferences, (void)shifts;
    return own_period(instance, "fmi3SetShiftDecimal");
}

fmi3Status fmi3SetShiftFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                size_t nValueReferences, const fmi3UInt64 counters[],
                                const fmi3UInt64 resolutions[]) {
    (void)valueReferences, (void)nValueReferences, (void)counters, (void)resolutions;
    return own_period(instance, "fmi3SetShiftFraction");
}

#ifndef EXCHANGE
/* -- steps -------------------------------------------------------------------------------------------------------- */

/* Call the importer at the present time; return the time at which it wants the step to end. */
static double update(struct component *m, double end, int last) {
    const double now = m->core.now.time;
    fmi3Boolean requested = fmi3False;
    fmi3Float64 early = now;
    m->in_step = 1;
    m->master.update(m->master.environment, now, !last, fmi3True, fmi3True, m->master.early_return && !last, &requested,
                     &early);
    m->in_step = 0;
    if (last || !requested || !m->master.early_return || !(early < end)) return end;
    return early > now ? early : now;
}

/* Whether a step stops where something waits to act. */
static int stops(const struct component *m) { return m->master.event_mode && m->master.early_return; }

static enum outcome advance(struct component *m, double t, double H) {
    return stops(m) ? core_stride(&m->core, t, H) : core_step(&m->core, t, H);
}

/* Step by step, with a call of the importer at the beginning and after each. Steps chosen for a tolerance are one part.
 */
static enum outcome step_with_updates(struct component *m, double t, double H) {
    struct state *now = &m->core.now, *before = &m->before;
    const double h = now->settings[STEP];
    enum outcome outcome = core_possible(&m->core, t, H);
    if (outcome != DONE) {
        now->last = outcome;
        return outcome;
    }
    const long long parts = now->settings[TOLERANCE] > 0 ? 1 : mbfmu_count(H, h);
    const double size = H / parts;
    *before = *now;
    now->time = t; /* which may be another one by round-off, and no update is before it */
    double end = update(m, t + H, 0);
    for (long long k = 0, ended = 0; k < parts && !ended; ++k) {
        const double at = t + k * size, left = end - at;
        if (left <= 0) break;
        outcome = advance(m, at, end < t + H && left < size ? left : size);
        if (outcome != DONE) break;
        /* at an event, where the importer wants to end, or where a part has ended at a sampling */
        ended = now->time < at + size || (k < parts - 1 && stops(m) && core_waiting(&m->core) != NO_EVENT);
        if (ended) end = fmin(end, now->time);
        if (k == parts - 1 && end == t + H) now->time = end; /* as a step in one part has it */
        end = update(m, end, k == parts - 1 || now->time >= end);
    }
    if (outcome != DONE) {
        *now = *before;
        now->last = outcome;
        m->core.stale = 1;
    } else if (now->time > t && memcmp(before->u, now->u, sizeof now->u) == 0 &&
               memcmp(before->p, now->p, sizeof now->p) == 0) { /* derivatives are those of the whole step */
        memcpy(now->from_x, before->x, sizeof now->x);
        now->from_time = t;
        now->span = now->time == t + H ? H : now->time - t;
    }
    return outcome;
}

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 currentCommunicationPoint, fmi3Float64 communicationStepSize,
                      fmi3Boolean noSetFMUStatePriorToCurrentPoint, fmi3Boolean *eventHandlingNeeded,
                      fmi3Boolean *terminateSimulation, fmi3Boolean *earlyReturn, fmi3Float64 *lastSuccessfulTime) {
    struct component *m = enter(instance, DO_STEP);
    const double t = currentCommunicationPoint, H = communicationStepSize;
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!m) return fmi3Error;
    if (!eventHandlingNeeded || !terminateSimulation || !earlyReturn || !lastSuccessfulTime) return missing(m, DO_STEP);
    if (core_waiting(&m->core) == FALLEN)
        return refuse(m, "no step from t = %.9g s: an event waits there: fmi3EnterEventMode and "
                      "fmi3UpdateDiscreteStates let it act", m->core.now.time);
    const enum outcome outcome = m->master.update ? step_with_updates(m, t, H) : advance(m, t, H);
    *terminateSimulation = fmi3False;
    *eventHandlingNeeded = outcome == DONE && m->master.event_mode && core_waiting(&m->core) != NO_EVENT;
    *lastSuccessfulTime = m->core.now.time;
    *earlyReturn = outcome == DONE && m->core.now.time < t + H;
    return STATUS[outcome];
}
#endif

/* -- dependencies ------------------------------------------------------------------------------------------------- */

/* The variable that an element belongs to. */
static unsigned int owner(unsigned int element) {
    while (!SPANS[element]) --element;
    return element;
}

/* What each element depends on in the present phase: places in a table, which go on to those of the next element. */
struct dependencies {
    const unsigned int *first, *on;
};
static struct dependencies present(const struct component *m) {
    if (m->core.now.phase < RUNNING) return (struct dependencies){FIRST_INITIAL, INITIAL_DEPENDENCIES};
    return (struct dependencies){FIRST_RUNNING, RUNNING_DEPENDENCIES};
}

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance instance, fmi3ValueReference valueReference,
                                               size_t *nDependencies) {
    struct component *m = enter(instance, COUNT_DEPENDENCIES);
    if (!m) return fmi3Error;
    if (!nDependencies) return missing(m, COUNT_DEPENDENCIES);
    *nDependencies = 0;
    if (N_VARIABLES <= valueReference && valueReference < N_VARIABLES + N_CLOCKS) return fmi3OK;
    if (!is_variable(m, valueReference)) return fmi3Error;
    const unsigned int *first = present(m).first;
    *nDependencies = first[valueReference + SPANS[valueReference]] - first[valueReference];
    return fmi3OK;
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance instance, fmi3ValueReference dependent,
                                       size_t elementIndicesOfDependent[], fmi3ValueReference independents[],
                                       size_t elementIndicesOfIndependents[], fmi3DependencyKind dependencyKinds[],
                                       size_t nDependencies) {
    struct component *m = enter(instance, GET_DEPENDENCIES);
    size_t count, used = 0;
    if (!m || fmi3GetNumberOfVariableDependencies(instance, dependent, &count) != fmi3OK) return fmi3Error;
    if (nDependencies != count)
        return refuse(m, "%s: %s has %lu dependencies, not %lu", CALLS[GET_DEPENDENCIES].name,
                      dependent < N_VARIABLES ? core_variable(dependent).name : CLOCKS[dependent - N_VARIABLES],
                      (unsigned long)count, (unsigned long)nDependencies);
    if (!count) return fmi3OK;
    if (!elementIndicesOfDependent || !independents || !elementIndicesOfIndependents || !dependencyKinds)
        return missing(m, GET_DEPENDENCIES);
    for (size_t i = 0; i < count; ++i) dependencyKinds[i] = fmi3Dependent;
    const struct dependencies now = present(m);
    for (unsigned int k = 0; k < SPANS[dependent]; ++k)
        for (unsigned int i = now.first[dependent + k]; i < now.first[dependent + k + 1]; ++i) {
            const unsigned int on = owner(now.on[i]);
            elementIndicesOfDependent[used] = SPANS[dependent] > 1 ? k + 1 : 0;
            elementIndicesOfIndependents[used] = SPANS[on] > 1 ? now.on[i] - on + 1 : 0;
            independents[used++] = on;
        }
    return fmi3OK;
}

/* -- derivatives -------------------------------------------------------------------------------------------------- */

#ifndef EXCHANGE
fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                    size_t nValueReferences, const fmi3Int32 orders[], fmi3Float64 values[],
                                    size_t nValues) {
    struct component *m = enter(instance, OUTPUT_DERIVATIVES);
    if (!m) return fmi3Error;
    if (!nValueReferences && !nValues) return fmi3OK;
    if (!valueReferences || !orders || !values) return missing(m, OUTPUT_DERIVATIVES);
    const unsigned int *all =
        elements(m, OUTPUT_DERIVATIVES, ANY_TYPE, valueReferences, nValueReferences, nValues, m->unknowns);
    if (!all) return fmi3Error;
    for (size_t i = 0, k = 0; i < nValueReferences; k += SPANS[valueReferences[i++]]) {
        int order[N_VARIABLES];
        for (unsigned int j = 0; j < SPANS[valueReferences[i]]; ++j) order[j] = orders[i];
        const enum outcome outcome = core_get_rates(&m->core, all + k, SPANS[valueReferences[i]], order, values + k);
        if (outcome != DONE) return STATUS[outcome];
    }
    return fmi3OK;
}
#endif

/* The elements of unknowns and knowns of a derivative; 0 if there is something wrong with them. */
static int pair(struct component *m, enum call which, const fmi3ValueReference unknowns[], size_t nUnknowns,
                size_t n_unknown, const fmi3ValueReference knowns[], size_t nKnowns, size_t n_known,
                const unsigned int *all[2]) {
    all[0] = elements(m, which, ANY_TYPE, unknowns, nUnknowns, n_unknown, m->unknowns);
    if (!all[0]) return 0;
    all[1] = elements(m, which, ANY_TYPE, knowns, nKnowns, n_known, m->knowns);
    return all[1] != 0;
}

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t nUnknowns,
                                        const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[],
                                        size_t nSeed, fmi3Float64 sensitivity[], size_t nSensitivity) {
    struct component *m = enter(instance, DIRECTIONAL_DERIVATIVE);
    const unsigned int *all[2];
    if (!m) return fmi3Error;
    if ((nUnknowns && (!unknowns || !sensitivity)) || (nKnowns && (!knowns || !seed)))
        return missing(m, DIRECTIONAL_DERIVATIVE);
    if (!pair(m, DIRECTIONAL_DERIVATIVE, unknowns, nUnknowns, nSensitivity, knowns, nKnowns, nSeed, all))
        return fmi3Error;
    return STATUS[core_derive(&m->core, all[0], nSensitivity, all[1], nSeed, seed, sensitivity)];
}

/* The product of the transposed Jacobian with the seed: a directional derivative for each element of the knowns. */
fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t nUnknowns,
                                    const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[],
                                    size_t nSeed, fmi3Float64 sensitivity[], size_t nSensitivity) {
    struct component *m = enter(instance, ADJOINT_DERIVATIVE);
    const unsigned int *all[2];
    const double one = 1;
    if (!m) return fmi3Error;
    if ((nUnknowns && (!unknowns || !seed)) || (nKnowns && (!knowns || !sensitivity)))
        return missing(m, ADJOINT_DERIVATIVE);
    if (!pair(m, ADJOINT_DERIVATIVE, unknowns, nUnknowns, nSeed, knowns, nKnowns, nSensitivity, all)) return fmi3Error;
    if (nSeed > N_VARIABLES)
        return refuse(m, "%s: %lu unknowns at once, and the FMU has %d", CALLS[ADJOINT_DERIVATIVE].name,
                      (unsigned long)nSeed, N_VARIABLES);
    for (size_t j = 0; j < nSensitivity; ++j) {
        const enum outcome outcome = core_derive(&m->core, all[0], nSeed, all[1] + j, 1, &one, m->effects);
        if (outcome != DONE) return STATUS[outcome];
        sensitivity[j] = 0;
        for (size_t i = 0; i < nSeed; ++i) sensitivity[j] += seed[i] * m->effects[i];
    }
    return fmi3OK;
}

/* -- state -------------------------------------------------------------------------------------------------------- */

fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *FMUState) {
    struct component *m = enter(instance, GET_STATE);
    if (!m) return fmi3Error;
    if (!FMUState) return missing(m, GET_STATE);
    struct saved *saved = *FMUState;
    const enum outcome outcome = core_save(&m->core, &saved);
    *FMUState = saved;
    return STATUS[outcome];
}

fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState FMUState) {
    struct component *m = enter(instance, SET_STATE);
    if (!m) return fmi3Error;
    if (!FMUState) return missing(m, SET_STATE);
    return STATUS[core_restore(&m->core, FMUState)];
}

fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *FMUState) {
    struct component *m = enter(instance, FREE_STATE);
    if (!m) return fmi3Error;
    if (!FMUState || !*FMUState) return fmi3OK;
    const enum outcome outcome = core_forget(&m->core, *FMUState);
    if (outcome == DONE) *FMUState = 0;
    return STATUS[outcome];
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState FMUState, size_t *size) {
    struct component *m = enter(instance, STATE_SIZE);
    if (!m) return fmi3Error;
    if (!FMUState || !size) return missing(m, STATE_SIZE);
    *size = core_state_size();
    return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState FMUState, fmi3Byte serializedState[],
                                 size_t size) {
    struct component *m = enter(instance, SERIALIZE);
    if (!m) return fmi3Error;
    if (!FMUState || !serializedState) return missing(m, SERIALIZE);
    return STATUS[core_serialise(&m->core, FMUState, (char *)serializedState, size)];
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte serializedState[], size_t size,
                                   fmi3FMUState *FMUState) {
    struct component *m = enter(instance, DESERIALIZE);
    struct saved *saved = 0;
    if (!m) return fmi3Error;
    if (!serializedState || !FMUState) return missing(m, DESERIALIZE);
    const enum outcome outcome = core_deserialise(&m->core, (const char *)serializedState, size, &saved);
    if (outcome == DONE) *FMUState = saved;
    return STATUS[outcome];
}

/* -- functions of which this FMU has no use ----------------------------------------------------------------------- */

static fmi3Status useless(fmi3Instance instance, const char *call, const char *why) {
    struct component *m = instance;
    return m ? refuse(m, "%s: %s", call, why) : fmi3Error;
}

static const char SHAPED[] = "no dimension of an array is a parameter";
static const char OTHER_KIND[] = "this instance is for " KIND;

fmi3Status fmi3EnterConfigurationMode(fmi3Instance instance) {
    return useless(instance, "fmi3EnterConfigurationMode", SHAPED);
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance instance) {
    return useless(instance, "fmi3ExitConfigurationMode", SHAPED);
}

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance) {
    return useless(instance, "fmi3EvaluateDiscreteStates", "providesEvaluateDiscreteStates is false");
}

#ifdef EXCHANGE
fmi3Status fmi3EnterStepMode(fmi3Instance instance) { return useless(instance, "fmi3EnterStepMode", OTHER_KIND); }

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 currentCommunicationPoint, fmi3Float64 communicationStepSize,
                      fmi3Boolean noSetFMUStatePriorToCurrentPoint, fmi3Boolean *eventHandlingNeeded,
                      fmi3Boolean *terminateSimulation, fmi3Boolean *earlyReturn, fmi3Float64 *lastSuccessfulTime) {
    (void)currentCommunicationPoint, (void)communicationStepSize, (void)noSetFMUStatePriorToCurrentPoint;
    (void)eventHandlingNeeded, (void)terminateSimulation, (void)earlyReturn, (void)lastSuccessfulTime;
    return useless(instance, "fmi3DoStep", OTHER_KIND);
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                    size_t nValueReferences, const fmi3Int32 orders[], fmi3Float64 values[],
                                    size_t nValues) {
    (void)valueReferences, (void)nValueReferences, (void)orders, (void)values, (void)nValues;
    return useless(instance, "fmi3GetOutputDerivatives", OTHER_KIND);
}

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance) {
    return change_phase(instance, ENTER_CONTINUOUS_TIME_MODE, RUNNING);
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi3Boolean *enterEventMode, fmi3Boolean *terminateSimulation) {
    struct component *m = enter(instance, COMPLETED_INTEGRATOR_STEP);
    int wanted = 0;
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!m) return fmi3Error;
    if (!enterEventMode || !terminateSimulation) return missing(m, COMPLETED_INTEGRATOR_STEP);
    const enum outcome outcome = core_accept(&m->core, &wanted);
    *enterEventMode = wanted != 0;
    *terminateSimulation = fmi3False;
    return STATUS[outcome];
}

fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time) {
    struct component *m = enter(instance, SET_TIME);
    return m ? STATUS[core_at(&m->core, time)] : fmi3Error;
}

fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 continuousStates[],
                                   size_t nContinuousStates) {
    struct component *m = enter(instance, SET_CONTINUOUS_STATES);
    if (!m) return fmi3Error;
    if (nContinuousStates && !continuousStates) return missing(m, SET_CONTINUOUS_STATES);
    return STATUS[core_set_states(&m->core, continuousStates, nContinuousStates)];
}

/* Call one of the functions that fill a vector. */
static fmi3Status fill(fmi3Instance instance, enum call which, enum outcome (*found)(struct core *, double *, size_t),
                       double values[], size_t n) {
    struct component *m = enter(instance, which);
    if (!m) return fmi3Error;
    if (n && !values) return missing(m, which);
    return STATUS[found(&m->core, values, n)];
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 derivatives[],
                                             size_t nContinuousStates) {
    return fill(instance, GET_DERIVATIVES, core_get_state_rates, derivatives, nContinuousStates);
}

fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 eventIndicators[], size_t nEventIndicators) {
    return fill(instance, GET_EVENT_INDICATORS, core_get_indicators, eventIndicators, nEventIndicators);
}

fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 continuousStates[], size_t nContinuousStates) {
    return fill(instance, GET_CONTINUOUS_STATES, core_get_states, continuousStates, nContinuousStates);
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 nominals[],
                                             size_t nContinuousStates) {
    return fill(instance, GET_NOMINALS, core_get_nominals, nominals, nContinuousStates);
}

static fmi3Status count(fmi3Instance instance, enum call which, size_t number, size_t *found) {
    struct component *m = enter(instance, which);
    if (!m) return fmi3Error;
    if (!found) return missing(m, which);
    *found = number;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *nEventIndicators) {
    return count(instance, COUNT_INDICATORS, N_INDICATORS, nEventIndicators);
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *nContinuousStates) {
    return count(instance, COUNT_STATES, N_STATES, nContinuousStates);
}

#else
fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance) {
    return useless(instance, "fmi3EnterContinuousTimeMode", OTHER_KIND);
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi3Boolean *enterEventMode, fmi3Boolean *terminateSimulation) {
    (void)noSetFMUStatePriorToCurrentPoint, (void)enterEventMode, (void)terminateSimulation;
    return useless(instance, "fmi3CompletedIntegratorStep", OTHER_KIND);
}

fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time) {
    (void)time;
    return useless(instance, "fmi3SetTime", OTHER_KIND);
}

fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 continuousStates[],
                                   size_t nContinuousStates) {
    (void)continuousStates, (void)nContinuousStates;
    return useless(instance, "fmi3SetContinuousStates", OTHER_KIND);
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 derivatives[],
                                             size_t nContinuousStates) {
    (void)derivatives, (void)nContinuousStates;
    return useless(instance, "fmi3GetContinuousStateDerivatives", OTHER_KIND);
}

fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 eventIndicators[], size_t nEventIndicators) {
    (void)eventIndicators, (void)nEventIndicators;
    return useless(instance, "fmi3GetEventIndicators", OTHER_KIND);
}

fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 continuousStates[], size_t nContinuousStates) {
    (void)continuousStates, (void)nContinuousStates;
    return useless(instance, "fmi3GetContinuousStates", OTHER_KIND);
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 nominals[],
                                             size_t nContinuousStates) {
    (void)nominals, (void)nContinuousStates;
    return useless(instance, "fmi3GetNominalsOfContinuousStates", OTHER_KIND);
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *nEventIndicators) {
    (void)nEventIndicators;
    return useless(instance, "fmi3GetNumberOfEventIndicators", OTHER_KIND);
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *nContinuousStates) {
    (void)nContinuousStates;
    return useless(instance, "fmi3GetNumberOfContinuousStates", OTHER_KIND);
}
#endif

fmi3Status fmi3ActivateModelPartition(fmi3Instance instance, fmi3ValueReference clockReference,
                                      fmi3Float64 activationTime) {
    (void)clockReference, (void)activationTime;
    return useless(instance, "fmi3ActivateModelPartition",
                   "it belongs to scheduled execution, and this instance is for " KIND);
}
