/* The core behind plain C functions, for a program that loads it: slave.py, by ctypes.
 *
 * The memory of an instance is the program's. A function returns the outcome of its call (enum outcome); messages are
 * handed on before it returns. The program's master calls in any phase: what asks for no order here has none. */
#include "core.h"

#include <stdlib.h>

#ifdef _WIN32
#define SHELL __declspec(dllexport)
#else
#define SHELL __attribute__((visibility("default")))
#endif

typedef void logger(int severity, const char *text);

struct shell {
    struct core core;
    logger *log;
};

static void tell(void *who, enum outcome severity, const char *text) { ((struct shell *)who)->log(severity, text); }

static void *allocate(void *who, size_t size) {
    (void)who;
    return calloc(1, size);
}

static void release(void *who, void *block) {
    (void)who;
    free(block);
}

/* -- life cycle -------------------------------------------------------------------------------------------------- */

SHELL size_t shell_size(void) { return sizeof(struct shell); }

/* Make an instance in shell_size() zeroed bytes, with the defaults of the settings. */
SHELL void shell_open(struct shell *s, logger *log, const double settings[]) {
    const struct host host = {s, tell, allocate, release};
    s->log = log;
    core_open(&s->core, &host, settings);
}

SHELL int shell_start_at(struct shell *s, double time) { return core_start_at(&s->core, time); }

SHELL void shell_stop_at(struct shell *s, double time) { core_stop_at(&s->core, time); }

SHELL int shell_initialise(struct shell *s) { return core_enter(&s->core, INITIALISING); }

SHELL int shell_run(struct shell *s) {
    if (s->core.now.phase == INSTANTIATED) core_enter(&s->core, INITIALISING);
    return s->core.now.phase == INITIALISING ? core_enter(&s->core, RUNNING) : DONE;
}

SHELL int shell_terminate(struct shell *s) {
    return s->core.now.phase == RUNNING ? core_enter(&s->core, TERMINATED) : DONE;
}

/* Advance; the state of a step that is not done is that before it, as pythonfmu itself keeps the outcome. */
SHELL int shell_step(struct shell *s, double t, double H) {
    if (!core_may_step(&s->core, DISCARDED)) return DISCARDED;
    const int outcome = core_step(&s->core, t, H);
    s->core.now.last = DONE;
    return outcome;
}

/* -- values ------------------------------------------------------------------------------------------------------ */

SHELL int shell_get_real(struct shell *s, const unsigned int vr[], size_t n, double value[]) {
    return core_get(&s->core, vr, n, value);
}

SHELL int shell_set_real(struct shell *s, const unsigned int vr[], size_t n, const double value[]) {
    return core_set(&s->core, vr, n, value);
}

/* Set the time derivatives of inputs, each of order 1: until the next values they run on as lines. */
SHELL int shell_set_rates(struct shell *s, const unsigned int vr[], size_t n, const int order[], const double rate[]) {
    return core_set_rates(&s->core, vr, n, order, rate);
}

SHELL int shell_get_integer(struct shell *s, const unsigned int vr[], size_t n, int value[]) {
    return core_get_whole(&s->core, INTEGER, vr, n, value);
}

SHELL int shell_set_integer(struct shell *s, const unsigned int vr[], size_t n, const int value[]) {
    return core_set_whole(&s->core, INTEGER, vr, n, value);
}

SHELL int shell_get_boolean(struct shell *s, const unsigned int vr[], size_t n, int value[]) {
    return core_get_whole(&s->core, BOOLEAN, vr, n, value);
}

SHELL int shell_set_boolean(struct shell *s, const unsigned int vr[], size_t n, const int value[]) {
    return core_set_whole(&s->core, BOOLEAN, vr, n, value);
}

SHELL int shell_refuse_texts(struct shell *s) {
    return core_say(&s->core.host, REFUSED, "no variable is of type String");
}

/* -- state ------------------------------------------------------------------------------------------------------- */

SHELL size_t shell_state_size(void) { return core_state_size(); }

SHELL int shell_save(struct shell *s, char bytes[]) {
    struct saved *saved = 0;
    if (core_save(&s->core, &saved) != DONE) return REFUSED;
    core_serialise(&s->core, saved, bytes, core_state_size());
    return core_forget(&s->core, saved);
}

/* Check the bytes of a state, and restore it if wanted. */
static int read_state(struct shell *s, const char bytes[], size_t size, int restored) {
    struct saved *saved = 0;
    if (core_deserialise(&s->core, bytes, size, &saved) != DONE) return REFUSED;
    if (restored) core_restore(&s->core, saved);
    return core_forget(&s->core, saved);
}

SHELL int shell_check(struct shell *s, const char bytes[], size_t size) { return read_state(s, bytes, size, 0); }

SHELL int shell_restore(struct shell *s, const char bytes[], size_t size) { return read_state(s, bytes, size, 1); }
