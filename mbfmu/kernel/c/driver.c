/* The loops of a stepper: take many steps in one call, up to an event.
 *
 * Included after events.c and these definitions:
 *   ORDER ESTIMATE_ORDER     of the stepper and of its error estimate; 0: it has none
 *   state_difference         the size of the difference of two states, without an estimate
 */

/* Take step k of n, which begins at *now, to m->x, and let these two change places: what was just stored is slow to copy.
 * Where it fails, or turns too far, its parts are done again in halves, quarters and so on. */
static int step_in_parts(const struct call *c, long long k, long long n, double **now, struct memory *m) {
    const int halvings = FORMULA_step.corrections ? 0 : MAX_HALVINGS, whole = 1 << MOST_LEVELS;
    double inputs[NU + 1], *const status = m->status;
    struct call at = {*now, inputs, c->du, c->p, c->t, c->h};
    int level = 0, done = 0; /* done counts in whole-ths of the step */
    while (done < whole) {
        const int part = whole >> level, unknown = unknown_of(m);
        const double dt = k * c->h + (done ? c->h * done / whole : 0);
        double small = level ? c->h * part / whole : c->h;
        /* the next part, and its end at an event */
        inputs_after(c, dt, inputs);
        at.x = *now;
        at.t = c->t + dt;
        at.h = small;
        lead_on(m);
        shift_part(c, at.t, n, k + (double)done / whole, (double)part / whole, m);
        int code = take(&at, m->x, m);
        if (code == OK) code = look(&at, 0, level < MOST_LEVELS && !FORMULA_step.corrections, &small, m);
        go_on(code == OK, m);
        if (code != OK && code != EVENT) {
            if (code != COARSE && level >= halvings) return code;
            set_unknown(m, unknown);
            ++level;
            continue;
        }
        /* its end is where the next one begins */
        if (small < status[S_LEAST_STEP]) status[S_LEAST_STEP] = small;
        status[S_SUBSTEPS] += 1;
        memcpy(m->x + MAPPED, *now + MAPPED, sizeof(double) * (NX - MAPPED));
        double *const before = *now;
        *now = m->x;
        m->x = before;
        keep_change(m);
        at.h = small;
        accompany(&at, *now, 0, m);
        if (code == EVENT) {
            status[S_TIME] = c->t + (dt + small);
            return EVENT;
        }
        done += part;
        while (level && done % (whole >> (level - 1)) == 0) --level;
    }
    return OK;
}

/* Take n steps of length c->h to x1; u is the input at c->t and du its constant derivative. x1 is written only if all is
 * well, or up to an event. */
static int advance(const struct call *c, long long n, double *x1, struct memory *m) {
    double here[NX], *now = here;
    struct memory own = *m; /* in which now and x change places */
    int code = OK;
    memset(m->status, 0, sizeof(double) * S_SIZE);
    memcpy(now, c->x, sizeof(double) * NX);
    m->status[S_LEAST_STEP] = c->h;
    for (long long k = 0; k < n && code == OK; ++k) code = step_in_parts(c, k, n, &now, &own);
    if (code != OK && code != EVENT) {
        m->status[S_CODE] = code;
        return code;
    }
    memcpy(x1, now, sizeof(double) * NX);
    return code;
}

/* Take a step c to m->x and find its error: by the method's own estimate, or of two steps of h/2, which are kept, against
 * one of h (Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.4). */
static int attempt(const struct call *c, double *error, struct memory *m) {
    struct tangent *const d = m->d;
    double big[NX], end = c->t + c->h;
    int code;
    if (ESTIMATE_ORDER) {
        m->estimate = error;
        code = take(c, m->x, m);
        m->estimate = 0;
        return code == OK && !isfinite(*error) ? NOT_FINITE : code;
    }
    m->d = 0;
    code = take(c, big, m);
    m->d = d;
    if (code == OK) code = take_halves(c, m);
    m->status[S_TIME] = c->t;
    if (code != OK) return code;
    state_difference((const double *const[]){big, m->x, c->p, &end}, (double *const[]){error}, m->w);
    *error /= (1 << ORDER) - 1;
    return OK;
}

#define SLIGHT 1e-20 /* least error of a step that counts, relative to the one allowed */
#define SPARE 1e-3   /* largest error of a step that is none if it is round-off, relative to that allowed in the span */
#define LITTLE 1e-4  /* least error of the step before that counts, relative to the one allowed */

/* The factor by which the error of a step changes the next one. That of the step before counts too if it is known
 * (past > 0) and this step is kept, so that fewer steps are repeated: the PI controller with exponents 0.7 and 0.4
 * (Gustafsson 1991; Hairer & Wanner, Solving Ordinary Differential Equations II, IV.2). Methods of order 2 repeat few
 * steps anyway, and would take more. Errors are relative to those allowed. */
static double factor_of(double excess, double past, int order) {
    const int both = past > 0 && excess <= 1 && order > 2;
    const double square = excess * excess, before = past * past;
    double factor = both ? mbfmu_pow(square * square * square * excess / (before * before), -0.1 / order)
                         : mbfmu_pow(excess, -1.0 / order);
    factor *= SAFETY;
    return factor > BEST ? BEST : factor > 1 / WORST ? factor : 1 / WORST;
}

/* A span on the way, with steps that are chosen: what is done of it, s, the step planned next, s, and the error of the step
 * before, relative to the one allowed; 0: it is not known. */
struct course {
    double done, h, past;
};

/* Take the step c to m->x, and find its error relative to the one allowed; WORST's power if it has no solution. An error
 * that is round-off is none: beside a corner, steps are so short that less would be allowed. */
static int judge(const struct call *c, const struct span *s, int last, double *excess, struct memory *m) {
    const double none = last ? ROUND_OFF : fmin(HALF_UNIT, SPARE * s->tol * s->H);
    double error = NAN;
    const int code = attempt(c, &error, m);
    if (code != OK) *excess = mbfmu_pow(WORST, ESTIMATE_ORDER ? ESTIMATE_ORDER : ORDER);
    else if (error <= none) *excess = 0;
    else *excess = error / (s->tol * c->h);
    return code;
}

#ifdef SWITCHED
#define LEAST_PART SHORTEST_SLIDING
#else
#define LEAST_PART SHORTEST
#endif

/* Try the next step c of a course to m->x, the `last` one or not; the course goes on, or plans a shorter step. Return OK,
 * EVENT at the end of a step that an event has ended, or why no step can be shorter; *kept tells whether it is kept. */
static int try_step(const struct call *c, const struct span *s, int last, struct course *way, int *kept,
                    struct memory *m) {
    const int unknown = unknown_of(m);
    double small = c->h, excess;
    int code = judge(c, s, last, &excess, m);
    double factor = factor_of(excess > SLIGHT ? excess : SLIGHT, way->past, ESTIMATE_ORDER ? ESTIMATE_ORDER : ORDER);
    if (code == OK && excess <= 1) code = look(c, !ESTIMATE_ORDER, small > WORST * LEAST_PART * s->H, &small, m);
    const int whole = code == OK, good = whole || code == EVENT;
    if (!good) factor = 1 / WORST;
    *kept = good && excess <= 1;
    if (!*kept) {
        if (small * factor <= LEAST_PART * s->H) return whole ? NOT_ACCURATE : code;
        set_unknown(m, unknown);
    } else {
        way->done = last && whole ? s->H : way->done + small;
        m->status[S_SUBSTEPS] += 1;
        struct call taken = *c;
        taken.h = small;
        accompany(&taken, m->x, !ESTIMATE_ORDER, m);
        if (!whole) return EVENT;
        way->past = excess > LITTLE ? excess : LITTLE;
        if (small < m->status[S_LEAST_STEP]) m->status[S_LEAST_STEP] = small;
    }
    if (!(*kept && last && small * factor < way->h)) way->h = small * factor < s->h_max ? small * factor : s->h_max;
    return OK;
}

/* Go over a span with steps chosen so that each adds at most tol times its length to the error.
 *
 * h_max bounds the steps. The step chosen last is part of x, so that the next call goes on with it, and a restored
 * state gives the same steps again. A step shortened by the end of the span leaves the planned step as it is; if it is
 * so short that its error is round-off, it is accepted. After `most` steps, those that are repeated included, x1 is the
 * state at status[S_TIME], from where another call can go on. */
static int control(const struct call *c, const struct span *s, double *x1, struct memory *m) {
    double now[NX], inputs[NU + 1], *const status = m->status;
    const double planned = c->x[MAPPED];
    struct course way = {0, planned > 0 && planned < s->h_max ? planned : s->h_max, 0};
    struct call at = {now, inputs, c->du, c->p, c->t, 0};
    int code = OK, kept;
    memset(status, 0, sizeof(double) * S_SIZE);
    memcpy(now, c->x, sizeof(double) * NX);
    status[S_LEAST_STEP] = way.h < s->H ? way.h : s->H;
    for (long long tried = 0; way.done < s->H && code == OK; ++tried) {
        if (tried == s->most) {
            status[S_TIME] = c->t + way.done;
            code = UNFINISHED;
            break;
        }
        const int last = way.done + way.h >= s->H * (1 - CLOSE);
        m->usual = way.h;
        inputs_after(c, way.done, inputs);
        at.t = c->t + way.done;
        at.h = last ? s->H - way.done : way.h;
        lead_on(m);
        shift_part(c, at.t, 1, 0, last, m);
        code = try_step(&at, s, last, &way, &kept, m);
        if (code != OK && code != EVENT) {
            status[S_CODE] = code;
            return code;
        }
        if (!kept) continue;
        memcpy(now, m->x, sizeof(double) * MAPPED);
        keep_change(m);
        if (code == EVENT) status[S_TIME] = c->t + way.done;
    }
    status[S_CODE] = code;
    now[MAPPED] = way.h;
    memcpy(x1, now, sizeof(double) * NX);
    return code;
}

/* The number of equal steps, each at most `longest`, that a span takes. */
MBFMU_EXPORT long long mbfmu_count(double span, double longest) {
    double n = ceil(span / longest * (1 - CLOSE));
    return n > 1 ? (long long)n : 1;
}

/* Go over a span in steps of at most h_max, chosen by their error if tol > 0. */
static int stretch(const struct call *c, const struct span *s, double *x1, struct memory *m) {
    const long long n = mbfmu_count(s->H, s->h_max);
    struct call at = *c;
    at.h = s->H / n;
    return s->tol > 0 ? control(c, s, x1, m) : advance(&at, n, x1, m);
}
