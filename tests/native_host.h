/* What the C hosts of FMI 2.0 and FMI 3.0 share: the variables of the FMU they are linked with, complaints, states, a
 * table of calls and random choices. A host includes the functions of its version first, and defines FMI(name). */
#include "kernel.h"
#include "guid.h"
#include "model.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { REAL, INTEGER, BOOLEAN, ENUMERATION };
#include "variables.h"

#ifdef WHOLE
#define TYPE(vr) VARIABLES[vr].type
#else
#define TYPE(vr) REAL
#endif

#ifdef EXCHANGE
enum { FIRST = DRIFT, SECOND = STABILIZATION }; /* settings of the solver that are tried */
#else
enum { FIRST = STEP, SECOND = TOLERANCE };
#endif

enum { INSTANTIATED, INITIALISING, RUNNING, TERMINATED, AT_EVENT };
#define PHASE_LETTERS "Iirte"
#define N_PHASES (HAS_EVENT_MODE ? 5 : 4)

static int failures;
static long messages;

#define CHECK(claim) ((claim) ? (void)0 : complain(#claim, __LINE__))

static void complain(const char *claim, int line) {
    fprintf(stderr, "line %d: not so: %s\n", line, claim);
    ++failures;
}

/* The value reference of the variable of a kind at an offset; one that does not exist where there is none. */
static unsigned int reference(enum kind kind, int offset) {
    unsigned int vr = 0;
    while (vr < N_VARIABLES && (VARIABLES[vr].kind != kind || VARIABLES[vr].offset != offset)) ++vr;
    return vr;
}

/* Of each host: a new instance, one in a phase, and the lives that it can have. */
static void *make(void);
static void *in_phase(int phase);

static FMI(Byte) *serialised(void *c, size_t *size) {
    FMI(FMUstate) state = 0;
    CHECK(FMI(GetFMUstate)(c, &state) == FMI(OK));
    CHECK(FMI(SerializedFMUstateSize)(c, state, size) == FMI(OK));
    FMI(Byte) *bytes = malloc(*size);
    CHECK(FMI(SerializeFMUstate)(c, state, bytes, *size) == FMI(OK));
    CHECK(FMI(FreeFMUstate)(c, &state) == FMI(OK));
    CHECK(state == 0);
    return bytes;
}

static int restored(void *c, const FMI(Byte) *bytes, size_t size) {
    FMI(FMUstate) state = 0;
    if (FMI(DeSerializeFMUstate)(c, bytes, size, &state) != FMI(OK)) return 0;
    CHECK(FMI(SetFMUstate)(c, state) == FMI(OK));
    CHECK(FMI(FreeFMUstate)(c, &state) == FMI(OK));
    return 1;
}

static void pass_wrong_states(void *c) {
    FMI(FMUstate) state = 0, none = 0;
    FMI(Byte) bytes[100] = {0};
    size_t size;
    CHECK(FMI(GetFMUstate)(c, 0) == FMI(Error));
    CHECK(FMI(SetFMUstate)(c, 0) == FMI(Error));
    CHECK(FMI(FreeFMUstate)(c, 0) == FMI(OK));
    CHECK(FMI(FreeFMUstate)(c, &none) == FMI(OK));
    CHECK(FMI(GetFMUstate)(c, &state) == FMI(OK));
    CHECK(FMI(GetFMUstate)(c, &state) == FMI(OK)); /* into the same memory */
    CHECK(FMI(SerializedFMUstateSize)(c, 0, &size) == FMI(Error));
    CHECK(FMI(SerializedFMUstateSize)(c, state, 0) == FMI(Error));
    CHECK(FMI(SerializeFMUstate)(c, state, bytes, sizeof bytes) == FMI(Error));
    CHECK(FMI(SerializeFMUstate)(c, state, 0, 100000) == FMI(Error));
    CHECK(FMI(DeSerializeFMUstate)(c, bytes, sizeof bytes, &none) == FMI(Error));
    CHECK(FMI(DeSerializeFMUstate)(c, 0, 10, &none) == FMI(Error));
    CHECK(FMI(FreeFMUstate)(c, &state) == FMI(OK));
}

/* -- every function in every phase, as the standard's table has it ----------------------------------------------- */

struct row {
    const char *name;
    FMI(Status) (*call)(void *c);
    const char *legal; /* in which phases: letters of PHASE_LETTERS */
};

static void call_everything_everywhere(const struct row *table, size_t n) {
    for (int phase = 0; phase < N_PHASES; ++phase)
        for (size_t k = 0; k < n; ++k) {
            size_t size, other;
            void *c = in_phase(phase);
            FMI(Byte) *before = serialised(c, &size);
            FMI(Status) found = table[k].call(c);
            FMI(Byte) *after = serialised(c, &other);
            int legal = strchr(table[k].legal, PHASE_LETTERS[phase]) != 0, same = memcmp(before, after, size) == 0;
            if (legal ? found > FMI(Discard) : !(found == FMI(Error) && same)) {
                fprintf(stderr, "%s in phase %d: status %d, state %s\n", table[k].name, phase, found,
                        same ? "kept" : "changed");
                ++failures;
            }
            free(before);
            free(after);
            FMI(FreeInstance)(c);
            CHECK(table[k].call(0) == FMI(Error));
        }
}

/* -- random choices ---------------------------------------------------------------------------------------------- */

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
static const int WHOLES[] = {0, 1, 0, 1, 2, 3, -1, 7, 2147483647, -2147483647 - 1};

#define OF(table) table[random_below(sizeof table / sizeof *table)]
#define MOST 6
#define STATES 5

static unsigned int random_reference(void) {
    unsigned choice = random_below(400);
    if (choice == 0) return random_below(2) ? N_VARIABLES : UINT32_MAX - random_below(3);
    if (choice < 300 && NU) return reference(INPUT, (int)random_below(NU));
    if (choice < 340) return reference(SETTING, random_below(2) ? FIRST : SECOND);
    return random_below(N_VARIABLES);
}

static double random_value(unsigned int vr) {
    if (vr == reference(SETTING, FIRST)) return OF(STEPS);
    if (vr == reference(SETTING, SECOND)) return OF(TOLERANCES);
    return random_below(30) ? (random_below(2001) - 1000.0) / 250 : OF(NASTY);
}

/* A variable of a type, or with a small chance of any; without any of the type, of any. */
static unsigned int random_of(enum type type) {
    for (int k = 0; k < 20 && random_below(100); ++k) {
        const unsigned int vr = random_reference();
        if (vr >= N_VARIABLES || TYPE(vr) == type) return vr;
    }
    return random_reference();
}

/* -- random call sequences --------------------------------------------------------------------------------------- */

struct player {
    void *c;
    FMI(FMUstate) states[STATES];
};

/* A serialised state, which is passed from instance to instance. */
struct blob {
    FMI(Byte) *bytes;
    size_t size;
};

/* Of each host: an instance for one of two players, in a random phase, and one random call. */
static void *make_any(int player);
static FMI(Status) play(struct player *a, struct blob *blob);

/* Get, set, free, write and read states; with one wrong byte, which must be noticed. */
static FMI(Status) play_state(struct player *a, struct blob *blob) {
    const unsigned which = random_below(14);
    FMI(FMUstate) *state = &a->states[random_below(STATES)];
    if (which < 5) return FMI(GetFMUstate)(a->c, state);
    if (which < 9) return FMI(SetFMUstate)(a->c, *state);
    if (which < 11) return FMI(FreeFMUstate)(a->c, state);
    if (!blob->bytes) {
        blob->bytes = serialised(a->c, &blob->size);
    } else if (which == 11) {
        blob->bytes[random_below((unsigned)blob->size)] ^= 1 << random_below(8);
        CHECK(!restored(a->c, blob->bytes, blob->size));
        CHECK(!restored(a->c, blob->bytes, random_below((unsigned)blob->size)));
        free(blob->bytes);
        blob->bytes = 0;
    } else {
        CHECK(restored(a->c, blob->bytes, blob->size));
    }
    return FMI(OK);
}

static void release(struct player *a) {
    if (!a->c) return;
    for (int i = 0; i < STATES; ++i) FMI(FreeFMUstate)(a->c, &a->states[i]);
    FMI(FreeInstance)(a->c);
    a->c = 0;
}

static void fuzz(long calls, uint64_t start) {
    struct player players[2] = {{0, {0}}, {0, {0}}};
    struct blob blob = {0, 0};
    seed = start * 2 + 1;
    for (long k = 0; k < calls && !failures; ++k) {
        struct player *a = &players[random_below(2)];
        if (random_below(60) == 0) release(a);
        if (!a->c) a->c = make_any((int)(a - players));
        const FMI(Status) result = play(a, &blob);
        CHECK(result >= FMI(OK) && result < FMI(Fatal));
        if (failures) fprintf(stderr, "at call %ld\n", k);
    }
    release(&players[0]);
    release(&players[1]);
    free(blob.bytes);
    printf("%ld calls, %ld messages\n", calls, messages);
}
