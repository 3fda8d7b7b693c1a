/* A host in C for the sources of a native FMU, linked with them: full life cycles, every function in every phase,
 * wrong arguments, random call sequences, and many steps with an eye on memory.
 *
 *     native_host life | illegal | fuzz CALLS SEED | memory STEPS | numbers STEPS
 *
 * It ends with status 0 if all went as it should, and says on stderr what did not. */
#include "kernel.h"
#include "guid.h"
#include "model.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"
#include "prefix.h"

enum type { REAL, INTEGER, BOOLEAN };
#include "variables.h"

#ifdef WHOLE
#define TYPE(vr) VARIABLES[vr].type
#else
#define TYPE(vr) REAL
#endif

enum { INSTANTIATED, INITIALISING, RUNNING, TERMINATED, N_PHASES };

static int failures;
static long messages;

#define CHECK(claim) ((claim) ? (void)0 : complain(#claim, __LINE__))

static void complain(const char *claim, int line) {
    fprintf(stderr, "line %d: not so: %s\n", line, claim);
    ++failures;
}

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

/* The value reference of the variable of a kind at an offset; one that does not exist where there is none. */
static fmi2ValueReference reference(enum kind kind, int offset) {
    fmi2ValueReference vr = 0;
    while (vr < N_VARIABLES && (VARIABLES[vr].kind != kind || VARIABLES[vr].offset != offset)) ++vr;
    return vr;
}

static const fmi2CallbackFunctions HOST = {logger, calloc, free, 0, 0};

static fmi2Component make(void) {
    return fmi2Instantiate("one", fmi2CoSimulation, MODEL_GUID, "file:///nowhere", &HOST, fmi2False, fmi2True);
}

static fmi2Component in_phase(int phase) {
    fmi2Component c = make();
    if (phase >= INITIALISING) {
        CHECK(fmi2SetupExperiment(c, fmi2False, 0, 0, fmi2False, 0) == fmi2OK);
        CHECK(fmi2EnterInitializationMode(c) == fmi2OK);
    }
    if (phase >= RUNNING) {
        CHECK(fmi2ExitInitializationMode(c) == fmi2OK);
        CHECK(fmi2DoStep(c, 0, 1e-3, fmi2True) == fmi2OK);
    }
    if (phase >= TERMINATED) CHECK(fmi2Terminate(c) == fmi2OK);
    return c;
}

static fmi2Byte *serialised(fmi2Component c, size_t *size) {
    fmi2FMUstate state = 0;
    CHECK(fmi2GetFMUstate(c, &state) == fmi2OK);
    CHECK(fmi2SerializedFMUstateSize(c, state, size) == fmi2OK);
    fmi2Byte *bytes = malloc(*size);
    CHECK(fmi2SerializeFMUstate(c, state, bytes, *size) == fmi2OK);
    CHECK(fmi2FreeFMUstate(c, &state) == fmi2OK);
    CHECK(state == 0);
    return bytes;
}

static int restored(fmi2Component c, const fmi2Byte *bytes, size_t size) {
    fmi2FMUstate state = 0;
    if (fmi2DeSerializeFMUstate(c, bytes, size, &state) != fmi2OK) return 0;
    CHECK(fmi2SetFMUstate(c, state) == fmi2OK);
    CHECK(fmi2FreeFMUstate(c, &state) == fmi2OK);
    return 1;
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

static void live(fmi2Component c) {
    double before[NY], first[NY], again[NY], one = 1, found, rate[NY];
    const fmi2ValueReference input = reference(INPUT, 0), output = reference(OUTPUT, 0);
    const fmi2Integer order = 1;
    fmi2Status last;
    size_t size;
    CHECK(fmi2SetupExperiment(c, fmi2True, 1e-6, 0.5, fmi2True, 1) == fmi2OK);
    CHECK(fmi2EnterInitializationMode(c) == fmi2OK);
    CHECK(fmi2GetDirectionalDerivative(c, &output, 1, &output, NU > 0 ? 0 : 0, &one, &found) == fmi2OK);
    CHECK(fmi2ExitInitializationMode(c) == fmi2OK);
    for (int k = 0; k < 20; ++k) {
        if (NU) {
            double value = 0.1 * k;
            CHECK(fmi2SetReal(c, &input, 1, &value) == fmi2OK);
            CHECK(fmi2SetRealInputDerivatives(c, &input, 1, &order, &one) == fmi2OK);
            CHECK(fmi2GetDirectionalDerivative(c, &output, 1, &input, 1, &one, &found) == fmi2OK);
        }
        CHECK(fmi2DoStep(c, 0.5 + k * 1e-3, 1e-3, fmi2True) == fmi2OK);
        CHECK(fmi2GetRealOutputDerivatives(c, &output, 1, &order, rate) == fmi2OK);
    }
    outputs(c, before);
    fmi2Byte *bytes = serialised(c, &size);
    CHECK(fmi2DoStep(c, 0.52, 1e-2, fmi2False) == fmi2OK);
    outputs(c, first);
    CHECK(memcmp(before, first, sizeof first) != 0);
    CHECK(restored(c, bytes, size));
    outputs(c, again);
    CHECK(memcmp(before, again, sizeof again) == 0);
    CHECK(fmi2DoStep(c, 0.52, 1e-2, fmi2False) == fmi2OK);
    outputs(c, again);
    CHECK(memcmp(first, again, sizeof again) == 0);
    CHECK(fmi2GetStatus(c, fmi2DoStepStatus, &last) == fmi2OK && last == fmi2OK);
    CHECK(fmi2GetRealStatus(c, fmi2LastSuccessfulTime, &found) == fmi2OK && found == 0.52 + 1e-2);
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
        fmi2Component c = fmi2Instantiate("one", fmi2CoSimulation, MODEL_GUID, 0, hosts[k], fmi2False, fmi2True);
        CHECK(c != 0);
        live(c);
        CHECK(fmi2Reset(c) == fmi2OK);
        live(c);
        fmi2FreeInstance(c);
    }
    CHECK(messages == 0);
    CHECK(!fmi2Instantiate("one", fmi2CoSimulation, MODEL_GUID, 0, &poor, fmi2False, fmi2True));
    CHECK(!fmi2Instantiate("one", fmi2CoSimulation, MODEL_GUID, 0, 0, fmi2False, fmi2True));
    CHECK(!fmi2Instantiate("one", fmi2CoSimulation, "{another}", 0, &HOST, fmi2False, fmi2True));
    CHECK(!fmi2Instantiate("one", fmi2CoSimulation, 0, 0, &HOST, fmi2False, fmi2True));
    CHECK(!fmi2Instantiate("one", fmi2ModelExchange, MODEL_GUID, 0, &HOST, fmi2False, fmi2True));
    CHECK(!fmi2Instantiate("", fmi2CoSimulation, MODEL_GUID, 0, &HOST, fmi2False, fmi2True));
    CHECK(!fmi2Instantiate(0, fmi2CoSimulation, MODEL_GUID, 0, &HOST, fmi2False, fmi2True));
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
    const fmi2ValueReference vr = reference(SETTING, STEP);
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
static fmi2Status input_derivatives(fmi2Component c) { return fmi2SetRealInputDerivatives(c, 0, 0, 0, 0); }
static fmi2Status output_derivatives(fmi2Component c) {
    const fmi2ValueReference vr = reference(OUTPUT, 0);
    const fmi2Integer order = 1;
    double value;
    return fmi2GetRealOutputDerivatives(c, &vr, 1, &order, &value);
}
static double time_of(fmi2Component c) {
    double time = 0;
    return fmi2GetRealStatus(c, fmi2LastSuccessfulTime, &time) == fmi2OK ? time : 0;
}
static fmi2Status step(fmi2Component c) { return fmi2DoStep(c, time_of(c), 1e-3, fmi2True); }
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

static const struct {
    const char *name;
    fmi2Status (*call)(fmi2Component);
    const char *legal; /* in which phases: I instantiated, i initialisation, r running, t terminated */
} TABLE[] = {
    {"fmi2SetDebugLogging", debug_logging, "Iirt"},
    {"fmi2SetupExperiment", setup, "I"},
    {"fmi2EnterInitializationMode", fmi2EnterInitializationMode, "I"},
    {"fmi2ExitInitializationMode", fmi2ExitInitializationMode, "i"},
    {"fmi2Terminate", fmi2Terminate, "r"},
    {"fmi2Reset", fmi2Reset, "Iirt"},
    {"fmi2GetReal", get_real, "irt"},
    {"fmi2GetInteger", get_integer, "irt"},
    {"fmi2GetBoolean", get_boolean, "irt"},
    {"fmi2GetString", get_string, "irt"},
    {"fmi2SetReal", set_real, "Iir"},
    {"fmi2SetInteger", set_integer, "Iir"},
    {"fmi2SetBoolean", set_boolean, "Iir"},
    {"fmi2SetString", set_string, "Iir"},
    {"fmi2GetDirectionalDerivative", directional, "irt"},
    {"fmi2SetRealInputDerivatives", input_derivatives, "Iir"},
    {"fmi2GetRealOutputDerivatives", output_derivatives, "rt"},
    {"fmi2DoStep", step, "r"},
    {"fmi2CancelStep", fmi2CancelStep, ""},
    {"fmi2GetStatus", status, "rt"},
    {"fmi2GetRealStatus", real_status, "rt"},
    {"fmi2GetIntegerStatus", integer_status, "rt"},
    {"fmi2GetBooleanStatus", boolean_status, "rt"},
    {"fmi2GetStringStatus", string_status, "rt"},
};

static void call_everything_everywhere(void) {
    for (int phase = 0; phase < N_PHASES; ++phase)
        for (size_t k = 0; k < sizeof TABLE / sizeof *TABLE; ++k) {
            size_t size, other;
            fmi2Component c = in_phase(phase);
            fmi2Byte *before = serialised(c, &size);
            fmi2Status found = TABLE[k].call(c);
            fmi2Byte *after = serialised(c, &other);
            int legal = strchr(TABLE[k].legal, "Iirt"[phase]) != 0, same = memcmp(before, after, size) == 0;
            if (legal ? found > fmi2Discard : !(found == fmi2Error && same)) {
                fprintf(stderr, "%s in phase %d: status %d, state %s\n", TABLE[k].name, phase, found,
                        same ? "kept" : "changed");
                ++failures;
            }
            free(before);
            free(after);
            fmi2FreeInstance(c);
            CHECK(TABLE[k].call(0) == fmi2Error);
        }
}

static void pass_wrong_arguments(void) {
    const fmi2ValueReference beyond[] = {N_VARIABLES, 1u << 31, UINT32_MAX}, output = reference(OUTPUT, 0), parameter = reference(SETTING, STEP),
                             clock = 0;
    const fmi2Integer one = 1, two = 2;
    const double value = 1;
    const fmi2String unknown[] = {"noise", 0};
    double found;
    fmi2Integer integer = 0;
    fmi2Boolean boolean = 0;
    fmi2String string = "text";
    fmi2FMUstate state = 0, none = 0;
    size_t size;
    fmi2Byte bytes[100] = {0};
    fmi2Component c = in_phase(RUNNING);
    for (int k = 0; k < 3; ++k) {
        CHECK(fmi2GetReal(c, &beyond[k], 1, &found) == fmi2Error);
        CHECK(fmi2SetReal(c, &beyond[k], 1, &value) == fmi2Error);
        CHECK(fmi2SetRealInputDerivatives(c, &beyond[k], 1, &one, &value) == fmi2Error);
        CHECK(fmi2GetRealOutputDerivatives(c, &beyond[k], 1, &one, &found) == fmi2Error);
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
    CHECK(fmi2SetRealInputDerivatives(c, 0, 1, &one, &value) == fmi2Error);
    CHECK(fmi2SetRealInputDerivatives(c, &output, 1, &one, &value) == fmi2Error);
    CHECK(fmi2SetRealInputDerivatives(c, &output, 1, 0, &value) == fmi2Error);
    CHECK(fmi2GetRealOutputDerivatives(c, &output, 1, &two, &found) == fmi2Error);
    CHECK(fmi2GetRealOutputDerivatives(c, &parameter, 1, &one, &found) == fmi2Error);
    CHECK(fmi2GetRealOutputDerivatives(c, &output, 1, 0, &found) == fmi2Error);
    CHECK(fmi2GetDirectionalDerivative(c, &output, 1, &parameter, 1, &value, &found) == fmi2Error);
    CHECK(fmi2GetDirectionalDerivative(c, &output, 1, &clock, 1, &value, &found) == fmi2Error);
    CHECK(fmi2GetDirectionalDerivative(c, &parameter, 1, 0, 0, 0, &found) == fmi2Error);
    CHECK(fmi2GetDirectionalDerivative(c, &output, 1, 0, 1, &value, &found) == fmi2Error);
    CHECK(fmi2GetDirectionalDerivative(c, &output, 1, 0, 0, 0, 0) == fmi2Error);
    CHECK(fmi2SetDebugLogging(c, fmi2True, 1, 0) == fmi2Error);
    CHECK(fmi2SetDebugLogging(c, fmi2True, 1, unknown) == fmi2Error);
    CHECK(fmi2SetDebugLogging(c, fmi2True, 1, unknown + 1) == fmi2Error);
    CHECK(fmi2GetStatus(c, fmi2DoStepStatus, 0) == fmi2Error);
    CHECK(fmi2GetRealStatus(c, fmi2LastSuccessfulTime, 0) == fmi2Error);
    CHECK(fmi2GetIntegerStatus(c, fmi2DoStepStatus, 0) == fmi2Error);
    CHECK(fmi2GetBooleanStatus(c, fmi2Terminated, 0) == fmi2Error);
    CHECK(fmi2GetStringStatus(c, fmi2PendingStatus, 0) == fmi2Error);
    CHECK(fmi2GetRealStatus(c, (fmi2StatusKind)77, &found) == fmi2Discard);
    CHECK(fmi2GetFMUstate(c, 0) == fmi2Error);
    CHECK(fmi2SetFMUstate(c, 0) == fmi2Error);
    CHECK(fmi2FreeFMUstate(c, 0) == fmi2OK);
    CHECK(fmi2FreeFMUstate(c, &none) == fmi2OK);
    CHECK(fmi2GetFMUstate(c, &state) == fmi2OK);
    CHECK(fmi2GetFMUstate(c, &state) == fmi2OK); /* into the same memory */
    CHECK(fmi2SerializedFMUstateSize(c, 0, &size) == fmi2Error);
    CHECK(fmi2SerializedFMUstateSize(c, state, 0) == fmi2Error);
    CHECK(fmi2SerializeFMUstate(c, state, bytes, sizeof bytes) == fmi2Error);
    CHECK(fmi2SerializeFMUstate(c, state, 0, 100000) == fmi2Error);
    CHECK(fmi2DeSerializeFMUstate(c, bytes, sizeof bytes, &none) == fmi2Error);
    CHECK(fmi2DeSerializeFMUstate(c, 0, 10, &none) == fmi2Error);
    CHECK(fmi2FreeFMUstate(c, &state) == fmi2OK);
    CHECK(step(c) == fmi2OK);
    fmi2FreeInstance(c);
}

/* -- random call sequences --------------------------------------------------------------------------------------- */

static uint64_t seed;

static unsigned random_below(unsigned n) { /* xorshift64* (Vigna) */
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (unsigned)((seed * 2685821657736338717u) >> 33) % n;
}

static const double NASTY[] = {0.0, -0.0, 1.0, -1.0, 1e-3, 2.5e-3, -7.25, 50, 1e12, -1e30, 1e90, 1e160,
                               -1.7e308, 5e-324, NAN, INFINITY, -INFINITY};
static const double STEPS[] = {1e-3, 1e-3, 1e-3, 1e-3, 5e-4, 5e-4, 0.5, 0.5, 2e-3, NAN, -1e-3, INFINITY};
static const double SIZES[] = {1e-3, 1e-3, 1e-3, 2e-3, 1e-4, 1e-2, 0, -1e-3, NAN, INFINITY, 5e-324, 1e308};
static const double TOLERANCES[] = {0, 0, 0, 0, 1e-3, 1e-3, 0.1, 0.1, -1, NAN};

#define OF(table) table[random_below(sizeof table / sizeof *table)]
#define MOST 6
#define STATES 5

static fmi2ValueReference random_reference(void) {
    unsigned choice = random_below(400);
    if (choice == 0) return random_below(2) ? N_VARIABLES : UINT32_MAX - random_below(3);
    if (choice < 300 && NU) return reference(INPUT, (int)random_below(NU));
    if (choice < 340) return reference(SETTING, random_below(2) ? STEP : TOLERANCE);
    return random_below(N_VARIABLES);
}

static double random_value(fmi2ValueReference vr) {
    if (vr == reference(SETTING, STEP)) return OF(STEPS);
    if (vr == reference(SETTING, TOLERANCE)) return OF(TOLERANCES);
    return random_below(30) ? (random_below(2001) - 1000.0) / 250 : OF(NASTY);
}

struct player {
    fmi2Component c;
    fmi2FMUstate states[STATES];
};

static void all_finite(fmi2Component c) {
    double y[NY];
    fmi2ValueReference vr[NY];
    size_t n = 0;
    for (int i = 0; i < NY; ++i)
        if (TYPE(reference(OUTPUT, i)) == REAL) vr[n++] = reference(OUTPUT, i);
    if (fmi2GetReal(c, vr, n, y) == fmi2OK)
        for (size_t i = 0; i < n; ++i) CHECK(isfinite(y[i]));
}

/* A variable of a type, or with a small chance of any; without any of the type, of any. */
static fmi2ValueReference random_of(enum type type) {
    for (int k = 0; k < 20 && random_below(100); ++k) {
        const fmi2ValueReference vr = random_reference();
        if (vr >= N_VARIABLES || TYPE(vr) == type) return vr;
    }
    return random_reference();
}

static const int WHOLES[] = {0, 1, 0, 1, 2, 3, -1, 7, 2147483647, -2147483647 - 1};

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

static void play(struct player *a, fmi2Byte **blob, size_t *blob_size) {
    fmi2ValueReference vr[MOST], known[MOST];
    double values[MOST], found[MOST];
    fmi2Integer orders[MOST];
    size_t n = random_below(MOST + 1), n_known = random_below(3);
    const int nothing = random_below(50) == 0; /* NULL where an array is asked for */
    for (int i = 0; i < MOST; ++i) {
        vr[i] = random_of(REAL);
        known[i] = random_of(REAL);
        values[i] = random_value(vr[i]);
        orders[i] = random_below(8) ? 1 : (int)random_below(4) - 1;
    }
    fmi2Status result = fmi2OK;
    const unsigned which = random_below(100);
    if (which < 25) {
        double size = OF(SIZES), from = random_below(40) ? time_of(a->c) : OF(NASTY);
        result = fmi2DoStep(a->c, from, size, fmi2True);
    } else if (which < 45) {
        result = fmi2SetReal(a->c, nothing ? 0 : vr, n, values);
    } else if (which < 60) {
        result = fmi2GetReal(a->c, vr, n, nothing ? 0 : found);
    } else if (which < 64) {
        result = fmi2SetRealInputDerivatives(a->c, vr, n, nothing ? 0 : orders, values);
    } else if (which < 68) {
        for (size_t i = 0; i < n; ++i)
            if (random_below(8)) vr[i] = reference(OUTPUT, (int)random_below(NY));
        result = fmi2GetRealOutputDerivatives(a->c, vr, n, orders, found);
    } else if (which < 72) {
        for (size_t i = 0; i < n; ++i)
            if (random_below(8)) vr[i] = reference(OUTPUT, (int)random_below(NY));
        result = fmi2GetDirectionalDerivative(a->c, vr, n, known, n_known, nothing ? 0 : values, found);
    } else if (which < 77) {
        result = fmi2GetFMUstate(a->c, &a->states[random_below(STATES)]);
    } else if (which < 81) {
        result = fmi2SetFMUstate(a->c, a->states[random_below(STATES)]);
    } else if (which < 83) {
        result = fmi2FreeFMUstate(a->c, &a->states[random_below(STATES)]);
    } else if (which < 85) {
        free(*blob);
        *blob = serialised(a->c, blob_size);
    } else if (which < 88) {
        if (*blob && random_below(2)) { /* one wrong byte, then it is mended */
            fmi2Byte *byte = *blob + random_below((unsigned)*blob_size);
            *byte ^= 1 << random_below(8);
            CHECK(!restored(a->c, *blob, *blob_size));
            CHECK(!restored(a->c, *blob, random_below((unsigned)*blob_size)));
            free(*blob);
            *blob = 0;
        } else if (*blob) {
            CHECK(restored(a->c, *blob, *blob_size));
        }
    } else if (which < 89) {
        if (random_below(4) == 0) result = fmi2Reset(a->c);
    } else if (which < 91) {
        result = fmi2SetupExperiment(a->c, fmi2False, OF(NASTY), random_below(3) ? 0 : OF(NASTY), fmi2True, OF(NASTY));
    } else if (which < 94) {
        result = fmi2EnterInitializationMode(a->c);
    } else if (which < 97) {
        result = fmi2ExitInitializationMode(a->c);
    } else if (which < 98) {
        result = random_below(8) ? fmi2OK : fmi2Terminate(a->c);
    } else {
        if (random_below(4) == 0) result = TABLE[random_below(sizeof TABLE / sizeof *TABLE)].call(a->c);
    }
    if (random_below(10) == 0) result = play_whole(a->c, n, nothing);
    CHECK(result >= fmi2OK && result < fmi2Fatal);
    if (random_below(8) == 0) all_finite(a->c);
}

static void fuzz(long calls, uint64_t start) {
    struct player players[2] = {{0, {0}}, {0, {0}}};
    fmi2Byte *blob = 0;
    size_t blob_size = 0;
    seed = start * 2 + 1;
    for (long k = 0; k < calls && !failures; ++k) {
        struct player *a = &players[random_below(2)];
        if (a->c && random_below(60) == 0) {
            for (int i = 0; i < STATES; ++i) fmi2FreeFMUstate(a->c, &a->states[i]);
            fmi2FreeInstance(a->c);
            a->c = 0;
        }
        if (!a->c) {
            a->c = random_below(4) ? in_phase(RUNNING) : make();
        }
        play(a, &blob, &blob_size);
        if (failures) fprintf(stderr, "at call %ld\n", k);
    }
    for (int p = 0; p < 2; ++p)
        if (players[p].c) {
            for (int i = 0; i < STATES; ++i) fmi2FreeFMUstate(players[p].c, &players[p].states[i]);
            fmi2FreeInstance(players[p].c);
        }
    free(blob);
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
        if (fmi2DoStep(c, k * 1e-3, 1e-3, fmi2True) != fmi2OK) ++failures;
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
    for (long k = 1; k <= steps; ++k) CHECK(fmi2DoStep(c, k * 1e-3, 1e-3, fmi2True) == fmi2OK);
    outputs(c, y);
    for (int i = 0; i < NY; ++i) printf("%.17g\n", y[i]);
    fmi2FreeInstance(c);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "life";
    if (strcmp(what, "life") == 0) {
        life();
    } else if (strcmp(what, "illegal") == 0) {
        call_everything_everywhere();
        pass_wrong_arguments();
    } else if (strcmp(what, "fuzz") == 0 && argc == 4) {
        fuzz(atol(argv[2]), strtoull(argv[3], 0, 10));
        printf("%s calls, %ld messages\n", argv[2], messages);
    } else if (strcmp(what, "memory") == 0 && argc == 3) {
        memory(atol(argv[2]));
    } else if (strcmp(what, "numbers") == 0 && argc == 3) {
        numbers(atol(argv[2]));
    } else {
        return 2;
    }
    return failures ? 1 : 0;
}
