/* A host in C for the sources of a native FMU of FMI 3.0, linked with them: full life cycles, every function in every
 * phase, wrong arguments, and random call sequences.
 *
 *     native_host3 life | illegal | fuzz CALLS SEED
 *
 * It ends with status 0 if all went as it should, and says on stderr what did not. */
#include "kernel.h"

#include "arrays.h"
#include "fmi3Functions.h"

#define FMI(name) fmi3##name
#define fmi3FMUstate fmi3FMUState /* the letters of FMI 2.0 */
#define fmi3GetFMUstate fmi3GetFMUState
#define fmi3SetFMUstate fmi3SetFMUState
#define fmi3FreeFMUstate fmi3FreeFMUState
#define fmi3SerializedFMUstateSize fmi3SerializedFMUStateSize
#define fmi3SerializeFMUstate fmi3SerializeFMUState
#define fmi3DeSerializeFMUstate fmi3DeserializeFMUState

#if defined EXCHANGE || defined SAMPLED || defined SWITCHED
#define HAS_EVENT_MODE 1
#else
#define HAS_EVENT_MODE 0
#endif
#include "native_host.h"
#ifdef EXCHANGE
#include "native_exchange.h"
#endif

enum { N_REFERENCES = N_VARIABLES + N_CLOCKS };

static void logger(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category, fmi3String message) {
    (void)environment;
    CHECK(category && *message && status >= fmi3OK && status < fmi3Fatal);
    ++messages;
}

/* -- instances ---------------------------------------------------------------------------------------------------- */

/* What an importer does in intermediate updates, and what it has seen there. */
struct importer {
    fmi3Instance c;
    void (*act)(struct importer *importer, double time);
    double from, to, seen;   /* bounds of the present step, and the time of the last update, s */
    double end;              /* when it wants the step to end, s; NAN: it does not */
    int may_return;          /* whether it lets steps end early */
    long updates;
};

static void update_within(fmi3InstanceEnvironment environment, fmi3Float64 time, fmi3Boolean set, fmi3Boolean get,
                          fmi3Boolean finished, fmi3Boolean can_return, fmi3Boolean *wanted, fmi3Float64 *end) {
    struct importer *importer = environment;
    (void)set;
    CHECK(get && finished && !(can_return && !importer->may_return));
    CHECK(time >= importer->seen && importer->from <= time && time <= importer->to);
    importer->seen = time;
    ++importer->updates;
    if (importer->act) importer->act(importer, time);
    *wanted = !isnan(importer->end);
    *end = importer->end;
}

static fmi3Instance made(struct importer *importer, int events, int updates) {
#ifdef EXCHANGE
    (void)events, (void)updates;
    importer->c = fmi3InstantiateModelExchange("one", MODEL_GUID, 0, fmi3False, fmi3True, importer, logger);
#else
    importer->c = fmi3InstantiateCoSimulation("one", MODEL_GUID, 0, fmi3False, fmi3True, events,
                                              importer->may_return, 0, 0, importer, logger,
                                              updates ? update_within : 0);
#endif
    CHECK(importer->c != 0);
    return importer->c;
}

static double now(void *c) {
    const fmi3ValueReference vr = reference(TIME, 0);
    double time = NAN;
    CHECK(fmi3GetFloat64(c, &vr, 1, &time, 1) == fmi3OK);
    return time;
}

#ifdef EXCHANGE
static fmi3Status update(void *c, double *next, int *changed) {
    fmi3Boolean needed = fmi3True, end = fmi3True, nominals = fmi3True, states = fmi3False, defined = fmi3False;
    double time = NAN;
    const fmi3Status status = fmi3UpdateDiscreteStates(c, &needed, &end, &nominals, &states, &defined, &time);
    CHECK(status != fmi3OK || (!needed && !end && !nominals));
    *changed = states;
    *next = defined ? time : INFINITY;
    return status;
}

static void run(void *c, struct importer *importer, int steps) {
    (void)importer;
    integrate(c, steps);
}
#else
/* Let an event act and go on in step mode, if it has a solution. */
static fmi3Status settle(void *c) {
    fmi3Boolean needed, end, nominals, states, defined;
    double next;
    const fmi3Status status = fmi3UpdateDiscreteStates(c, &needed, &end, &nominals, &states, &defined, &next);
    if (status != fmi3OK) return status;
    CHECK(!needed && !end && (!defined || next > now(c)));
    CHECK(fmi3EnterStepMode(c) == fmi3OK);
    return status;
}

static void handle(void *c) { CHECK(settle(c) == fmi3OK); }

static fmi3Status step_to(struct importer *importer, double from, double size) {
    fmi3Boolean event = fmi3False, end = fmi3True, early = fmi3False;
    double last = NAN;
    importer->from = importer->seen = from;
    importer->to = from + size;
    const fmi3Status status = fmi3DoStep(importer->c, from, size, fmi3True, &event, &end, &early, &last);
    if (status != fmi3OK) return status;
    CHECK(!end && last == now(importer->c) && last <= importer->to && early == (last < importer->to));
    if (early) CHECK(importer->may_return);
    if (!event) return status;
    CHECK(fmi3EnterEventMode(importer->c) == fmi3OK);
    return settle(importer->c);
}

static void run(void *c, struct importer *importer, int steps) {
    for (int k = 0; k < steps; ++k) CHECK(step_to(importer, now(c), 1e-3) == fmi3OK);
}
#endif

static struct importer QUIET = {0, 0, 0, 0, 0, NAN, 1, 0};

static void *make(void) { return made(&QUIET, HAS_EVENT_MODE, 0); }

static void begin(void *c, double start) {
    CHECK(fmi3EnterInitializationMode(c, fmi3True, 1e-6, start, fmi3True, start + 1) == fmi3OK);
    CHECK(fmi3ExitInitializationMode(c) == fmi3OK);
    if (HAS_EVENT_MODE) handle(c);
}

static void *in_phase(int phase) {
    fmi3Instance c = make();
    if (phase == INITIALISING)
        CHECK(fmi3EnterInitializationMode(c, fmi3False, 0, 0, fmi3False, 0) == fmi3OK);
    if (phase >= RUNNING) {
        begin(c, 0);
        run(c, &QUIET, 1);
    }
    if (phase == TERMINATED) CHECK(fmi3Terminate(c) == fmi3OK);
    if (phase == AT_EVENT) CHECK(fmi3EnterEventMode(c) == fmi3OK);
    return c;
}

/* -- full life cycles --------------------------------------------------------------------------------------------- */

/* Get the elements of all outputs. */
static void outputs(void *c, double y[NY]) {
    for (fmi3ValueReference vr = 0; vr < N_VARIABLES; ++vr) {
        double *place = &y[VARIABLES[vr].offset];
        fmi3Int32 whole = 0;
        fmi3Int64 item = 0;
        fmi3Boolean truth = 0;
        if (VARIABLES[vr].kind != OUTPUT || !SPANS[vr]) continue;
        if (TYPE(vr) == REAL) {
            double values[N_VARIABLES];
            CHECK(fmi3GetFloat64(c, &vr, 1, values, SPANS[vr]) == fmi3OK);
            for (unsigned k = 0; k < SPANS[vr]; ++k) y[VARIABLES[vr + k].offset] = values[k];
        } else if (TYPE(vr) == INTEGER) {
            CHECK(fmi3GetInt32(c, &vr, 1, &whole, 1) == fmi3OK);
            *place = whole;
        } else if (TYPE(vr) == ENUMERATION) {
            CHECK(fmi3GetInt64(c, &vr, 1, &item, 1) == fmi3OK);
            *place = (double)item;
        } else {
            CHECK(fmi3GetBoolean(c, &vr, 1, &truth, 1) == fmi3OK);
            *place = truth;
        }
    }
}

/* A variable of a kind that is no array; one that does not exist where there is none. */
static fmi3ValueReference scalar(enum kind kind) {
    fmi3ValueReference vr = 0;
    while (vr < N_VARIABLES && (VARIABLES[vr].kind != kind || SPANS[vr] != 1 || TYPE(vr) != REAL)) ++vr;
    return vr;
}

static void go(fmi3Instance c, struct importer *importer) {
    const fmi3ValueReference input = scalar(INPUT), output = scalar(OUTPUT);
    const double one = 1;
    double found[2];
    for (int k = 0; k < 20; ++k) {
        const double value = 0.1 * k;
        if (input < N_VARIABLES) {
            CHECK(fmi3SetFloat64(c, &input, 1, &value, 1) == fmi3OK);
            const long told = messages;
            const fmi3Status forward = fmi3GetDirectionalDerivative(c, &output, 1, &input, 1, &one, 1, found, 1);
            CHECK(fmi3GetAdjointDerivative(c, &output, 1, &input, 1, &one, 1, found + 1, 1) == forward);
            CHECK(forward == fmi3Discard || (forward == fmi3OK && found[0] == found[1]));
            if (forward == fmi3Discard) messages = told; /* after an event none is known */
        }
#ifndef EXCHANGE
        const fmi3Int32 order = 1;
        CHECK(fmi3GetOutputDerivatives(c, &output, 1, &order, found, 1) == fmi3OK);
#endif
        run(c, importer, 1);
    }
}

static void live(fmi3Instance c, struct importer *importer) {
    double before[NY], first[NY], again[NY];
    size_t size;
    begin(c, 0.5);
    go(c, importer);
    outputs(c, before);
    fmi3Byte *bytes = serialised(c, &size);
    run(c, importer, 10);
    outputs(c, first);
    CHECK(memcmp(before, first, sizeof first) != 0);
    CHECK(restored(c, bytes, size));
    outputs(c, again);
    CHECK(memcmp(before, again, sizeof again) == 0);
    run(c, importer, 10);
    outputs(c, again);
    CHECK(memcmp(first, again, sizeof again) == 0);
    CHECK(fmi3Terminate(c) == fmi3OK);
    outputs(c, again);
    free(bytes);
}

#ifndef EXCHANGE
/* Get all outputs and set an input within a step. */
static void take_part(struct importer *importer, double time) {
    const fmi3ValueReference input = scalar(INPUT);
    const double value = cos(time);
    double y[NY];
    outputs(importer->c, y);
    if (input < N_VARIABLES && time < importer->to)
        CHECK(fmi3SetFloat64(importer->c, &input, 1, &value, 1) == fmi3OK);
    importer->end = importer->may_return && time > importer->from ? time : NAN;
}
#endif

/* What an importer of another FMU, or of another kind, is told. */
static void make_wrong_ones(void) {
    const fmi3ValueReference beyond = N_REFERENCES;
    const long before = messages;
    CHECK(!fmi3InstantiateScheduledExecution("one", MODEL_GUID, 0, 0, 0, 0, logger, 0, 0, 0));
#ifdef EXCHANGE
    CHECK(!fmi3InstantiateCoSimulation("one", MODEL_GUID, 0, 0, 1, 0, 0, 0, 0, 0, logger, 0));
    CHECK(!fmi3InstantiateModelExchange("one", "{another}", 0, 0, 1, 0, logger));
    CHECK(!fmi3InstantiateModelExchange("one", 0, 0, 0, 1, 0, logger));
    CHECK(!fmi3InstantiateModelExchange("", MODEL_GUID, 0, 0, 1, 0, logger));
    CHECK(!fmi3InstantiateModelExchange(0, MODEL_GUID, 0, 0, 1, 0, logger));
    CHECK(messages == before + 6 && beyond);
#else
    CHECK(!fmi3InstantiateModelExchange("one", MODEL_GUID, 0, 0, 1, 0, logger));
    CHECK(!fmi3InstantiateCoSimulation("one", "{another}", 0, 0, 1, 0, 0, 0, 0, 0, logger, 0));
    CHECK(!fmi3InstantiateCoSimulation("one", 0, 0, 0, 1, 0, 0, 0, 0, 0, logger, 0));
    CHECK(!fmi3InstantiateCoSimulation("", MODEL_GUID, 0, 0, 1, 0, 0, 0, 0, 0, logger, 0));
    CHECK(!fmi3InstantiateCoSimulation(0, MODEL_GUID, 0, 0, 1, 0, 0, 0, 0, 0, logger, 0));
    CHECK(!fmi3InstantiateCoSimulation("one", MODEL_GUID, 0, 0, 1, 0, 0, &beyond, 1, 0, logger, 0));
    CHECK(!fmi3InstantiateCoSimulation("one", MODEL_GUID, 0, 0, 1, 0, 0, 0, 1, 0, logger, 0));
    CHECK(messages == before + 8);
    if (!HAS_EVENT_MODE)
        CHECK(!fmi3InstantiateCoSimulation("one", MODEL_GUID, 0, 0, 1, 1, 0, 0, 0, 0, logger, 0));
#endif
    fmi3FreeInstance(0);
    CHECK(strcmp(fmi3GetVersion(), "3.0") == 0);
}

static void life(void) {
    struct importer plain = QUIET;
    fmi3Instance c = made(&plain, HAS_EVENT_MODE, 0);
    live(c, &plain);
    CHECK(fmi3Reset(c) == fmi3OK);
    live(c, &plain);
    fmi3FreeInstance(c);
#ifndef EXCHANGE
    for (int may_return = 0; may_return < 2; ++may_return) {
        struct importer active = {0, take_part, 0, 0, 0, NAN, may_return, 0};
        c = made(&active, HAS_EVENT_MODE, 1);
        live(c, &active);
        CHECK(active.updates >= 80);
        fmi3FreeInstance(c);
    }
#endif
    CHECK(messages == 0);
    make_wrong_ones();
}

/* -- every function in every phase, as the standard's tables have it ---------------------------------------------- */

static fmi3Status debug_logging(void *c) { return fmi3SetDebugLogging(c, fmi3True, 0, 0); }
static fmi3Status initialise(void *c) { return fmi3EnterInitializationMode(c, fmi3False, 0, 0, fmi3False, 0); }
static fmi3Status get_float64(void *c) {
    const fmi3ValueReference vr = scalar(OUTPUT);
    double value;
    return fmi3GetFloat64(c, &vr, 1, &value, 1);
}
static fmi3Status set_float64(void *c) {
    const fmi3ValueReference vr = reference(SETTING, FIRST);
    const double value = 1e-3;
    return fmi3SetFloat64(c, &vr, 1, &value, 1);
}
static fmi3Status get_int32(void *c) { return fmi3GetInt32(c, 0, 0, 0, 0); }
static fmi3Status set_int32(void *c) { return fmi3SetInt32(c, 0, 0, 0, 0); }
static fmi3Status get_int64(void *c) { return fmi3GetInt64(c, 0, 0, 0, 0); }
static fmi3Status set_int64(void *c) { return fmi3SetInt64(c, 0, 0, 0, 0); }
static fmi3Status get_boolean(void *c) { return fmi3GetBoolean(c, 0, 0, 0, 0); }
static fmi3Status set_boolean(void *c) { return fmi3SetBoolean(c, 0, 0, 0, 0); }
static fmi3Status get_clock(void *c) { return fmi3GetClock(c, 0, 0, 0); }
static fmi3Status set_clock(void *c) { return fmi3SetClock(c, 0, 0, 0); }
static fmi3Status get_interval(void *c) { return fmi3GetIntervalDecimal(c, 0, 0, 0, 0); }
static fmi3Status get_shift(void *c) { return fmi3GetShiftDecimal(c, 0, 0, 0); }
static fmi3Status get_interval_fraction(void *c) { return fmi3GetIntervalFraction(c, 0, 0, 0, 0, 0); }
static fmi3Status get_shift_fraction(void *c) { return fmi3GetShiftFraction(c, 0, 0, 0, 0); }
static fmi3Status set_interval(void *c) { return fmi3SetIntervalDecimal(c, 0, 0, 0); }
static fmi3Status set_interval_fraction(void *c) { return fmi3SetIntervalFraction(c, 0, 0, 0, 0); }
static fmi3Status set_shift(void *c) { return fmi3SetShiftDecimal(c, 0, 0, 0); }
static fmi3Status set_shift_fraction(void *c) { return fmi3SetShiftFraction(c, 0, 0, 0, 0); }
static fmi3Status activate(void *c) { return fmi3ActivateModelPartition(c, 0, 0); }
static fmi3Status count_dependencies(void *c) {
    size_t n;
    return fmi3GetNumberOfVariableDependencies(c, scalar(OUTPUT), &n);
}
static fmi3Status get_dependencies(void *c) {
    size_t n = 0;
    if (fmi3GetNumberOfVariableDependencies(c, scalar(OUTPUT), &n) != fmi3OK) return fmi3Error;
    size_t *of = malloc(n * sizeof *of + 1), *element = malloc(n * sizeof *element + 1);
    fmi3ValueReference *on = malloc(n * sizeof *on + 1);
    fmi3DependencyKind *kinds = malloc(n * sizeof *kinds + 1);
    const fmi3Status status = fmi3GetVariableDependencies(c, scalar(OUTPUT), of, on, element, kinds, n);
    for (size_t i = 0; i < n; ++i) CHECK(on[i] < N_VARIABLES && element[i] <= SPANS[on[i]]);
    free(of), free(element), free(on), free(kinds);
    return status;
}
static fmi3Status directional(void *c) {
    const fmi3ValueReference vr = scalar(OUTPUT);
    double value;
    return fmi3GetDirectionalDerivative(c, &vr, 1, 0, 0, 0, 0, &value, 1);
}
static fmi3Status adjoint(void *c) {
    const fmi3ValueReference vr = scalar(OUTPUT);
    const double value = 1;
    return fmi3GetAdjointDerivative(c, &vr, 1, 0, 0, &value, 1, 0, 0);
}
static fmi3Status output_derivatives(void *c) {
    const fmi3ValueReference vr = scalar(OUTPUT);
    const fmi3Int32 order = 1;
    double value;
    return fmi3GetOutputDerivatives(c, &vr, 1, &order, &value, 1);
}
static fmi3Status step(void *c) {
    fmi3Boolean event, end, early;
    double last;
    return fmi3DoStep(c, 1e-3, 1e-3, fmi3True, &event, &end, &early, &last);
}
static fmi3Status count_states(void *c) {
    size_t n;
    return fmi3GetNumberOfContinuousStates(c, &n);
}
static fmi3Status count_indicators(void *c) {
    size_t n;
    return fmi3GetNumberOfEventIndicators(c, &n);
}
#ifndef EXCHANGE
static fmi3Status update_states(void *c) {
    fmi3Boolean needed, end, nominals, states, defined;
    double next;
    return fmi3UpdateDiscreteStates(c, &needed, &end, &nominals, &states, &defined, &next);
}
static fmi3Status completed(void *c) {
    fmi3Boolean event, end;
    return fmi3CompletedIntegratorStep(c, fmi3True, &event, &end);
}
static fmi3Status set_time(void *c) { return fmi3SetTime(c, 0); }
static fmi3Status set_states(void *c) { return fmi3SetContinuousStates(c, 0, 0); }
static fmi3Status get_states(void *c) { return fmi3GetContinuousStates(c, 0, 0); }
static fmi3Status get_rates(void *c) { return fmi3GetContinuousStateDerivatives(c, 0, 0); }
static fmi3Status get_nominals(void *c) { return fmi3GetNominalsOfContinuousStates(c, 0, 0); }
static fmi3Status get_indicators(void *c) { return fmi3GetEventIndicators(c, 0, 0); }
#endif

/* For types of which there are no variables; without variables all is well. */
#define NO_TYPE(T)                                                                                                     \
    static fmi3Status get_##T(void *c) {                                                                               \
        const fmi3ValueReference vr = scalar(OUTPUT);                                                                  \
        fmi3##T value;                                                                                                 \
        CHECK(!c || fmi3Get##T(c, 0, 0, 0, 0) == fmi3OK);                                                              \
        CHECK(fmi3Get##T(c, 0, 1, &value, 1) == fmi3Error);                                                            \
        return fmi3Get##T(c, &vr, 1, &value, 1);                                                                       \
    }                                                                                                                  \
    static fmi3Status set_##T(void *c) {                                                                               \
        const fmi3ValueReference beyond = UINT32_MAX;                                                                  \
        const fmi3##T value = 0;                                                                                       \
        CHECK(!c || fmi3Set##T(c, 0, 0, 0, 0) == fmi3OK);                                                              \
        return fmi3Set##T(c, &beyond, 1, &value, 1);                                                                   \
    }
NO_TYPE(Float32)
NO_TYPE(Int8)
NO_TYPE(UInt8)
NO_TYPE(Int16)
NO_TYPE(UInt16)
NO_TYPE(UInt32)
NO_TYPE(UInt64)
NO_TYPE(String)
#define BOTH(T) {"fmi3Get" #T, get_##T, ""}, {"fmi3Set" #T, set_##T, ""}
static fmi3Status get_binary(void *c) {
    const fmi3ValueReference vr = scalar(OUTPUT);
    size_t size;
    fmi3Binary value;
    return fmi3GetBinary(c, &vr, 1, &size, &value, 1);
}
static fmi3Status set_binary(void *c) {
    const fmi3ValueReference vr = scalar(OUTPUT);
    const size_t size = 0;
    const fmi3Binary value = 0;
    return fmi3SetBinary(c, &vr, 1, &size, &value, 1);
}

static const struct row TABLE[] = {
    {"fmi3SetDebugLogging", debug_logging, "Iirtes"},
    {"fmi3EnterConfigurationMode", fmi3EnterConfigurationMode, ""},
    {"fmi3ExitConfigurationMode", fmi3ExitConfigurationMode, ""},
    {"fmi3EnterInitializationMode", initialise, "I"},
    {"fmi3ExitInitializationMode", fmi3ExitInitializationMode, "i"},
    {"fmi3EvaluateDiscreteStates", fmi3EvaluateDiscreteStates, ""},
    {"fmi3Terminate", fmi3Terminate, "re"},
    {"fmi3Reset", fmi3Reset, "Iirte"},
    {"fmi3GetFloat64", get_float64, "Iirtes"},
    {"fmi3GetInt32", get_int32, "Iirtes"},
    {"fmi3GetInt64", get_int64, "Iirtes"},
    {"fmi3GetBoolean", get_boolean, "Iirtes"},
    {"fmi3SetFloat64", set_float64, "Iire"}, /* in an intermediate update inputs only */
    {"fmi3SetInt32", set_int32, "Iire"},
    {"fmi3SetInt64", set_int64, "Iire"},
    {"fmi3SetBoolean", set_boolean, "Iire"},
    BOTH(Float32),
    BOTH(Int8),
    BOTH(UInt8),
    BOTH(Int16),
    BOTH(UInt16),
    BOTH(UInt32),
    BOTH(UInt64),
    BOTH(String),
    {"fmi3GetBinary", get_binary, ""},
    {"fmi3SetBinary", set_binary, ""},
    {"fmi3GetNumberOfVariableDependencies", count_dependencies, "Iirtes"},
    {"fmi3GetVariableDependencies", get_dependencies, "Iirtes"},
    {"fmi3GetDirectionalDerivative", directional, "irte"},
    {"fmi3GetAdjointDerivative", adjoint, "irte"},
    {"fmi3GetClock", get_clock, "irte"},
    {"fmi3SetClock", set_clock, "e"},
    {"fmi3GetIntervalDecimal", get_interval, "ie"},
    {"fmi3GetIntervalFraction", get_interval_fraction, ""},
    {"fmi3GetShiftDecimal", get_shift, "i"},
    {"fmi3GetShiftFraction", get_shift_fraction, ""},
    {"fmi3SetIntervalDecimal", set_interval, ""},
    {"fmi3SetIntervalFraction", set_interval_fraction, ""},
    {"fmi3SetShiftDecimal", set_shift, ""},
    {"fmi3SetShiftFraction", set_shift_fraction, ""},
    {"fmi3ActivateModelPartition", activate, ""},
#ifdef EXCHANGE
    EXCHANGE_ROWS,
    {"fmi3GetNumberOfContinuousStates", count_states, "Iirte"},
    {"fmi3GetNumberOfEventIndicators", count_indicators, "Iirte"},
    {"fmi3EnterStepMode", fmi3EnterStepMode, ""},
    {"fmi3GetOutputDerivatives", output_derivatives, ""},
    {"fmi3DoStep", step, ""},
#else
    {"fmi3EnterEventMode", fmi3EnterEventMode, HAS_EVENT_MODE ? "r" : ""},
    {"fmi3EnterStepMode", fmi3EnterStepMode, "e"},
    {"fmi3UpdateDiscreteStates", update_states, "e"},
    {"fmi3GetOutputDerivatives", output_derivatives, "rtes"},
    {"fmi3DoStep", step, "r"},
    {"fmi3EnterContinuousTimeMode", fmi3EnterContinuousTimeMode, ""},
    {"fmi3CompletedIntegratorStep", completed, ""},
    {"fmi3SetTime", set_time, ""},
    {"fmi3SetContinuousStates", set_states, ""},
    {"fmi3GetContinuousStates", get_states, ""},
    {"fmi3GetContinuousStateDerivatives", get_rates, ""},
    {"fmi3GetNominalsOfContinuousStates", get_nominals, ""},
    {"fmi3GetEventIndicators", get_indicators, ""},
    {"fmi3GetNumberOfContinuousStates", count_states, ""},
    {"fmi3GetNumberOfEventIndicators", count_indicators, ""},
#endif
};
enum { ROWS = sizeof TABLE / sizeof *TABLE };

#ifndef EXCHANGE
/* Call every function in an intermediate update, states too. */
static void call_all(struct importer *importer, double time) {
    fmi3FMUState state = 0;
    (void)time;
    for (int k = 0; k < ROWS; ++k)
        if ((TABLE[k].call(importer->c) == fmi3OK) != (strchr(TABLE[k].legal, 's') != 0)) {
            fprintf(stderr, "%s in an intermediate update\n", TABLE[k].name);
            ++failures;
        }
    CHECK(fmi3GetFMUState(importer->c, &state) == fmi3Error && !state);
    fmi3FreeInstance(importer->c);
}

static void call_everything_within_a_step(void) {
    struct importer curious = {0, call_all, 0, 0, 0, NAN, 1, 0};
    fmi3Instance c = made(&curious, HAS_EVENT_MODE, 1);
    double found[NY], expected[NY];
    begin(c, 0);
    run(c, &curious, 1);
    CHECK(curious.updates == 2);
    outputs(c, found);
    fmi3FreeInstance(c);
    c = in_phase(RUNNING);
    outputs(c, expected);
    fmi3FreeInstance(c);
    CHECK(memcmp(found, expected, sizeof found) == 0);
}

/* Take steps that are not possible; none of them may reach an intermediate update. */
static void take_wrong_steps(void) {
    struct importer importer = {0, 0, 0, 0, 0, NAN, 1, 0};
    fmi3Instance c = made(&importer, HAS_EVENT_MODE, 1);
    fmi3Boolean event, end, early;
    double last;
    begin(c, 0);
    for (unsigned i = 0; i < sizeof NASTY / sizeof *NASTY; ++i) {
        if (!(NASTY[i] > 0 && NASTY[i] < 100)) CHECK(step_to(&importer, 0, NASTY[i]) == fmi3Discard);
        if (NASTY[i] != 0 && NASTY[i] != 5e-324) CHECK(step_to(&importer, NASTY[i], 1e-3) == fmi3Discard);
    }
    CHECK(fmi3DoStep(c, 0, 1e-3, fmi3True, 0, &end, &early, &last) == fmi3Error);
    CHECK(fmi3DoStep(c, 0, 1e-3, fmi3True, &event, 0, &early, &last) == fmi3Error);
    CHECK(fmi3DoStep(c, 0, 1e-3, fmi3True, &event, &end, 0, &last) == fmi3Error);
    CHECK(fmi3DoStep(c, 0, 1e-3, fmi3True, &event, &end, &early, 0) == fmi3Error);
    CHECK(importer.updates == 0 && now(c) == 0);
    fmi3FreeInstance(c);
}
#endif

static void pass_wrong_arguments(void) {
    const fmi3ValueReference beyond[] = {N_REFERENCES, 1u << 31, UINT32_MAX}, output = scalar(OUTPUT),
                             parameter = reference(SETTING, FIRST);
    const double value[2] = {1, 1};
    const fmi3String unknown[] = {"noise", 0};
    double found[2];
    fmi3Int32 whole = 0;
    fmi3Int64 item = 0;
    fmi3Boolean truth = fmi3False, clock = fmi3False;
    fmi3IntervalQualifier qualifier;
    size_t count = 0, index = 0;
    fmi3DependencyKind kind;
    fmi3ValueReference other;
    fmi3Instance c = in_phase(RUNNING);
    for (int k = 0; k < 3; ++k) {
        CHECK(fmi3GetFloat64(c, &beyond[k], 1, found, 1) == fmi3Error);
        CHECK(fmi3SetFloat64(c, &beyond[k], 1, value, 1) == fmi3Error);
        CHECK(fmi3GetInt32(c, &beyond[k], 1, &whole, 1) == fmi3Error);
        CHECK(fmi3SetInt32(c, &beyond[k], 1, &whole, 1) == fmi3Error);
        CHECK(fmi3GetInt64(c, &beyond[k], 1, &item, 1) == fmi3Error);
        CHECK(fmi3SetInt64(c, &beyond[k], 1, &item, 1) == fmi3Error);
        CHECK(fmi3GetBoolean(c, &beyond[k], 1, &truth, 1) == fmi3Error);
        CHECK(fmi3SetBoolean(c, &beyond[k], 1, &truth, 1) == fmi3Error);
        CHECK(fmi3GetClock(c, &beyond[k], 1, &clock) == fmi3Error);
        CHECK(fmi3GetDirectionalDerivative(c, &beyond[k], 1, 0, 0, 0, 0, found, 1) == fmi3Error);
        CHECK(fmi3GetDirectionalDerivative(c, &output, 1, &beyond[k], 1, value, 1, found, 1) == fmi3Error);
        CHECK(fmi3GetAdjointDerivative(c, &beyond[k], 1, 0, 0, value, 1, 0, 0) == fmi3Error);
        CHECK(fmi3GetAdjointDerivative(c, &output, 1, &beyond[k], 1, value, 1, found, 1) == fmi3Error);
        CHECK(fmi3GetNumberOfVariableDependencies(c, beyond[k], &count) == fmi3Error);
        CHECK(fmi3GetVariableDependencies(c, beyond[k], &index, &other, &index, &kind, 1) == fmi3Error);
    }
    for (fmi3ValueReference vr = 0; vr < N_REFERENCES; ++vr) { /* one value too many, or too few */
        double *room = malloc(sizeof *room * (N_VARIABLES + 2));
        const size_t span = vr < N_VARIABLES ? SPANS[vr] : 1;
        CHECK(fmi3GetFloat64(c, &vr, 1, room, span + 1) == fmi3Error);
        CHECK(fmi3SetFloat64(c, &vr, 1, room, span + 1) == fmi3Error);
        CHECK(fmi3GetFloat64(c, &vr, 1, room, span - 1) == fmi3Error);
        CHECK(fmi3SetFloat64(c, &vr, 1, room, span - 1) == fmi3Error);
        CHECK(fmi3GetVariableDependencies(c, vr, &index, &other, &index, &kind, SIZE_MAX) == fmi3Error);
        free(room);
    }
    CHECK(fmi3GetFloat64(c, 0, 1, found, 1) == fmi3Error);
    CHECK(fmi3GetFloat64(c, &output, 1, 0, 1) == fmi3Error);
    CHECK(fmi3GetFloat64(c, 0, 0, found, 1) == fmi3Error);
    CHECK(fmi3GetFloat64(c, &output, 1, found, 0) == fmi3Error);
    CHECK(fmi3GetFloat64(c, 0, 0, 0, 0) == fmi3OK);
    CHECK(fmi3SetFloat64(c, 0, 1, value, 1) == fmi3Error);
    CHECK(fmi3SetFloat64(c, &parameter, 1, 0, 1) == fmi3Error);
    CHECK(fmi3SetFloat64(c, 0, 0, value, 1) == fmi3Error);
    CHECK(fmi3SetFloat64(c, 0, 0, 0, 0) == fmi3OK);
    CHECK(fmi3GetInt32(c, &output, 1, &whole, 1) == fmi3Error);
    CHECK(fmi3SetInt32(c, &output, 1, &whole, 1) == fmi3Error);
    CHECK(fmi3GetInt64(c, &output, 1, &item, 1) == fmi3Error);
    CHECK(fmi3SetInt64(c, &output, 1, &item, 1) == fmi3Error);
    CHECK(fmi3GetBoolean(c, &output, 1, &truth, 1) == fmi3Error);
    CHECK(fmi3SetBoolean(c, &output, 1, &truth, 1) == fmi3Error);
    CHECK(fmi3GetClock(c, &output, 1, &clock) == fmi3Error);
    CHECK(fmi3GetClock(c, 0, 1, &clock) == fmi3Error);
    CHECK(fmi3GetIntervalDecimal(c, &output, 1, found, &qualifier) == fmi3Error);
    CHECK(fmi3GetShiftDecimal(c, &output, 1, found) == fmi3Error);
    CHECK(fmi3GetDirectionalDerivative(c, 0, 0, 0, 0, 0, 0, 0, 0) == fmi3OK);
    CHECK(fmi3GetDirectionalDerivative(c, 0, 0, 0, 0, 0, 0, found, 2) == fmi3Error);
    CHECK(fmi3GetDirectionalDerivative(c, &output, 1, 0, 0, value, 2, found, 1) == fmi3Error);
    CHECK(fmi3GetDirectionalDerivative(c, &output, 1, &output, 1, value, 1, found, 1) == fmi3Error);
#ifndef EXCHANGE /* there the rate of stabilisation can be known */
    CHECK(fmi3GetDirectionalDerivative(c, &output, 1, &parameter, 1, value, 1, found, 1) == fmi3Error);
    CHECK(fmi3GetAdjointDerivative(c, &output, 1, &parameter, 1, value, 1, found, 1) == fmi3Error);
#endif
    CHECK(fmi3GetDirectionalDerivative(c, &parameter, 1, 0, 0, 0, 0, found, 1) == fmi3Error);
    CHECK(fmi3GetDirectionalDerivative(c, &output, 1, 0, 1, value, 1, found, 1) == fmi3Error);
    CHECK(fmi3GetDirectionalDerivative(c, &output, 1, 0, 0, 0, 0, 0, 1) == fmi3Error);
    CHECK(fmi3GetDirectionalDerivative(c, &output, 1, 0, 0, 0, 0, found, 2) == fmi3Error);
    CHECK(fmi3GetAdjointDerivative(c, 0, 0, 0, 0, 0, 0, 0, 0) == fmi3OK);
    CHECK(fmi3GetAdjointDerivative(c, 0, 0, 0, 0, value, 2, 0, 0) == fmi3Error);
    CHECK(fmi3GetAdjointDerivative(c, &output, 1, 0, 0, value, 1, found, 2) == fmi3Error);
    CHECK(fmi3GetAdjointDerivative(c, &output, 1, 0, 0, 0, 1, 0, 0) == fmi3Error);
    CHECK(fmi3GetNumberOfVariableDependencies(c, output, 0) == fmi3Error);
    CHECK(fmi3SetDebugLogging(c, fmi3True, 1, 0) == fmi3Error);
    CHECK(fmi3SetDebugLogging(c, fmi3True, 1, unknown) == fmi3Error);
    CHECK(fmi3SetDebugLogging(c, fmi3True, 1, unknown + 1) == fmi3Error);
#ifdef EXCHANGE
    CHECK(fmi3GetNumberOfContinuousStates(c, 0) == fmi3Error);
    CHECK(fmi3GetNumberOfEventIndicators(c, 0) == fmi3Error);
    pass_wrong_points(c);
#else
    const fmi3Int32 one = 1, two = 2;
    CHECK(fmi3GetOutputDerivatives(c, &beyond[0], 1, &one, found, 1) == fmi3Error);
    CHECK(fmi3GetOutputDerivatives(c, &output, 1, &two, found, 1) == fmi3Error);
    CHECK(fmi3GetOutputDerivatives(c, &output, 1, &one, found, 2) == fmi3Error);
    CHECK(fmi3GetOutputDerivatives(c, 0, 0, 0, found, 1) == fmi3Error);
    CHECK(fmi3GetOutputDerivatives(c, &output, 1, 0, found, 1) == fmi3Error);
    CHECK(fmi3GetOutputDerivatives(c, &parameter, 1, &one, found, 1) == fmi3Error);
#endif
    pass_wrong_states(c);
    run(c, &QUIET, 1);
    fmi3FreeInstance(c);
    c = in_phase(INSTANTIATED);
    CHECK(fmi3EnterInitializationMode(c, fmi3False, 0, NAN, fmi3False, 0) == fmi3Error);
    begin(c, 0);
    fmi3FreeInstance(c);
}

/* -- random call sequences ---------------------------------------------------------------------------------------- */

/* Variables, and as many values as they have elements, but now and then another number of them. The blocks are as long
 * as they are said to be, so that the sanitizer sees an access beyond. */
struct choice {
    fmi3ValueReference *vr;
    double *values;
    fmi3Int32 *wholes;
    size_t n, n_values;
};

static struct choice choose(enum type type, int outputs_first) {
    struct choice chosen = {0, 0, 0, random_below(MOST + 1), 0};
    chosen.vr = malloc(chosen.n * sizeof *chosen.vr + 1);
    for (size_t i = 0; i < chosen.n; ++i) {
        fmi3ValueReference *vr = &chosen.vr[i];
        *vr = outputs_first && random_below(8) ? reference(OUTPUT, (int)random_below(NY)) : random_of(type);
        while (*vr < N_VARIABLES && !SPANS[*vr] && random_below(50)) --*vr;
        if (random_below(200) == 0) *vr = N_VARIABLES + random_below(N_CLOCKS + 1);
        chosen.n_values += *vr < N_VARIABLES ? SPANS[*vr] : 1;
    }
    if (random_below(40) == 0) chosen.n_values = random_below(4);
    chosen.values = malloc(chosen.n_values * sizeof *chosen.values + 1);
    chosen.wholes = malloc(chosen.n_values * sizeof *chosen.wholes + 1);
    for (size_t i = 0, k = 0, end = 0; i < chosen.n_values; ++i) {
        if (i == end && k < chosen.n) end += chosen.vr[k] < N_VARIABLES ? SPANS[chosen.vr[k]] : 1, ++k;
        chosen.values[i] = random_value(k ? chosen.vr[k - 1] : 0);
        chosen.wholes[i] = OF(WHOLES);
    }
    if (random_below(100) == 0) {
        free(chosen.values);
        chosen.values = 0;
    }
    return chosen;
}

static void forget(struct choice *chosen) { free(chosen->vr), free(chosen->values), free(chosen->wholes); }

/* Get or set values. */
static fmi3Status play_values(void *c) {
    const enum type type = random_below(4) ? REAL : (enum type)(INTEGER + random_below(3));
    const int set = random_below(2);
    struct choice a = choose(type, !set);
    fmi3Boolean *truths = malloc(a.n_values * sizeof *truths + 1);
    fmi3Int64 *items = malloc(a.n_values * sizeof *items + 1);
    fmi3Status status;
    for (size_t i = 0; i < a.n_values; ++i) {
        truths[i] = a.wholes[i] & 1;
        items[i] = random_below(4) ? random_below(5) : a.wholes[i] * (int64_t)INT32_MAX;
    }
    if (type == REAL)
        status = set ? fmi3SetFloat64(c, a.vr, a.n, a.values, a.n_values)
                     : fmi3GetFloat64(c, a.vr, a.n, a.values, a.n_values);
    else if (type == INTEGER)
        status = set ? fmi3SetInt32(c, a.vr, a.n, a.wholes, a.n_values)
                     : fmi3GetInt32(c, a.vr, a.n, a.wholes, a.n_values);
    else if (type == ENUMERATION)
        status = set ? fmi3SetInt64(c, a.vr, a.n, items, a.n_values) : fmi3GetInt64(c, a.vr, a.n, items, a.n_values);
    else
        status = set ? fmi3SetBoolean(c, a.vr, a.n, truths, a.n_values)
                     : fmi3GetBoolean(c, a.vr, a.n, truths, a.n_values);
    free(truths);
    free(items);
    forget(&a);
    return status;
}

/* Ask for clocks and when they tick. */
static fmi3Status play_clocks(void *c) {
    fmi3ValueReference vr[2];
    fmi3Clock ticks[2] = {random_below(2), random_below(2)};
    fmi3IntervalQualifier qualifiers[2];
    double times[2];
    const size_t n = random_below(3);
    for (int i = 0; i < 2; ++i)
        vr[i] = random_below(30) ? N_VARIABLES + random_below(N_CLOCKS + 1) : random_reference();
    switch (random_below(4)) {
    case 0: return fmi3GetClock(c, vr, n, ticks);
    case 1: return fmi3SetClock(c, vr, n, ticks);
    case 2: return fmi3GetIntervalDecimal(c, vr, n, times, random_below(30) ? qualifiers : 0);
    default: return fmi3GetShiftDecimal(c, vr, n, random_below(30) ? times : 0);
    }
}

static fmi3Status play_dependencies(void *c) {
    fmi3ValueReference vr = random_below(N_REFERENCES + 1);
    size_t n = 0;
    const fmi3Status counted = fmi3GetNumberOfVariableDependencies(c, vr, &n);
    if (random_below(10) == 0) n = random_below(5);
    size_t *of = malloc(n * sizeof *of + 1), *element = malloc(n * sizeof *element + 1);
    fmi3ValueReference *on = malloc(n * sizeof *on + 1);
    fmi3DependencyKind *kinds = malloc(n * sizeof *kinds + 1);
    const fmi3Status status = fmi3GetVariableDependencies(c, vr, of, on, element, kinds, n);
    CHECK(counted == fmi3OK || status == fmi3Error);
    free(of), free(element), free(on), free(kinds);
    return status;
}

static fmi3Status play_derivatives(void *c) {
    struct choice unknown = choose(REAL, 1), known = choose(REAL, 0);
    const fmi3Status status =
        random_below(2) ? fmi3GetDirectionalDerivative(c, unknown.vr, unknown.n, known.vr, known.n, known.values,
                                                       known.n_values, unknown.values, unknown.n_values)
                        : fmi3GetAdjointDerivative(c, unknown.vr, unknown.n, known.vr, known.n, unknown.values,
                                                   unknown.n_values, known.values, known.n_values);
    forget(&unknown);
    forget(&known);
    return status;
}

#ifndef EXCHANGE
static fmi3Status play_rates(void *c) {
    struct choice a = choose(REAL, 1);
    fmi3Int32 orders[MOST];
    for (int i = 0; i < MOST; ++i) orders[i] = random_below(8) ? 1 : (int)random_below(4) - 1;
    const fmi3Status status = fmi3GetOutputDerivatives(c, a.vr, a.n, orders, a.values, a.n_values);
    forget(&a);
    return status;
}

/* What may come to an importer's mind in an intermediate update. */
static void play_within(struct importer *importer, double time) {
    const unsigned which = random_below(10);
    if (which < 4) play_values(importer->c);
    if (which == 4) play_rates(importer->c);
    if (which == 5) play_derivatives(importer->c);
    if (which == 6) play_dependencies(importer->c);
    if (which == 7) TABLE[random_below(ROWS)].call(importer->c);
    importer->end = random_below(4)   ? NAN
                    : random_below(8) ? time + 5e-4 * random_below(5)
                                      : OF(NASTY);
}
#endif

static struct importer IMPORTERS[2]; /* one for each player */

static void *make_any(int player) {
    struct importer *importer = &IMPORTERS[player];
    *importer = QUIET;
#ifndef EXCHANGE
    importer->act = play_within;
    importer->may_return = random_below(2);
#endif
    const int events = HAS_EVENT_MODE && random_below(2);
    fmi3Instance c = made(importer, events, random_below(2));
    if (random_below(4) == 0) return c;
    CHECK(fmi3EnterInitializationMode(c, fmi3False, 0, 0, fmi3False, 0) == fmi3OK);
    CHECK(fmi3ExitInitializationMode(c) == fmi3OK);
#ifdef EXCHANGE
    handle(c);
#else
    if (events) handle(c);
#endif
    return c;
}

static fmi3Status play(struct player *a, struct blob *blob) {
    void *c = a->c;
    const unsigned which = random_below(100);
#ifdef EXCHANGE
    if (which < 40) return play_exchange(c);
#else
    fmi3Boolean flags[5];
    double next;
    struct importer *importer = IMPORTERS[0].c == c ? IMPORTERS : IMPORTERS + 1;
    if (which < 25) {
        const long updates = importer->updates;
        const fmi3Status status = step_to(importer, random_below(40) ? now(c) : OF(NASTY), OF(SIZES));
        double y[NY];
        outputs(c, y);
        for (int i = 0; i < NY && status == fmi3OK && importer->updates == updates; ++i) CHECK(isfinite(y[i]));
        return status;
    }
    if (which < 27) return play_rates(c);
    if (which < 31) return fmi3EnterEventMode(c);
    if (which < 36)
        return fmi3UpdateDiscreteStates(c, &flags[0], &flags[1], &flags[2], &flags[3], &flags[4],
                                        random_below(50) ? &next : 0);
    if (which < 40) return fmi3EnterStepMode(c);
#endif
    if (which < 66) return play_values(c);
    if (which < 70) return play_derivatives(c);
    if (which < 72) return play_clocks(c);
    if (which < 74) return play_dependencies(c);
    if (which < 88) return play_state(a, blob);
    if (which < 89) return random_below(4) ? fmi3OK : fmi3Reset(c);
    if (which < 93)
        return fmi3EnterInitializationMode(c, fmi3True, OF(NASTY), random_below(3) ? 0 : OF(NASTY), fmi3True,
                                           OF(NASTY));
    if (which < 96) return fmi3ExitInitializationMode(c);
    if (which < 97) return random_below(8) ? fmi3OK : fmi3Terminate(c);
    if (which < 99) return fmi3OK;
    IMPORTERS[0].from = IMPORTERS[1].from = 1e-3; /* of the step in the table */
    IMPORTERS[0].seen = IMPORTERS[1].seen = 1e-3;
    IMPORTERS[0].to = IMPORTERS[1].to = 1e-3 + 1e-3;
    return TABLE[random_below(ROWS)].call(c);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "life";
    if (strcmp(what, "life") == 0) {
        life();
    } else if (strcmp(what, "illegal") == 0) {
        call_everything_everywhere(TABLE, ROWS);
        pass_wrong_arguments();
#ifndef EXCHANGE
        call_everything_within_a_step();
        take_wrong_steps();
#endif
    } else if (strcmp(what, "fuzz") == 0 && argc == 4) {
        fuzz(atol(argv[2]), strtoull(argv[3], 0, 10));
    } else {
        return 2;
    }
    return failures ? 1 : 0;
}
