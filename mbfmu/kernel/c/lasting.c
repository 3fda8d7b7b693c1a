/* What the last stage of a step leaves for the first one of the next, and for the outputs between them.
 *
 * With LASTING it stands in the place of that stage's unknowns; SHOWN tells whether there is a function `shown` that gives
 * the outputs with it. Included after tangents.c. Without LASTING the functions do nothing.
 */
#ifdef LASTING
/* The number of leading stages of a formula whose values are there, in the first step after another. */
static inline int known_stages(const struct formula *f, struct memory *m) {
    const int known = f == &FORMULA_step && m->goes_on && m->lasts && !follows(m);
    m->lasts = 0;
    return known;
}
static inline void keep_last(const struct formula *f, struct memory *m) { m->lasts = f == &FORMULA_step; }
static inline void go_on(int whole, struct memory *m) { m->goes_on = whole; }
static inline void hand_over(const struct memory *own, struct memory *m) { m->lasts = own->goes_on && own->lasts; }
static inline void forget_last(struct memory *m) { m->lasts = 0; }
#else
static inline int known_stages(const struct formula *f, struct memory *m) { return (void)f, (void)m, 0; }
static inline void keep_last(const struct formula *f, struct memory *m) { (void)f, (void)m; }
static inline void go_on(int whole, struct memory *m) { (void)whole, (void)m; }
static inline void hand_over(const struct memory *own, struct memory *m) { (void)own, (void)m; }
static inline void forget_last(struct memory *m) { (void)m; }
#endif

#ifdef SHOWN
/* Whether the outputs y of a state follow from what a step to it has left in z. */
static inline int show_last(const struct call *c, double *y, struct memory *m) {
    if (m->lasts) shown((const double *const[]){c->x, c->u, c->p, &c->t, m->z}, &y, m->w);
    return m->lasts;
}
#else
static inline int show_last(const struct call *c, double *y, struct memory *m) { return (void)c, (void)y, (void)m, 0; }
#endif
