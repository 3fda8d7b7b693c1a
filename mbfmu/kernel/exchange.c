/* The functions of a kernel whose state a solver of its own integrates: rates, guards, and what changes at an event.
 *
 * Included after formulas.c and these definitions:
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
/* The way back onto the constraints, to first order, and the largest violation of these. */
static double look_back(const double *x, const double *u, const double *p, double t, double *back, struct memory *m) {
    double found;
    drift((const double *const[]){x, u, p, &t}, (double *const[]){back, &found}, m->w);
    return found;
}
#endif

/* The time derivative dx of the N_SCHEME leading entries of x; NOT_FINITE if one of them is not finite. With `stabilised`
 * > 0, 1/s, a state beside the constraints tends to them at that rate; one that meets them moves as without it. */
int mbfmu_rates(const double *x, const double *u, const double *p, double t, double stabilised, double *dx,
                double *work) {
    struct memory m = carve(work);
    rates((const double *const[]){x, u, p, &t}, &dx, m.w);
#ifdef CONSTRAINED
    double back[N_SCHEME];
    if (stabilised > 0) {
        look_back(x, u, p, t, back, &m);
        for (int i = 0; i < N_SCHEME; ++i) dx[i] += stabilised * back[i];
    }
#else
    (void)stabilised;
#endif
    return all_below(INFINITY, dx, N_SCHEME) ? OK : NOT_FINITE;
}

/* The largest violation of the constraints, m, rad, m/s or rad/s. */
double mbfmu_drift(const double *x, const double *u, const double *p, double t, double *work) {
#ifdef CONSTRAINED
    struct memory m = carve(work);
    double back[N_SCHEME];
    return look_back(x, u, p, t, back, &m);
#else
    (void)x, (void)u, (void)p, (void)t, (void)work;
    return 0;
#endif
}

/* Bring the state x onto the constraints, count angles and hold inputs, in x1. */
static int bring(const double *x, const double *u, const double *p, double t, double *x1, double *status,
                 struct memory *m) {
    const double still[NU + 1] = {0};
    int code = evaluate(&FORMULA_step, x, u, still, p, t, 0, x1, MAPPED, status, m);
    return code == OK && !all_below(LOST, x1, MAPPED) ? NOT_FINITE : code;
}

/* Count angles and hold inputs at a point that a solver has accepted: x1 is x but for these. */
int mbfmu_accept(const double *x, const double *u, const double *p, double t, double *x1, double *status,
                 double *work) {
    int code = OK;
    memset(status, 0, sizeof(double) * S_SIZE);
    memcpy(x1, x, sizeof(double) * NX);
    if (COUNTING) {
        struct memory m = carve(work);
        code = bring(x, u, p, t, x1, status, &m);
        memcpy(x1, x, sizeof(double) * N_SCHEME);
    }
    status[S_CODE] = code;
    return code;
}

#ifdef SWITCHED
/* The guards of the state x, with the shift that a solver sees. */
void mbfmu_indicators(const double *x, const double *u, const double *p, double t, const double *shift, double *found,
                      double *work) {
    struct memory m = carve(work);
    watch(x, u, u, p, t, 0, found, &m);
    for (int i = 0; i < GUARDS; ++i) found[i] += shift[i];
}

/* Take the shift from guards that are positive at an accepted point; return whether one is below zero with its shift, so
 * that the solver has missed an event. */
int mbfmu_arm(const double *x, const double *u, const double *p, double t, double *shift, double *work) {
    double found[GUARDS];
    struct memory m = carve(work);
    int missed = 0;
    watch(x, u, u, p, t, 0, found, &m);
    for (int i = 0; i < GUARDS; ++i) {
        missed |= found[i] + shift[i] < 0;
        if (found[i] > 0) shift[i] = LATE;
    }
    return missed;
}

/* Choose the shift of the guards after a start or an event: from the state `before` to x, `changed` tells which guards
 * fell. */
void mbfmu_rearm(const double *before, const double *x, const double *u, const double *p, double t, const int *changed,
                 double *shift, double *work) {
    double found[GUARDS];
    struct memory m = carve(work);
    watch(x, u, u, p, t, 0, found, &m);
    for (int i = 0; i < GUARDS; ++i) {
        const int hit = i < GAPS && x[CLOSED_AT + i] == 0 && x[IMPACTS_AT + i] != before[IMPACTS_AT + i];
        /* the depth of hits between which no accepted point is above zero: it grows with the square of their number, as
         * a solver's errors may keep up flights for ever that are lower than they are */
        const double deeper = LATE + 2 * sqrt(LATE * fabs(found[i]));
        if (found[i] > 0) shift[i] = LATE;
        else if (changed[i] || shift[i] + found[i] < LATE / 2) shift[i] = (hit ? deeper : MARGIN) - found[i];
    }
}

/* Change the modes until none of the guards has fallen; `seen` are the guards that a solver saw, before the state was
 * projected; `changed` takes note of those that have. After the first change an open gap may be below zero, where the
 * event was found late; it opens then. A slip that turns was at rest for the first change, whatever is left of it there;
 * one that is left on the other side of rest by more than a MARGIN slides the way that it has. */
static int change_until_steady(const double *seen, double *x, const double *u, const double *p, double t,
                               const double *shift, int *changed, double *status, struct memory *m, double *work) {
    const double still[NU + 1] = {0};
    double found[GUARDS], x1[NX];
    for (int round = 0; round < MOST_CHANGES; ++round) {
        int any = 0;
        mbfmu_indicators(x, u, p, t, shift, found, work);
        for (int i = 0; i < GUARDS; ++i) {
            const int opening = i < GAPS && x[CLOSED_AT + i] == 0;
            const int turning = changed[i] && i >= GAPS && i < GAPS + SLIPS && x[STICKS_AT + i - GAPS] == 0;
            const double least = turning ? -MARGIN : JUMPED;
            const int fallen = round ? found[i] - shift[i] < least && !opening : fmin(found[i], seen[i]) < LATE / 2;
            if (isnan(found[i])) return NOT_FINITE;
            x[FALLEN_AT + i] = fallen && !turning;
            any |= fallen;
            changed[i] |= fallen;
        }
        if (!any) return OK;
        int code = restart(&FORMULA_switch, x, u, still, p, t, 1, status, m);
        if (code == OK) code = bring(x, u, p, t, x1, status, m);
        if (code != OK) return code;
        memcpy(x, x1, sizeof(double) * MAPPED);
    }
    return MANY_EVENTS;
}
#endif

/* Do what is due at the time t: project the state, let sampled blocks compute whose time has come, and change the modes
 * of guards that have fallen. The shift of the guards changes with them; next is the time of the next sampling, INFINITY
 * without one. x1 is written only if all is well. */
int mbfmu_update(const double *x, const double *u, const double *p, double t, double *shift, double *x1, double *next,
                 double *status, double *work) {
    struct memory m = carve(work);
    double now[NX];
    memset(status, 0, sizeof(double) * S_SIZE);
    status[S_TIME] = t;
    *next = INFINITY;
    memcpy(now, x, sizeof now);
#ifdef SWITCHED
    double seen[GUARDS];
    mbfmu_indicators(x, u, p, t, shift, seen, work);
#endif
    int code = bring(x, u, p, t, now, status, &m);
#ifdef SAMPLED
    const double still[NU + 1] = {0};
    double until[2];
    if (code == OK) {
        code = sample(now, u, still, p, t, 1, until, status, &m);
        *next = t + until[0];
        if (code == OK && !(until[0] > 0)) code = NO_PERIOD;
    }
#endif
#ifdef SWITCHED
    if (code == OK) {
        int changed[GUARDS] = {0};
        code = change_until_steady(seen, now, u, p, t, shift, changed, status, &m, work);
        if (code == OK) mbfmu_rearm(x, now, u, p, t, changed, shift, work);
    }
#else
    (void)shift;
#endif
    status[S_CODE] = code;
    if (code == OK) memcpy(x1, now, sizeof now);
    return code;
}
