/* What the last stage of a step leaves for the first one of the next.
 *
 * With LASTING it stands in the place of that stage's unknowns. Included after tangents.c. Without LASTING the functions do
 * nothing.
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
#else
static inline int known_stages(const struct formula *f, struct memory *m) { return (void)f, (void)m, 0; }
static inline void keep_last(const struct formula *f, struct memory *m) { (void)f, (void)m; }
static inline void go_on(int whole, struct memory *m) { (void)whole, (void)m; }
#endif
