/* Tangents of the state and of the outputs; native FMUs alone need them.
 *
 * su, sp and ss are changes of inputs, parameters and start values; work has WORK_SIZE entries, more than the other
 * functions need.
 */

static struct tangent carve_tangent(const double *su, const double *sp, double *room) {
    static const double still[NU + 1];
    struct tangent d = {0}; /* it is KNOWN */
    d.u = su;
    d.du = still;
    d.p = sp;
    d.z = room;
    d.next = d.z + NZ;
    d.x = d.next + NZ;
    d.to = d.half = d.x + ROOM; /* twice as long: two halves of a step each have one */
    memset(d.x, 0, sizeof(double) * ROOM);
    memcpy(d.inputs, su, sizeof(double) * NU);
    return d;
}

#ifdef EXCHANGE
/* Add to rates dx a factor times what a tangent gives; 0 stands for one that vanishes. */
static inline void add_change(function tangent, const double *const *in, double factor, double *dx, double *w) {
    double change[N_SCHEME];
    if (!tangent) return;
    tangent(in, (double *const[]){change}, w);
    for (int i = 0; i < N_SCHEME; ++i) dx[i] += factor * change[i];
}

/* Find the change dx of the rates of mbfmu_rates, from changes of state, inputs, parameters and time, and `faster` of the
 * rate at which a state tends to the constraints. */
void mbfmu_rates_tangent(const double *x, const double *u, const double *p, double t, double stabilised,
                         const double *sx, const double *su, const double *sp, double st, double faster, double *dx,
                         double *work) {
    struct memory m = carve(work, 0);
    const double *const in[] = {x, u, p, &t, sx, su, sp}, *const by_time[] = {x, u, p, &t, &st};
    t_rates(in, &dx, m.w);
    add_change(BY_TIME_RATES, by_time, 1, dx, m.w);
    if (stabilised > 0) {
        add_change(T_DRIFT, in, stabilised, dx, m.w);
        add_change(BY_TIME_DRIFT, by_time, stabilised, dx, m.w);
    }
    if (faster != 0) pull_back(&(struct call){x, u, 0, p, t, 0}, faster, dx, &m);
}
#else
/* The change sx of the state over the span H, from changes of state, inputs and parameters; 0 if it is unknown. */
int mbfmu_move_tangent(const double *x, const double *u, const double *du, const double *p, double t, double H,
                       double h_max, double tol, const double *su, const double *sp, double *sx, double *work) {
    double x1[NX], status[S_SIZE];
    struct memory m = carve(work, status);
    struct tangent d = carve_tangent(su, sp, work + WORK);
    m.d = &d;
    const int code = travel(&(struct call){x, u, du, p, t, 0}, &(struct span){H, h_max, tol, MOST_STEPS}, x1, &m);
    memcpy(sx, d.x, sizeof(double) * NX);
    return code == OK && !d.unknown;
}

/* The time derivatives dy of the outputs along the motion. */
void mbfmu_output_rates(const double *x, const double *u, const double *du, const double *p, double t, double *dy,
                        double *work) {
    struct memory m = carve(work, 0);
    output_rates((const double *const[]){x, u, du, p, &t}, &dy, m.w);
}
#endif

/* The change sx of the state of mbfmu_initialize, from changes of start values, inputs and parameters. */
int mbfmu_initialize_tangent(const double *s, const double *u, const double *du, const double *p, double t, double h,
                             const double *ss, const double *su, const double *sp, double *sx, double *work) {
    double x[NX], status[S_SIZE];
    struct memory m = carve(work, status);
    struct tangent d = carve_tangent(su, sp, work + WORK);
    m.d = &d;
    d.from = ss;
    d.to = d.x;
    const int code = initialize(&(struct call){s, u, du, p, t, h}, x, &m);
    d.x[MAPPED] = 0;
    memcpy(sx, d.x, sizeof(double) * NX);
    return code == OK && !d.unknown;
}

/* The change sy of the outputs, from changes of state, inputs and parameters. */
void mbfmu_outputs_tangent(const double *x, const double *u, const double *p, double t, const double *sx,
                           const double *su, const double *sp, double *sy, double *work) {
    struct memory m = carve(work, 0);
    t_outputs((const double *const[]){x, u, p, &t, sx, su, sp}, &sy, m.w);
}

#ifdef BY_TIME_OUTPUTS
/* Add to the change sy of the outputs that with a change st of the time. */
void mbfmu_outputs_by_time(const double *x, const double *u, const double *p, double t, double st, double *sy,
                           double *work) {
    struct memory m = carve(work, 0);
    double change[NY];
    by_time_outputs((const double *const[]){x, u, p, &t, &st}, (double *const[]){change}, m.w);
    for (int i = 0; i < NY; ++i) sy[i] += change[i];
}
#endif
