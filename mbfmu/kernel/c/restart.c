/* A new beginning in a motion, for kernels with samplings or events. Included after formulas.c. */
#if defined SAMPLED || defined SWITCHED
/* Change the state by a formula, and begin anew from there: momenta, multipliers and histories are made again, the
 * history of a multistep method with the step c->h. */
static int restart(const struct formula *f, const struct call *c, double *x, struct memory *m) {
    struct call from = *c;
    double held[HELD + 1], sheld[HELD + 1];
    memcpy(held, x + HELD_AT, sizeof(double) * HELD);
    /* [q; v; angles] after the change, from the state before it */
    lead_on(m);
    hold_change(path_of(m).from, HELD_AT, HELD, sheld);
    from.x = x;
    int code = evaluate(f, &from, m->x, NQV, m);
    if (code != OK) return code;
    /* the state x of the stepper from these */
    lead_back(m);
    from.x = m->x;
    code = evaluate(&FORMULA_begin, &from, x, MAPPED, m);
    memcpy(x + HELD_AT, held, sizeof(double) * HELD); /* no input has changed */
    put_change(path_of(m).to, HELD_AT, HELD, sheld);
    return code == OK && !all_below(LOST, x, MAPPED) ? NOT_FINITE : code;
}
#endif
