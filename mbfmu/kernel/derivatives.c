/* Tangents of the state and of the outputs; native FMUs alone need them.
 *
 * su, sp and ss are changes of inputs, parameters and start values; work has WORK_SIZE entries, more than the other
 * functions need.
 */

static struct tangent carve_tangent(const double *su, const double *sp, double *room) {
    struct tangent d;
    d.u = su;
    d.p = sp;
    d.from = 0;
    d.z = room;
    d.next = d.z + NZ;
    d.x = d.next + NZ;
    d.to = d.half = d.x + ROOM; /* twice as long: two halves of a step each have one */
    d.unknown = KNOWN;
    memset(d.x, 0, sizeof(double) * ROOM);
#ifdef FOLLOWED
    static const double still[NU + 1];
    memcpy(d.inputs, su, sizeof(double) * NU);
    d.du = still;
    d.start = d.t = d.h = d.begun = d.span = d.event = d.at = 0;
    d.guard = 0;
#endif
    return d;
}

#ifdef EXCHANGE
/* The change dx of the rates of mbfmu_rates, from changes of state, inputs, parameters and time, and `faster` of the rate
 * at which a state tends to the constraints. */
void mbfmu_rates_tangent(const double *x, const double *u, const double *p, double t, double stabilised,
                         const double *sx, const double *su, const double *sp, double st, double faster, double *dx,
                         double *work) {
    struct memory m = carve(work);
    const double *const in[] = {x, u, p, &t, sx, su, sp};
    double change[N_SCHEME];
    t_rates(in, &dx, m.w);
#ifdef BY_TIME_RATES
    by_time_rates((const double *const[]){x, u, p, &t, &st}, (double *const[]){change}, m.w);
    for (int i = 0; i < N_SCHEME; ++i) dx[i] += change[i];
#endif
#ifdef CONSTRAINED
    if (stabilised > 0) {
        t_drift(in, (double *const[]){change}, m.w);
        for (int i = 0; i < N_SCHEME; ++i) dx[i] += stabilised * change[i];
#ifdef BY_TIME_DRIFT
        by_time_drift((const double *const[]){x, u, p, &t, &st}, (double *const[]){change}, m.w);
        for (int i = 0; i < N_SCHEME; ++i) dx[i] += stabilised * change[i];
#endif
    }
    if (faster != 0) {
        look_back(x, u, p, t, change, &m);
        for (int i = 0; i < N_SCHEME; ++i) dx[i] += faster * change[i];
    }
#endif
    (void)stabilised, (void)st, (void)faster, (void)change;
}
#else
/* The change sx of the state over the span H, from changes of state, inputs and parameters; 0 if it is unknown. */
int mbfmu_move_tangent(const double *x, const double *u, const double *du, const double *p, double t, double H,
                       double h_max, double tol, const double *su, const double *sp, double *sx, double *work) {
    struct memory m = carve(work);
    struct tangent d = carve_tangent(su, sp, work + WORK);
    double x1[NX], status[S_SIZE];
    m.d = &d;
    int code = move(x, u, du, p, t, H, h_max, tol, x1, status, &m);
    memcpy(sx, d.x, sizeof(double) * NX);
    return code == OK && !d.unknown;
}

/* The time derivatives dy of the outputs along the motion. */
void mbfmu_output_rates(const double *x, const double *u, const double *du, const double *p, double t, double *dy,
                        double *work) {
    struct memory m = carve(work);
    output_rates((const double *const[]){x, u, du, p, &t}, &dy, m.w);
}
#endif

/* The change sx of the state of mbfmu_initialize, from changes of start values, inputs and parameters. */
int mbfmu_initialize_tangent(const double *s, const double *u, const double *du, const double *p, double t, double h,
                             const double *ss, const double *su, const double *sp, double *sx, double *work) {
    struct memory m = carve(work);
    struct tangent d = carve_tangent(su, sp, work + WORK);
    double x[NX], status[S_SIZE];
    m.d = &d;
    d.from = ss;
    d.to = d.x;
    int code = initialize(s, u, du, p, t, h, x, status, &m);
    d.x[MAPPED] = 0;
    memcpy(sx, d.x, sizeof(double) * NX);
    return code == OK && !d.unknown;
}

/* The change sy of the outputs, from changes of state, inputs and parameters. */
void mbfmu_outputs_tangent(const double *x, const double *u, const double *p, double t, const double *sx,
                           const double *su, const double *sp, double *sy, double *work) {
    struct memory m = carve(work);
    t_outputs((const double *const[]){x, u, p, &t, sx, su, sp}, &sy, m.w);
}

#ifdef BY_TIME_OUTPUTS
/* Add to the change sy of the outputs that with a change st of the time. */
void mbfmu_outputs_by_time(const double *x, const double *u, const double *p, double t, double st, double *sy,
                           double *work) {
    struct memory m = carve(work);
    double change[NY];
    by_time_outputs((const double *const[]){x, u, p, &t, &st}, (double *const[]){change}, m.w);
    for (int i = 0; i < NY; ++i) sy[i] += change[i];
}
#endif
