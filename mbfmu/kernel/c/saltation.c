/* The change of the time at which an event comes, and of the state there: the saltation, see tangent.py.
 *
 * With g the guard that falls at the end of a step S of length theta,
 *     s(theta) = -(g_x s(S) + g_u s(u) + g_p s(p) + g_t s(t)) / (g_x S_h + g_u u' + g_t).
 *
 * Included after steps.c, and with TIMED after t_guards, the tangent of the guards. Without it the change is unknown.
 */
#ifdef SWITCHED
/* An event at which some guards fall: what `before` they were, and that they have `fallen`, below zero. */
struct event {
    const double *before, *fallen;
    int root; /* whether it is where these guards are zero, or a time after */
};

#ifdef TIMED
/* Find the change of the length of the step c up to an event, from those of the guards there at that length, and their
 * rates with it. They must agree on it; else d->unknown says why not. */
static double change_of_length(const struct call *c, const struct event *e, const double *changes, const double *rates,
                               struct memory *m) {
    struct tangent *const d = m->d;
    const double zero = 1000 * round_off(m->z, NZ, d);
    double longer = 0;
    int any = 0;
    for (int i = 0; i < GUARDS; ++i) {
        if (!(e->fallen[i] < 0 && m->guards[i] < 0)) continue;
        const double rate = fabs(rates[i]);
        const int hovers = rate * m->usual <= ARMED && fabs(changes[i]) <= zero; /* at zero, so that its time is alike */
        const double change = hovers ? 0 : -changes[i] / rates[i], apart = fabs(change - longer) * rate;
        const int grazes = !hovers && (!(rate * c->h > GRAZING * fabs(e->before[i])) || !isfinite(change));
        const int splits = any && !(apart <= TOGETHER * (fabs(change) + fabs(longer)) * rate + zero);
        if ((grazes || splits) && !d->unknown) {
            d->unknown = grazes ? GRAZED : SPLIT;
            d->at = c->t + c->h;
            d->guard = i;
        }
        if (!any) longer = change;
        any = 1;
    }
    return longer;
}

/* Find the change of the state in d->half and of the time in d->event at the end of the step c to m->x, at which an event
 * comes. */
static int salt(const struct call *c, int halves, const struct event *e, struct memory *m) {
    const double still[(ROOM > NP ? ROOM : NP) + NU + 1] = {0}, one = 1, end = c->t + c->h;
    double along[ROOM], changes[GUARDS], rates[GUARDS], inputs[NU + 1];
    struct tangent *const d = m->d;
    if (!d) return OK;
    const struct tangent whole = *d;
    /* s(S), at the given length */
    lead_on(m);
    shift(c, c->t, whole.t, 0, m);
    int code = reach(c, halves, m);
    d->event = whole.t;
    if (code != OK || !e->root) return code;
    /* S_h, with nothing else that changes */
    d->u = d->du = d->p = still;
    lead(m, still, along);
    shift(c, c->t, 0, 1, m);
    code = reach(c, halves, m);
    d->u = whole.u;
    d->du = whole.du;
    d->p = whole.p;
    shift(c, end, whole.t, 0, m);
    if (code != OK) return code;
    /* the numerator and the denominator of s(theta), for each guard */
    inputs_after(c, c->h, inputs);
    t_guards((const double *const[]){m->x, inputs, c->p, &end, d->half, d->inputs, d->p, &d->t},
             (double *const[]){changes}, m->w);
    t_guards((const double *const[]){m->x, inputs, c->p, &end, along, c->du, still, &one}, (double *const[]){rates}, m->w);
    /* s(S) + S_h s(theta), and s(t) + s(theta) */
    const double longer = change_of_length(c, e, changes, rates, m);
    for (int i = 0; i < MAPPED; ++i) d->half[i] += along[i] * longer;
    d->event = whole.t + longer;
    return code;
}
#else
static inline int salt(const struct call *c, int halves, const struct event *e, struct memory *m) {
    (void)c, (void)halves, (void)e;
    set_unknown(m, UNKNOWN); /* the time of the event changes too */
    return OK;
}
#endif
#endif
