/* The functions of a kernel: solve a formula's stages, find the start, change the state at an event, compute outputs.
 *
 * Every function is pure: state in, state out, all memory from the caller. Where tangents are asked for, each correction
 * is followed by the correction of its tangent, so that the derivative is that of the result computed.
 *
 * Included after the generated code and these definitions:
 *   FORMULA_start, FORMULA_begin, FORMULA_step   struct formula; a number of corrections fixes the work of a step,
 *                                                whatever it leaves of the equations, and 0 solves them to round-off
 *   NX NS NU NP NY NQV NZ                        sizes of x, s, u, p, y, [q; v; angles] and of all unknowns of a formula
 *   STAGES                                       most stages of a formula
 *   SZ_W                                         room to work of the largest generated function, or a variable of it
 *   FORMULA_sample, until_sampling with SAMPLED, where there are sampled blocks: what they compute, and the time until
 *                                                they do
 *   FORMULA_switch, guards, GUARDS, FALLEN_AT, CLOSED_AT, GAPS with SWITCHED, where there are gaps or dry friction: the
 *                                                state after an event, numbers that are positive until one; their
 *                                                number, the entries of x that tell which have fallen and which gaps
 *                                                are closed, and the number of gaps
 *   SWITCH_ROUGH with SWITCHED                    the bits of those stages of FORMULA_switch whose passes may end before
 *                                                they are at rest
 *   HELD_AT HELD with any of these                the entries of x that hold sampled inputs
 *   LASTING                                       whether the last of these leaves there what its first stage has in a step
 *                                                from the result, in the place of those
 *   SHOWN                                        whether there is a function `shown` that gives the outputs with these
 *   the codes, the entries of a status and the limits of runtime.py
 */
#include <math.h>
#include <string.h>

#ifdef MBFMU_EXPORT
#elif defined _WIN32
#define MBFMU_EXPORT __declspec(dllexport)
#else
#define MBFMU_EXPORT __attribute__((visibility("default")))
#endif

#define MAPPED (NX - 1) /* entries of x that a step maps; the last one is the step chosen last, 0 before the first */
#define ROOM (NX > NQV + 1 ? NX : NQV + 1)
#define WORK (2 * NZ + ROOM + SZ_W)

enum { KNOWN, UNKNOWN, GRAZED, SPLIT }; /* a change; where a guard only touches zero; where two events come at once */

/* A small change of all that a formula's value depends on, and the change of the value. */
struct tangent {
    const double *u, *p;      /* changes that stay the same throughout */
    const double *from;       /* change of the formula's argument */
    double *to, *z, *next;    /* change of its value; of the unknowns; room */
    double *x, *half;         /* change of the state; room for that of half a step */
    int unknown;              /* whether the change is unknown, and why: one of the reasons above */
#ifdef FOLLOWED
    const double *du;         /* change of the inputs' time derivatives */
    double inputs[NU + 1];    /* change of the inputs where a step begins */
    double start;             /* time at which u and du are those of the inputs */
    double t, h;              /* change of the time where a step begins, and of its length */
    double begun, span;       /* change of the time at which a span begins, and of the span */
    double event, at;         /* change of the time of the event that ended it; that of which the change is unknown */
    int guard;                /* number of the guard that fell there */
#endif
};

#ifdef FOLLOWED
/* Let what comes begin at a time `now` that changes by `later`, with a step whose length changes by `longer`. */
static void shift(struct tangent *d, const double *du, double now, double later, double longer) {
    if (!d) return;
    d->t = later;
    d->h = longer;
    for (int i = 0; i < NU; ++i) d->inputs[i] = d->u[i] + d->du[i] * (now - d->start) + du[i] * later;
}
#ifdef TIMED
#define TANGENT_ARGUMENTS 14
#else
#define TANGENT_ARGUMENTS 12
#endif
#define CHANGE(code) do { if (m->d) { code; } } while (0)
#define SHIFT(now, later, longer) CHANGE(shift(m->d, du, now, later, longer))
#else
#define TANGENT_ARGUMENTS 11
#define CHANGE(code)
#define SHIFT(now, later, longer)
#endif

#ifdef SWITCHED
#define ROUGH(f, k) ((f) == &FORMULA_switch && (SWITCH_ROUGH >> (k) & 1))
#else
#define ROUGH(f, k) 0
#endif

struct memory {
    double *w, *z, *next, *x;
    double *estimate;  /* where the estimated error of a step goes; 0: it is not wanted */
    struct tangent *d; /* 0: no tangents are wanted */
#ifdef LASTING
    int goes_on;       /* whether a step begins where the last one has ended, with the same parameters */
    int lasts;         /* whether z holds what that step left there, for this one and for the outputs where it begins */
#endif
#if defined SAMPLED || defined SWITCHED
    int stops;    /* whether to stop at samplings and events instead of letting them happen */
    double after; /* time after which events are worth a stop */
#endif
#ifdef SWITCHED
    double *guards; /* those at the start of the next step */
    double usual;   /* the length of steps that no event shortens */
    double nudge;   /* the least length of a step up to an event */
#endif
};

static struct memory carve(double *work) {
    struct memory m;
    m.d = 0;
    m.estimate = 0;
#ifdef LASTING
    m.goes_on = m.lasts = 0;
#endif
#if defined SAMPLED || defined SWITCHED
    m.stops = 0;
    m.after = 0;
#endif
#ifdef SWITCHED
    m.guards = 0;
    m.usual = m.nudge = 0;
#endif
    m.z = work;
    m.next = m.z + NZ;
    m.x = m.next + NZ;
    m.w = m.x + ROOM;
    return m;
}

static int all_below(double bound, const double *values, int n) {
    for (int i = 0; i < n; ++i)
        if (!(fabs(values[i]) < bound)) return 0;
    return 1;
}

static double largest(const double *values, int n) {
    double found = 0;
    for (int i = 0; i < n; ++i) found = fmax(found, fabs(values[i]));
    return found;
}

/* Whether a correction leaves at most an error, or no longer shrinks and is at most a size. */
static int ends(double correction, double ratio, double error, double stalled) {
    return (ratio < 1 && correction * ratio <= error * (1 - ratio)) || (ratio > 0.5 && correction <= stalled);
}

/* Whether a correction that came after another leaves an error at round-off: see runtime.py. */
static int at_rest(double correction, double last, const double *q, int n) {
    const double ratio = correction / last;
    if (correction <= ROUND_OFF / 10 || ends(correction, ratio, ROUND_OFF, STALLED)) return 1;
    if (!n) return 0;
    double lost = 0;
    for (int i = 0; i < n; ++i) lost += fabs(q[i]);
    lost *= HALF_UNIT;
    return ends(correction, ratio, lost, STALLED_UNITS * lost);
}

/* Correct the tangent sz of a solved stage until it is at rest; scale is its largest size so far, and `zero` a size that
 * is round-off. Return whether it is. */
static int settle(function correct, const double *const *in, double *sz, int n, double scale, double zero,
                  struct memory *m) {
    double last = INFINITY, *const next = m->d->next;
    for (int pass = 0; pass < MAX_TANGENT_CORRECTIONS; ++pass) {
        double change = 0;
        correct(in, &next, m->w);
        if (!all_below(INFINITY, next, n)) return 0;
        for (int i = 0; i < n; ++i) change = fmax(change, fabs(next[i] - sz[i]));
        memcpy(sz, next, sizeof(double) * n);
        scale = fmax(scale, largest(sz, n));
        if (change <= TANGENT_SETTLED * scale || (change > last / 2 && change <= fmax(STALLED * scale, zero)))
            return 1;
        last = change;
    }
    return 0;
}

/* The round-off of tangents that are differences of n unknowns and of all other changes. */
static double round_off(const double *z, int n, const struct tangent *d) {
    const double changes = fmax(fmax(largest(d->p, NP), largest(d->u, NU)), largest(d->z, n));
    return TANGENT_SETTLED * fmax(1, largest(z, n)) * changes;
}

/* Evaluate a formula at (x, u, du, p, t, h): solve its stages one after the other, then compute the result, which has
 * `size` entries. The tangent follows the corrections, as the solution may depend on the guess. */
static int evaluate(const struct formula *f, const double *x, const double *u, const double *du, const double *p,
                    double t, double h, double *result, int size, double *status, struct memory *m) {
    struct tangent *const d = m->d;
    const double *in[TANGENT_ARGUMENTS] = {x, u, du, p, &t, &h, m->z};
#ifdef LASTING
    const int known = f == &FORMULA_step && m->goes_on && m->lasts && !d;
    m->lasts = 0;
#endif
    if (d) {
        memset(d->z, 0, sizeof(double) * NZ);
        in[7] = d->from;
        in[8] = d->u;
        in[9] = d->p;
        in[10] = d->z;
#ifdef FOLLOWED
        in[8] = d->inputs;
        in[11] = d->du;
#endif
#ifdef TIMED
        in[12] = &d->t;
        in[13] = &d->h;
#endif
    }
    for (int k = 0; k < f->stages; ++k) {
        const int n = f->size[k];
        double *const z = m->z + f->place[k], *const sz = d ? d->z + f->place[k] : 0;
        double last = NAN, correction = NAN, scale = 0; /* the first pass has no rate of convergence */
        double *const guess[] = {z, k ? 0 : m->estimate}, *const next[] = {m->next, &correction};
        int solved = 0;
#ifdef LASTING
        if (known && !k) continue;
#endif
        if (d) f->guess_tangent[k](in, &d->next, m->w);
        f->guess[k](in, guess, m->w);
        if (d) memcpy(sz, d->next, sizeof(double) * n);
        if (!f->correct[k]) continue; /* values that are only computed */
        for (int pass = 0; pass < (f->corrections ? f->corrections : MAX_CORRECTIONS) && !solved; ++pass) {
            if (d) f->correct_tangent[k](in, &d->next, m->w);
            f->correct[k](in, next, m->w);
            status[S_ITERATIONS] += 1;
            if (!isfinite(correction)) {
                status[S_CORRECTION] = correction;
                return NOT_FINITE;
            }
            memcpy(z, m->next, sizeof(double) * n);
            if (d) {
                memcpy(sz, d->next, sizeof(double) * n);
                scale = fmax(scale, largest(sz, n));
            }
            solved = !f->corrections && at_rest(correction, last, x, pass < QUICK_CORRECTIONS ? 0 : f->coordinates);
            last = correction;
        }
        if (!f->corrections || correction > status[S_CORRECTION]) status[S_CORRECTION] = correction;
        if (!f->corrections && !solved) return NOT_CONVERGED;
        if (d && !f->corrections && !ROUGH(f, k)) {
            const double zero = round_off(m->z, f->place[k] + n, d);
            if (!settle(f->correct_tangent[k], in, sz, n, scale, zero, m)) d->unknown = UNKNOWN;
        }
    }
    double *const results[] = {result, f->stages ? 0 : m->estimate};
    f->result(in, results, m->w);
    if (d) {
        f->result_tangent(in, &d->to, m->w);
        if (!all_below(INFINITY, d->to, size)) d->unknown = UNKNOWN;
    }
#ifdef LASTING
    m->lasts = f == &FORMULA_step;
#endif
    return OK;
}

MBFMU_EXPORT void mbfmu_sizes(long long *sizes) {
    const long long all[] = {NX, NS, NU, NP, NY, S_SIZE, WORK};
    memcpy(sizes, all, sizeof all);
}

#if defined SAMPLED || defined SWITCHED
/* Change the state by a formula, and begin anew from there: momenta, multipliers and histories are made again, the
 * history of a multistep method with the step h. */
static int restart(const struct formula *f, double *x, const double *u, const double *du, const double *p, double t,
                   double h, double *status, struct memory *m) {
    struct tangent *const d = m->d;
    double *const sx = d ? d->x : 0, *const half = d ? d->half : 0, held[HELD + 1], sheld[HELD + 1];
    memcpy(held, x + HELD_AT, sizeof(double) * HELD);
    if (d) {
        memcpy(sheld, sx + HELD_AT, sizeof(double) * HELD);
        d->from = sx;
        d->to = half;
    }
    int code = evaluate(f, x, u, du, p, t, h, m->x, NQV, status, m);
    if (code != OK) return code;
    if (d) {
        d->from = half;
        d->to = sx;
    }
    code = evaluate(&FORMULA_begin, m->x, u, du, p, t, h, x, MAPPED, status, m);
    memcpy(x + HELD_AT, held, sizeof(double) * HELD); /* no input has changed */
    if (d) memcpy(sx + HELD_AT, sheld, sizeof(double) * HELD);
    return code == OK && !all_below(LOST, x, MAPPED) ? NOT_FINITE : code;
}
#endif

#ifdef SAMPLED
/* Let sampled blocks compute whose time has come. until[0] is the time until the next sampling then, and until[1] the
 * distance from it within which it counts as due. */
static int sample(double *x, const double *u, const double *du, const double *p, double t, double h, double until[2],
                  double *status, struct memory *m) {
    const double *const in[] = {x, p, &t};
    double *const found[] = {until, until + 1};
    int code = OK;
    until_sampling(in, found, m->w);
    if (until[0] <= 0) {
        code = restart(&FORMULA_sample, x, u, du, p, t, h, status, m);
        until_sampling(in, found, m->w);
    }
    return code;
}
#endif

#ifdef SWITCHED
/* The guards of the state x at a time dt after t. */
static void watch(const double *x, const double *u, const double *du, const double *p, double t, double dt,
                  double *found, struct memory *m) {
    double inputs[NU + 1], at = t + dt;
    for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * dt;
    guards((const double *const[]){x, inputs, p, &at}, &found, m->w);
}
#endif

/* Consistent state x of the start values s at time t; h is the step the history of a multistep method is made with. */
static int initialize(const double *s, const double *u, const double *du, const double *p, double t, double h,
                      double *x, double *status, struct memory *m) {
    memset(status, 0, sizeof(double) * S_SIZE);
    status[S_TIME] = t;
    int code = evaluate(&FORMULA_start, s, u, du, p, t, h, m->x, NQV, status, m);
    if (code == OK) {
        status[S_CORRECTION] = m->x[NQV];
        if (!(m->x[NQV] <= CONSISTENT)) code = INCONSISTENT_START;
    }
    if (code == OK) {
        if (m->d) {
            memcpy(m->d->half, m->d->to, sizeof(double) * NQV);
            m->d->from = m->d->half;
        }
        code = evaluate(&FORMULA_begin, m->x, u, du, p, t, h, x, MAPPED, status, m);
    }
#ifdef SWITCHED
    for (int i = 0; i < GAPS && code == OK; ++i) {
        double values[GUARDS];
        watch(x, u, du, p, t, 0, values, m);
        if (values[i] < -CONSISTENT) {
            status[S_CORRECTION] = -values[i];
            status[S_SUBSTEPS] = i;
            code = STARTS_INSIDE;
        }
    }
    if (code == OK) {
        const double residual = status[S_CORRECTION];
        code = restart(&FORMULA_switch, x, u, du, p, t, h, status, m);
        if (code == OK) status[S_CORRECTION] = residual;
    }
#endif
    x[MAPPED] = 0;
    if (code == OK && !all_below(INFINITY, x, NX)) code = NOT_FINITE;
    status[S_CODE] = code;
    return code;
}

MBFMU_EXPORT int mbfmu_initialize(const double *s, const double *u, const double *du, const double *p, double t,
                                  double h, double *x, double *status, double *work) {
    struct memory m = carve(work);
    return initialize(s, u, du, p, t, h, x, status, &m);
}

/* Outputs y of the state x, with what a step to it has left in z, if it lasts; returns NOT_FINITE if one of them is not
 * finite. */
static int show(const double *x, const double *u, const double *p, double t, double *y, struct memory *m) {
#ifdef SHOWN
    if (m->lasts) shown((const double *const[]){x, u, p, &t, m->z}, &y, m->w);
    else
#endif
        outputs((const double *const[]){x, u, p, &t}, &y, m->w);
    return all_below(INFINITY, y, NY) ? OK : NOT_FINITE;
}

MBFMU_EXPORT int mbfmu_outputs(const double *x, const double *u, const double *p, double t, double *y, double *work) {
    struct memory m = carve(work);
    return show(x, u, p, t, y, &m);
}
