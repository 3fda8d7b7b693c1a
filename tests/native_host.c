/* A host in C for the sources of a native FMU, linked with them: full life cycles, every function in every phase,
 * wrong arguments, random call sequences, and many steps with an eye on memory.
 *
 *     native_host life | illegal | fuzz CALLS SEED | memory STEPS | numbers STEPS
 *
 * It ends with status 0 if all went as it should, and says on stderr what did not. */
#include "kernel.h"

#include "fmi2Functions.h"
#include "prefix.h"

#define FMI(name) fmi2##name
#ifdef EXCHANGE
#define HAS_EVENT_MODE 1
#define KIND fmi2ModelExchange
#define OTHER_KIND fmi2CoSimulation
#define fmi2GetContinuousStateDerivatives fmi2GetDerivatives
#else
#define HAS_EVENT_MODE 0
#define KIND fmi2CoSimulation
#define OTHER_KIND fmi2ModelExchange
#endif
#include "native_host.h"
#ifdef EXCHANGE
#include "native_exchange.h"
#endif

static void logger(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status, fmi2String category,
                   fmi2String message, ...) {
    char text[5000];
    va_list arguments;
    (void)environment;
    va_start(arguments, message);
    vsnprintf(text, sizeof text, message, arguments);
    va_end(arguments);
    CHECK(name && category && *text && status >= fmi2OK && status < fmi2Fatal);
    ++messages;
}

static const fmi2CallbackFunctions HOST = {logger, calloc, free, 0, 0};

static void *make(void) {
    return fmi2Instantiate("one", KIND, MODEL_GUID, "file:///nowhere", &HOST, fmi2False, fmi2True);
}

static double now(void *c) {
    const fmi2ValueReference vr = reference(TIME, 0);
    double time = 0;
    return fmi2GetReal(c, &vr, 1, &time) == fmi2OK ? time : 0;
}

#ifdef EXCHANGE
static fmi2Status update(void *c, double *next, int *changed) {
    fmi2EventInfo info = {7, 7, 7, 7, 7, NAN};
    const fmi2Status status = fmi2NewDiscreteStates(c, &info);
    if (status != fmi2OK) return status;
    CHECK(!info.newDiscreteStatesNeeded && !info.terminateSimulation && !info.nominalsOfContinuousStatesChanged);
    *changed = info.valuesOfContinuousStatesChanged;
    CHECK(*changed == fmi2False || *changed == fmi2True);
    *next = info.nextEventTimeDefined ? info.nextEventTime : INFINITY;
    return status;
}

static void run(void *c, int steps) { integrate(c, steps); }
#else
static void run(void *c, int steps) {
    for (int k = 0; k < steps; ++k) CHECK(fmi2DoStep(c, now(c), 1e-3, fmi2True) == fmi2OK);
}
#endif

static void *in_phase(int phase) {
    fmi2Component c = make();
    if (phase >= INITIALISING) {
        CHECK(fmi2SetupExperiment(c, fmi2False, 0, 0, fmi2False, 0) == fmi2OK);
        CHECK(fmi2EnterInitializationMode(c) == fmi2OK);
    }
    if (phase >= RUNNING) CHECK(fmi2ExitInitializationMode(c) == fmi2OK);
#ifdef EXCHANGE
    if (phase >= RUNNING && phase != AT_EVENT) handle(c);
#endif
    if (phase == RUNNING || phase == TERMINATED) run(c, 1);
    if (phase == TERMINATED) CHECK(fmi2Terminate(c) == fmi2OK);
    return c;
}

/* -- full life cycles -------------------------------------------------------------------------------------------- */

static void outputs(fmi2Component c, double y[NY]) {
    for (int i = 0; i < NY; ++i) {
        const fmi2ValueReference vr = reference(OUTPUT, i);
        int whole = 0;
        if (TYPE(vr) == REAL)
            CHECK(fmi2GetReal(c, &vr, 1, &y[i]) == fmi2OK);
        else if (TYPE(vr) == INTEGER)
            CHECK(fmi2GetInteger(c, &vr, 1, &whole) == fmi2OK);
        else
            CHECK(fmi2GetBoolean(c, &vr, 1, &whole) == fmi2OK && (whole == fmi2False || whole == fmi2True));
        if (TYPE(vr) != REAL) y[i] = whole;
    }
}

/* What an instance does on its way from the end of the initialisation. */
static void go(fmi2Component c) {
    const fmi2ValueReference input = reference(INPUT, 0), output = reference(OUTPUT, 0);
    double one = 1, found;
    for (int k = 0; k < 20; ++k) {
        double value = 0.1 * k;
        if (NU) {
            CHECK(fmi2SetReal(c, &input, 1, &value) == fmi2OK);
            CHECK(fmi2GetDirectionalDerivative(c, &output, 1, &input, 1, &one, &found) == fmi2OK);
        }
#ifndef EXCHANGE
        const fmi2Integer order = 1;
        if (NU) CHECK(fmi2SetRealInputDerivatives(c, &input, 1, &order, &one) == fmi2OK);
        run(c, 1);
        CHECK(fmi2GetRealOutputDerivatives(c, &output, 1, &order, &found) == fmi2OK);
#else
        const fmi2ValueReference rate = reference(RATE, 0), state = reference(STATE, 0);
        CHECK(fmi2GetDirectionalDerivative(c, &rate, 1, &state, 1, &one, &found) == fmi2OK);
        run(c, 1);
#endif
    }
}

static void live(fmi2Component c) {
    double before[NY], first[NY], again[NY], one = 1, found;
    const fmi2ValueReference output = reference(OUTPUT, 0);
    size_t size;
    CHECK(fmi2SetupExperiment(c, fmi2True, 1e-6, 0.5, fmi2True, 1) == fmi2OK);
    CHECK(fmi2EnterInitializationMode(c) == fmi2OK);
    CHECK(fmi2GetDirectionalDerivative(c, &output, 1, &output, 0, &one, &found) == fmi2OK);
    CHECK(fmi2ExitInitializationMode(c) == fmi2OK);
#ifdef EXCHANGE
    handle(c);
#endif
    go(c);
    outputs(c, before);
    fmi2Byte *bytes = serialised(c, &size);
    run(c, 10);
    outputs(c, first);
    CHECK(memcmp(before, first, sizeof first) != 0);
    CHECK(restored(c, bytes, size));
    outputs(c, again);
    CHECK(memcmp(before, again, sizeof again) == 0);
    run(c, 10);
    outputs(c, again);
    CHECK(memcmp(first, again, sizeof again) == 0);
#ifndef EXCHANGE
    fmi2Status last;
    CHECK(fmi2GetStatus(c, fmi2DoStepStatus, &last) == fmi2OK && last == fmi2OK);
    CHECK(fmi2GetRealStatus(c, fmi2LastSuccessfulTime, &found) == fmi2OK && found == now(c));
#endif
    CHECK(fmi2Terminate(c) == fmi2OK);
    outputs(c, again);
    free(bytes);
}

static void *no_memory(size_t n, size_t size) {
    (void)n, (void)size;
    return 0;
}

static void life(void) {
    const fmi2CallbackFunctions silent = {0, calloc, free, 0, 0}, bare = {0, 0, 0, 0, 0},
                                poor = {logger, no_memory, free, 0, 0};
    const fmi2CallbackFunctions *hosts[] = {&HOST, &silent, &bare};
    for (int k = 0; k < 3; ++k) {
        fmi2Component c = fmi2Instantiate("one", KIND, MODEL_GUID, 0, hosts[k], fmi2False, fmi2True);
        CHECK(c != 0);
        live(c);
        CHECK(fmi2Reset(c) == fmi2OK);
        live(c);
        fmi2FreeInstance(c);
    }
    CHECK(messages == 0);
    CHECK(!fmi2Instantiate("one", KIND, MODEL_GUID, 0, &poor, fmi2False, fmi2True));
    CHECK(!fmi2Instantiate("one", KIND, MODEL_GUID, 0, 0, fmi2False, fmi2True));
    CHECK(!fmi2Instantiate("one", KIND, "{another}", 0, &HOST, fmi2False, fmi2True));
    CHECK(!fmi2Instantiate("one", KIND, 0, 0, &HOST, fmi2False, fmi2True));
    CHECK(!fmi2Instantiate("one", OTHER_KIND, MODEL_GUID, 0, &HOST, fmi2False, fmi2True));
    CHECK(!fmi2Instantiate("", KIND, MODEL_GUID, 0, &HOST, fmi2False, fmi2True));
    CHECK(!fmi2Instantiate(0, KIND, MODEL_GUID, 0, &HOST, fmi2False, fmi2True));
    CHECK(messages == 6);
    fmi2FreeInstance(0);
    CHECK(strcmp(fmi2GetVersion(), "2.0") == 0 && strcmp(fmi2GetTypesPlatform(), "default") == 0);
}

/* -- every function in every phase, as the standard's table has it ----------------------------------------------- */

static fmi2Status debug_logging(fmi2Component c) { return fmi2SetDebugLogging(c, fmi2True, 0, 0); }
static fmi2Status setup(fmi2Component c) { return fmi2SetupExperiment(c, fmi2False, 0, 0, fmi2False, 0); }
static fmi2Status get_real(fmi2Component c) {
    const fmi2ValueReference vr = reference(OUTPUT, 0);
    double value;
    return fmi2GetReal(c, &vr, 1, &value);
}
static fmi2Status get_integer(fmi2Component c) { return fmi2GetInteger(c, 0, 0, 0); }
static fmi2Status get_boolean(fmi2Component c) { return fmi2GetBoolean(c, 0, 0, 0); }
static fmi2Status get_string(fmi2Component c) { return fmi2GetString(c, 0, 0, 0); }
static fmi2Status set_real(fmi2Component c) {
    const fmi2ValueReference vr = reference(SETTING, FIRST);
    const double value = 1e-3;
    return fmi2SetReal(c, &vr, 1, &value);
}
static fmi2Status set_integer(fmi2Component c) { return fmi2SetInteger(c, 0, 0, 0); }
static fmi2Status set_boolean(fmi2Component c) { return fmi2SetBoolean(c, 0, 0, 0); }
static fmi2Status set_string(fmi2Component c) { return fmi2SetString(c, 0, 0, 0); }
static fmi2Status directional(fmi2Component c) {
    const fmi2ValueReference vr = reference(OUTPUT, 0);
    double value;
    return fmi2GetDirectionalDerivative(c, &vr, 1, 0, 0, 0, &value);
}
#ifndef EXCHANGE
static fmi2Status input_derivatives(fmi2Component c) { return fmi2SetRealInputDerivatives(c, 0, 0, 0, 0); }
static fmi2Status output_derivatives(fmi2Component c) {
    const fmi2ValueReference vr = reference(OUTPUT, 0);
    const fmi2Integer order = 1;
    double value;
    return fmi2GetRealOutputDerivatives(c, &vr, 1, &order, &value);
}
static fmi2Status step(fmi2Component c) { return fmi2DoStep(c, 1e-3, 1e-3, fmi2True); }
static fmi2Status status(fmi2Component c) {
    fmi2Status value;
    return fmi2GetStatus(c, fmi2DoStepStatus, &value);
}
static fmi2Status real_status(fmi2Component c) {
    double value;
    return fmi2GetRealStatus(c, fmi2LastSuccessfulTime, &value);
}
static fmi2Status integer_status(fmi2Component c) {
    fmi2Integer value;
    return fmi2GetIntegerStatus(c, fmi2DoStepStatus, &value);
}
static fmi2Status boolean_status(fmi2Component c) {
    fmi2Boolean value;
    return fmi2GetBooleanStatus(c, fmi2Terminated, &value);
}
static fmi2Status string_status(fmi2Component c) {
    fmi2String value;
    return fmi2GetStringStatus(c, fmi2PendingStatus, &value);
}
#endif

static const struct row TABLE[] = {
    {"fmi2SetDebugLogging", debug_logging, "Iirte"},
    {"fmi2SetupExperiment", setup, "I"},
    {"fmi2EnterInitializationMode", fmi2EnterInitializationMode, "I"},
    {"fmi2ExitInitializationMode", fmi2ExitInitializationMode, "i"},
    {"fmi2Terminate", fmi2Terminate, "re"},
    {"fmi2Reset", fmi2Reset, "Iirte"},
    {"fmi2GetReal", get_real, "irte"},
    {"fmi2GetInteger", get_integer, "irte"},
    {"fmi2GetBoolean", get_boolean, "irte"},
    {"fmi2GetString", get_string, "irte"},
    {"fmi2SetReal", set_real, "Iire"},
    {"fmi2SetInteger", set_integer, "Iire"},
    {"fmi2SetBoolean", set_boolean, "Iire"},
    {"fmi2SetString", set_string, "Iire"},
    {"fmi2GetDirectionalDerivative", directional, "irte"},
#ifdef EXCHANGE
    EXCHANGE_ROWS,
#else
    {"fmi2SetRealInputDerivatives", input_derivatives, "Iir"},
    {"fmi2GetRealOutputDerivatives", output_derivatives, "rt"},
    {"fmi2DoStep", step, "r"},
    {"fmi2CancelStep", fmi2CancelStep, ""},
    {"fmi2GetStatus", status, "rt"},
    {"fmi2GetRealStatus", real_status, "rt"},
    {"fmi2GetIntegerStatus", integer_status, "rt"},
    {"fmi2GetBooleanStatus", boolean_status, "rt"},
    {"fmi2GetStringStatus", string_status, "rt"},
#endif
};

static void pass_wrong_arguments(void) {
    const fmi2ValueReference beyond[] = {N_VARIABLES, 1u << 31, UINT32_MAX}, output = reference(OUTPUT, 0),
                             parameter = reference(SETTING, FIRST), clock = 0;
    const double value = 1;
    const fmi2String unknown[] = {"noise", 0};
    double found;
    fmi2Integer integer = 0;
    fmi2Boolean boolean = 0;
    fmi2String string = "text";
    fmi2Component c = in_phase(RUNNING);
    for (int k = 0; k < 3; ++k) {
        CHECK(fmi2GetReal(c, &beyond[k], 1, &found) == fmi2Error);
        CHECK(fmi2SetReal(c, &beyond[k], 1, &value) == fmi2Error);
        CHECK(fmi2GetDirectionalDerivative(c, &beyond[k], 1, &clock, 0, 0, &found) == fmi2Error);
        CHECK(fmi2GetDirectionalDerivative(c, &output, 1, &beyond[k], 1, &value, &found) == fmi2Error);
    }
    CHECK(fmi2GetReal(c, 0, 1, &found) == fmi2Error);
    CHECK(fmi2GetReal(c, &output, 1, 0) == fmi2Error);
    CHECK(fmi2GetReal(c, 0, 0, 0) == fmi2OK);
    CHECK(fmi2SetReal(c, 0, 1, &value) == fmi2Error);
    CHECK(fmi2SetReal(c, &parameter, 1, 0) == fmi2Error);
    CHECK(fmi2SetReal(c, 0, 0, 0) == fmi2OK);
    CHECK(fmi2GetInteger(c, &output, 1, &integer) == fmi2Error);
    CHECK(fmi2SetInteger(c, &output, 1, &integer) == fmi2Error);
    CHECK(fmi2GetBoolean(c, &output, 1, &boolean) == fmi2Error);
    CHECK(fmi2SetBoolean(c, &output, 1, &boolean) == fmi2Error);
    CHECK(fmi2GetString(c, &output, 1, &string) == fmi2Error);
    CHECK(fmi2SetString(c, &output, 1, &string) == fmi2Error);
#ifndef EXCHANGE /* there the rate of stabilisation can be known */
    CHECK(fmi2GetDirectionalDerivative(c, &output, 1, &parameter, 1, &value, &found) == fmi2Error);
#endif
    CHECK(fmi2GetDirectionalDerivative(c, &output, 1, &output, 1, &value, &found) == fmi2Error);
    CHECK(fmi2GetDirectionalDerivative(c, &parameter, 1, 0, 0, 0, &found) == fmi2Error);
    CHECK(fmi2GetDirectionalDerivative(c, &output, 1, 0, 1, &value, &found) == fmi2Error);
    CHECK(fmi2GetDirectionalDerivative(c, &output, 1, 0, 0, 0, 0) == fmi2Error);
    CHECK(fmi2SetDebugLogging(c, fmi2True, 1, 0) == fmi2Error);
    CHECK(fmi2SetDebugLogging(c, fmi2True, 1, unknown) == fmi2Error);
    CHECK(fmi2SetDebugLogging(c, fmi2True, 1, unknown + 1) == fmi2Error);
#ifdef EXCHANGE
    pass_wrong_points(c);
#else
    const fmi2Integer one = 1, two = 2;
    for (int k = 0; k < 3; ++k) {
        CHECK(fmi2SetRealInputDerivatives(c, &beyond[k], 1, &one, &value) == fmi2Error);
        CHECK(fmi2GetRealOutputDerivatives(c, &beyond[k], 1, &one, &found) == fmi2Error);
    }
    CHECK(fmi2SetRealInputDerivatives(c, 0, 1, &one, &value) == fmi2Error);
    CHECK(fmi2SetRealInputDerivatives(c, &output, 1, &one, &value) == fmi2Error);
    CHECK(fmi2SetRealInputDerivatives(c, &output, 1, 0, &value) == fmi2Error);
    CHECK(fmi2GetRealOutputDerivatives(c, &output, 1, &two, &found) == fmi2Error);
    CHECK(fmi2GetRealOutputDerivatives(c, &parameter, 1, &one, &found) == fmi2Error);
    CHECK(fmi2GetRealOutputDerivatives(c, &output, 1, 0, &found) == fmi2Error);
    CHECK(fmi2GetStatus(c, fmi2DoStepStatus, 0) == fmi2Error);
    CHECK(fmi2GetRealStatus(c, fmi2LastSuccessfulTime, 0) == fmi2Error);
    CHECK(fmi2GetIntegerStatus(c, fmi2DoStepStatus, 0) == fmi2Error);
    CHECK(fmi2GetBooleanStatus(c, fmi2Terminated, 0) == fmi2Error);
    CHECK(fmi2GetStringStatus(c, fmi2PendingStatus, 0) == fmi2Error);
    CHECK(fmi2GetRealStatus(c, (fmi2StatusKind)77, &found) == fmi2Discard);
#endif
    pass_wrong_states(c);
    run(c, 1);
    fmi2FreeInstance(c);
}

/* -- random call sequences --------------------------------------------------------------------------------------- */

static void all_finite(fmi2Component c) {
    double y[NY];
    fmi2ValueReference vr[NY];
    size_t n = 0;
    for (int i = 0; i < NY; ++i)
        if (TYPE(reference(OUTPUT, i)) == REAL) vr[n++] = reference(OUTPUT, i);
    if (fmi2GetReal(c, vr, n, y) == fmi2OK)
        for (size_t i = 0; i < n; ++i) CHECK(isfinite(y[i]));
}

/* Get or set values of the types that are not real. */
static fmi2Status play_whole(fmi2Component c, size_t n, int nothing) {
    const enum type type = random_below(2) ? INTEGER : BOOLEAN;
    fmi2ValueReference vr[MOST];
    int values[MOST];
    for (int i = 0; i < MOST; ++i) {
        vr[i] = random_of(type);
        values[i] = OF(WHOLES);
    }
    if (random_below(2)) {
        return type == INTEGER ? fmi2SetInteger(c, nothing ? 0 : vr, n, values)
                               : fmi2SetBoolean(c, vr, n, nothing ? 0 : values);
    }
    const fmi2Status result = type == INTEGER ? fmi2GetInteger(c, vr, n, nothing ? 0 : values)
                                              : fmi2GetBoolean(c, nothing ? 0 : vr, n, values);
    if (type == BOOLEAN && result == fmi2OK)
        for (size_t i = 0; i < n; ++i) CHECK(values[i] == fmi2False || values[i] == fmi2True);
    return result;
}

#ifndef EXCHANGE
/* One random call of those for co-simulation only. */
static fmi2Status play_steps(void *c, fmi2ValueReference vr[], size_t n, const double values[], int nothing) {
    const unsigned which = random_below(33);
    fmi2Integer orders[MOST];
    double found[MOST];
    if (which < 25) return fmi2DoStep(c, random_below(40) ? now(c) : OF(NASTY), OF(SIZES), fmi2True);
    for (int i = 0; i < MOST; ++i) orders[i] = random_below(8) ? 1 : (int)random_below(4) - 1;
    if (which < 29) return fmi2SetRealInputDerivatives(c, vr, n, nothing ? 0 : orders, values);
    for (size_t i = 0; i < n; ++i)
        if (random_below(8)) vr[i] = reference(OUTPUT, (int)random_below(NY));
    return fmi2GetRealOutputDerivatives(c, vr, n, orders, found);
}
#endif

static void *make_any(int player) {
    (void)player;
    return random_below(4) ? in_phase(RUNNING) : make();
}

static fmi2Status play(struct player *a, struct blob *blob) {
    fmi2ValueReference vr[MOST], known[MOST];
    double values[MOST], found[MOST];
    size_t n = random_below(MOST + 1), n_known = random_below(3);
    const int nothing = random_below(50) == 0; /* NULL where an array is asked for */
    for (int i = 0; i < MOST; ++i) {
        vr[i] = random_of(REAL);
        known[i] = random_of(REAL);
        values[i] = random_value(vr[i]);
    }
    const unsigned which = random_below(100);
#ifndef EXCHANGE /* whose solver may leave what has a solution */
    if (which % 8 == 0) all_finite(a->c);
#endif
    if (random_below(10) == 0) return play_whole(a->c, n, nothing);
    if (which < 33) {
#ifdef EXCHANGE
        return play_exchange(a->c);
#else
        return play_steps(a->c, vr, n, values, nothing);
#endif
    }
    if (which < 53) return fmi2SetReal(a->c, nothing ? 0 : vr, n, values);
    if (which < 68) return fmi2GetReal(a->c, vr, n, nothing ? 0 : found);
    if (which < 72) {
        for (size_t i = 0; i < n; ++i)
            if (random_below(8)) vr[i] = reference(OUTPUT, (int)random_below(NY));
        return fmi2GetDirectionalDerivative(a->c, vr, n, known, n_known, nothing ? 0 : values, found);
    }
    if (which < 88) return play_state(a, blob);
    if (which < 89) return random_below(4) ? fmi2OK : fmi2Reset(a->c);
    if (which < 91)
        return fmi2SetupExperiment(a->c, fmi2False, OF(NASTY), random_below(3) ? 0 : OF(NASTY), fmi2True, OF(NASTY));
    if (which < 94) return fmi2EnterInitializationMode(a->c);
    if (which < 97) return fmi2ExitInitializationMode(a->c);
    if (which < 98) return random_below(8) ? fmi2OK : fmi2Terminate(a->c);
    return random_below(4) ? fmi2OK : TABLE[random_below(sizeof TABLE / sizeof *TABLE)].call(a->c);
}

/* -- memory ------------------------------------------------------------------------------------------------------ */

static long kilobytes(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1) ++failures;
    if (file) fclose(file);
    return pages * 4;
}

static void memory(long steps) {
    fmi2Component c = in_phase(RUNNING);
    const fmi2ValueReference vr[] = {reference(INPUT, 0), reference(OUTPUT, 0)};
    long before = 0;
    for (long k = 1; k <= steps; ++k) {
        double value = (double)(k % 7) - 3;
        if (NU) fmi2SetReal(c, vr, 1, &value);
        run(c, 1);
        fmi2GetReal(c, vr + 1, 1, &value);
        if (k == steps / 10) before = kilobytes();
    }
    printf("%ld steps: %ld kB more\n", steps, kilobytes() - before);
    CHECK(kilobytes() - before < 200);
    fmi2FreeInstance(c);
}

/* -- numbers ----------------------------------------------------------------------------------------------------- */

static void numbers(long steps) {
    double y[NY];
    fmi2Component c = in_phase(RUNNING);
    run(c, (int)steps);
    outputs(c, y);
    for (int i = 0; i < NY; ++i) printf("%.17g\n", y[i]);
    fmi2FreeInstance(c);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "life";
    if (strcmp(what, "life") == 0) {
        life();
    } else if (strcmp(what, "illegal") == 0) {
        call_everything_everywhere(TABLE, sizeof TABLE / sizeof *TABLE);
        pass_wrong_arguments();
    } else if (strcmp(what, "fuzz") == 0 && argc == 4) {
        fuzz(atol(argv[2]), strtoull(argv[3], 0, 10));
    } else if (strcmp(what, "memory") == 0 && argc == 3) {
        memory(atol(argv[2]));
    } else if (strcmp(what, "numbers") == 0 && argc == 3) {
        numbers(atol(argv[2]));
    } else {
        return 2;
    }
    return failures ? 1 : 0;
}
