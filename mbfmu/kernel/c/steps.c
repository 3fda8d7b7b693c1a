/* A step of the stepper, or two of half its length. Included after short.c. */

/* Take a step from c->x to x1; the code says whether it can be used. */
static int take(const struct call *c, double *x1, struct memory *m) {
    m->status[S_TIME] = c->t;
    const int code = is_short(c, m) ? take_short(c, x1, m) : evaluate(&FORMULA_step, c, x1, MAPPED, m);
    return code == OK && !all_below(LOST, x1, MAPPED) ? NOT_FINITE : code;
}

/* Take two steps of half a length from c->x to m->x. */
static int take_halves(const struct call *c, struct memory *m) {
    double half[NX], change[ROOM], middle[NU + 1];
    const struct path whole = path_of(m);
    struct call part = *c;
    part.h = c->h / 2;
    lead(m, whole.from, change);
    shift(c, part.t, whole.t, whole.h / 2, m);
    const int code = take(&part, half, m);
    if (code != OK) return code;
    inputs_after(c, part.h, middle);
    part.x = half;
    part.u = middle;
    part.t = c->t + part.h;
    lead(m, change, whole.to);
    shift(c, part.t, whole.t + whole.h / 2, whole.h / 2, m);
    return take(&part, m->x, m);
}

/* Take a step from c->x to m->x, or two of half its length. */
static inline int reach(const struct call *c, int halves, struct memory *m) {
    return halves ? take_halves(c, m) : take(c, m->x, m);
}
