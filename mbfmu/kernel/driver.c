/* The loops around the generated functions: solve a formula's stages, take many steps in one call.
 *
 * Every function is pure: state in, state out, all memory from the caller. Where tangents are asked for, each correction
 * is followed by the correction of its tangent, so that the derivative is that of the result computed.
 * Without a compiler, runtime.Interpreted takes equal steps without tangents, and nothing else.
 *
 * Included after the generated code and these definitions:
 *   FORMULA_start, FORMULA_begin, FORMULA_step   struct formula; a number of corrections fixes the work of a step,
 *                                                whatever it leaves of the equations, and 0 solves them to round-off
 *   ORDER ESTIMATE_ORDER                         of the stepper and of its error estimate; 0: it has none
 *   NX NS NU NP NY NQV NZ                        sizes of x, s, u, p, y, [q; v; angles] and of all unknowns of a formula
 *   STAGES                                       most stages of a formula
 *   SZ_W                                         room to work of the largest generated function
 *   FORMULA_sample, until_sampling with SAMPLED, where there are sampled blocks: what they compute, and the time until
 *                                                they do
 *   FORMULA_switch, guards, moved, GUARDS, FALLEN_AT, CLOSED_AT, GAPS, N_SCHEME with SWITCHED, where there are gaps or
 *                                                dry friction: the state after an event, numbers that are positive
 *                                                until one, whether a step moves anything; their number, the entries of
 *                                                x that tell which have fallen and which gaps are closed, the number of
 *                                                gaps, and that of the entries of x that are the stepper's
 *   FORMULA_short, SHORT, REPLACED               where a step below this part of the usual one is followed by a new
 *                                                beginning; with REPLACED the formula takes that step too
 *   HELD_AT HELD with any of these                the entries of x that hold sampled inputs
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

/* A small change of all that a formula's value depends on, and the change of the value. */
struct tangent {
    const double *u, *p;      /* changes that stay the same throughout */
    const double *from;       /* change of the formula's argument */
    double *to, *z, *next;    /* change of its value; of the unknowns; room */
    double *x, *half;         /* change of the state; room for that of half a step */
    int unknown;              /* whether the change is unknown */
};

struct memory {
    double *w, *z, *next, *x;
    double *estimate;  /* where the estimated error of a step goes; 0: it is not wanted */
    struct tangent *d; /* 0: no tangents are wanted */
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

/* Whether a correction that came after another leaves an error at round-off. */
static int at_rest(double correction, double last) {
    double ratio = correction / last;
    return correction <= ROUND_OFF / 10 || (ratio < 1 && correction * ratio <= ROUND_OFF * (1 - ratio)) ||
           (ratio > 0.5 && correction <= STALLED);
}

/* Correct the tangent sz of a solved stage until it is at rest; scale is its largest size so far. Return whether it is.
 */
static int settle(function correct, const double *const in[11], double *sz, int n, double scale, struct memory *m) {
    double last = INFINITY, *const next = m->d->next;
    for (int pass = 0; pass < MAX_TANGENT_CORRECTIONS; ++pass) {
        double change = 0;
        correct(in, &next, m->w);
        if (!all_below(INFINITY, next, n)) return 0;
        for (int i = 0; i < n; ++i) change = fmax(change, fabs(next[i] - sz[i]));
        memcpy(sz, next, sizeof(double) * n);
        scale = fmax(scale, largest(sz, n));
        if (change <= TANGENT_SETTLED * scale || (change > last / 2 && change <= STALLED * scale)) return 1;
        last = change;
    }
    return 0;
}

/* Evaluate a formula at (x, u, du, p, t, h): solve its stages one after the other, then compute the result, which has
 * `size` entries. The tangent follows the corrections, as the solution may depend on the guess. */
static int evaluate(const struct formula *f, const double *x, const double *u, const double *du, const double *p,
                    double t, double h, double *result, int size, double *status, struct memory *m) {
    struct tangent *const d = m->d;
    const double *in[11] = {x, u, du, p, &t, &h, m->z};
    double *z = m->z, *sz = 0;
    if (d) {
        sz = d->z;
        memset(sz, 0, sizeof(double) * NZ);
        in[7] = d->from;
        in[8] = d->u;
        in[9] = d->p;
        in[10] = sz;
    }
    for (int k = 0; k < f->stages; ++k) {
        const int n = f->size[k];
        double last = NAN, correction = NAN, scale = 0; /* the first pass has no rate of convergence */
        double *const guess[] = {m->next, k ? 0 : m->estimate}, *const next[] = {m->next, &correction};
        int solved = 0;
        if (d) f->guess_tangent[k](in, &d->next, m->w);
        f->guess[k](in, guess, m->w);
        memcpy(z, m->next, sizeof(double) * n);
        if (d) memcpy(sz, d->next, sizeof(double) * n);
        z += n;
        if (d) sz += n;
        if (!f->correct[k]) continue; /* values that are only computed */
        for (int pass = 0; pass < (f->corrections ? f->corrections : MAX_CORRECTIONS) && !solved; ++pass) {
            if (d) f->correct_tangent[k](in, &d->next, m->w);
            f->correct[k](in, next, m->w);
            status[S_ITERATIONS] += 1;
            if (!isfinite(correction)) {
                status[S_CORRECTION] = correction;
                return NOT_FINITE;
            }
            memcpy(z - n, m->next, sizeof(double) * n);
            if (d) {
                memcpy(sz - n, d->next, sizeof(double) * n);
                scale = fmax(scale, largest(sz - n, n));
            }
            solved = !f->corrections && at_rest(correction, last);
            last = correction;
        }
        if (!f->corrections || correction > status[S_CORRECTION]) status[S_CORRECTION] = correction;
        if (!f->corrections && !solved) return NOT_CONVERGED;
        if (d && !f->corrections && !settle(f->correct_tangent[k], in, sz - n, n, scale, m)) d->unknown = 1;
    }
    double *const results[] = {result, f->stages ? 0 : m->estimate};
    f->result(in, results, m->w);
    if (d) {
        f->result_tangent(in, &d->to, m->w);
        if (!all_below(INFINITY, d->to, size)) d->unknown = 1;
    }
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

#ifdef SHORT
/* Take a step that is far shorter than usual, and begin anew from its end. */
static int take_short(const double *x, const double *sx, const double *u, const double *du, const double *p, double t,
                      double h, double *x1, double *sx1, double *status, struct memory *m) {
    struct tangent *const d = m->d;
    double end[ROOM], send[ROOM], inputs[NU + 1];
    for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * h;
    int code = OK;
    if (!REPLACED) {
        if (d) {
            d->from = sx;
            d->to = sx1;
        }
        code = evaluate(&FORMULA_step, x, u, du, p, t, h, x1, MAPPED, status, m);
        if (code != OK) return code;
        x = x1, sx = sx1;
    }
    if (d) {
        d->from = sx;
        d->to = send;
    }
    const double at = REPLACED ? t : t + h;
    code = evaluate(&FORMULA_short, x, REPLACED ? u : inputs, du, p, at, h, end, NQV + HELD, status, m);
    if (code != OK) return code;
    if (d) {
        d->from = send;
        d->to = sx1;
    }
    code = evaluate(&FORMULA_begin, end, inputs, du, p, t + h, m->usual, x1, MAPPED, status, m);
    memcpy(x1 + HELD_AT, end + NQV, sizeof(double) * HELD);
    if (d) memcpy(sx1 + HELD_AT, send + NQV, sizeof(double) * HELD);
    return code;
}
#endif

/* Take a step from x to x1, and its tangent from one change to another; the code says whether it can be used. */
static int take(const double *x, const double *sx, const double *u, const double *du, const double *p, double t,
                double h, double *x1, double *sx1, double *status, struct memory *m) {
    if (m->d) {
        m->d->from = sx;
        m->d->to = sx1;
    }
    status[S_TIME] = t;
#ifdef SHORT
    int code = h < SHORT * m->usual ? take_short(x, sx, u, du, p, t, h, x1, sx1, status, m)
                                    : evaluate(&FORMULA_step, x, u, du, p, t, h, x1, MAPPED, status, m);
#else
    int code = evaluate(&FORMULA_step, x, u, du, p, t, h, x1, MAPPED, status, m);
#endif
    return code == OK && !all_below(LOST, x1, MAPPED) ? NOT_FINITE : code;
}

#ifdef SWITCHED
#define COARSE (-1)      /* a code within this file: the step is to be divided */
#define MOST_TURNED 0.1  /* largest change of a slip in space in a step, relative to the slip */
#define MOST_LEVELS 28   /* most halvings of a step, for that */
/* The least of the guards that are negative where `fallen` was found. */
static double least(const double *found, const double *fallen) {
    double value = INFINITY;
    for (int i = 0; i < GUARDS; ++i)
        if (fallen[i] < 0) value = fmin(value, found[i]);
    return value;
}

/* Take a step from x to m->x, or two of half its length. */
static int reach(const double *x, const double *u, const double *du, const double *p, double t, double h, int halves,
                 double *status, struct memory *m) {
    double half[NX], middle[NU + 1];
    if (!halves) return take(x, 0, u, du, p, t, h, m->x, 0, status, m);
    int code = take(x, 0, u, du, p, t, h / 2, half, 0, status, m);
    for (int i = 0; i < NU; ++i) middle[i] = u[i] + du[i] * (h / 2);
    return code == OK ? take(half, 0, middle, du, p, t + h / 2, h / 2, m->x, 0, status, m) : code;
}

/* Look at a step of length h from x at time t to m->x, which has been taken, in halves or not, with u the inputs at t.
 * Where a guard falls below zero in it, take the step up to there instead: to the first time found at which one of these
 * guards is negative, known to round-off. m->guards are those at x, and become those at m->x.
 * Return EVENT then, OK if none falls, COARSE if the step can be divided and a slip in space turned too far in it,
 * or what kept a step from being taken; *length is the length of the step. */
static int look(const double *x, const double *u, const double *du, const double *p, double t, double h, int halves,
                int divides, double *length, double *status, struct memory *m) {
    double fallen[GUARDS], now[GUARDS], *const before = m->guards, still, turned, end = t + h;
    const double *const in[] = {x, m->x, p, &end};
    *length = h;
    moved(in, (double *const[]){&still, &turned}, m->w);
    if (divides && turned > MOST_TURNED) return COARSE;
    if (still == 0) memcpy(m->x, x, sizeof(double) * N_SCHEME); /* what rests keeps its bits */
    watch(m->x, u, du, p, t, h, fallen, m);
    int any = 0;
    memcpy(now, fallen, sizeof now);
    for (int i = 0; i < GUARDS; ++i) {
        if (isnan(fallen[i])) return NOT_FINITE;
        const double round_off = i < GAPS && x[CLOSED_AT + i] == 0 ? 0 : ARMED; /* of an open gap it is not known here */
        if (fallen[i] < (before[i] > round_off ? 0 : -round_off)) any = 1;
        else fallen[i] = 0;
    }
    if (!any) {
        memcpy(before, now, sizeof now);
        return OK;
    }
    struct tangent *const d = m->d;
    if (d) d->unknown = 1; /* the time of the event changes too */
    m->d = 0;
    double low = 0, high = h, at_low = least(before, fallen), at_high = least(fallen, fallen), taken = h;
    int side = 0, code = OK, bracketed = at_low > 0; /* if not, it begins at zero: the last event was that of this guard */
    for (int trial = 0; trial < EVENT_TRIALS && code == OK; ++trial) {
        double middle;
        if (!bracketed) middle = high / 4;
        else if (high - low <= 2.3e-16 * (high + 1e-300)) break;
        else {
            middle = high - at_high * (high - low) / (at_high - at_low);
            if (!(middle > low && middle < high)) middle = low + (high - low) / 2;
        }
        if (middle <= low || middle >= high || middle <= h * SHORTEST * SHORTEST) break;
        code = reach(x, u, du, p, t, middle, halves, status, m);
        if (code != OK) break;
        taken = middle;
        watch(m->x, u, du, p, t, middle, now, m);
        const double value = least(now, fallen);
        if (isnan(value)) code = NOT_FINITE;
        else if (value >= 0) {
            at_low = value, low = middle, bracketed = 1;
            if (side == 1) at_high /= 2; /* Illinois */
            side = 1;
        } else {
            at_high = value, high = middle;
            if (side == -1) at_low /= 2;
            side = -1;
        }
    }
    high = fmin(h, fmax(high, m->nudge));
    if (code == OK && taken != high) code = reach(x, u, du, p, t, high, halves, status, m);
    if (code == OK) watch(m->x, u, du, p, t, high, before, m);
    m->d = d;
    *length = high;
    return code == OK ? EVENT : code;
}

/* Find the modes after an event, for guards of which those below a bound have fallen, and begin anew. */
static int change_modes(const double *found, double bound, double *x, const double *u, const double *du, const double *p,
                        double t, double h, double *status, struct memory *m) {
    for (int i = 0; i < GUARDS; ++i) x[FALLEN_AT + i] = found[i] < bound;
    return restart(&FORMULA_switch, x, u, du, p, t, h, status, m);
}
#define ENDS(code) ((code) == EVENT)
#else
#define ENDS(code) 0
#define MOST_LEVELS MAX_HALVINGS
#endif

/* n steps of length h from x at time t to x1; u is the input at t and du its constant derivative.
 * A step that fails is done again in halves, quarters and so on; x1 is written only if all is well. */
static int advance(const double *x, const double *u, const double *du, const double *p, double t, double h,
                   long long n, double *x1, double *status, struct memory *m) {
    double now[NX], inputs[NU + 1];
    struct tangent *const d = m->d;
    const int halvings = FORMULA_step.corrections ? 0 : MAX_HALVINGS, whole = 1 << MOST_LEVELS;
    memset(status, 0, sizeof(double) * S_SIZE);
    memcpy(now, x, sizeof(double) * NX);
    status[S_LEAST_STEP] = h;
    for (long long k = 0; k < n; ++k) {
        int level = 0, done = 0; /* done counts in whole-ths of the step */
        while (done < whole) {
            int part = whole >> level, unknown = d && d->unknown;
            double dt = k * h + (done ? h * done / whole : 0), small = level ? h * part / whole : h;
            for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * dt;
            int code = take(now, d ? d->x : 0, inputs, du, p, t + dt, small, m->x, d ? d->half : 0, status, m);
#ifdef SWITCHED
            const int divides = level < MOST_LEVELS && !FORMULA_step.corrections;
            if (code == OK) code = look(now, inputs, du, p, t + dt, small, 0, divides, &small, status, m);
            if (code == COARSE) {
                if (d) d->unknown = unknown;
                ++level;
                continue;
            }
#endif
            if (code != OK && !ENDS(code)) {
                if (level >= halvings) {
                    status[S_CODE] = code;
                    return code;
                }
                if (d) d->unknown = unknown;
                ++level;
                continue;
            }
            if (small < status[S_LEAST_STEP]) status[S_LEAST_STEP] = small;
            status[S_SUBSTEPS] += 1;
            memcpy(now, m->x, sizeof(double) * MAPPED);
            if (d) memcpy(d->x, d->half, sizeof(double) * MAPPED);
            if (ENDS(code)) {
                status[S_TIME] = t + (dt + small);
                memcpy(x1, now, sizeof(double) * NX);
                return code;
            }
            done += part;
            while (level && done % (whole >> (level - 1)) == 0) --level;
        }
    }
    memcpy(x1, now, sizeof(double) * NX);
    return OK;
}

/* A step over h to m->x with its estimated error: that of the method's own estimate, or of two steps of h/2, which are
 * kept, against one of h (Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.4). */
static int attempt(const double *x, const double *u, const double *du, const double *p, double t, double h,
                   double *error, double *status, struct memory *m) {
    struct tangent *const d = m->d;
    double big[NX], half[NX], middle[NU + 1], end = t + h;
    int code;
    if (ESTIMATE_ORDER) {
        m->estimate = error;
        code = take(x, d ? d->x : 0, u, du, p, t, h, m->x, d ? d->half : 0, status, m);
        m->estimate = 0;
        return code == OK && !isfinite(*error) ? NOT_FINITE : code;
    }
    m->d = 0;
    code = take(x, 0, u, du, p, t, h, big, 0, status, m);
    m->d = d;
    if (code == OK) code = take(x, d ? d->x : 0, u, du, p, t, h / 2, half, d ? d->half : 0, status, m);
    if (code != OK) return code;
    for (int i = 0; i < NU; ++i) middle[i] = u[i] + du[i] * (h / 2);
    double *const sx1 = d ? d->half + ROOM : 0;
    code = take(half, d ? d->half : 0, middle, du, p, t + h / 2, h / 2, m->x, sx1, status, m);
    if (d) memcpy(d->half, sx1, sizeof(double) * MAPPED);
    status[S_TIME] = t;
    if (code != OK) return code;
    state_difference((const double *const[]){big, m->x, p, &end}, (double *const[]){error}, m->w);
    *error /= (1 << ORDER) - 1;
    return OK;
}

/* Go from x at time t over the span H, with steps chosen so that each adds at most tol times its length to the error.
 *
 * h_max bounds the steps. The step chosen last is part of x, so that the next call goes on with it, and a restored
 * state gives the same steps again. A step shortened by the end of the span leaves the planned step as it is; if it is
 * so short that its error is round-off, it is accepted. After `most` steps, those that are repeated included, x1 is the
 * state at status[S_TIME], from where another call can go on. */
static int control(const double *x, const double *u, const double *du, const double *p, double t, double H,
                   double h_max, double tol, long long most, double *x1, double *status, struct memory *m) {
    const int order = ESTIMATE_ORDER ? ESTIMATE_ORDER : ORDER;
    struct tangent *const d = m->d;
    double now[NX], inputs[NU + 1], done = 0, h = x[MAPPED] > 0 && x[MAPPED] < h_max ? x[MAPPED] : h_max;
    memset(status, 0, sizeof(double) * S_SIZE);
    memcpy(now, x, sizeof(double) * NX);
    status[S_LEAST_STEP] = h < H ? h : H;
    for (long long tried = 0; done < H; ++tried) {
        if (tried == most) {
            status[S_TIME] = t + done;
            status[S_CODE] = UNFINISHED;
            break;
        }
        const int last = done + h >= H * (1 - CLOSE), unknown = d && d->unknown;
        double small = last ? H - done : h, error = NAN;
#ifdef SWITCHED
        m->usual = h;
#endif
        for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * done;
        int code = attempt(now, inputs, du, p, t + done, small, &error, status, m);
        double excess = error == 0 || (last && error <= ROUND_OFF) ? 0 : error / (tol * small); /* tol * small may be 0 */
        if (code != OK) excess = mbfmu_pow(WORST, order);
        double factor = SAFETY * mbfmu_pow(excess > 0 ? excess : 1e-300, -1.0 / order);
        factor = factor > BEST ? BEST : factor > 1 / WORST ? factor : 1 / WORST;
#ifdef SWITCHED
        if (code == OK && excess <= 1) code = look(now, inputs, du, p, t + done, small, !ESTIMATE_ORDER, small > SHORTEST * h_max, &small, status, m);
        if (code != OK && !ENDS(code)) factor = 1 / WORST;
#endif
        if ((code == OK || ENDS(code)) && excess <= 1) {
            memcpy(now, m->x, sizeof(double) * MAPPED);
            if (d) memcpy(d->x, d->half, sizeof(double) * MAPPED);
            if (ENDS(code)) {
                status[S_SUBSTEPS] += 1;
                status[S_TIME] = t + (done + small);
                status[S_CODE] = code;
                break;
            }
            done = last ? H : done + small;
            status[S_SUBSTEPS] += 1;
            if (small < status[S_LEAST_STEP]) status[S_LEAST_STEP] = small;
            if (last && small * factor < h) continue;
        } else if (small * factor <= SHORTEST * H) {
            status[S_CODE] = code == OK ? NOT_ACCURATE : code;
            return (int)status[S_CODE];
        } else if (d) {
            d->unknown = unknown;
        }
        h = small * factor < h_max ? small * factor : h_max;
    }
    now[MAPPED] = h;
    memcpy(x1, now, sizeof(double) * NX);
    return (int)status[S_CODE];
}

/* Outputs y of the state x; returns NOT_FINITE if one of them is not finite. */
MBFMU_EXPORT int mbfmu_outputs(const double *x, const double *u, const double *p, double t, double *y, double *work) {
    struct memory m = carve(work);
    outputs((const double *const[]){x, u, p, &t}, &y, m.w);
    return all_below(INFINITY, y, NY) ? OK : NOT_FINITE;
}

/* The number of equal steps, each at most `longest`, that a span takes. */
MBFMU_EXPORT long long mbfmu_count(double span, double longest) {
    double n = ceil(span / longest * (1 - CLOSE));
    return n > 1 ? (long long)n : 1;
}

/* Go over the span H in steps of at most h_max, chosen by their error if tol > 0: then at most `most` of them. */
static int stretch(const double *x, const double *u, const double *du, const double *p, double t, double H, double h_max,
                   double tol, long long most, double *x1, double *status, struct memory *m) {
    long long n = mbfmu_count(H, h_max);
    return tol > 0 ? control(x, u, du, p, t, H, h_max, tol, most, x1, status, m)
                   : advance(x, u, du, p, t, H / n, n, x1, status, m);
}

#if defined SAMPLED || defined SWITCHED
/* Go over the span H from sampling to sampling and from event to event. A sampling at the end of the span is left to the
 * next call, which has the inputs that hold from there on; `outputs` shows what it will give. */
static int travel(const double *x, const double *u, const double *du, const double *p, double t, double H, double h_max,
                  double tol, long long most, double *x1, double *status, struct memory *m) {
    double now[NX], inputs[NU + 1], total[S_SIZE] = {0}, done = 0;
    double h = h_max < H ? h_max : H;
    long long left = most;
#ifdef SWITCHED
    double values[GUARDS];
    int switched = 0, events = 0, row = 0;
    m->guards = values;
    if (h < SLIVER * h_max) h = h_max; /* the next communication step is longer */
    m->usual = h;
    m->nudge = 0;
#endif
    memcpy(now, x, sizeof now);
    total[S_LEAST_STEP] = H;
    while (done < H && total[S_CODE] == OK) {
        double at = t + done, span = H - done;
        int last = 1;
        memset(status, 0, sizeof(double) * S_SIZE);
        status[S_TIME] = at;
        for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * done;
#ifdef SAMPLED
        double until[2];
        const double *const in[] = {now, p, &at};
        until_sampling(in, (double *const[]){until, until + 1}, m->w);
        if (until[0] <= 0) {
            total[S_CODE] = restart(&FORMULA_sample, now, inputs, du, p, at, h, status, m);
            until_sampling(in, (double *const[]){until, until + 1}, m->w);
        }
#endif
#ifdef SWITCHED
        watch(now, inputs, du, p, at, 0, values, m);
        for (int i = 0; i < GUARDS && !switched && total[S_CODE] == OK; ++i)
            if (values[i] < JUMPED) { /* an input has jumped */
                total[S_CODE] = change_modes(values, JUMPED, now, inputs, du, p, at, h, status, m);
                watch(now, inputs, du, p, at, 0, values, m);
                switched = 1;
            }
        switched = 0;
#endif
        total[S_ITERATIONS] += status[S_ITERATIONS];
        total[S_CORRECTION] = fmax(total[S_CORRECTION], status[S_CORRECTION]);
        total[S_TIME] = at;
        if (total[S_CODE] != OK) break;
#ifdef SAMPLED
        if (!(until[0] > 0)) { /* the period is not positive */
            total[S_CODE] = NO_PERIOD;
            break;
        }
        last = until[0] >= H - done - until[1];
        if (!last) span = until[0];
#endif
        if (left-- <= 0) {
            total[S_CODE] = UNFINISHED;
            break;
        }
        int code = stretch(now, inputs, du, p, at, span, h_max, tol, left, m->x, status, m);
        total[S_ITERATIONS] += status[S_ITERATIONS];
        total[S_CORRECTION] = fmax(total[S_CORRECTION], status[S_CORRECTION]);
        total[S_SUBSTEPS] += status[S_SUBSTEPS];
        total[S_LEAST_STEP] = fmin(total[S_LEAST_STEP], status[S_LEAST_STEP]);
        total[S_TIME] = status[S_TIME];
        left -= (long long)status[S_SUBSTEPS];
#ifdef SWITCHED
        if (code == EVENT) {
            memcpy(now, m->x, sizeof now);
            row = status[S_TIME] - at <= fmax(h * NUDGE, m->nudge) ? row + 1 : 0;
            m->nudge = row < 2 ? 0 : row < 32 ? h * NUDGE * (1LL << 2 * row) : h;
            at = status[S_TIME];
            done = at - t;
            for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * done;
            code = change_modes(values, 0, now, inputs, du, p, at, h, status, m);
            switched = 1;
            if (code == OK && ++events == MOST_EVENTS) {
                int fallen = 0;
                while (fallen < GUARDS - 1 && !(values[fallen] < 0)) ++fallen;
                total[S_CORRECTION] = fallen;
                code = MANY_EVENTS;
            }
            total[S_CODE] = code;
            continue;
        }
#endif
        total[S_CODE] = code;
        if (code != OK && code != UNFINISHED) break;
        memcpy(now, m->x, sizeof now);
        done = last ? H : done + span;
    }
    memcpy(status, total, sizeof total);
    if (status[S_CODE] == OK || status[S_CODE] == UNFINISHED) memcpy(x1, now, sizeof now);
    return (int)status[S_CODE];
}
#else
#define travel stretch
#endif

MBFMU_EXPORT int mbfmu_advance(const double *x, const double *u, const double *du, const double *p, double t,
                               double h, long long n, double *x1, double *status, double *work) {
    struct memory m = carve(work);
#if defined SAMPLED || defined SWITCHED
    return travel(x, u, du, p, t, h * n, h, 0, MOST_STEPS, x1, status, &m);
#else
    return advance(x, u, du, p, t, h, n, x1, status, &m);
#endif
}

MBFMU_EXPORT int mbfmu_control(const double *x, const double *u, const double *du, const double *p, double t, double H,
                               double h_max, double tol, long long most, double *x1, double *status, double *work) {
    struct memory m = carve(work);
#if defined SAMPLED || defined SWITCHED
    return travel(x, u, du, p, t, H, h_max, tol, most, x1, status, &m);
#else
    return control(x, u, du, p, t, H, h_max, tol, most, x1, status, &m);
#endif
}

/* Go over the span H in steps of at most h_max, chosen by their error if tol > 0. */
static int move(const double *x, const double *u, const double *du, const double *p, double t, double H, double h_max,
                double tol, double *x1, double *status, struct memory *m) {
    return travel(x, u, du, p, t, H, h_max, tol, MOST_STEPS, x1, status, m);
}

/* Go from one communication point to the next, and compute the outputs there: one call with few arguments, as each
 * argument costs time where the caller is written in another language. a = {x, u, du, p, x1, y, status, work}. */
MBFMU_EXPORT int mbfmu_communicate(double *const *a, double t, double H, double h_max, double tol) {
    struct memory m = carve(a[7]);
    double *x1 = a[4], *status = a[6], inputs[NU + 1];
    int code = move(a[0], a[1], a[2], a[3], t, H, h_max, tol, x1, status, &m);
    if (code != OK) return code;
    for (int i = 0; i < NU; ++i) inputs[i] = a[1][i] + a[2][i] * H;
    if (mbfmu_outputs(x1, inputs, a[3], t + H, a[5], a[7]) == OK) return OK;
    status[S_TIME] = t + H;
    status[S_CODE] = OUTPUTS_NOT_FINITE;
    return OUTPUTS_NOT_FINITE;
}
