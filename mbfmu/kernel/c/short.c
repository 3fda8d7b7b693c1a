/* Steps far shorter than usual, after which a multistep method or one with multipliers begins anew.
 *
 * Included after start.c and these definitions:
 *   SHORT                      part of the usual step below which a step is short
 *   REPLACED, FORMULA_short    whether FORMULA_short takes such a step itself, or only makes the state after it ready
 */
#ifdef SHORT
static inline int is_short(const struct call *c, const struct memory *m) { return c->h < SHORT * m->usual; }

/* Take a step that is far shorter than usual, and begin anew from its end. */
static int take_short(const struct call *c, double *x1, struct memory *m) {
    double end[ROOM], send[ROOM], inputs[NU + 1];
    const struct path whole = path_of(m);
    const double *from = whole.from;
    struct call part = *c;
    int code = OK;
    inputs_after(c, c->h, inputs);
    /* the step, unless FORMULA_short takes it */
    if (!REPLACED) {
        code = evaluate(&FORMULA_step, c, x1, MAPPED, m);
        if (code != OK) return code;
        part.x = x1;
        part.u = inputs;
        part.t = c->t + c->h;
        from = whole.to;
    }
    /* [q; v; angles] and held inputs at its end */
    lead(m, from, send);
    shift(c, part.t, REPLACED ? whole.t : whole.t + whole.h, whole.h, m);
    code = evaluate(&FORMULA_short, &part, end, NQV + HELD, m);
    if (code != OK) return code;
    /* the state from there on */
    part = (struct call){end, inputs, c->du, c->p, c->t + c->h, m->usual};
    lead(m, send, whole.to);
    shift(c, part.t, whole.t + whole.h, 0, m);
    code = evaluate(&FORMULA_begin, &part, x1, MAPPED, m);
    memcpy(x1 + HELD_AT, end + NQV, sizeof(double) * HELD);
    if (follows(m)) put_change(whole.to, HELD_AT, HELD, send + NQV);
    return code;
}
#else
static inline int is_short(const struct call *c, const struct memory *m) { return (void)c, (void)m, 0; }
static inline int take_short(const struct call *c, double *x1, struct memory *m) { return (void)c, (void)x1, (void)m, OK; }
#endif
