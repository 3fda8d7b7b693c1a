/* The functions of a kernel whose state a solver of its own integrates: rates, guards, and what changes at an event.
 *
 * Included after start.c and these definitions:
 *   rates         the time derivative of the N_SCHEME leading entries of x
 *   drift         with CONSTRAINED: the way back onto the constraints, and their largest violation
 *   FORMULA_step  with h = 0: brings a state onto the constraints, counts angles and holds inputs
 *   COUNTING      whether there are angles to count or inputs to hold
 *   IMPACTS_AT, STICKS_AT, SLIPS with SWITCHED: the entries of x that count impacts and tell which slip rates stick, and
 *                 the number of these
 *
 * A solver sees the guards a little higher than they are, by a `shift`, so that they are below zero wherever it stops at
 * what it takes for zero. A guard that an event leaves at zero or below, such as that of a gap that opens there, is
 * shifted to where it is above, until it is positive at an accepted point. What begins there begins gently: a gap that
 * its force leaves at zero grows with the third power of time, and the errors of a solver are larger at first. So its
 * guard has a MARGIN, without which each of its steps ends in an event. After an impact it has none: a gap leaves at a
 * speed, and one that hits much deeper each time would not come to rest. Where it falls all the same as it leaves, its
 * flight is lower than the solver's errors, and it gets the MARGIN.
 */

#ifdef CONSTRAINED
/* Find the way back onto the constraints, to first order, and return the largest violation of these. */
static double look_back(const struct call *c, double *back, struct memory *m) {
    double violation;
    drift((const double *const[]){c->x, c->u, c->p, &c->t}, (double *const[]){back, &violation}, m->w);
    return violation;
}

/* Add to rates dx those of a state that tends to the constraints at a rate, 1/s. */
static void pull_back(const struct call *c, double rate, double *dx, struct memory *m) {
    double back[N_SCHEME];
    look_back(c, back, m);
    for (int i = 0; i < N_SCHEME; ++i) dx[i] += rate * back[i];
}
#else
static inline double look_back(const struct call *c, double *back, struct memory *m) {
    return (void)c, (void)back, (void)m, 0;
}
static inline void pull_back(const struct call *c, double rate, double *dx, struct memory *m) {
    (void)c, (void)rate, (void)dx, (void)m;
}
#endif

/* Find the time derivative dx of the N_SCHEME leading entries of x; NOT_FINITE if one of them is not finite. With
 * `stabilised` > 0, 1/s, a state beside the constraints tends to them at that rate; one that meets them moves as without
 * it. */
int mbfmu_rates(const double *x, const double *u, const double *p, double t, double stabilised, double *dx,
                double *work) {
    struct memory m = carve(work, 0);
    rates((const double *const[]){x, u, p, &t}, &dx, m.w);
    if (stabilised > 0) pull_back(&(struct call){x, u, 0, p, t, 0}, stabilised, dx, &m);
    return all_below(INFINITY, dx, N_SCHEME) ? OK : NOT_FINITE;
}

/* The largest violation of the constraints, m, rad, m/s or rad/s. */
double mbfmu_drift(const double *x, const double *u, const double *p, double t, double *work) {
    struct memory m = carve(work, 0);
    double back[N_SCHEME];
    return look_back(&(struct call){x, u, 0, p, t, 0}, back, &m);
}

/* Bring the state c->x onto the constraints, count angles and hold inputs, in x1. */
static int bring(const struct call *c, double *x1, struct memory *m) {
    struct call standing = *c;
    standing.h = 0;
    int code = evaluate(&FORMULA_step, &standing, x1, MAPPED, m);
    return code == OK && !all_below(LOST, x1, MAPPED) ? NOT_FINITE : code;
}

/* Count angles and hold inputs at a point that a solver has accepted: x1 is x but for these. */
int mbfmu_accept(const double *x, const double *u, const double *p, double t, double *x1, double *status,
                 double *work) {
    const double still[NU + 1] = {0};
    int code = OK;
    memset(status, 0, sizeof(double) * S_SIZE);
    memcpy(x1, x, sizeof(double) * NX);
    if (COUNTING) {
        struct memory m = carve(work, status);
        code = bring(&(struct call){x, u, still, p, t, 0}, x1, &m);
        memcpy(x1, x, sizeof(double) * N_SCHEME);
    }
    status[S_CODE] = code;
    return code;
}

/* Whether a sampling is due in the state x at the time t: the time event of a solver, or one that it has missed. */
int mbfmu_due(const double *x, const double *p, double t, double *work) {
    struct memory m = carve(work, 0);
    return time_left(&(struct call){x, 0, 0, p, t, 0}, &m) <= 0;
}

#ifdef SWITCHED
/* What a solver has seen of the guards before the state was projected, and their shift. */
struct sight {
    double seen[GUARDS], *shift;
};

/* The guards of the state x, with the shift that a solver sees. */
void mbfmu_indicators(const double *x, const double *u, const double *p, double t, const double *shift, double *values,
                      double *work) {
    struct memory m = carve(work, 0);
    watch(&(struct call){x, u, u, p, t, 0}, x, 0, values, &m);
    for (int i = 0; i < GUARDS; ++i) values[i] += shift[i];
}

/* Take the shift from guards that are positive at an accepted point; return whether one is below zero with its shift, so
 * that the solver has missed an event. */
int mbfmu_arm(const double *x, const double *u, const double *p, double t, double *shift, double *work) {
    double values[GUARDS];
    struct memory m = carve(work, 0);
    int missed = 0;
    watch(&(struct call){x, u, u, p, t, 0}, x, 0, values, &m);
    for (int i = 0; i < GUARDS; ++i) {
        missed |= values[i] + shift[i] < 0;
        if (values[i] > 0) shift[i] = LATE;
    }
    return missed;
}

/* Choose the shift of the guards after a start or an event: from the state `before` to x, `changed` tells which guards
 * fell. */
void mbfmu_rearm(const double *before, const double *x, const double *u, const double *p, double t, const int *changed,
                 double *shift, double *work) {
    double values[GUARDS];
    struct memory m = carve(work, 0);
    watch(&(struct call){x, u, u, p, t, 0}, x, 0, values, &m);
    for (int i = 0; i < GUARDS; ++i) {
        const int hit = i < GAPS && x[CLOSED_AT + i] == 0 && x[IMPACTS_AT + i] != before[IMPACTS_AT + i];
        /* the depth of hits between which no accepted point is above zero: it grows with the square of their number, as
         * a solver's errors may keep up flights for ever that are lower than they are */
        const double deeper = LATE + 2 * sqrt(LATE * fabs(values[i]));
        if (values[i] > 0) shift[i] = LATE;
        else if (changed[i] || shift[i] + values[i] < LATE / 2) shift[i] = (hit ? deeper : MARGIN) - values[i];
    }
}

/* Find which guards have fallen in the state x, the first time or again; `changed` takes note of them. Return whether any
 * has, or NOT_FINITE in *code. After the first change an open gap may be below zero, where the event was found late; it
 * opens then. A slip that turns was at rest for the first change, whatever is left of it there; one that is left on the
 * other side of rest by more than a MARGIN slides the way that it has. */
static int any_fallen(const struct sight *s, const double *values, int again, double *x, int *changed, int *code) {
    int any = 0;
    for (int i = 0; i < GUARDS; ++i) {
        const int opening = i < GAPS && x[CLOSED_AT + i] == 0;
        const int turning = changed[i] && i >= GAPS && i < GAPS + SLIPS && x[STICKS_AT + i - GAPS] == 0;
        const double bound = turning ? -MARGIN : JUMPED;
        const int below = again ? values[i] - s->shift[i] < bound && !opening : fmin(values[i], s->seen[i]) < LATE / 2;
        if (isnan(values[i])) *code = NOT_FINITE;
        x[FALLEN_AT + i] = below && !turning;
        any |= below;
        changed[i] |= below;
    }
    return any;
}

/* See the guards of the state c->x. */
static void see(const struct call *c, double *shift, struct sight *s, double *work) {
    s->shift = shift;
    mbfmu_indicators(c->x, c->u, c->p, c->t, shift, s->seen, work);
}

/* Change the modes of the state x until none of the guards has fallen. */
static int change_until_steady(const struct call *c, const struct sight *s, double *x, int *changed, struct memory *m,
                               double *work) {
    struct call at = *c;
    double values[GUARDS], x1[NX];
    at.x = x;
    for (int round = 0; round < MOST_CHANGES; ++round) {
        int code = OK;
        mbfmu_indicators(x, c->u, c->p, c->t, s->shift, values, work);
        const int any = any_fallen(s, values, round, x, changed, &code);
        if (!any || code != OK) return code;
        code = restart(&FORMULA_switch, &at, x, m);
        if (code == OK) code = bring(&at, x1, m);
        if (code != OK) return code;
        memcpy(x, x1, sizeof(double) * MAPPED);
    }
    return MANY_EVENTS;
}

/* Change the modes that hold no longer from c->x to x, and shift the guards with them. */
static int change_shifted(const struct call *c, const struct sight *s, double *x, struct memory *m, double *work) {
    int changed[GUARDS] = {0};
    const int code = change_until_steady(c, s, x, changed, m, work);
    if (code == OK) mbfmu_rearm(c->x, x, c->u, c->p, c->t, changed, s->shift, work);
    return code;
}
#else
struct sight {
    int none;
};
static inline void see(const struct call *c, double *shift, struct sight *s, double *work) {
    (void)c, (void)shift, (void)s, (void)work;
}
static inline int change_shifted(const struct call *c, const struct sight *s, double *x, struct memory *m, double *work) {
    return (void)c, (void)s, (void)x, (void)m, (void)work, OK;
}
#endif

/* Do what is due at the time t: project the state, let sampled blocks compute whose time has come, and change the modes
 * of guards that have fallen. The shift of the guards changes with them; next is the time of the next sampling, INFINITY
 * without one. x1 is written only if all is well. */
int mbfmu_update(const double *x, const double *u, const double *p, double t, double *shift, double *x1, double *next,
                 double *status, double *work) {
    const double still[NU + 1] = {0};
    const struct call c = {x, u, still, p, t, 1};
    struct memory m = carve(work, status);
    struct sight sight;
    double now[NX], until[2];
    memset(status, 0, sizeof(double) * S_SIZE);
    status[S_TIME] = t;
    *next = INFINITY;
    memcpy(now, x, sizeof now);
    see(&c, shift, &sight, work);
    int code = bring(&c, now, &m);
    if (code == OK) {
        code = sample(&c, now, until, &m);
        *next = t + until[0];
        if (code == OK && !(until[0] > 0)) code = NO_PERIOD;
    }
    if (code == OK) code = change_shifted(&c, &sight, now, &m, work);
    status[S_CODE] = code;
    if (code == OK) memcpy(x1, now, sizeof now);
    return code;
}
