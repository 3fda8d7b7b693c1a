/* Sampled blocks: they compute at instants of their own, and hold what they computed.
 *
 * Included after restart.c and these definitions, with SAMPLED:
 *   FORMULA_sample   what they compute
 *   until_sampling   the time until they do, and the distance from it within which it counts as due
 */
#ifdef SAMPLED
/* Let sampled blocks compute whose time has come. until[0] is the time until the next sampling then, and until[1] the
 * distance from it within which it counts as due. */
static int sample(const struct call *c, double *x, double until[2], struct memory *m) {
    const double *const in[] = {x, c->p, &c->t};
    double *const results[] = {until, until + 1};
    int code = OK;
    until_sampling(in, results, m->w);
    if (until[0] <= 0) {
        code = restart(&FORMULA_sample, c, x, m);
        until_sampling(in, results, m->w);
    }
    return code;
}

/* The time until the next sampling, 0 if one is due. */
static inline double time_left(const struct call *c, struct memory *m) {
    double until[2];
    until_sampling((const double *const[]){c->x, c->p, &c->t}, (double *const[]){until, until + 1}, m->w);
    return until[0];
}
#else
static inline int sample(const struct call *c, double *x, double until[2], struct memory *m) {
    (void)c, (void)x, (void)m;
    until[0] = INFINITY;
    until[1] = 0;
    return OK;
}
static inline double time_left(const struct call *c, struct memory *m) { return (void)c, (void)m, INFINITY; }
#endif

#if defined SAMPLED && defined TIMED
/* Find the change of the span up to the next sampling, which follows from the change of the state. */
static inline void follow_sampling(const struct call *c, struct memory *m) {
    struct tangent *const d = m->d;
    if (!d) return;
    const double *const in[] = {c->x, c->p, &c->t, d->x, d->p, &d->begun};
    t_until_sampling(in, (double *const[]){&d->span}, m->w);
}
#else
static inline void follow_sampling(const struct call *c, struct memory *m) { (void)c, (void)m; }
#endif
