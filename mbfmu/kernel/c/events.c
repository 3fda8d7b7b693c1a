/* Events: where a guard falls below zero within a step, the step is taken up to there instead.
 *
 * Included after saltation.c and these definitions, with SWITCHED:
 *   moved      whether the state has moved at all, and how far a slip in space has turned, 1 at most
 *   N_SCHEME   number of the leading entries of x that are the stepper's
 * Without SWITCHED no step has an event.
 */
#define COARSE (-1) /* a code within these files: the step is to be divided */

#ifdef SWITCHED
#define MOST_LEVELS 30  /* most halvings of a step in which a slip in space turns too far */
#define CLOSEST 2.3e-16 /* relative width of the bracket of an event below which it is known to round-off */
#define VANISHING 1e-18 /* part of a step below which an event comes at its beginning */
#define NOISE 1e-8      /* guard, relative to its largest in the step, that is round-off once trials lessen it no more */

/* The bracket of an event's time in a step: lengths of it, and the least guard there; it is above zero at `low`. Where
 * the guard begins at zero, as after the last event, it is the guard over the length instead, as the first zero is no
 * event; then `low` is no length until a trial is above zero. */
struct bracket {
    double low, high, at_low, at_high;
    int side;              /* which end moved last: 1 that below, -1 that above */
    int from_zero;         /* whether the guard begins at zero */
    int bracketed;         /* whether `low` is a length */
    double noise, nearest; /* the guard that may be round-off, and the least of all trials but 0 */
    int idle;              /* number of the last trials that did not halve the nearest */
    double begin;          /* length at which the guards over the length at `high` and before it vanish, if linear */
};

/* The least of the guards that are negative where `fallen` are. */
static double least(const double *values, const double *fallen) {
    double value = INFINITY;
    for (int i = 0; i < GUARDS; ++i)
        if (fallen[i] < 0) value = fmin(value, values[i]);
    return value;
}

/* The next length to try of a step from t, by the rule of false position, off both ends by round-off and more with each
 * trial in vain; b->high if the bracket is closed: as narrow, or its end below zero by the guard's round-off. */
static double next_trial(const struct bracket *b, double t) {
    const double width = b->high - b->low, close = CLOSEST * (b->high + 1e-300);
    if (width <= (b->bracketed ? close : CLOSEST * fabs(t))) return b->high;
    if (!b->bracketed) {
        const int ahead = b->begin > 0 && b->begin < b->high;
        return ahead ? b->begin / 2 : b->high / (b->begin < 0 || b->idle > 1 ? 64 : 4);
    }
    const double above = -b->at_high * (b->from_zero ? b->high : 1);
    if (b->idle > 1 && b->side == -1 && above <= fmin(b->noise, 4 * b->nearest)) return b->high;
    const double middle = b->high - b->at_high * width / (b->at_high - b->at_low);
    const double off = fmin(close * (double)(1LL << 4 * (b->idle < 12 ? b->idle : 12)), width / 2);
    return fmax(b->low + off, fmin(middle, b->high - off));
}

/* The part of the guard that an end keeps that stays twice, while the other goes from `before` to `value`. */
static double kept(double value, double before) {
    const double part = 1 - value / before;
    return part > 0 ? part : 0.5;
}

/* Narrow the bracket by the least guard at a length. An end that stays twice counts less (Anderson & Bjorck, BIT 13,
 * 1973). */
static void narrow(struct bracket *b, double length, double guard) {
    const double value = b->from_zero ? guard / length : guard;
    b->idle = guard != 0 && fabs(guard) < b->nearest / 2 ? 0 : b->idle + 1;
    if (guard != 0) b->nearest = fmin(b->nearest, fabs(guard));
    if (value >= 0) {
        if (b->side == 1) b->at_high *= kept(value, b->at_low);
        b->at_low = value, b->low = length, b->bracketed = 1;
        b->side = 1;
    } else {
        b->begin = length - value * (b->high - length) / (b->at_high - value);
        if (b->side == -1 && b->bracketed) b->at_low *= kept(value, b->at_high);
        b->at_high = value, b->high = length;
        b->side = -1;
    }
}

/* Find the first length of the step c found at which one of the fallen guards is negative, known to round-off, and take
 * the step up to there. m->guards are those at its beginning, and become those at its end. */
static int locate(const struct call *c, int halves, struct event *e, double *length, struct memory *m) {
    const double first = least(m->guards, e->fallen), last = least(e->fallen, e->fallen);
    const double noise = NOISE * fmax(fabs(first), fabs(last));
    struct bracket b = {0, c->h, first, last, 0, first <= 0, first > 0, noise, INFINITY, 0, 0};
    struct call part = *c;
    double now[GUARDS], taken = c->h;
    int code = OK;
    if (b.from_zero) b.at_high /= c->h;
    for (int trial = 0; trial < EVENT_TRIALS && code == OK; ++trial) {
        part.h = next_trial(&b, c->t);
        if (part.h <= b.low || part.h >= b.high || part.h <= c->h * VANISHING) break;
        code = reach(&part, halves, m);
        if (code != OK) break;
        taken = part.h;
        watch(c, m->x, part.h, now, m);
        const double value = least(now, e->fallen);
        if (isnan(value)) code = NOT_FINITE;
        else narrow(&b, part.h, value);
    }
    e->root = b.bracketed && m->nudge <= b.high;
    *length = part.h = fmin(c->h, fmax(b.high, m->nudge));
    if (code == OK && taken != part.h) code = reach(&part, halves, m);
    if (code == OK) watch(c, m->x, part.h, m->guards, m);
    return code;
}

/* Find the guards that have fallen in the step c to m->x, in which halves or not; others get 0. m->guards are those at its
 * beginning, and become those at its end if none has. Return EVENT, OK or NOT_FINITE. */
static int fall(const struct call *c, double *fallen, struct memory *m) {
    double now[GUARDS], *const before = m->guards;
    int any = 0;
    watch(c, m->x, c->h, fallen, m);
    memcpy(now, fallen, sizeof now);
    for (int i = 0; i < GUARDS; ++i) {
        if (isnan(fallen[i])) return NOT_FINITE;
        const double armed = i < GAPS && c->x[CLOSED_AT + i] == 0 ? 0 : ARMED; /* of an open gap it is not known here */
        if (fallen[i] < (before[i] > armed ? 0 : -armed)) any = 1;
        else fallen[i] = 0;
    }
    if (!any) memcpy(before, now, sizeof now);
    return any ? EVENT : OK;
}

/* Look at the step c to m->x, which has been taken, in halves or not. Where a guard falls below zero in it, take the step
 * up to there instead. m->guards are those at c->x, and become those at m->x.
 * Return EVENT then, OK if none falls, COARSE if the step can be divided and a slip in space turned too far in it,
 * or what kept a step from being taken; *length is the length of the step. */
static int look(const struct call *c, int halves, int divides, double *length, struct memory *m) {
    double fallen[GUARDS], before[GUARDS], still, turned;
    const double end = c->t + c->h;
    struct tangent *const d = m->d;
    struct call part = *c;
    *length = c->h;
    moved((const double *const[]){c->x, m->x, c->p, &end}, (double *const[]){&still, &turned}, m->w);
    if (divides && turned > 1) return COARSE;
    if (still == 0) memcpy(m->x, c->x, sizeof(double) * N_SCHEME); /* what rests keeps its bits */
    int code = fall(c, fallen, m);
    if (code != EVENT) return code;
    /* the time of the event, without tangents; then the change of that time */
    struct event event = {before, fallen, 0};
    memcpy(before, m->guards, sizeof before);
    m->d = 0;
    code = locate(c, halves, &event, length, m);
    m->d = d;
    part.h = *length;
    if (code == OK) code = salt(&part, halves, &event, m);
    return code == OK ? EVENT : code;
}
#else
#define MOST_LEVELS MAX_HALVINGS
static inline int look(const struct call *c, int halves, int divides, double *length, struct memory *m) {
    (void)c, (void)halves, (void)divides, (void)length, (void)m;
    return OK;
}
#endif
