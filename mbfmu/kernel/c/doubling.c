/* The error of the steps of a run, by step doubling now and then: a piece of a few steps is taken once more, in steps of half
 * the length, and both ends are compared (Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.4). Within
 * the piece errors vanish that stiff parts damp at once, or that change their sign from step to step. The motion stays as it
 * is. A piece stands for the steps since the last one.
 *
 * Included after steps.c, with MEASURED, the number of coordinates, rates and first-order states: measured() reads them.
 * Without MEASURED nothing is compared. An array of errors has the entries E_... of errors.py, then for each quantity its
 * least and greatest value, the sum of its errors, the largest error and its time.
 */
#ifdef MEASURED
static void measure(double t, const double *x, const double *p, double *values, struct memory *m) {
    measured((const double *const[]){x, p, &t}, &values, m->w);
}

/* The sizes of the differences of what is measured of two states at a time; `values` become those of the first. */
static void differ(double t, const double *x, const double *other, const double *p, double *values, double *change,
                   struct memory *m) {
    double others[MEASURED];
    measure(t, x, p, values, m);
    measure(t, other, p, others, m);
    for (int i = 0; i < MEASURED; ++i) change[i] = fabs(values[i] - others[i]);
}

/* Take the steps of a piece that begins with the step c from the one of index k on, in halves or not, from a state to `end`;
 * 0 if one cannot be taken. */
static int go_on_to(const struct call *c, int k, const double *from, int halves, double *end, struct memory *m) {
    double inputs[NU + 1], now[NX];
    struct call next = {now, inputs, c->du, c->p, c->t, c->h};
    memcpy(end, from, sizeof now);
    for (; k < PIECE; ++k) {
        memcpy(now, end, sizeof now);
        inputs_after(c, k * c->h, inputs);
        next.t = c->t + k * c->h;
        if (reach(&next, halves, m) != OK) return 0;
        memcpy(end, m->x, sizeof(double) * MAPPED);
    }
    return 1;
}

/* Enter the error of the piece that begins with the step c to x1, taken in halves or not, and ends at `ends[0]`; it ends at
 * `ends[1]` if its steps are taken in the other way. */
static void enter(const struct call *c, double (*ends)[NX], int halves, struct memory *m) {
    double *const e = m->errors, *row = e + E_SIZE, values[MEASURED], change[MEASURED];
    const double part = (halves ? 1 : 1 << ORDER) / ((1 << ORDER) - 1.0) / PIECE;
    differ(c->t + PIECE * c->h, ends[0], ends[1], c->p, values, change, m);
    for (int i = 0; i < MEASURED; ++i, row += E_ROW) {
        const double error = change[i] * part * e[E_SPACING];
        row[0] = fmin(row[0], values[i]);
        row[1] = fmax(row[1], values[i]);
        row[2] += error;
        if (error > row[3]) row[3] = error, row[4] = c->t;
    }
    e[E_COVERED] += e[E_SPACING];
}

/* Compare a piece that begins with the step c to x1, which was taken in halves or not, if its turn has come; comparisons are
 * close together at the start of a run. A piece that cannot be taken otherwise is passed over. */
static void compare(const struct call *c, const double *x1, int halves, struct memory *m) {
    double *const e = m->errors, status[S_SIZE], ends[2][NX];
    if (!e || !(e[E_EVERY] > 0)) return;
    e[E_STEPS] += 1;
    if ((e[E_WAIT] -= 1) > 0) return;
    struct memory own = *m;
    own.z = m->spare;
    own.next = own.z + NZ;
    own.x = own.next + NZ;
    own.status = status;
    own.d = 0;
    own.estimate = 0;
    own.goes_on = own.lasts = 0;
    memset(status, 0, sizeof status);
    if (go_on_to(c, 1, x1, halves, ends[0], &own) && go_on_to(c, 0, c->x, !halves, ends[1], &own))
        enter(c, ends, halves, &own);
    e[E_SPACING] = e[E_WAIT] = fmin(1 + floor(e[E_STEPS] / DENSE), e[E_EVERY]);
}
#else
static inline void compare(const struct call *c, const double *x1, int halves, struct memory *m) {
    (void)c, (void)x1, (void)halves, (void)m;
}
#endif
