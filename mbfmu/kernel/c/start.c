/* The start of a motion, and the outputs of a state. Included after modes.c. */

/* Find the consistent state x of the start values c->x; c->h is the step the history of a multistep method is made with. */
static int initialize(const struct call *c, double *x, struct memory *m) {
    struct call from = *c;
    double *const status = m->status;
    memset(status, 0, sizeof(double) * S_SIZE);
    status[S_TIME] = c->t;
    /* [q; v; angles] that meet the constraints, and what is left of these */
    int code = evaluate(&FORMULA_start, &from, m->x, NQV, m);
    if (code == OK) {
        status[S_CORRECTION] = m->x[NQV];
        if (!(m->x[NQV] <= CONSISTENT)) code = INCONSISTENT_START;
    }
    /* the state of the stepper, then that of its modes */
    if (code == OK) {
        from.x = m->x;
        lead_start(m);
        code = evaluate(&FORMULA_begin, &from, x, MAPPED, m);
    }
    if (code == OK) code = start_modes(c, x, m);
    x[MAPPED] = 0;
    if (code == OK && !all_below(INFINITY, x, NX)) code = NOT_FINITE;
    status[S_CODE] = code;
    return code;
}

MBFMU_EXPORT int mbfmu_initialize(const double *s, const double *u, const double *du, const double *p, double t,
                                  double h, double *x, double *status, double *work) {
    struct memory m = carve(work, status);
    return initialize(&(struct call){s, u, du, p, t, h}, x, &m);
}

/* Compute the outputs y of a state; return NOT_FINITE if one of them is not finite. */
static int show(const struct call *c, double *y, struct memory *m) {
    outputs((const double *const[]){c->x, c->u, c->p, &c->t}, &y, m->w);
    return all_below(INFINITY, y, NY) ? OK : NOT_FINITE;
}

MBFMU_EXPORT int mbfmu_outputs(const double *x, const double *u, const double *p, double t, double *y, double *work) {
    struct memory m = carve(work, 0);
    return show(&(struct call){x, u, 0, p, t, 0}, y, &m);
}
