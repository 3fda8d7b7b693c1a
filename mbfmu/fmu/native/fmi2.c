/* The functions of FMI 2.0 for co-simulation, or with EXCHANGE for model exchange, and when each may be called; core.c
 * and exchange.c do the work. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "categories.h"
#include "core.h"

#include "fmi2Functions.h"
#include "prefix.h"

/* Phases in which each function may be called (FMI 2.0.4, tables in 3.2.3 and 4.2.4); a discarded step changes nothing. */
#define LIVE (RUNNING | AT_EVENT)
enum call {
    SET_DEBUG_LOGGING, SETUP_EXPERIMENT, ENTER_INITIALIZATION_MODE, EXIT_INITIALIZATION_MODE, TERMINATE, RESET,
    GET_REAL, GET_INTEGER, GET_BOOLEAN, GET_STRING, SET_REAL, SET_INTEGER, SET_BOOLEAN, SET_STRING, GET_STATE,
    SET_STATE, FREE_STATE, STATE_SIZE, SERIALIZE, DESERIALIZE, DIRECTIONAL_DERIVATIVE, INPUT_DERIVATIVES,
    OUTPUT_DERIVATIVES, DO_STEP, CANCEL_STEP, GET_STATUS, GET_REAL_STATUS, GET_INTEGER_STATUS, GET_BOOLEAN_STATUS,
    GET_STRING_STATUS, ENTER_EVENT_MODE, NEW_DISCRETE_STATES, ENTER_CONTINUOUS_TIME_MODE, COMPLETED_INTEGRATOR_STEP,
    SET_TIME, SET_CONTINUOUS_STATES, GET_DERIVATIVES, GET_EVENT_INDICATORS, GET_CONTINUOUS_STATES, GET_NOMINALS
};
static const struct {
    const char *name;
    int phases;
} CALLS[] = {
    [SET_DEBUG_LOGGING] = {"fmi2SetDebugLogging", ANY},
    [SETUP_EXPERIMENT] = {"fmi2SetupExperiment", INSTANTIATED},
    [ENTER_INITIALIZATION_MODE] = {"fmi2EnterInitializationMode", INSTANTIATED},
    [EXIT_INITIALIZATION_MODE] = {"fmi2ExitInitializationMode", INITIALISING},
    [TERMINATE] = {"fmi2Terminate", LIVE},
    [RESET] = {"fmi2Reset", ANY},
    [GET_REAL] = {"fmi2GetReal", INITIALISING | LIVE | TERMINATED},
    [GET_INTEGER] = {"fmi2GetInteger", INITIALISING | LIVE | TERMINATED},
    [GET_BOOLEAN] = {"fmi2GetBoolean", INITIALISING | LIVE | TERMINATED},
    [GET_STRING] = {"fmi2GetString", INITIALISING | LIVE | TERMINATED},
    [SET_REAL] = {"fmi2SetReal", INSTANTIATED | INITIALISING | LIVE},
    [SET_INTEGER] = {"fmi2SetInteger", INSTANTIATED | INITIALISING | LIVE},
    [SET_BOOLEAN] = {"fmi2SetBoolean", INSTANTIATED | INITIALISING | LIVE},
    [SET_STRING] = {"fmi2SetString", INSTANTIATED | INITIALISING | LIVE},
    [GET_STATE] = {"fmi2GetFMUstate", ANY},
    [SET_STATE] = {"fmi2SetFMUstate", ANY},
    [FREE_STATE] = {"fmi2FreeFMUstate", ANY},
    [STATE_SIZE] = {"fmi2SerializedFMUstateSize", ANY},
    [SERIALIZE] = {"fmi2SerializeFMUstate", ANY},
    [DESERIALIZE] = {"fmi2DeSerializeFMUstate", ANY},
    [DIRECTIONAL_DERIVATIVE] = {"fmi2GetDirectionalDerivative", INITIALISING | LIVE | TERMINATED},
    [INPUT_DERIVATIVES] = {"fmi2SetRealInputDerivatives", INSTANTIATED | INITIALISING | RUNNING},
    [OUTPUT_DERIVATIVES] = {"fmi2GetRealOutputDerivatives", RUNNING | TERMINATED},
    [DO_STEP] = {"fmi2DoStep", RUNNING},
    [CANCEL_STEP] = {"fmi2CancelStep", 0}, /* no step is ever in progress */
    [GET_STATUS] = {"fmi2GetStatus", RUNNING | TERMINATED},
    [GET_REAL_STATUS] = {"fmi2GetRealStatus", RUNNING | TERMINATED},
    [GET_INTEGER_STATUS] = {"fmi2GetIntegerStatus", RUNNING | TERMINATED},
    [GET_BOOLEAN_STATUS] = {"fmi2GetBooleanStatus", RUNNING | TERMINATED},
    [GET_STRING_STATUS] = {"fmi2GetStringStatus", RUNNING | TERMINATED},
    [ENTER_EVENT_MODE] = {"fmi2EnterEventMode", RUNNING},
    [NEW_DISCRETE_STATES] = {"fmi2NewDiscreteStates", AT_EVENT},
    [ENTER_CONTINUOUS_TIME_MODE] = {"fmi2EnterContinuousTimeMode", AT_EVENT},
    [COMPLETED_INTEGRATOR_STEP] = {"fmi2CompletedIntegratorStep", RUNNING},
    [SET_TIME] = {"fmi2SetTime", LIVE},
    [SET_CONTINUOUS_STATES] = {"fmi2SetContinuousStates", RUNNING},
    [GET_DERIVATIVES] = {"fmi2GetDerivatives", INITIALISING | LIVE | TERMINATED},
    [GET_EVENT_INDICATORS] = {"fmi2GetEventIndicators", INITIALISING | LIVE | TERMINATED},
    [GET_CONTINUOUS_STATES] = {"fmi2GetContinuousStates", INITIALISING | LIVE | TERMINATED},
    [GET_NOMINALS] = {"fmi2GetNominalsOfContinuousStates", INITIALISING | LIVE | TERMINATED},
};

/* The master's name for an instance, its functions and its choices. */
struct master {
    fmi2CallbackFunctions callbacks;
    const char *name; /* name of the instance */
    int categories;   /* bits of the categories to log */
};

struct component {
    struct core core;
    struct master master;
};

static const fmi2Status STATUS[] = {
    [DONE] = fmi2OK, [NOTED] = fmi2Warning, [DISCARDED] = fmi2Discard, [REFUSED] = fmi2Error};

/* -- the master -------------------------------------------------------------------------------------------------- */

/* The logger's message is a format of printf, so a percent sign is doubled. */
static void tell(void *who, enum outcome severity, const char *text) {
    const struct master *master = who;
    char doubled[2 * LONGEST_TEXT], *end = doubled;
    if (!master->callbacks.logger || !is_wanted(master->categories, severity)) return;
    for (const char *c = text; *c; ++c) {
        if (*c == '%') *end++ = '%';
        *end++ = *c;
    }
    *end = 0;
    master->callbacks.logger(master->callbacks.componentEnvironment, master->name, STATUS[severity],
                             CATEGORIES[category_of(severity)], doubled);
}

static void *allocate(void *who, size_t size) {
    const fmi2CallbackFunctions *callbacks = &((const struct master *)who)->callbacks;
    if (!callbacks->allocateMemory || !callbacks->freeMemory) return calloc(1, size);
    void *block = callbacks->allocateMemory(1, size);
    return block ? memset(block, 0, size) : 0;
}

static void release(void *who, void *block) {
    const fmi2CallbackFunctions *callbacks = &((const struct master *)who)->callbacks;
    if (callbacks->allocateMemory && callbacks->freeMemory)
        callbacks->freeMemory(block);
    else
        free(block);
}

#ifdef EXCHANGE
#define STEPS_OR_TIME "in the continuous-time mode"
#else
#define STEPS_OR_TIME "after the initialisation"
#endif

/* The instance of a call, if it may be made now. */
static struct component *enter(fmi2Component c, enum call which) {
    struct component *m = c;
    if (!m || (m->core.now.phase & CALLS[which].phases)) return m;
    const int64_t phase = m->core.now.phase;
#ifndef EXCHANGE
    if (which == DO_STEP && !core_may_step(&m->core, REFUSED)) return 0;
#endif
    core_say(&m->core.host, REFUSED, "%s may not be called %s", CALLS[which].name,
             phase == INSTANTIATED   ? "before the initialisation mode"
             : phase == INITIALISING ? "in the initialisation mode"
             : phase == RUNNING      ? STEPS_OR_TIME
             : phase == AT_EVENT     ? "in the event mode"
                                     : "after fmi2Terminate");
    return 0;
}

static fmi2Status missing(struct component *m, enum call which) {
    return STATUS[core_say(&m->core.host, REFUSED, "%s: an argument is NULL", CALLS[which].name)];
}

/* -- life cycle -------------------------------------------------------------------------------------------------- */

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }

const char *fmi2GetVersion(void) { return fmi2Version; }

fmi2Component fmi2Instantiate(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                              fmi2String fmuResourceLocation, const fmi2CallbackFunctions *functions,
                              fmi2Boolean visible, fmi2Boolean loggingOn) {
    (void)fmuResourceLocation, (void)visible;
    if (!functions) return 0;
    struct master master = {*functions, instanceName ? instanceName : "", ALL_CATEGORIES};
    struct host host = {&master, tell, allocate, release};
    double settings[N_SETTINGS];
    if (!instanceName || !*instanceName) {
        core_say(&host, REFUSED, "an instance needs a name");
        return 0;
    }
#ifdef EXCHANGE
    const int served = fmuType == fmi2ModelExchange;
#else
    const int served = fmuType == fmi2CoSimulation;
#endif
    if (!served) {
        core_say(&host, REFUSED, "this binary is not for %s",
                 fmuType == fmi2CoSimulation ? "co-simulation" : "model exchange");
        return 0;
    }
    if (!fmuGUID || !core_read_guid(fmuGUID, settings)) {
        core_say(&host, REFUSED, "the GUID is %s and not {%s-...}: modelDescription.xml belongs to another FMU",
                 fmuGUID ? fmuGUID : "NULL", MODEL_CODE);
        return 0;
    }
    const size_t length = strlen(instanceName) + 1;
    struct component *m = allocate(&master, sizeof *m + length);
    if (!m) {
        core_say(&host, REFUSED, "the master gave no memory");
        return 0;
    }
    m->master = master;
    m->master.name = memcpy(m + 1, instanceName, length);
    if (!loggingOn) m->master.categories = 0;
    host.who = &m->master;
    core_open(&m->core, &host, settings);
    return m;
}

void fmi2FreeInstance(fmi2Component c) {
    struct component *m = c;
    if (m) {
        struct master master = m->master;
        release(&master, m);
    }
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                               const fmi2String categories[]) {
    struct component *m = enter(c, SET_DEBUG_LOGGING);
    if (!m) return fmi2Error;
    if (nCategories && !categories) return missing(m, SET_DEBUG_LOGGING);
    const int chosen = chosen_categories(&m->core.host, nCategories, categories);
    if (chosen < 0) return fmi2Error;
    m->master.categories = loggingOn ? chosen : 0;
    return fmi2OK;
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance, fmi2Real startTime,
                               fmi2Boolean stopTimeDefined, fmi2Real stopTime) {
    struct component *m = enter(c, SETUP_EXPERIMENT);
    (void)toleranceDefined, (void)tolerance;
    if (!m) return fmi2Error;
    core_stop_at(&m->core, stopTimeDefined ? stopTime : INFINITY);
    return STATUS[core_start_at(&m->core, startTime)];
}

static fmi2Status change_phase(fmi2Component c, enum call which, enum phase phase) {
    struct component *m = enter(c, which);
    return m ? STATUS[core_enter(&m->core, phase)] : fmi2Error;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    return change_phase(c, ENTER_INITIALIZATION_MODE, INITIALISING);
}

#ifdef EXCHANGE
#define STARTED AT_EVENT
#else
#define STARTED RUNNING
#endif

fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return change_phase(c, EXIT_INITIALIZATION_MODE, STARTED); }

fmi2Status fmi2Terminate(fmi2Component c) { return change_phase(c, TERMINATE, TERMINATED); }

fmi2Status fmi2Reset(fmi2Component c) {
    struct component *m = enter(c, RESET);
    if (!m) return fmi2Error;
    core_reset(&m->core);
    return fmi2OK;
}

/* -- values ------------------------------------------------------------------------------------------------------ */

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Real value[]) {
    struct component *m = enter(c, GET_REAL);
    if (!m) return fmi2Error;
    if (nvr && (!vr || !value)) return missing(m, GET_REAL);
    return STATUS[core_get(&m->core, vr, nvr, value)];
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Real value[]) {
    struct component *m = enter(c, SET_REAL);
    if (!m) return fmi2Error;
    if (nvr && (!vr || !value)) return missing(m, SET_REAL);
    return STATUS[core_set(&m->core, vr, nvr, value)];
}

static fmi2Status get_whole(fmi2Component c, enum call which, enum type type, const fmi2ValueReference vr[],
                            size_t nvr, int value[]) {
    struct component *m = enter(c, which);
    if (!m) return fmi2Error;
    if (nvr && (!vr || !value)) return missing(m, which);
    return STATUS[core_get_whole(&m->core, type, vr, nvr, value)];
}

static fmi2Status set_whole(fmi2Component c, enum call which, enum type type, const fmi2ValueReference vr[],
                            size_t nvr, const int value[]) {
    struct component *m = enter(c, which);
    if (!m) return fmi2Error;
    if (nvr && (!vr || !value)) return missing(m, which);
    return STATUS[core_set_whole(&m->core, type, vr, nvr, value)];
}

fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Integer value[]) {
    return get_whole(c, GET_INTEGER, INTEGER, vr, nvr, value);
}

fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Boolean value[]) {
    return get_whole(c, GET_BOOLEAN, BOOLEAN, vr, nvr, value);
}

fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Integer value[]) {
    return set_whole(c, SET_INTEGER, INTEGER, vr, nvr, value);
}

fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Boolean value[]) {
    return set_whole(c, SET_BOOLEAN, BOOLEAN, vr, nvr, value);
}

static fmi2Status no_text(fmi2Component c, enum call which, size_t nvr) {
    struct component *m = enter(c, which);
    if (!m) return fmi2Error;
    return nvr ? STATUS[core_say(&m->core.host, REFUSED, "no variable is of type String")] : fmi2OK;
}

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2String value[]) {
    (void)vr, (void)value;
    return no_text(c, GET_STRING, nvr);
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2String value[]) {
    (void)vr, (void)value;
    return no_text(c, SET_STRING, nvr);
}

#ifdef EXCHANGE
/* -- model exchange ---------------------------------------------------------------------------------------------- */

fmi2Status fmi2EnterEventMode(fmi2Component c) { return change_phase(c, ENTER_EVENT_MODE, AT_EVENT); }

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) {
    return change_phase(c, ENTER_CONTINUOUS_TIME_MODE, RUNNING);
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info) {
    struct component *m = enter(c, NEW_DISCRETE_STATES);
    struct update done;
    if (!m) return fmi2Error;
    if (!info) return missing(m, NEW_DISCRETE_STATES);
    const enum outcome outcome = core_update(&m->core, &done);
    if (outcome != DONE) return STATUS[outcome];
    info->newDiscreteStatesNeeded = info->terminateSimulation = info->nominalsOfContinuousStatesChanged = fmi2False;
    info->valuesOfContinuousStatesChanged = done.changed;
    info->nextEventTimeDefined = done.next < INFINITY;
    info->nextEventTime = info->nextEventTimeDefined ? done.next : 0;
    return fmi2OK;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi2Boolean *enterEventMode, fmi2Boolean *terminateSimulation) {
    struct component *m = enter(c, COMPLETED_INTEGRATOR_STEP);
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!m) return fmi2Error;
    if (!enterEventMode || !terminateSimulation) return missing(m, COMPLETED_INTEGRATOR_STEP);
    *terminateSimulation = fmi2False;
    return STATUS[core_accept(&m->core, enterEventMode)];
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time) {
    struct component *m = enter(c, SET_TIME);
    return m ? STATUS[core_at(&m->core, time)] : fmi2Error;
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx) {
    struct component *m = enter(c, SET_CONTINUOUS_STATES);
    if (!m) return fmi2Error;
    if (nx && !x) return missing(m, SET_CONTINUOUS_STATES);
    return STATUS[core_set_states(&m->core, x, nx)];
}

/* Call one of the functions that fill a vector. */
static fmi2Status fill(fmi2Component c, enum call which, enum outcome (*found)(struct core *, double *, size_t),
                       double values[], size_t n) {
    struct component *m = enter(c, which);
    if (!m) return fmi2Error;
    if (n && !values) return missing(m, which);
    return STATUS[found(&m->core, values, n)];
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t nx) {
    return fill(c, GET_DERIVATIVES, core_get_state_rates, derivatives, nx);
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real eventIndicators[], size_t ni) {
    return fill(c, GET_EVENT_INDICATORS, core_get_indicators, eventIndicators, ni);
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx) {
    return fill(c, GET_CONTINUOUS_STATES, core_get_states, x, nx);
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x_nominal[], size_t nx) {
    return fill(c, GET_NOMINALS, core_get_nominals, x_nominal, nx);
}

#else
/* -- steps ------------------------------------------------------------------------------------------------------- */

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint, fmi2Real communicationStepSize,
                      fmi2Boolean noSetFMUStatePriorToCurrentPoint) {
    struct component *m = enter(c, DO_STEP);
    (void)noSetFMUStatePriorToCurrentPoint;
    return m ? STATUS[core_step(&m->core, currentCommunicationPoint, communicationStepSize)] : fmi2Error;
}

fmi2Status fmi2CancelStep(fmi2Component c) {
    enter(c, CANCEL_STEP);
    return fmi2Error;
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind s, fmi2Status *value) {
    struct component *m = enter(c, GET_STATUS);
    if (!m) return fmi2Error;
    if (!value) return missing(m, GET_STATUS);
    if (s != fmi2DoStepStatus) return fmi2Discard;
    *value = STATUS[m->core.now.last];
    return fmi2OK;
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind s, fmi2Real *value) {
    struct component *m = enter(c, GET_REAL_STATUS);
    if (!m) return fmi2Error;
    if (!value) return missing(m, GET_REAL_STATUS);
    if (s != fmi2LastSuccessfulTime) return fmi2Discard;
    *value = m->core.now.time;
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind s, fmi2Integer *value) {
    struct component *m = enter(c, GET_INTEGER_STATUS);
    (void)s;
    if (!m) return fmi2Error;
    return value ? fmi2Discard : missing(m, GET_INTEGER_STATUS);
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value) {
    struct component *m = enter(c, GET_BOOLEAN_STATUS);
    if (!m) return fmi2Error;
    if (!value) return missing(m, GET_BOOLEAN_STATUS);
    if (s != fmi2Terminated) return fmi2Discard;
    if (m->core.now.last != DONE) return fmi2Discard; /* after false FMPy would try the same step again, forever */
    *value = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind s, fmi2String *value) {
    struct component *m = enter(c, GET_STRING_STATUS);
    if (!m) return fmi2Error;
    if (!value) return missing(m, GET_STRING_STATUS);
    if (s != fmi2PendingStatus) return fmi2Discard;
    *value = "";
    return fmi2OK;
}


fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real value[]) {
    struct component *m = enter(c, INPUT_DERIVATIVES);
    if (!m) return fmi2Error;
    if (nvr && (!vr || !order || !value)) return missing(m, INPUT_DERIVATIVES);
    return STATUS[core_set_rates(&m->core, vr, nvr, order, value)];
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real value[]) {
    struct component *m = enter(c, OUTPUT_DERIVATIVES);
    if (!m) return fmi2Error;
    if (nvr && (!vr || !order || !value)) return missing(m, OUTPUT_DERIVATIVES);
    return STATUS[core_get_rates(&m->core, vr, nvr, order, value)];
}
#endif

/* -- derivatives ------------------------------------------------------------------------------------------------- */

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference vUnknown_ref[], size_t nUnknown,
                                        const fmi2ValueReference vKnown_ref[], size_t nKnown,
                                        const fmi2Real dvKnown[], fmi2Real dvUnknown[]) {
    struct component *m = enter(c, DIRECTIONAL_DERIVATIVE);
    if (!m) return fmi2Error;
    if ((nUnknown && (!vUnknown_ref || !dvUnknown)) || (nKnown && (!vKnown_ref || !dvKnown)))
        return missing(m, DIRECTIONAL_DERIVATIVE);
    return STATUS[core_derive(&m->core, vUnknown_ref, nUnknown, vKnown_ref, nKnown, dvKnown, dvUnknown)];
}

/* -- state ------------------------------------------------------------------------------------------------------- */

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *FMUstate) {
    struct component *m = enter(c, GET_STATE);
    if (!m) return fmi2Error;
    if (!FMUstate) return missing(m, GET_STATE);
    struct saved *saved = *FMUstate;
    const enum outcome outcome = core_save(&m->core, &saved);
    *FMUstate = saved;
    return STATUS[outcome];
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate FMUstate) {
    struct component *m = enter(c, SET_STATE);
    if (!m) return fmi2Error;
    if (!FMUstate) return missing(m, SET_STATE);
    return STATUS[core_restore(&m->core, FMUstate)];
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *FMUstate) {
    struct component *m = enter(c, FREE_STATE);
    if (!m) return fmi2Error;
    if (!FMUstate || !*FMUstate) return fmi2OK;
    const enum outcome outcome = core_forget(&m->core, *FMUstate);
    if (outcome == DONE) *FMUstate = 0;
    return STATUS[outcome];
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate FMUstate, size_t *size) {
    struct component *m = enter(c, STATE_SIZE);
    if (!m) return fmi2Error;
    if (!FMUstate || !size) return missing(m, STATE_SIZE);
    *size = core_state_size();
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate FMUstate, fmi2Byte bytes[], size_t size) {
    struct component *m = enter(c, SERIALIZE);
    if (!m) return fmi2Error;
    if (!FMUstate || !bytes) return missing(m, SERIALIZE);
    return STATUS[core_serialise(&m->core, FMUstate, bytes, size)];
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *FMUstate) {
    struct component *m = enter(c, DESERIALIZE);
    struct saved *saved = 0;
    if (!m) return fmi2Error;
    if (!bytes || !FMUstate) return missing(m, DESERIALIZE);
    const enum outcome outcome = core_deserialise(&m->core, bytes, size, &saved);
    if (outcome == DONE) *FMUstate = saved;
    return STATUS[outcome];
}
