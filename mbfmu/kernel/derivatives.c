/* The loops around the tangents: how the state changes with inputs, parameters and start values.
 *
 * Included after driver.c, for kernels that have them (mbfmu/kernel/tangent.py), with these tables besides:
 *   TANGENT_start, TANGENT_begin, TANGENT_step   struct tangent_formula
 */

#define MOST_TANGENT_PASSES 400
#define TANGENT_SETTLED 1e-15 /* relative change at which a tangent is at rest */
#define TANGENT_STALLED 1e-9  /* below it, changes that shrink no more are round-off */

/* What changes, and the change of the state that follows from it. */
struct tangent {
    const double *u, *p;       /* the same throughout */
    double *x, *x1, *z, *next; /* x1, z, next: room to work */
    int failed;
};

static struct tangent carve_tangent(const double *su, const double *sp, double *room) {
    struct tangent d;
    d.u = su;
    d.p = sp;
    d.z = room;
    d.next = d.z + NZ;
    d.x1 = d.next + NZ;
    d.x = d.x1 + (NX > NQV + 1 ? NX : NQV + 1);
    d.failed = 0;
    return d;
}

static int call_tangent(function f, const double *const in[11], double *out, int size, struct memory *m) {
    f(in, &out, m->w);
    return all_below(INFINITY, out, size);
}

static double largest(const double *values, int n) {
    double found = 0;
    for (int i = 0; i < n; ++i) found = fmax(found, fabs(values[i]));
    return found;
}

/* The change of a formula's result with a change of x, into d->x1; 0 if it cannot be told.
 * The tangent goes along with the corrections of the unknowns, as what they come to may depend on their guess. */
static int differentiate(const struct formula *f, const struct tangent_formula *g, const double *x, const double *u,
                         const double *du, const double *p, double t, double h, const double *sx, int size,
                         struct tangent *d, struct memory *m) {
    const double *in[7] = {x, u, du, p, &t, &h, m->z};
    const double *tangent_in[11] = {x, u, du, p, &t, &h, m->z, sx, d->u, d->p, d->z};
    double *z = m->z, *sz = d->z;
    memset(sz, 0, sizeof(double) * NZ);
    for (int k = 0; k < f->stages; ++k) {
        const int n = f->size[k];
        double last = NAN, correction = NAN, scale = 0; /* of the tangent, the largest it has had */
        double *const next[] = {m->next, &correction};
        int solved = 0, settled = 0;
        if (!call_tangent(g->guess[k], tangent_in, d->next, n, m)) return 0;
        f->guess[k](in, next, m->w);
        memcpy(z, m->next, sizeof(double) * n);
        memcpy(sz, d->next, sizeof(double) * n);
        for (int pass = 0; pass < MAX_PASSES && !solved; ++pass) {
            if (!call_tangent(g->correct[k], tangent_in, d->next, n, m)) return 0;
            f->correct[k](in, next, m->w);
            if (!isfinite(correction)) return 0;
            memcpy(z, m->next, sizeof(double) * n);
            memcpy(sz, d->next, sizeof(double) * n);
            scale = fmax(scale, largest(sz, n));
            solved = at_rest(correction, last);
            last = correction;
        }
        last = INFINITY;
        for (int pass = 0; pass < MOST_TANGENT_PASSES && solved && !settled; ++pass) {
            double change = 0;
            if (!call_tangent(g->correct[k], tangent_in, d->next, n, m)) return 0;
            for (int i = 0; i < n; ++i) change = fmax(change, fabs(d->next[i] - sz[i]));
            memcpy(sz, d->next, sizeof(double) * n);
            scale = fmax(scale, largest(sz, n));
            settled = change <= TANGENT_SETTLED * scale || (change > last / 2 && change <= TANGENT_STALLED * scale);
            last = change;
        }
        if (!settled) return 0;
        z += n;
        sz += n;
    }
    return call_tangent(g->result, tangent_in, d->x1, size, m);
}

/* Take the tangent of the state over a step. */
static void follow(struct tangent *d, const double *x, const double *u, const double *du, const double *p, double t,
                   double h, struct memory *m) {
    if (!d->failed && !differentiate(&FORMULA_step, &TANGENT_step, x, u, du, p, t, h, d->x, NX, d, m)) d->failed = 1;
    memcpy(d->x, d->x1, sizeof(double) * NX);
}

/* The change sx of the state after mbfmu_advance with a change of inputs and parameters; 0 if it cannot be told.
 * room: 2 * NZ + 2 * max(NX, NQV + 1) numbers beyond those of work. */
int mbfmu_advance_tangent(const double *x, const double *u, const double *du, const double *p, double t, double h,
                          long long n, const double *su, const double *sp, double *sx, double *work) {
    struct memory m = carve(work);
    struct tangent d = carve_tangent(su, sp, work + WORK);
    double x1[NX + 1], status[S_SIZE];
    m.follow = follow;
    m.d = &d;
    memset(d.x, 0, sizeof(double) * NX);
    int code = advance(x, u, du, p, t, h, n, x1, status, &m);
    memcpy(sx, d.x, sizeof(double) * NX);
    return code == OK && !d.failed;
}

/* The same for mbfmu_control, with the steps it has chosen. */
int mbfmu_control_tangent(const double *x, const double *u, const double *du, const double *p, double t, double H,
                          double h_max, double tol, const double *su, const double *sp, double *sx, double *work) {
    struct memory m = carve(work);
    struct tangent d = carve_tangent(su, sp, work + WORK);
    double x1[NX + 1], status[S_SIZE];
    m.follow = follow;
    m.d = &d;
    memset(d.x, 0, sizeof(double) * NX);
    int code = control(x, u, du, p, t, H, h_max, tol, x1, status, &m);
    memcpy(sx, d.x, sizeof(double) * NX);
    return code == OK && !d.failed;
}

/* The change sx of the state that mbfmu_initialize finds, with a change of start values, inputs and parameters. */
int mbfmu_initialize_tangent(const double *s, const double *u, const double *du, const double *p, double t, double h,
                             const double *ss, const double *su, const double *sp, double *sx, double *work) {
    struct memory m = carve(work);
    struct tangent d = carve_tangent(su, sp, work + WORK);
    double status[S_SIZE] = {0};
    if (evaluate(&FORMULA_start, s, u, du, p, t, h, m.x, status, &m) != OK ||
        !differentiate(&FORMULA_start, &TANGENT_start, s, u, du, p, t, h, ss, NQV, &d, &m))
        return 0;
    memcpy(d.x, d.x1, sizeof(double) * NQV);
    if (!differentiate(&FORMULA_begin, &TANGENT_begin, m.x, u, du, p, t, h, d.x, NX, &d, &m)) return 0;
    memcpy(sx, d.x1, sizeof(double) * NX);
    return 1;
}

/* The change sy of the outputs with a change of state, inputs and parameters. */
int mbfmu_outputs_tangent(const double *x, const double *u, const double *p, double t, const double *sx,
                          const double *su, const double *sp, double *sy, double *work) {
    struct memory m = carve(work);
    t_outputs((const double *const[]){x, u, p, &t, sx, su, sp}, &sy, m.w);
    return 1;
}

/* The time derivatives dy of the outputs along the motion. */
int mbfmu_output_rates(const double *x, const double *u, const double *du, const double *p, double t, double *dy,
                       double *work) {
    struct memory m = carve(work);
    output_rates((const double *const[]){x, u, du, p, &t}, &dy, m.w);
    return 1;
}
