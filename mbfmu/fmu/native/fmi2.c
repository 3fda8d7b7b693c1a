/* The functions of FMI 2.0 for co-simulation, and when each may be called; core.c does the work. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

#include "fmi2Functions.h"
#include "prefix.h"

/* Phases in which each function may be called (FMI 2.0.4, table in 4.2.4); a discarded step changes nothing. */
enum call {
    SET_DEBUG_LOGGING, SETUP_EXPERIMENT, ENTER_INITIALIZATION_MODE, EXIT_INITIALIZATION_MODE, TERMINATE, RESET,
    GET_REAL, GET_INTEGER, GET_BOOLEAN, GET_STRING, SET_REAL, SET_INTEGER, SET_BOOLEAN, SET_STRING, GET_STATE,
    SET_STATE, FREE_STATE, STATE_SIZE, SERIALIZE, DESERIALIZE, DIRECTIONAL_DERIVATIVE, INPUT_DERIVATIVES,
    OUTPUT_DERIVATIVES, DO_STEP, CANCEL_STEP, GET_STATUS, GET_REAL_STATUS, GET_INTEGER_STATUS, GET_BOOLEAN_STATUS,
    GET_STRING_STATUS
};
static const struct {
    const char *name;
    int phases;
} CALLS[] = {
    [SET_DEBUG_LOGGING] = {"fmi2SetDebugLogging", ANY},
    [SETUP_EXPERIMENT] = {"fmi2SetupExperiment", INSTANTIATED},
    [ENTER_INITIALIZATION_MODE] = {"fmi2EnterInitializationMode", INSTANTIATED},
    [EXIT_INITIALIZATION_MODE] = {"fmi2ExitInitializationMode", INITIALISING},
    [TERMINATE] = {"fmi2Terminate", RUNNING},
    [RESET] = {"fmi2Reset", ANY},
    [GET_REAL] = {"fmi2GetReal", INITIALISING | RUNNING | TERMINATED},
    [GET_INTEGER] = {"fmi2GetInteger", INITIALISING | RUNNING | TERMINATED},
    [GET_BOOLEAN] = {"fmi2GetBoolean", INITIALISING | RUNNING | TERMINATED},
    [GET_STRING] = {"fmi2GetString", INITIALISING | RUNNING | TERMINATED},
    [SET_REAL] = {"fmi2SetReal", INSTANTIATED | INITIALISING | RUNNING},
    [SET_INTEGER] = {"fmi2SetInteger", INSTANTIATED | INITIALISING | RUNNING},
    [SET_BOOLEAN] = {"fmi2SetBoolean", INSTANTIATED | INITIALISING | RUNNING},
    [SET_STRING] = {"fmi2SetString", INSTANTIATED | INITIALISING | RUNNING},
    [GET_STATE] = {"fmi2GetFMUstate", ANY},
    [SET_STATE] = {"fmi2SetFMUstate", ANY},
    [FREE_STATE] = {"fmi2FreeFMUstate", ANY},
    [STATE_SIZE] = {"fmi2SerializedFMUstateSize", ANY},
    [SERIALIZE] = {"fmi2SerializeFMUstate", ANY},
    [DESERIALIZE] = {"fmi2DeSerializeFMUstate", ANY},
    [DIRECTIONAL_DERIVATIVE] = {"fmi2GetDirectionalDerivative", INITIALISING | RUNNING | TERMINATED},
    [INPUT_DERIVATIVES] = {"fmi2SetRealInputDerivatives", INSTANTIATED | INITIALISING | RUNNING},
    [OUTPUT_DERIVATIVES] = {"fmi2GetRealOutputDerivatives", RUNNING | TERMINATED},
    [DO_STEP] = {"fmi2DoStep", RUNNING},
    [CANCEL_STEP] = {"fmi2CancelStep", 0}, /* no step is ever in progress */
    [GET_STATUS] = {"fmi2GetStatus", RUNNING | TERMINATED},
    [GET_REAL_STATUS] = {"fmi2GetRealStatus", RUNNING | TERMINATED},
    [GET_INTEGER_STATUS] = {"fmi2GetIntegerStatus", RUNNING | TERMINATED},
    [GET_BOOLEAN_STATUS] = {"fmi2GetBooleanStatus", RUNNING | TERMINATED},
    [GET_STRING_STATUS] = {"fmi2GetStringStatus", RUNNING | TERMINATED},
};

enum { LOG_WARNING, LOG_DISCARD, LOG_ERROR, LOG_ALL, N_CATEGORIES };
static const char *const CATEGORIES[] = {"logStatusWarning", "logStatusDiscard", "logStatusError", "logAll"};

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
    const int category = severity == NOTED ? LOG_WARNING : severity == DISCARDED ? LOG_DISCARD : LOG_ERROR;
    char doubled[2 * LONGEST_TEXT], *end = doubled;
    if (!master->callbacks.logger || !(master->categories & (1 << category | 1 << LOG_ALL))) return;
    for (const char *c = text; *c; ++c) {
        if (*c == '%') *end++ = '%';
        *end++ = *c;
    }
    *end = 0;
    master->callbacks.logger(master->callbacks.componentEnvironment, master->name, STATUS[severity],
                             CATEGORIES[category], doubled);
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

/* The instance of a call, if it may be made now. */
static struct component *enter(fmi2Component c, enum call which) {
    struct component *m = c;
    if (!m || (m->core.now.phase & CALLS[which].phases)) return m;
    const int64_t phase = m->core.now.phase;
    if (which == DO_STEP && phase < RUNNING)
        core_say(&m->core.host, REFUSED, "a step before the initialisation is finished");
    else
        core_say(&m->core.host, REFUSED, "%s may not be called %s", CALLS[which].name,
                 phase == INSTANTIATED   ? "before the initialisation mode"
                 : phase == INITIALISING ? "in the initialisation mode"
                 : phase == RUNNING      ? "after the initialisation"
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
    struct master master = {*functions, instanceName ? instanceName : "", (1 << N_CATEGORIES) - 1};
    struct host host = {&master, tell, allocate, release};
    double settings[N_SETTINGS];
    if (!instanceName || !*instanceName) {
        core_say(&host, REFUSED, "an instance needs a name");
        return 0;
    }
    if (fmuType != fmi2CoSimulation) {
        core_say(&host, REFUSED, "this FMU is for co-simulation only");
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
    int chosen = nCategories ? 0 : (1 << N_CATEGORIES) - 1;
    if (!m) return fmi2Error;
    if (nCategories && !categories) return missing(m, SET_DEBUG_LOGGING);
    for (size_t i = 0; i < nCategories; ++i) {
        int k = 0;
        while (k < N_CATEGORIES && (!categories[i] || strcmp(categories[i], CATEGORIES[k]) != 0)) ++k;
        if (k == N_CATEGORIES)
            return STATUS[core_say(&m->core.host, REFUSED, "there is no log category '%.200s'",
                                   categories[i] ? categories[i] : "NULL")];
        chosen |= 1 << k;
    }
    m->master.categories = loggingOn ? chosen : 0;
    return fmi2OK;
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance, fmi2Real startTime,
                               fmi2Boolean stopTimeDefined, fmi2Real stopTime) {
    struct component *m = enter(c, SETUP_EXPERIMENT);
    (void)toleranceDefined, (void)tolerance, (void)stopTimeDefined, (void)stopTime;
    return m ? STATUS[core_start_at(&m->core, startTime)] : fmi2Error;
}

static fmi2Status change_phase(fmi2Component c, enum call which, enum phase phase) {
    struct component *m = enter(c, which);
    return m ? STATUS[core_enter(&m->core, phase)] : fmi2Error;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    return change_phase(c, ENTER_INITIALIZATION_MODE, INITIALISING);
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return change_phase(c, EXIT_INITIALIZATION_MODE, RUNNING); }

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

/* -- derivatives ------------------------------------------------------------------------------------------------- */

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
    core_forget(&m->core, *FMUstate);
    *FMUstate = 0;
    return fmi2OK;
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
