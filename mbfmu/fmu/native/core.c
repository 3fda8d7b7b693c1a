/* The FMU's behaviour around a generated kernel; the same for every model and every version of the standard.
 *
 * variables.h holds the table of variables; a value reference is an index into it. An instance is one block of memory,
 * and nothing is allocated later except the states that a master gets. There is no data outside of instances, so
 * instances may run in threads of their own.
 *
 * A value that may not be set is refused with a message, the old value stays, and steps are discarded until a valid
 * value replaces it. */
#include "core.h"
#include "suspects.h"
#include "texts.h"
#include "variables.h"

#include <limits.h>

#ifdef WHOLE
#define TYPE(v) ((v)->type)
#else /* all variables are Real, and the table has no types */
#define TYPE(v) REAL
#define WHOLE 0
#endif

#define APART 1e-3    /* part of solver.step within which the next event after a stop is none to stop at */
#define UNSOLVED 1e-9 /* size of a correction that gives a notice, if the number of corrections is fixed */

/* -- messages ---------------------------------------------------------------------------------------------------- */

static enum outcome tell(const struct host *host, enum outcome severity, const struct text *t) {
    host->log(host->who, severity, t->all);
    return severity;
}

enum outcome core_say(const struct host *host, enum outcome severity, const char *form, ...) {
    struct text t = {"", 0};
    va_list arguments;
    add(&t, "%s: ", MODEL_NAME);
    va_start(arguments, form);
    add_list(&t, form, arguments);
    va_end(arguments);
    return tell(host, severity, &t);
}

#define refuse(m, ...) core_say(&(m)->host, REFUSED, __VA_ARGS__)
#define discard(m, ...) core_say(&(m)->host, DISCARDED, __VA_ARGS__)

/* Write a value as its type has it. */
static void add_value(struct text *t, enum type type, double value) {
    if (type == REAL)
        add_number(t, value);
    else if (type == BOOLEAN && (value == 0 || value == 1))
        add(t, value == 1 ? "true" : "false");
    else
        add(t, "%.0f", value);
}

static void add_refusal(struct text *t, const struct refusal *r) {
    const enum type type = r->where == START_TIME ? REAL : TYPE(&VARIABLES[r->where]);
    add(t, "%s = ", r->where == START_TIME ? "start time" : VARIABLES[r->where].name);
    add_value(t, type, r->value);
    add(t, ": ");
    if (r->where == START_TIME) {
        add(t, "not a finite number");
    } else if (r->why == IS_NOT_FINITE) {
        add(t, "not a finite number; the value before is kept");
    } else if (r->why == TOO_LARGE) {
        add(t, "larger than %g, beyond which sums and products overflow; the value before is kept", LARGEST);
    } else if (r->why == IS_COMPUTED) {
        add(t, "this variable is computed, it cannot be set");
    } else if (r->why == START_IS_OVER) {
        add(t, "a start value cannot be set after initialisation; use reset");
    } else if (r->why == IS_FIXED) {
        add(t, "a fixed parameter cannot be set after initialisation, as %s", VARIABLES[r->where].fixed);
    } else if (r->why == FOLLOWS_OTHERS) {
        add(t, "the start of a state follows from the start values of the model's own variables: set those");
    } else if (r->why == NO_TRUTH_VALUE) {
        add(t, "neither true (1) nor false (0)");
    } else {
        add(t, "outside its bounds [");
        add_value(t, type, VARIABLES[r->where].min);
        add(t, ", ");
        add_value(t, type, VARIABLES[r->where].max);
        add(t, "]");
    }
}

static void add_refusals(struct text *t, const struct state *now) {
    for (int i = 0; i < now->refused; ++i) {
        if (i) add(t, "; ");
        add_refusal(t, &now->refusals[i]);
    }
}

#ifdef EXCHANGE
enum outcome core_lost(struct core *m, enum outcome severity, const char *what) {
    const struct state *now = &m->now;
    struct text suspect = {"", 0};
    mbfmu_outputs(now->x, now->u, now->p, now->time, m->y1, m->work);
    add_suspect(&suspect, now->u, now->x, m->rates, m->y1);
    return core_say(&m->host, severity, "%s at t = %.9g s%s; take smaller steps", what, now->time, suspect.all);
}

int core_valid(struct core *m, enum outcome severity) {
    struct text reasons = {"", 0};
    if (!m->now.refused) return 1;
    add_refusals(&reasons, &m->now);
    core_say(&m->host, severity, "no solution at t = %.9g s while a value is refused: %s", m->now.time, reasons.all);
    return 0;
}
#endif

static void remember(struct state *now, const struct refusal *r) {
    int i = 0;
    while (i < now->refused && now->refusals[i].where != r->where) ++i;
    now->refusals[i] = *r;
    if (i == now->refused) ++now->refused;
}

static void forgive(struct state *now, int64_t where) {
    for (int i = 0; i < now->refused; ++i)
        if (now->refusals[i].where == where) {
            --now->refused;
            memmove(&now->refusals[i], &now->refusals[i + 1], sizeof(struct refusal) * (now->refused - i));
            memset(&now->refusals[now->refused], 0, sizeof(struct refusal));
            return;
        }
}

static enum outcome unknown(struct core *m, unsigned int vr) {
    return refuse(m, "value reference %u: there is no such variable", vr);
}

static int all_known(struct core *m, const unsigned int vr[], size_t n) {
    for (size_t i = 0; i < n; ++i)
        if (vr[i] >= N_VARIABLES) {
            unknown(m, vr[i]);
            return 0;
        }
    return 1;
}

#ifndef TYPE_NAMES
#define TYPE_NAMES "Real", "Integer", "Boolean", "Enumeration"
#endif
static const char *const TYPES[] = {TYPE_NAMES};

static enum outcome other_type(struct core *m, const struct variable *v, enum type type) {
    return refuse(m, "%s is of type %s, not %s: use the functions of its type", v->name, TYPES[TYPE(v)], TYPES[type]);
}

/* Whether all variables exist and are of a type; logs the first that is not. */
static int all_of(struct core *m, enum type type, const unsigned int vr[], size_t n) {
    if (!all_known(m, vr, n)) return 0;
    for (size_t i = 0; i < n; ++i)
        if (TYPE(&VARIABLES[vr[i]]) != type) {
            other_type(m, &VARIABLES[vr[i]], type);
            return 0;
        }
    return 1;
}

/* -- values ------------------------------------------------------------------------------------------------------ */

#if defined ERROR_NAMES && !defined EXCHANGE
static double run_error(const struct core *m, int *worst, double *when);

static double known_error(const struct core *m) {
    int worst;
    double when;
    const double error = run_error(m, &worst, &when);
    return isnan(error) ? 0 : error;
}
#else
static double known_error(const struct core *m) { return (void)m, 0; }
#endif

static double value_of(const struct core *m, const struct variable *v) {
    switch (v->kind) {
    case TIME: return m->now.time;
    case INPUT: return m->now.u[v->offset];
    case PARAMETER: return m->now.p[v->offset];
    case SETTING: return m->now.settings[v->offset];
    case OUTPUT: return m->now.phase == INSTANTIATED && v->start >= 0 ? m->now.s[v->start] : m->y[v->offset];
    case DIAGNOSTIC: return CORRECTIONS ? m->now.correction : known_error(m);
#ifdef EXCHANGE
    case STATE: return m->now.x[v->offset];
    case RATE: return m->rates[v->offset];
    case INDICATOR: return m->indicators[v->offset];
#endif
    }
    return NAN;
}

/* The place of a value that can be set; NULL if it is computed. */
static double *place_of(struct state *now, const struct variable *v) {
    switch (v->kind) {
    case INPUT: return &now->u[v->offset];
    case PARAMETER: return &now->p[v->offset];
    case SETTING: return &now->settings[v->offset];
    case OUTPUT: return v->start < 0 ? 0 : &now->s[v->start];
#ifdef EXCHANGE
    case STATE: return now->phase == RUNNING ? &now->x[v->offset] : 0;
#endif
    default: return 0;
    }
}

static enum why why_not(const struct state *now, const struct variable *v, const double *place, double value) {
    const int started = now->phase >= RUNNING;
    if (!isfinite(value)) return IS_NOT_FINITE;
    if (fabs(value) > LARGEST) return TOO_LARGE;
    if (!place) return v->start == FOLLOWING && !started ? FOLLOWS_OTHERS : IS_COMPUTED;
    if (TYPE(v) == BOOLEAN && value != 0 && value != 1) return NO_TRUTH_VALUE;
    if (v->kind == INPUT) return v->min <= value && value <= v->max ? FINE : OUT_OF_BOUNDS;
    if (v->kind == OUTPUT) {
        if (started) return START_IS_OVER;
    } else {
        if (started && v->fixed && value != *place) return IS_FIXED;
        if (!(v->min <= value && value <= v->max)) return OUT_OF_BOUNDS;
    }
    return FINE;
}

#ifdef GUARD_NAMES
static const char *const GUARDED[] = {GUARD_NAMES}; /* what each guard belongs to */
#endif

static void swap_outputs(struct core *m) {
    double *y = m->y;
    m->y = m->y1;
    m->y1 = y;
    m->stale = 0;
}

/* Compute the outputs for the current values; 0 and a text with the reason if that fails. */
static int refresh(struct core *m, struct text *t) {
    struct state *now = &m->now;
    int finite;
    if (now->phase < RUNNING) {
#ifdef EXCHANGE
        const double h = 1;
#else
        const double h = now->settings[STEP];
#endif
        double status[S_SIZE];
        int code = mbfmu_initialize(now->s, now->u, m->none, now->p, now->time, h, m->x1, status, m->work);
#ifdef BOUNDED
        mbfmu_outputs(m->x1, now->u, now->p, now->time, m->y1, m->work);
        if (add_broken(t, m->y1)) return 0;
#endif
#ifdef GUARD_NAMES
        if (code == STARTS_INSIDE) {
            add(t,
                "%s: no consistent start at t = %.9g s: %s is %.9g below 0; change the start values it depends on",
                MODEL_NAME, now->time, GUARDED[(int)status[S_SUBSTEPS]], status[S_CORRECTION]);
            return 0;
        }
#endif
        if (code != OK) {
            add(t, "%s: no consistent start at t = %.9g s: %s (last correction %.2g)", MODEL_NAME, now->time,
                REMEDY_INCONSISTENT_START, status[S_CORRECTION]);
            return 0;
        }
        memcpy(now->x, m->x1, sizeof now->x);
        memcpy(now->from_u, now->u, sizeof now->u);
        memset(now->from_du, 0, sizeof now->from_du);
        memcpy(now->from_p, now->p, sizeof now->p);
        memcpy(now->from_settings, now->settings, sizeof now->settings);
        now->from_time = now->time;
        now->span = 0;
#if defined EXCHANGE && defined SWITCHED
        static const int unchanged[N_INDICATORS];
        mbfmu_rearm(now->x, now->x, now->u, now->p, now->time, unchanged, now->shift, m->work);
#endif
    }
    finite = mbfmu_outputs(now->x, now->u, now->p, now->time, m->y1, m->work) == OK;
#ifdef BOUNDED
    if (m->retuned && add_broken(t, m->y1)) return 0;
    m->retuned = 0;
#endif
    if (now->phase < RUNNING && !finite) {
        add(t, "%s: the start values give outputs that are not finite", MODEL_NAME);
        return 0;
    }
    for (const struct quantity *gap = GAPPING; now->phase < RUNNING && gap->name; ++gap)
        if (m->y1[gap->place] < -CONSISTENT) {
            add(t, "%s: no consistent start at t = %.9g s: ", MODEL_NAME, now->time);
            add_quantity(t, gap, m->y1[gap->place]);
            add(t, " is below 0; change the start values it depends on");
            return 0;
        }
    swap_outputs(m);
    m->stale = !finite;
    return 1;
}

/* Update the outputs. An impossible start is reported at the end of the initialisation; until then the old ones stay. */
static void show_present(struct core *m) {
    struct text t = {"", 0};
    refresh(m, &t);
}

#ifdef EXCHANGE
/* Update the rates of the state, or the indicators; NAN stands for what is not finite. */
static void show_exchanged(struct core *m, enum kind kind) {
    if (kind == RATE) core_compute_rates(m);
#ifdef SWITCHED
    const struct state *now = &m->now;
    if (kind == INDICATOR) mbfmu_indicators(now->x, now->u, now->p, now->time, now->shift, m->indicators, m->work);
#endif
}
#endif

enum outcome core_prepare(struct core *m) {
    struct text t = {"", 0};
    return !m->stale || refresh(m, &t) ? DONE : tell(&m->host, REFUSED, &t);
}

struct about core_variable(unsigned int vr) {
    const struct variable *v = &VARIABLES[vr];
    return (struct about){v->name, TYPE(v), v->kind == INPUT};
}

/* Get the value of a variable, if it exists and is Real. */
static enum outcome give(struct core *m, unsigned int vr, double *value) {
    if (vr >= N_VARIABLES) return unknown(m, vr);
    const struct variable *v = &VARIABLES[vr];
    if (TYPE(v) != REAL) return other_type(m, v, REAL);
#ifdef EXCHANGE
    if (v->kind == RATE || v->kind == INDICATOR) show_exchanged(m, v->kind);
#endif
    *value = value_of(m, v);
    return DONE;
}

/* How many outputs a list of n references, one at least, begins with whose values lie side by side. */
static size_t side_by_side(const unsigned int vr[], size_t n) {
    if (vr[0] >= N_VARIABLES) return 0;
    const size_t run = n < RUNS[vr[0]] ? n : RUNS[vr[0]];
    if (run > 1 && vr[1] == vr[0] + 1 && !memcmp(vr, &REFERENCES[vr[0]], run * sizeof *vr)) return run;
    return run > 0;
}

static enum outcome give_all(struct core *m, const unsigned int vr[], size_t n, double value[]) {
    const double *const y = m->y;
    size_t i = 0, run;
    if (m->now.phase != INSTANTIATED) /* outputs are read most, and many at a time */
        for (; i < n && (run = side_by_side(&vr[i], n - i)); i += run) {
            if (run > 1)
                memcpy(&value[i], &y[PLACES[vr[i]]], run * sizeof *value);
            else
                value[i] = y[PLACES[vr[i]]];
        }
    for (; i < n; ++i)
        if (give(m, vr[i], &value[i]) != DONE) return REFUSED;
    return DONE;
}

enum outcome core_get(struct core *m, const unsigned int vr[], size_t n, double value[]) {
    if (!m->stale) return give_all(m, vr, n, value);
    show_present(m);
    const enum outcome outcome = give_all(m, vr, n, value);
    for (size_t i = 0; i < n && outcome == DONE; ++i)
        if (!isfinite(value[i])) {
            struct text shown = {"", 0};
            add_number(&shown, value[i]);
            return core_say(&m->host, NOTED, "%s = %s at t = %.9g s is not finite; check what was set last",
                            VARIABLES[vr[i]].name, shown.all, m->now.time);
        }
    return outcome;
}

/* The value of a type that is nearest to that of a variable; tells once if they differ by more than round-off. */
static int nearest(struct core *m, const struct variable *v, double value) {
    const double least = TYPE(v) == BOOLEAN ? 0 : TYPE(v) == ENUMERATION ? v->min : INT_MIN;
    const double greatest = TYPE(v) == BOOLEAN ? 1 : TYPE(v) == ENUMERATION ? v->max : INT_MAX;
    const double found = isnan(value) ? 0 : rint(fmin(fmax(value, least), greatest));
    if (!(fabs(value - found) <= WHOLE * fmax(1, fabs(found))) && !m->told_whole) {
        struct text shown = {"", 0}, given = {"", 0};
        m->told_whole = 1;
        add_number(&shown, value);
        add_value(&given, TYPE(v), found);
        core_say(&m->host, NOTED,
                 "%s = %s is no value of type %s, and %s is given; mend its expression (said once, at t = %.9g s)",
                 v->name, shown.all, TYPES[TYPE(v)], given.all, m->now.time);
    }
    return (int)found;
}

enum outcome core_get_whole(struct core *m, enum type type, const unsigned int vr[], size_t n, int value[]) {
    if (!all_of(m, type, vr, n)) return REFUSED;
    if (m->stale) show_present(m);
    for (size_t i = 0; i < n; ++i) value[i] = nearest(m, &VARIABLES[vr[i]], value_of(m, &VARIABLES[vr[i]]));
    return DONE;
}

static enum outcome refuse_value(struct core *m, const struct refusal *r) {
    struct text t = {"", 0};
    remember(&m->now, r);
    add_refusal(&t, r);
    return tell(&m->host, NOTED, &t);
}

/* Leave the start of a state as it is, which stops no start; tells if a value is not that of the description. */
static enum outcome leave_state(struct core *m, const struct refusal *r) {
    struct text t = {"", 0};
    if (r->value == VARIABLES[r->where].value) return DONE;
    add_refusal(&t, r);
    return tell(&m->host, NOTED, &t);
}

#ifdef EXCHANGE
/* Whether the states among some variables may be set, one by one as in core_set_states; logs why not. */
static enum outcome states_possible(struct core *m, const unsigned int vr[], size_t n, const double value[]) {
    for (size_t i = 0; i < n; ++i) {
        const struct variable *v = &VARIABLES[vr[i]];
        if (v->kind != STATE || m->now.phase < RUNNING) continue;
        if (m->now.phase != RUNNING)
            return refuse(m, "%s is a state, which is set in the continuous-time mode alone", v->name);
        if (!(fabs(value[i]) <= LARGEST))
            return discard(m, "%s = %.6g is not finite, or larger than %g", v->name, value[i], LARGEST);
    }
    return DONE;
}
#endif

/* Set the value of a variable, if it may be set. */
static inline enum outcome take(struct core *m, unsigned int vr, double value) {
    struct state *now = &m->now;
    double *place = place_of(now, &VARIABLES[vr]);
    const enum why why = why_not(now, &VARIABLES[vr], place, value);
    if (why != FINE) {
        const struct refusal r = {value, vr, why};
        return why == FOLLOWS_OTHERS ? leave_state(m, &r) : refuse_value(m, &r);
    }
    if (now->refused) forgive(now, vr);
    if (VARIABLES[vr].kind == PARAMETER) {
        now->judged = 0; /* it may change the energy */
        note_retuned(m);
    }
    *place = value;
    return DONE;
}

enum outcome core_set(struct core *m, const unsigned int vr[], size_t n, const double value[]) {
    enum outcome outcome = DONE;
    if (!all_of(m, REAL, vr, n)) return REFUSED;
#ifdef EXCHANGE
    if ((outcome = states_possible(m, vr, n, value)) != DONE) return outcome;
#endif
    for (size_t i = 0; i < n; ++i)
        if (take(m, vr[i], value[i]) != DONE) outcome = NOTED;
    note_change(m);
    return outcome;
}

enum outcome core_set_whole(struct core *m, enum type type, const unsigned int vr[], size_t n, const int value[]) {
    enum outcome outcome = DONE;
    if (!all_of(m, type, vr, n)) return REFUSED;
    for (size_t i = 0; i < n; ++i)
        if (take(m, vr[i], value[i]) != DONE) outcome = NOTED;
    note_change(m);
    return outcome;
}

#ifndef EXCHANGE
/* -- errors that show in the outputs ------------------------------------------------------------------------------ */

/* Judge the energy by that of the present outputs. */
static void judge_from_here(struct core *m) {
    struct state *now = &m->now;
    now->judged = 1;
    now->noticed = 0;
    now->constant = m->y[CONSTANT_ENERGY];
    now->kinetic = m->y[KINETIC_ENERGY];
    now->least = now->most = m->y[POTENTIAL_ENERGY];
}

/* Whether inputs acted in the last step. */
static int driven(const struct state *now) {
    for (int i = 0; i < NU; ++i)
        if (now->from_u[i] != 0 || now->from_du[i] != 0) return 1;
    return 0;
}

/* Tell once if the energy has a noticeable error: Energy.message of runtime.py. */
static void judge_energy(struct core *m) {
    struct state *now = &m->now;
    const double *y = m->y;
    if (!now->judged || (ENERGY_UNDRIVEN && driven(now))) {
        judge_from_here(m);
        return;
    }
    now->kinetic = fmax(now->kinetic, y[KINETIC_ENERGY]);
    now->least = fmin(now->least, y[POTENTIAL_ENERGY]);
    now->most = fmax(now->most, y[POTENTIAL_ENERGY]);
    const double error = fabs(y[CONSTANT_ENERGY] - now->constant), exchanged = now->kinetic + now->most - now->least;
    const double size = fmax(fabs(now->least), fabs(now->most));
    now->noticed = error > fmax(NOTICEABLE * exchanged, UNNOTICED * size) ? now->noticed + 1 : 0;
    if (m->told_energy || now->noticed < PERSISTENT) return;
    m->told_energy = 1;
    core_say(&m->host, NOTED,
             "errors of the steps change the energy by %.3g J, %.3g %% of the %.3g J that the motion exchanges (see %s); "
             "%s (said once, at t = %.9g s)",
             error, 100 * error / exchanged, exchanged, ENERGY_NAME,
             now->settings[TOLERANCE] > 0 ? REMEDY_ENERGY_CHOSEN : REMEDY_ENERGY, now->time);
}

#ifdef STEP_LIMIT
/* Tell if errors grow in equal steps over H from time t on: too_long of failure.py. The first step done alone is judged. */
static void judge_step(struct core *m, double t, double H) {
    struct state *now = &m->now;
    m->judged_step = 1;
    if (now->settings[TOLERANCE] > 0) return;
    const double h = H / mbfmu_count(H, now->settings[STEP]);
    const double longest = mbfmu_longest(now->x, now->u, now->du, now->p, t, h, m->work);
    if (!(longest < INFINITY)) return;
    m->told_error = m->told_size = 1; /* by what follows */
    core_say(&m->host, NOTED,
             "steps of %.3g s let errors grow from one to the next, as something vibrates or settles at a rate of about "
             "%.4g rad/s: take a solver.step of at most %.3g s, %s (said once, at t = %.9g s)",
             h, STEP_LIMIT * LIMIT_SHARE / longest, longest, REMEDY_TOO_LONG, t);
}
#endif

#ifdef ERROR_NAMES
/* The estimated error of the steps so far, and the index of the quantity with the largest one; NAN: it is not known. */
static double run_error(const struct core *m, int *worst, double *when) {
    static const double usual[] = {ERROR_USUAL};
    return mbfmu_error(m->now.errors, ERROR_COORDINATES, usual, 0, worst, when);
}

/* Tell once if the error of the steps is noticeable: it is judged after a hundred steps, and whenever there are a tenth
 * more. */
static void judge_error(struct core *m) {
    static const char *const names[] = {ERROR_NAMES};
    const double *const e = m->now.errors, percent = 100;
    double when;
    int worst;
    if (m->told_error || e[E_STEPS] < m->next_judged) return;
    m->next_judged = 1.1 * e[E_STEPS];
    const double error = run_error(m, &worst, &when);
    if (!(error > NOTICEABLE)) return;
    m->told_error = 1;
    struct text size = {"more than its range", 0};
    if (error <= 1) add(&size, "%.2g %% of its range", percent * error);
    core_say(&m->host, NOTED,
             "the steps leave %s with an estimated error of %s, most of it from t = %.6g s; %s (said once, at t = %.9g s)",
             names[worst], size.all, when, m->now.settings[TOLERANCE] > 0 ? REMEDY_ENERGY_CHOSEN : REMEDY_ENERGY,
             m->now.time);
}
#endif

/* Tell once if a state is absurdly large, far beyond its typical size. */
static void judge_sizes(struct core *m) {
    struct text t = {"", 0};
    if (m->told_size) return;
    for (const struct quantity *q = SIZED; q->name; ++q) {
        if (!(fabs(m->y[q->place]) > HOPELESS * q->usual)) continue;
        m->told_size = 1;
        add_quantity(&t, q, m->y[q->place]);
        core_say(&m->host, NOTED,
                 "%s is %.2g times its typical size; check inputs and parameters, or take other steps (said once, at "
                 "t = %.9g s)",
                 t.all, fabs(m->y[q->place]) / q->usual, m->now.time);
        return;
    }
}

/* Tell once if a gap is below zero: bodies have passed through each other. */
static void judge_gaps(struct core *m) {
    struct text t = {"", 0};
    if (m->told_gap) return;
    for (const struct quantity *gap = GAPPING; gap->name; ++gap) {
        if (!(m->y[gap->place] < -INSIDE)) continue;
        m->told_gap = 1;
        add_quantity(&t, gap, m->y[gap->place]);
        core_say(&m->host, NOTED,
                 "%s is below 0: the steps have led through the contact; take a smaller solver.step (said once, at "
                 "t = %.9g s)",
                 t.all, m->now.time);
        return;
    }
}

/* Tell once if the constraints are violated noticeably. */
static void judge_residual(struct core *m) {
    const double residual = m->y[RESIDUAL];
    if (m->told_residual || !(residual > DRIFTED)) return;
    m->told_residual = 1;
    core_say(&m->host, NOTED,
             "the constraints are violated by %.2g; %s (said once, at t = %.9g s)", residual, REMEDY_DRIFTED,
             m->now.time);
}

#endif

/* -- life cycle -------------------------------------------------------------------------------------------------- */

#define BITS 16 /* hexadecimal digits of a double */

/* The double whose bits a text begins with, in lower-case hexadecimal; NAN if they are none. */
static double read_bits(const char *text) {
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = 0;
    double value;
    for (int i = 0; i < BITS; ++i) {
        const char *digit = strchr(digits, text[i]);
        if (!text[i] || !digit) return NAN;
        bits = bits << 4 | (uint64_t)(digit - digits);
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A GUID is {code-description-bits of a setting-...}: the hash of these sources, which are the same for all defaults of
 * the settings, a hash of what else is in the FMU, and the defaults. */
int core_read_guid(const char *guid, double settings[]) {
    const size_t code = sizeof MODEL_CODE - 1;
    if (strlen(guid) != 1 + (code + 1) * 2 + (BITS + 1) * N_SETTINGS) return 0;
    if (guid[0] != '{' || strncmp(guid + 1, MODEL_CODE, code) != 0) return 0;
    guid += 1 + (code + 1) * 2;
    for (int i = 0; i < N_SETTINGS; ++i, guid += BITS + 1) {
        settings[i] = read_bits(guid);
        if (!(settings[i] >= 0 && isfinite(settings[i]))) return 0;
    }
    return 1;
}

void core_open(struct core *m, const struct host *host, const double settings[]) {
    m->host = *host;
    memcpy(m->defaults, settings, sizeof m->defaults);
    m->y = m->outputs[0];
    m->y1 = m->outputs[1];
    core_reset(m);
}

void core_reset(struct core *m) {
    struct state *now = &m->now;
    memset(now, 0, sizeof *now);
    now->phase = INSTANTIATED;
    for (int i = 0; i < N_VARIABLES; ++i) {
        double *place = place_of(now, &VARIABLES[i]);
        if (place) *place = VARIABLES[i].value;
    }
    memcpy(now->settings, m->defaults, sizeof now->settings);
    now->worth = -INFINITY;
    m->stop = INFINITY;
    memset(m->outputs, 0, sizeof m->outputs);
    m->told_energy = m->told_residual = m->told_whole = m->told_gap = m->told_error = m->told_size = m->judged_step = 0;
    m->next_judged = FIRST_JUDGED;
    note_change(m);
}

enum outcome core_start_at(struct core *m, double time) {
    const struct refusal r = {time, START_TIME, IS_NOT_FINITE};
    note_change(m);
    if (!isfinite(time)) return refuse_value(m, &r);
    forgive(&m->now, START_TIME);
    m->now.time = time;
    return DONE;
}

void core_stop_at(struct core *m, double time) { m->stop = time; }

enum outcome core_enter(struct core *m, enum phase phase) {
    if (phase > INITIALISING && m->now.phase == INITIALISING) {
        struct text t = {"", 0};
        add_refusals(&t, &m->now);
        if (t.used || (m->stale && !refresh(m, &t))) return tell(&m->host, REFUSED, &t);
#ifndef EXCHANGE
        if (WATCHES_ENERGY) judge_from_here(m);
#endif
    }
#ifdef EXCHANGE
    if (phase == AT_EVENT) core_note_inputs(m);
#elif defined ERROR_NAMES
    if (phase == TERMINATED) {
        m->next_judged = 0;
        judge_error(m);
    }
#endif
    m->now.phase = phase;
    return DONE;
}

#ifndef EXCHANGE
/* -- steps ------------------------------------------------------------------------------------------------------- */

/* Add the variable to suspect where a step from t failed; the step is made again up to there, as far as that goes. */
static void add_where_it_failed(struct core *m, double t, double failed, struct text *reason) {
    struct state *now = &m->now;
    double status[S_SIZE], u[NU + 1] = {0}, span[] = {t, failed - t, now->settings[STEP], now->settings[TOLERANCE]};
    double *const all[] = {now->x, now->u, now->du, now->p, m->x1, m->y1, status, m->work, span, 0};
    int reached = 0;
    for (int trial = 0; trial < SUSPECT_TRIES && span[1] > 0 && !reached; ++trial) {
        const int code = mbfmu_communicate(all);
        reached = code == OK || code == OUTPUTS_NOT_FINITE;
        span[1] = status[S_TIME] - t < span[1] ? status[S_TIME] - t : span[1] / 2;
    }
    if (!reached) mbfmu_outputs(now->x, now->u, now->p, t, m->y1, m->work);
    for (int i = 0; i < NU; ++i) u[i] = now->u[i] + now->du[i] * (failed - t);
    add_suspect(reason, u, m->y1, m->y1, m->y1);
}

/* Tell why a step from t was not done. */
static enum outcome not_done(struct core *m, int code, const double *status, double t) {
    struct text end = {"", 0};
    if (code == UNFINISHED)
        return discard(m,
                       "a communication step takes more than %d steps, of which the last ended at t = %.9g s; take "
                       "shorter communication steps or a larger solver.tolerance",
                       MOST_STEPS, status[S_TIME]);
    if (code == NO_PERIOD)
        return discard(m,
                       "no step from t = %.9g s: the period of a sampled block is not positive; check the parameters it "
                       "depends on",
                       status[S_TIME]);
#ifdef GUARD_NAMES
    if (code == MANY_EVENTS)
        return discard(m,
                       "no step from t = %.9g s: more than %d events in one communication step, the last one of %s; "
                       "check its parameters, such as a speed of rest that is too small",
                       status[S_TIME], MOST_EVENTS, GUARDED[(int)status[S_CORRECTION]]);
#endif
    const double failed = status[S_TIME], correction = status[S_CORRECTION];
    if (!CORRECTIONS && (code == NOT_FINITE || code == NOT_CONVERGED))
        add(&end, ", even with the step halved %d times", MAX_HALVINGS);
    add_where_it_failed(m, t, failed, &end);
    if (code == OUTPUTS_NOT_FINITE) {
        struct text time = {"", 0};
        add_number(&time, failed);
        return discard(m, "outputs at t = %s s are not finite%s; %s", time.all, end.all, REMEDY_OUTPUTS_NOT_FINITE);
    }
    if (code == NOT_ACCURATE)
        return discard(m, "no step from t = %.9g s meets solver.tolerance, however short%s; %s", failed, end.all,
                       REMEDY_NOT_ACCURATE);
    if (code == NOT_FINITE)
        return discard(m, "no step from t = %.9g s: the solution is no longer finite%s; %s", failed, end.all,
                       REMEDY_NOT_FINITE);
    return discard(m, "no step from t = %.9g s: the equations did not converge (last correction %.2g)%s; %s", failed,
                   correction, end.all, REMEDY_NOT_CONVERGED);
}

int core_may_step(struct core *m, enum outcome severity) {
    if (m->now.phase == RUNNING || m->now.phase == AT_EVENT) return 1;
    core_say(&m->host, severity, m->now.phase == TERMINATED ? "a step after the run was terminated; use reset"
                                                            : "a step before the initialisation is finished");
    return 0;
}

enum outcome core_possible(struct core *m, double t, double H) {
    const struct state *now = &m->now;
    const double h = now->settings[STEP];
    if (now->refused) {
        struct text reasons = {"", 0};
        add_refusals(&reasons, now);
        return discard(m, "no step while a value is refused: %s", reasons.all);
    }
    if (!(H > 0 && isfinite(H))) {
        struct text size = {"", 0};
        add_number(&size, H);
        return discard(m, "a communication step of %s s is not possible; it must be > 0", size.all);
    }
    if (!(fabs(t - now->time) <= STEP_PART * H + TIME_PART * fabs(now->time))) {
        struct text asked = {"", 0}, here = {"", 0};
        add_number(&asked, t);
        add_number(&here, now->time);
        return discard(m, "no step from t = %s s: the FMU stands at t = %s s, and a step must begin there", asked.all,
                       here.all);
    }
    if (!(t + H > t)) {
        struct text size = {"", 0}, here = {"", 0};
        add_number(&size, H);
        add_number(&here, t);
        return discard(m,
                       "a communication step of %s s is below the round-off of the time t = %s s, which would stand still; "
                       "take longer communication steps or an earlier start time",
                       size.all, here.all);
    }
    if (H / h > MOST_STEPS) {
        struct text size = {"", 0};
        add_number(&size, H);
        return discard(m,
                       "a communication step of %s s takes %.3g steps, and at most %.3g are taken at once; take shorter "
                       "communication steps or a longer solver.step",
                       size.all, H / h, (double)MOST_STEPS);
    }
    if (t + H > m->stop + STOP_PART * H + TIME_PART * fabs(m->stop)) {
        struct text begin = {"", 0}, end = {"", 0}, stop = {"", 0};
        add_number(&begin, t);
        add_number(&end, t + H);
        add_number(&stop, m->stop);
        return refuse(m,
                      "no step from t = %s s to t = %s s: it ends past t = %s s, the stop time that the importing tool has "
                      "set; set a later one at the start, or none",
                      begin.all, end.all, stop.all);
    }
    return DONE;
}

static enum outcome step(struct core *m, double t, double H, int stops) {
    struct state *now = &m->now;
    double status[S_SIZE], asked[] = {t, H, now->settings[STEP], now->settings[TOLERANCE]};
    const enum outcome possible = core_possible(m, t, H);
    if (possible != DONE) return possible;
#ifdef BOUNDED
    struct text broken = {"", 0};
    if (m->retuned && !refresh(m, &broken)) return tell(&m->host, DISCARDED, &broken);
#endif
    double *const all[] = {now->x, now->u, now->du, now->p, m->x1, m->y1, status, m->work, asked, m->errors1};
    double end = t + H, span = H;
#ifdef ERROR_NAMES
    memcpy(m->errors1, now->errors, sizeof now->errors);
    m->errors1[E_EVERY] = now->settings[ERROR_SAMPLES];
#endif
#if HAS_EVENTS
    int code = stops ? mbfmu_stride(all, now->worth) : mbfmu_communicate(all);
    if (code == EVENT) {
        end = status[S_TIME];
        span = end - t;
        code = OK;
    }
#else
    int code = mbfmu_communicate(all);
    (void)stops;
#endif
    if (code != OK) return not_done(m, code, status, t);
#ifdef STEP_LIMIT
    if (!m->judged_step) judge_step(m, t, H);
#endif
    memcpy(now->from_x, now->x, sizeof now->x);
    memcpy(now->from_u, now->u, sizeof now->u);
    memcpy(now->from_du, now->du, sizeof now->du);
    memcpy(now->from_p, now->p, sizeof now->p);
    memcpy(now->from_settings, now->settings, sizeof now->settings);
    now->from_time = t;
    now->span = span;
    memcpy(now->x, m->x1, sizeof now->x);
    memcpy(now->errors, m->errors1, sizeof now->errors);
    for (int i = 0; i < NU; ++i) now->u[i] += now->du[i] * span;
    now->time = end;
    now->correction = status[S_CORRECTION];
    swap_outputs(m);
    if (WATCHES_ENERGY) judge_energy(m);
    if (WATCHES_RESIDUAL) judge_residual(m);
#ifdef ERROR_NAMES
    judge_error(m);
#endif
    judge_sizes(m);
    judge_gaps(m);
    if (CORRECTIONS && now->correction > UNSOLVED)
        core_say(&m->host, NOTED,
                 "the step to t = %.9g s leaves a correction of %.2g; take a smaller solver.step or more passes",
                 now->time, now->correction);
    return DONE;
}

enum outcome core_step(struct core *m, double t, double H) {
    enum outcome outcome = step(m, t, H, 0);
    m->now.last = outcome;
    return outcome;
}

enum event core_waiting(struct core *m) {
#ifdef SWITCHED
    for (int i = 0; i < GUARDS; ++i)
        if (m->now.x[FALLEN_AT + i] != 0) return FALLEN;
#endif
    return core_next_event(m) <= m->now.time ? SAMPLING : NO_EVENT;
}

enum outcome core_stride(struct core *m, double t, double H) {
    struct state *now = &m->now;
    enum outcome outcome = step(m, t, H, 1);
    now->last = outcome;
    if (outcome == DONE && core_waiting(m) == FALLEN) now->worth = now->time + APART * now->settings[STEP];
    return outcome;
}

enum outcome core_settle(struct core *m) {
    struct state *now = &m->now;
#if HAS_EVENTS
    double status[S_SIZE];
    int code = mbfmu_settle(now->x, now->u, now->du, now->p, now->time, now->settings[STEP], m->x1, status, m->work);
    if (code != OK) return not_done(m, code, status, now->time);
    if (memcmp(now->x, m->x1, sizeof now->x) != 0) {
        memcpy(now->x, m->x1, sizeof now->x);
        now->span = NAN; /* no derivative is that of a step and an event after it */
#ifdef ERROR_NAMES
        now->errors[E_LENGTH] = 0; /* the motion goes on from another state */
#endif
    }
    m->stale = 1;
#else
    (void)now;
#endif
    return DONE;
}

double core_next_event(struct core *m) {
#if HAS_EVENTS
    return m->now.time + mbfmu_until(m->now.x, m->now.p, m->now.time, m->work);
#else
    (void)m;
    return INFINITY;
#endif
}

#endif

/* -- derivatives ------------------------------------------------------------------------------------------------- */

#ifndef EXCHANGE
enum outcome core_set_rates(struct core *m, const unsigned int vr[], size_t n, const int order[], const double rate[]) {
    if (!all_known(m, vr, n)) return REFUSED;
    for (size_t i = 0; i < n; ++i) {
        const struct variable *v = &VARIABLES[vr[i]];
        if (v->kind != INPUT) return refuse(m, "%s is no input", v->name);
        if (TYPE(v) != REAL)
            return refuse(m, "%s is of type %s, and only real inputs change at a rate", v->name, TYPES[TYPE(v)]);
        if (order[i] != 1) return refuse(m, "%s: inputs have derivatives of order 1, not %d", v->name, order[i]);
        if (!(fabs(rate[i]) <= LARGEST)) return refuse(m, "%s: a rate of %g is not possible", v->name, rate[i]);
    }
    for (size_t i = 0; i < n; ++i) m->now.du[VARIABLES[vr[i]].offset] = rate[i];
    return DONE;
}
#endif

#ifdef TANGENTS
#ifdef EXCHANGE
#define DIFFERENTIATED(kind) ((kind) == OUTPUT || (kind) == RATE || (kind) == STATE)
#define LATER_KNOWNS "tunable parameters, states and the time"
#else
#define DIFFERENTIATED(kind) ((kind) == OUTPUT)
#define LATER_KNOWNS "tunable parameters, those of the solver apart, and the time"
#endif

static int all_outputs(struct core *m, const unsigned int vr[], size_t n) {
    if (!all_known(m, vr, n)) return 0;
    for (size_t i = 0; i < n; ++i) {
        const struct variable *v = &VARIABLES[vr[i]];
        if (!DIFFERENTIATED(v->kind)) {
            refuse(m, "%s is no output of the model: nothing gives its derivative", v->name);
            return 0;
        }
        if (TYPE(v) != REAL) {
            refuse(m, "%s is of type %s, and only real outputs have derivatives", v->name, TYPES[TYPE(v)]);
            return 0;
        }
    }
    return 1;
}

#ifndef EXCHANGE
enum outcome core_get_rates(struct core *m, const unsigned int vr[], size_t n, const int order[], double rate[]) {
    struct state *now = &m->now;
    if (!all_outputs(m, vr, n)) return REFUSED;
    for (size_t i = 0; i < n; ++i)
        if (order[i] != 1)
            return refuse(m, "%s: outputs have derivatives of order 1, not %d", VARIABLES[vr[i]].name, order[i]);
    mbfmu_output_rates(now->x, now->u, now->du, now->p, now->time, m->y1, m->work);
    for (size_t i = 0; i < n; ++i) {
        const struct variable *v = &VARIABLES[vr[i]];
        rate[i] = m->y1[v->offset];
        if (!isfinite(rate[i]))
            return discard(m, "the derivative of %s at t = %.9g s is not finite", v->name, now->time);
    }
    return DONE;
}

#endif

/* The place of a variable's entry in the direction of a derivative; NULL if nothing can be differentiated by it now. */
static double *direction_of(struct core *m, const struct variable *v) {
    const int starting = m->now.phase == INITIALISING;
    if (v->kind == INPUT) return &m->su[v->offset];
    if (v->kind == PARAMETER && (starting || !v->fixed)) return &m->sp[v->offset];
    if (v->kind == OUTPUT && starting && v->start >= 0) return &m->ss[v->start];
    if (v->kind == TIME && !starting) return &m->st;
#ifdef EXCHANGE
    if (v->kind == STATE && !starting) return &m->sx[v->offset];
    if (v->kind == SETTING && !starting) return &m->ssettings[v->offset];
#endif
    return 0;
}

/* Set the direction of a derivative; 0 if nothing can be differentiated by one of the variables now. */
static int take_direction(struct core *m, const unsigned int vr[], size_t n, const double change[]) {
    const int starting = m->now.phase == INITIALISING;
    memset(m->su, 0, sizeof m->su);
    memset(m->sp, 0, sizeof m->sp);
    memset(m->ss, 0, sizeof m->ss);
    memset(m->sx, 0, sizeof m->sx);
    memset(m->ssettings, 0, sizeof m->ssettings);
    m->st = 0;
    if (!all_known(m, vr, n)) return 0;
    for (size_t i = 0; i < n; ++i) {
        double *direction = direction_of(m, &VARIABLES[vr[i]]);
        if (TYPE(&VARIABLES[vr[i]]) != REAL) {
            refuse(m, "nothing can be differentiated by %s, which is of type %s", VARIABLES[vr[i]].name,
                   TYPES[TYPE(&VARIABLES[vr[i]])]);
            return 0;
        }
        if (!direction) {
            refuse(m, "nothing can be differentiated by %s %s; inputs and %s can be known", VARIABLES[vr[i]].name,
                   starting ? "in the initialisation mode" : "after the initialisation",
                   starting ? "all parameters but those of the solver, and start values" : LATER_KNOWNS);
            return 0;
        }
        *direction += change[i];
    }
    return 1;
}

/* Compute the changes of the state, and of its rates, for the direction taken; 0 if they are unknown. */
static int derive_state(struct core *m) {
    struct state *now = &m->now;
#ifdef EXCHANGE
    const int found = now->phase != INITIALISING ||
                      mbfmu_initialize_tangent(now->s, now->from_u, now->from_du, now->from_p, now->from_time, 1, m->ss,
                                               m->su, m->sp, m->sx, m->work);
    mbfmu_rates_tangent(now->x, now->u, now->p, now->time, now->settings[STABILIZATION], m->sx, m->su, m->sp, m->st,
                        m->ssettings[STABILIZATION], m->rates1, m->work);
    return found;
#else
    const double h = now->from_settings[STEP], tolerance = now->from_settings[TOLERANCE];
    if (isnan(now->span)) {
        memset(m->sx, 0, sizeof m->sx);
        return 0;
    }
    if (!now->span)
        return mbfmu_initialize_tangent(now->s, now->from_u, now->from_du, now->from_p, now->from_time, h, m->ss, m->su,
                                        m->sp, m->sx, m->work);
    return mbfmu_move_tangent(now->from_x, now->from_u, now->from_du, now->from_p, now->from_time, now->span, h,
                              tolerance, m->su, m->sp, m->sx, m->work);
#endif
}

enum outcome core_derive(struct core *m, const unsigned int unknown[], size_t n_unknown, const unsigned int known[],
                         size_t n_known, const double change[], double effect[]) {
    struct state *now = &m->now;
    if (!all_outputs(m, unknown, n_unknown) || !take_direction(m, known, n_known, change)) return REFUSED;
    if (now->phase == INITIALISING && m->stale) {
        struct text t = {"", 0};
        if (!refresh(m, &t)) return tell(&m->host, DISCARDED, &t);
    }
    const int found = derive_state(m);
    mbfmu_outputs_tangent(now->x, now->u, now->p, now->time, m->sx, m->su, m->sp, m->y1, m->work);
#ifdef BY_TIME_OUTPUTS
    if (m->st != 0) mbfmu_outputs_by_time(now->x, now->u, now->p, now->time, m->st, m->y1, m->work);
#endif
    for (size_t i = 0; i < n_unknown; ++i) {
        const struct variable *v = &VARIABLES[unknown[i]];
        effect[i] = m->y1[v->offset];
#ifdef EXCHANGE
        if (v->kind != OUTPUT) effect[i] = v->kind == RATE ? m->rates1[v->offset] : m->sx[v->offset];
#endif
        if (!found || !isfinite(effect[i]))
            return discard(m, "the derivative of %s at t = %.9g s cannot be told", v->name, now->time);
    }
    return DONE;
}
#else
#define NO_DERIVATIVES "the FMU was exported without derivatives"

#ifndef EXCHANGE
enum outcome core_get_rates(struct core *m, const unsigned int vr[], size_t n, const int order[], double rate[]) {
    (void)vr, (void)n, (void)order, (void)rate;
    return refuse(m, NO_DERIVATIVES);
}
#endif

enum outcome core_derive(struct core *m, const unsigned int unknown[], size_t n_unknown, const unsigned int known[],
                         size_t n_known, const double change[], double effect[]) {
    (void)unknown, (void)n_unknown, (void)known, (void)n_known, (void)change, (void)effect;
    return refuse(m, NO_DERIVATIVES);
}
#endif

/* -- state ------------------------------------------------------------------------------------------------------- */

#define VERSION 1
static const char MAGIC[8] = {'m', 'b', 'f', 'm', 'u', ' ', 'x', '\n'};

struct head {
    char magic[8];
    uint64_t version, size, checksum;
    char owner[40];
};

struct saved {
    struct head head;
    struct state state;
};

/* FNV-1a hash (Fowler, Noll & Vo) of a serialised state without the checksum itself. */
static uint64_t checksum(const void *state, size_t size) {
    const size_t from = offsetof(struct head, checksum), to = from + sizeof(uint64_t);
    const unsigned char *bytes = state;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; ++i)
        if (i < from || i >= to) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

static void sign(struct head *head) {
    memset(head, 0, sizeof *head);
    memcpy(head->magic, MAGIC, sizeof MAGIC);
    head->version = VERSION;
    head->size = sizeof(struct saved);
    memcpy(head->owner, STATE_OWNER, sizeof STATE_OWNER);
}

/* Whether a state belongs to this FMU; logs what is wrong. */
static int is_ours(struct core *m, const struct head *head) {
    if (memcmp(head->magic, MAGIC, sizeof MAGIC) != 0) {
        refuse(m, "the state is damaged");
        return 0;
    }
    if (head->version != VERSION || head->size != sizeof(struct saved) ||
        memcmp(head->owner, STATE_OWNER, sizeof STATE_OWNER) != 0) {
        refuse(m, "the state belongs to another FMU");
        return 0;
    }
    return 1;
}

/* Whether the settings of the solver are within their bounds. */
static int are_settings(const double settings[]) {
    for (int i = 0; i < N_VARIABLES; ++i) {
        const struct variable *v = &VARIABLES[i];
        if (v->kind != SETTING) continue;
        const double value = settings[v->offset];
        if (!isfinite(value) || !(v->min <= value && value <= v->max)) return 0;
    }
    return 1;
}

/* Whether a state could have been saved: the members of a forged one could lead beyond tables, or to steps without end. */
static int is_possible(const struct state *s) {
    const int64_t phase = s->phase;
    if (phase <= 0 || phase > ANY || (phase & (phase - 1)) != 0) return 0;
    if (s->last < DONE || s->last > REFUSED || s->refused < 0 || s->refused > N_VARIABLES + 1) return 0;
    for (int64_t i = 0; i < s->refused; ++i) {
        const struct refusal *r = &s->refusals[i];
        if (r->where < 0 || r->where > START_TIME || r->why <= FINE || r->why > FOLLOWS_OTHERS) return 0;
    }
    if (!isfinite(s->time) || !isfinite(s->from_time) || isinf(s->span)) return 0; /* NAN: a step and an event after it */
    return are_settings(s->settings) && (s->span == 0 || are_settings(s->from_settings));
}

static struct saved *allocate(struct core *m) {
    struct saved *saved = m->host.allocate(m->host.who, sizeof *saved);
    if (!saved) refuse(m, "the master gave no memory for a state");
    return saved;
}

size_t core_state_size(void) { return sizeof(struct saved); }

enum outcome core_save(struct core *m, struct saved **saved) {
    struct saved *found = *saved;
    if (found && !is_ours(m, &found->head)) return REFUSED;
    if (!found) found = allocate(m);
    if (!found) return REFUSED;
    sign(&found->head);
    found->state = m->now;
    *saved = found;
    return DONE;
}

enum outcome core_restore(struct core *m, const struct saved *saved) {
    if (!is_ours(m, &saved->head)) return REFUSED;
    m->now = saved->state;
    note_change(m);
    note_retuned(m);
    return DONE;
}

enum outcome core_forget(struct core *m, struct saved *saved) {
    if (!is_ours(m, &saved->head)) return REFUSED;
    m->host.release(m->host.who, saved);
    return DONE;
}

enum outcome core_serialise(struct core *m, struct saved *saved, char bytes[], size_t size) {
    if (!is_ours(m, &saved->head)) return REFUSED;
    if (size < sizeof *saved)
        return refuse(m, "a state takes %lu bytes, not %lu", (unsigned long)sizeof *saved, (unsigned long)size);
    saved->head.checksum = checksum(saved, sizeof *saved);
    memcpy(bytes, saved, sizeof *saved);
    return DONE;
}

enum outcome core_deserialise(struct core *m, const char bytes[], size_t size, struct saved **saved) {
    struct head head;
    if (size >= sizeof head) memcpy(&head, bytes, sizeof head);
    if (size < sizeof head || head.size != size || head.checksum != checksum(bytes, size))
        return refuse(m, "the state is damaged");
    if (!is_ours(m, &head)) return REFUSED;
    struct saved *found = allocate(m);
    if (!found) return REFUSED;
    memcpy(found, bytes, size);
    if (!is_possible(&found->state)) {
        m->host.release(m->host.who, found);
        return refuse(m, "the state is damaged");
    }
    *saved = found;
    return DONE;
}
