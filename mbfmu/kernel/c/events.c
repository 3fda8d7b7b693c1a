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

/* The bracket of an event's time in a step: lengths of it, and the least guard there; it is above zero at `low`. */
struct bracket {
    double low, high, at_low, at_high;
    int side;      /* which end moved last: 1 that below, -1 that above */
    int bracketed; /* if not, it begins at zero: the last event was that of this guard */
};

/* The least of the guards that are negative where `fallen` are. */
static double least(const double *values, const double *fallen) {
    double value = INFINITY;
    for (int i = 0; i < GUARDS; ++i)
        if (fallen[i] < 0) value = fmin(value, values[i]);
    return value;
}

/* The next length to try, by the rule of false position or else the middle; b->high if the bracket is closed. */
static double next_trial(const struct bracket *b) {
    if (!b->bracketed) return b->high / 4;
    if (b->high - b->low <= CLOSEST * (b->high + 1e-300)) return b->high;
    const double middle = b->high - b->at_high * (b->high - b->low) / (b->at_high - b->at_low);
    return middle > b->low && middle < b->high ? middle : b->low + (b->high - b->low) / 2;
}

/* Narrow the bracket by the least guard at a length. An end that stays twice counts half (the Illinois algorithm: Dowell &
 * Jarratt, BIT 11, 1971). */
static void narrow(struct bracket *b, double middle, double value) {
    if (value >= 0) {
        b->at_low = value, b->low = middle, b->bracketed = 1;
        if (b->side == 1) b->at_high /= 2;
        b->side = 1;
    } else {
        b->at_high = value, b->high = middle;
        if (b->side == -1) b->at_low /= 2;
        b->side = -1;
    }
}

/* Find the first length of the step c found at which one of the fallen guards is negative, known to round-off, and take
 * the step up to there. m->guards are those at its beginning, and become those at its end. */
static int locate(const struct call *c, int halves, struct event *e, double *length, struct memory *m) {
    struct bracket b = {0, c->h, least(m->guards, e->fallen), least(e->fallen, e->fallen), 0, 0};
    struct call part = *c;
    double now[GUARDS], taken = c->h;
    int code = OK;
    b.bracketed = b.at_low > 0;
    for (int trial = 0; trial < EVENT_TRIALS && code == OK; ++trial) {
        part.h = next_trial(&b);
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
