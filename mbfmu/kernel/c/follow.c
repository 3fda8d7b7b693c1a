/* Tangents of a whole run, from one communication point to the next. Included after derivatives.c. */

/* The change sx of the state at the end of the span H, from its change at the start and those of the inputs there, of
 * their time derivatives and of the parameters. Return why it is unknown, or KNOWN; where[0] and where[1] are the time of
 * an event that it is unknown after, and its guard. */
MBFMU_EXPORT int mbfmu_follow(const double *x, const double *u, const double *du, const double *p, double t, double H,
                              double h_max, double tol, const double *su, const double *sdu, const double *sp, double *sx,
                              double *where, double *work) {
    double x1[NX], status[S_SIZE];
    struct memory m = carve(work, status);
    struct tangent d = carve_tangent(su, sp, work + WORK);
    d.du = sdu;
    d.start = t;
    memcpy(d.x, sx, sizeof(double) * MAPPED);
    m.d = &d;
    const int code = travel(&(struct call){x, u, du, p, t, 0}, &(struct span){H, h_max, tol, MOST_STEPS}, x1, &m);
    memcpy(sx, d.x, sizeof(double) * MAPPED);
    where[0] = d.at;
    where[1] = d.guard;
    return code == OK ? d.unknown : KNOWN; /* a failure is told where the run itself is computed */
}
