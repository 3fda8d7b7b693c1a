/* Modes of gaps and dry friction, which guards tell apart: numbers that are positive until an event.
 *
 * Included after samplings.c and these definitions, with SWITCHED:
 *   FORMULA_switch, guards   the state after an event, and the guards
 *   GUARDS GAPS              their number, and that of the gaps, which come first
 *   FALLEN_AT CLOSED_AT      the entries of x that tell which guards have fallen and which gaps are closed
 */
#ifdef SWITCHED
/* The guards of the state x at a time dt after that of a call. */
static void watch(const struct call *c, const double *x, double dt, double *values, struct memory *m) {
    double inputs[NU + 1], at = c->t + dt;
    inputs_after(c, dt, inputs);
    guards((const double *const[]){x, inputs, c->p, &at}, &values, m->w);
}

static inline int any_below(double bound, const double *values) {
    for (int i = 0; i < GUARDS; ++i)
        if (values[i] < bound) return 1;
    return 0;
}

/* Find the modes after an event, for guards of which those below a bound have fallen, and begin anew. */
static inline int change_modes(const struct call *c, double *x, const double *values, double bound, struct memory *m) {
    for (int i = 0; i < GUARDS; ++i) x[FALLEN_AT + i] = values[i] < bound;
    return restart(&FORMULA_switch, c, x, m);
}

/* Find the guards of the state x, and its modes anew where an input has jumped so that they no longer hold. */
static inline int settle_jump(const struct call *c, double *x, double *values, struct memory *m) {
    watch(c, x, 0, values, m);
    if (!any_below(JUMPED, values)) return OK;
    const int code = change_modes(c, x, values, JUMPED, m);
    watch(c, x, 0, values, m);
    return code;
}

/* Find the modes of a state x made by FORMULA_begin, which must not be inside a gap. */
static inline int start_modes(const struct call *c, double *x, struct memory *m) {
    double values[GUARDS], *const status = m->status;
    if (GAPS) watch(c, x, 0, values, m);
    for (int i = 0; i < GAPS; ++i)
        if (values[i] < -CONSISTENT) {
            status[S_CORRECTION] = -values[i];
            status[S_SUBSTEPS] = i;
            return STARTS_INSIDE;
        }
    const double residual = status[S_CORRECTION];
    const int code = restart(&FORMULA_switch, c, x, m);
    if (code == OK) status[S_CORRECTION] = residual;
    return code;
}
#else
static inline int start_modes(const struct call *c, double *x, struct memory *m) { return (void)c, (void)x, (void)m, OK; }
#endif
