/* What an FMU does in any version of the standard: values, steps, states and derivatives.
 *
 * The kernel's state is advanced by steps (co-simulation), or with EXCHANGE by a solver of the master's own (model
 * exchange). A file for each version, such as fmi2.c, adds the names of the functions, when each may be called, and the
 * log and memory of the master (struct host). kernel.h gives sizes and functions of the kernel, model.h facts of the
 * model. */
#ifndef CORE_H
#define CORE_H

#include "kernel.h"
#include "model.h"

#include <stddef.h>
#include <stdint.h>

#if defined SAMPLED || defined SWITCHED
#define HAS_EVENTS 1
#else
#define HAS_EVENTS 0
#endif

/* External names begin with the model's, so that several FMUs can be linked into one program. */
#define CORE_JOIN(a, b) a##_##b
#define CORE_JOINED(a, b) CORE_JOIN(a, b)
#define CORE_NAME(name) CORE_JOINED(MODEL_IDENTIFIER, name)
#define core_say CORE_NAME(core_say)
#define core_read_guid CORE_NAME(core_read_guid)
#define core_open CORE_NAME(core_open)
#define core_reset CORE_NAME(core_reset)
#define core_enter CORE_NAME(core_enter)
#define core_start_at CORE_NAME(core_start_at)
#define core_stop_at CORE_NAME(core_stop_at)
#define core_variable CORE_NAME(core_variable)
#define core_prepare CORE_NAME(core_prepare)
#define core_get CORE_NAME(core_get)
#define core_get_whole CORE_NAME(core_get_whole)
#define core_set CORE_NAME(core_set)
#define core_set_whole CORE_NAME(core_set_whole)
#define core_set_rates CORE_NAME(core_set_rates)
#define core_get_rates CORE_NAME(core_get_rates)
#define core_derive CORE_NAME(core_derive)
#define core_may_step CORE_NAME(core_may_step)
#define core_possible CORE_NAME(core_possible)
#define core_step CORE_NAME(core_step)
#define core_stride CORE_NAME(core_stride)
#define core_settle CORE_NAME(core_settle)
#define core_waiting CORE_NAME(core_waiting)
#define core_next_event CORE_NAME(core_next_event)
#define core_state_size CORE_NAME(core_state_size)
#define core_save CORE_NAME(core_save)
#define core_restore CORE_NAME(core_restore)
#define core_forget CORE_NAME(core_forget)
#define core_serialise CORE_NAME(core_serialise)
#define core_deserialise CORE_NAME(core_deserialise)
#define core_valid CORE_NAME(core_valid)
#define core_lost CORE_NAME(core_lost)
#define core_at CORE_NAME(core_at)
#define core_get_states CORE_NAME(core_get_states)
#define core_set_states CORE_NAME(core_set_states)
#define core_compute_rates CORE_NAME(core_compute_rates)
#define core_get_state_rates CORE_NAME(core_get_state_rates)
#define core_get_indicators CORE_NAME(core_get_indicators)
#define core_get_nominals CORE_NAME(core_get_nominals)
#define core_update CORE_NAME(core_update)
#define core_note_inputs CORE_NAME(core_note_inputs)
#define core_accept CORE_NAME(core_accept)

/* Outcome of a call. DONE: complete. NOTED: some values were refused. DISCARDED: it was not possible, and other
 * arguments may succeed. REFUSED: the call is wrong. A call that is discarded or refused changes nothing. */
enum outcome { DONE, NOTED, DISCARDED, REFUSED };

#define LONGEST_TEXT 2000 /* size of a message, with its final zero */

/* Log and memory of the master. */
struct host {
    void *who; /* first argument of the functions */
    void (*log)(void *who, enum outcome severity, const char *text);
    void *(*allocate)(void *who, size_t size); /* returns zeroed memory, or NULL */
    void (*release)(void *who, void *block);
};

/* RUNNING is the continuous-time mode of model exchange. AT_EVENT: while an event is handled, in its event mode or in that
 * of FMI 3.0. */
enum phase { INSTANTIATED = 1, INITIALISING = 2, RUNNING = 4, TERMINATED = 8, AT_EVENT = 16, ANY = 31 };

/* Types of variables. All values are held as doubles: those of an Integer are whole numbers of 32 bits, as are those of an
 * enumeration in FMI 3.0, and those of a Boolean 0 and 1. */
enum type { REAL, INTEGER, BOOLEAN, ENUMERATION };

enum why { FINE, IS_NOT_FINITE, TOO_LARGE, IS_COMPUTED, START_IS_OVER, IS_FIXED, OUT_OF_BOUNDS, NO_TRUTH_VALUE, FOLLOWS_OTHERS };

enum { START_TIME = N_VARIABLES }; /* stands for the start time where a value reference is expected */

/* What waits to act at an instant: nothing, a sampling, or an event of a gap or of friction where a stride stopped. */
enum event { NO_EVENT, SAMPLING, FALLEN };

struct refusal {
    double value;
    int64_t where; /* value reference, or START_TIME */
    int64_t why;
};

#ifdef EXCHANGE
#ifdef SWITCHED
#define N_INDICATORS GUARDS
#else
#define N_INDICATORS 0
#endif
#endif

/* All that later calls depend on; members of eight bytes, so that it has no gaps. */
struct state {
    int64_t phase;
    int64_t last;    /* outcome of the last step */
    int64_t refused; /* number of refused values */
    double time, correction;
    double settings[N_SETTINGS];
    double u[NU + 1], du[NU + 1], p[NP + 1], s[NS + 1], x[NX + 1];
    /* where x comes from: a step over the span, or the start values if that is 0 */
    double from_time, span, from_settings[N_SETTINGS];
    double from_u[NU + 1], from_du[NU + 1], from_p[NP + 1], from_x[NX + 1];
    double worth; /* time after which an event is worth a stop: a little after the last stop */
    struct refusal refusals[N_VARIABLES + 1];
#ifdef EXCHANGE
    double shift[N_INDICATORS + 1]; /* of guards, see mbfmu_indicators */
#endif
    int64_t judged, noticed; /* whether the energies below are known; steps in a row with a noticeable error */
    double constant, kinetic, least, most; /* energies since then: Energy of runtime.py */
    double errors[ERRORS + 1]; /* those of the steps, see doubling.c */
};

struct core {
    struct host host;
    int told_energy, told_residual, told_whole, told_gap, told_error, told_size; /* whether a message has said that they
                                                                                 * are wrong */
    double next_judged; /* number of steps of the run after which its error is judged next */
    int judged_step; /* whether the length of the steps has been judged */
    int stale; /* whether values have changed since outputs were computed */
#ifdef BOUNDED
    int retuned; /* whether parameters have changed since the bounds of calculated ones were checked */
#endif
    struct state now;
    double *y, *y1; /* outputs, and room for those of a step that may still fail */
    double outputs[2][NY];
    double defaults[N_SETTINGS];
    double x1[NX + 1], errors1[ERRORS + 1]; /* after a step that may still fail */
    double none[NU + 1];
    double stop; /* stop time that the master has set, s; INFINITY: none */
    double su[NU + 1], sp[NP + 1], ss[NS + 1], sx[NX + 1], st, ssettings[N_SETTINGS];
#ifdef EXCHANGE
    double rates[NX + 1], rates1[NX + 1]; /* of the state, and their change */
    double indicators[N_INDICATORS + 1];
    int rates_stale;                      /* whether values have changed since the rates were computed */
#endif
    double work[WORK_SIZE];
};

/* What there is to know about a variable. */
struct about {
    const char *name;
    enum type type;
    int input;
};

/* Take note that values have changed since outputs and rates were computed. */
static inline void note_change(struct core *m) {
    m->stale = 1;
#ifdef EXCHANGE
    m->rates_stale = 1;
#endif
}

/* Take note that parameters may have changed. */
static inline void note_retuned(struct core *m) {
#ifdef BOUNDED
    m->retuned = 1;
#else
    (void)m;
#endif
}

struct saved; /* a state with the identity of its FMU */

/* Log a message, to which the name of the model is prefixed; return its severity. */
enum outcome core_say(const struct host *host, enum outcome severity, const char *form, ...);

/* Read the defaults of the settings from a GUID; 0 if the GUID belongs to another FMU. */
int core_read_guid(const char *guid, double settings[]);
/* Make an instance in zeroed memory, with the defaults of the settings. */
void core_open(struct core *m, const struct host *host, const double settings[]);
/* Restore the defaults and the first phase. */
void core_reset(struct core *m);
/* Enter a phase of the life cycle; RUNNING is refused if there is no consistent start. */
enum outcome core_enter(struct core *m, enum phase phase);
/* Set the start time, s. */
enum outcome core_start_at(struct core *m, double time);
/* Set the stop time, s, past which no step may end; INFINITY: there is none. */
void core_stop_at(struct core *m, double time);

/* The facts about the variable of a value reference, which must exist. */
struct about core_variable(unsigned int vr);
/* Compute the outputs for the present values, and while initialising the start. */
enum outcome core_prepare(struct core *m);
/* Get or set the values of n value references, all Real. A value that may not be set keeps the old one, and one that is
 * got may not be finite for what was set; both are NOTED. States are set in the continuous-time mode as by
 * core_set_states; before, their start values follow from those of others. */
enum outcome core_get(struct core *m, const unsigned int vr[], size_t n, double value[]);
enum outcome core_set(struct core *m, const unsigned int vr[], size_t n, const double value[]);
/* The same for n value references that are all of another type. Each value got is the one nearest to the double. */
enum outcome core_get_whole(struct core *m, enum type type, const unsigned int vr[], size_t n, int value[]);
enum outcome core_set_whole(struct core *m, enum type type, const unsigned int vr[], size_t n, const int value[]);
#ifndef EXCHANGE
/* Set time derivatives of inputs, or get those of outputs; each order must be 1. */
enum outcome core_set_rates(struct core *m, const unsigned int vr[], size_t n, const int order[], const double rate[]);
enum outcome core_get_rates(struct core *m, const unsigned int vr[], size_t n, const int order[], double rate[]);
#endif
/* Get the change of outputs (effect) for a change of inputs, parameters and, while initialising, start values, later the
 * time; for model exchange also that of the states' time derivatives, for a change of states and of the solver's settings. */
enum outcome core_derive(struct core *m, const unsigned int unknown[], size_t n_unknown, const unsigned int known[],
                         size_t n_known, const double change[], double effect[]);

#ifdef EXCHANGE
/* What an update at an event has changed. */
struct update {
    int changed; /* whether what the motion depends on jumped: states, modes, what sampled blocks hold, inputs or parameters */
    double next; /* time of the next time event, s; INFINITY: there is none */
};

/* Tell what has no value at the present point, and the variable to suspect. */
enum outcome core_lost(struct core *m, enum outcome severity, const char *what);
/* Whether no value is refused; logs those that are, as nothing may be found with the values before them. */
int core_valid(struct core *m, enum outcome severity);
/* Set the time, s, of a point that a solver tries. */
enum outcome core_at(struct core *m, double time);
/* Get or set all continuous states; n must be their number. */
enum outcome core_get_states(struct core *m, double states[], size_t n);
enum outcome core_set_states(struct core *m, const double states[], size_t n);
/* Compute the time derivatives if values have changed since; 0 if they are not finite. */
int core_compute_rates(struct core *m);
/* Get the time derivatives of all continuous states. */
enum outcome core_get_state_rates(struct core *m, double rates[], size_t n);
/* Get the nominal sizes of all continuous states. */
enum outcome core_get_nominals(struct core *m, double nominals[], size_t n);
/* Get all event indicators, which are positive until an event. */
enum outcome core_get_indicators(struct core *m, double indicators[], size_t n);
/* Take note of inputs and parameters, from which those of an event may differ. */
void core_note_inputs(struct core *m);
/* Do what is due at an event: see mbfmu_update. A solver that goes on with its history after one that changed something
 * extrapolates what no longer holds, so both versions answer valuesOfContinuousStatesChanged with `changed`, at which
 * masters begin anew. */
enum outcome core_update(struct core *m, struct update *done);
/* Take note of an accepted point; wanted tells whether an event is to bring the state back onto the constraints, or to
 * do what the solver has missed. */
enum outcome core_accept(struct core *m, int *wanted);
#else
/* Whether the initialisation is finished and the run goes on; else this is logged with a severity. */
int core_may_step(struct core *m, enum outcome severity);
/* Whether a communication step of H, s, may begin at the time t, s: DONE, or with a message DISCARDED, or REFUSED past the
 * stop time. */
enum outcome core_possible(struct core *m, double t, double H);
/* Advance from the time t, s, by the communication step H, s. */
enum outcome core_step(struct core *m, double t, double H);
/* The same, but stop where something waits to act, which core_settle then lets act. Events within a thousandth of
 * solver.step after such a stop act within the step. */
enum outcome core_stride(struct core *m, double t, double H);
enum outcome core_settle(struct core *m);
enum event core_waiting(struct core *m);
/* The time of the next sampling, s; infinity: there is none. */
double core_next_event(struct core *m);
#endif

size_t core_state_size(void);
/* Save the state, into new memory if *saved is NULL; restore it; free it. */
enum outcome core_save(struct core *m, struct saved **saved);
enum outcome core_restore(struct core *m, const struct saved *saved);
enum outcome core_forget(struct core *m, struct saved *saved);
/* Write a saved state as core_state_size() bytes; make a saved state from such bytes. */
enum outcome core_serialise(struct core *m, struct saved *saved, char bytes[], size_t size);
enum outcome core_deserialise(struct core *m, const char bytes[], size_t size, struct saved **saved);

#endif
