/* The functions of a kernel that take steps. Included after travel.c. */

MBFMU_EXPORT int mbfmu_advance(const double *x, const double *u, const double *du, const double *p, double t,
                               double h, long long n, double *x1, double *status, double *work, double *errors) {
    struct memory m = carve(work, status);
    m.errors = errors;
    return travel_equally(&(struct call){x, u, du, p, t, h}, n, x1, &m);
}

MBFMU_EXPORT int mbfmu_control(const double *x, const double *u, const double *du, const double *p, double t, double H,
                               double h_max, double tol, long long most, double *x1, double *status, double *work,
                               double *errors) {
    struct memory m = carve(work, status);
    m.errors = errors;
    return travel(&(struct call){x, u, du, p, t, 0}, &(struct span){H, h_max, tol, most}, x1, &m);
}

/* Go from one communication point to the next, and compute the outputs there: one call with one argument, as each
 * costs time where the caller is written in another language. a = {x, u, du, p, x1, y, status, work, span, errors}, and
 * span = {t, H, h_max, tol}; errors may be 0. */
MBFMU_EXPORT int mbfmu_communicate(double *const *a) {
    struct memory m = carve(a[7], a[6]);
    m.errors = a[9];
    const struct call c = {a[0], a[1], a[2], a[3], a[8][0], 0};
    const struct span span = {a[8][1], a[8][2], a[8][3], MOST_STEPS};
    double inputs[NU + 1];
    const struct call end = {a[4], inputs, c.du, c.p, c.t + span.H, 0};
    const int code = travel(&c, &span, a[4], &m);
    if (code != OK) return code;
    inputs_after(&c, span.H, inputs);
    if (show(&end, a[5], &m) == OK) return OK;
    m.status[S_TIME] = end.t;
    m.status[S_CODE] = OUTPUTS_NOT_FINITE;
    return OUTPUTS_NOT_FINITE;
}
