/* Gradients of runs by the adjoint: record the steps, then go back through them.
 *
 * A weight is the derivative of some number with respect to a result; a step turns the weights of its end into those of
 * its start, and adds to the weights of parameters and inputs. Each loop here is the transposed of one in formulas.c.
 *
 * Included after driver.c and these definitions:
 *   ADJOINT_start, ADJOINT_begin, ADJOINT_step   struct adjoint, for kernels without samplings and events
 */
#define WIDEST (ROOM > NS ? ROOM : NS)
#define RECORD (NX + NZ) /* entries of a recorded step: the state before it, and the unknowns of its stages */
#define PATH ((MAX_CORRECTIONS + 1) * NZ) /* room for all values of a stage's unknowns on the way to its solution */
#define PASSED 1e-14     /* part of a stage's weights that is left out once its passes have brought them down to it */

#define INPUTS (2 * NU)  /* entries of the weights of inputs: those of u, then those of du */

/* Weights of all that a formula depends on. */
struct weights {
    double x[WIDEST + 1], u[INPUTS + 1], p[NP + 1], z[NZ + 1];
};

static void add(const double *from, int n, double *to) {
    for (int i = 0; i < n; ++i) to[i] += from[i];
}

/* Add what a function's adjoint gives for weights of its result; `before` unknowns stand before those of its stage, and
 * these have their new weights in found->z + before. */
static void turn(function adjoint, const double *const in[8], int size, int before, double *x, double *u, double *p,
                 double *z, struct weights *found, struct memory *m) {
    adjoint(in, (double *const[]){found->x, found->u, found->u + NU, found->p, found->z}, m->w);
    add(found->x, size, x);
    add(found->u, INPUTS, u);
    add(found->p, NP, p);
    add(found->z, before, z);
}

/* The weights of a formula's argument x, which has `size` entries, from those of its result: the adjoint of `evaluate`,
 * with the unknowns z that it has found. Weights are added to u and p, and written to wx; path is room. */
static int pull(const struct formula *f, const struct adjoint *a, const double *x, const double *u, const double *du,
                const double *p, double t, double h, double *z, const double *result, int size, double *wx, double *wu,
                double *wp, double *path, struct memory *m) {
    struct weights found;
    double wz[NZ + 1], w[NZ + 1], correction;
    const double *in[8] = {x, u, du, p, &t, &h, z, result};
    int all = 0;
    for (int k = 0; k < f->stages; ++k)
        if (f->place[k] + f->size[k] > all) all = f->place[k] + f->size[k];
    memset(wx, 0, sizeof(double) * size);
    memset(wz, 0, sizeof wz);
    turn(a->result, in, size, all, wx, wu, wp, wz, &found, m);
    in[7] = w;
    for (int k = f->stages - 1; k >= 0; --k) {
        const int n = f->size[k], at = f->place[k], again = k && !at; /* in the place of the first stage's values */
        const int before = again ? all : at;
        memcpy(w, wz + at, sizeof(double) * n);
        if (again) memset(wz, 0, sizeof(double) * n);
        if (!all_below(INFINITY, w, n)) return NOT_FINITE;
        const double scale = largest(w, n);
        double left = scale, last = INFINITY;
        int passes = 0;
        for (; f->correct[k] && left > 0; ++passes) { /* the weights before a pass at rest */
            double change = 0;
            if (passes == MAX_TANGENT_CORRECTIONS) return NOT_CONVERGED;
            turn(a->correct[k], in, size, before, wx, wu, wp, wz, &found, m);
            const double *const next = found.z + at;
            if (!all_below(INFINITY, next, n)) return NOT_FINITE;
            for (int i = 0; i < n; ++i) change = fmax(change, fabs(next[i] - w[i]));
            const double now = largest(next, n), ratio = now / left;
            memcpy(w, next, sizeof(double) * n);
            left = ratio < 1 && now <= PASSED * (1 - ratio) * scale ? 0 : now;
            if (change <= TANGENT_SETTLED * scale || (change > last / 2 && change <= STALLED * scale)) break;
            last = change;
        }
        if (f->correct[k]) {
            if (left > 0) { /* the solution depends on the guess: go back through the corrections that led to it */
                double solved[NZ + 1], *to = path;
                memcpy(solved, z + at, sizeof(double) * n);
                f->guess[k](in, (double *const[]){to, 0}, m->w);
                last = NAN;
                for (passes = 0; passes < MAX_CORRECTIONS; ++passes) {
                    memcpy(z + at, to, sizeof(double) * n);
                    to += n;
                    f->correct[k](in, (double *const[]){to, &correction}, m->w);
                    if (at_rest(correction, last, x, passes < QUICK_CORRECTIONS ? 0 : f->coordinates)) break;
                    last = correction;
                }
                for (; passes >= 0; --passes) {
                    memcpy(z + at, path + passes * n, sizeof(double) * n);
                    turn(a->correct[k], in, size, before, wx, wu, wp, wz, &found, m);
                    memcpy(w, found.z + at, sizeof(double) * n);
                }
                memcpy(z + at, solved, sizeof(double) * n);
            } else memset(w, 0, sizeof(double) * n);
        }
        if (!f->correct[k] || left > 0) turn(a->guess[k], in, size, before, wx, wu, wp, wz, &found, m);
        if (again) f->guess[0](in, (double *const[]){z, 0}, m->w);
    }
    return all_below(INFINITY, wx, size) && all_below(INFINITY, wp, NP) && all_below(INFINITY, wu, INPUTS) ? OK : NOT_FINITE;
}

/* The entries of a recorded step, and of the work vector of the functions below. */
MBFMU_EXPORT void mbfmu_record_sizes(long long *sizes) {
    sizes[0] = RECORD;
    sizes[1] = WORK + PATH;
}

/* The steps `first` to `end` - 1 as `advance` takes them from the time t on, each written to the record with the unknowns
 * of its stages. A step that fails is not halved: the code says why it failed. */
MBFMU_EXPORT int mbfmu_record(const double *x, const double *u, const double *du, const double *p, double t, double h,
                              long long first, long long end, double *record, double *x1, double *status,
                              double *work) {
    struct memory m = carve(work);
    double inputs[NU + 1];
    memset(status, 0, sizeof(double) * S_SIZE);
    memcpy(x1, x, sizeof(double) * NX);
    status[S_LEAST_STEP] = h;
    for (long long k = first; k < end; ++k, record += RECORD) {
        const double dt = k * h;
        for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * dt;
        memcpy(record, x1, sizeof(double) * NX);
        const int code = take(record, 0, inputs, du, p, t + dt, h, x1, 0, status, &m);
        memcpy(record + NX, m.z, sizeof(double) * NZ);
        if (code != OK) {
            status[S_CODE] = code;
            return code;
        }
        status[S_SUBSTEPS] += 1;
    }
    return OK;
}

/* The weights wx of the state before recorded steps, from those after them; weights are added to wp, and to wu those of
 * the inputs at the time t and of their derivatives. */
MBFMU_EXPORT int mbfmu_record_adjoint(double *record, const double *u, const double *du, const double *p, double t,
                                      double h, long long first, long long end, double *wx, double *wu, double *wp,
                                      double *work) {
    struct memory m = carve(work);
    double inputs[NU + 1], before[NX], of_inputs[INPUTS + 1];
    wx[MAPPED] = 0; /* equal steps do not depend on the step chosen last */
    for (long long k = end - 1; k >= first; --k) {
        double *const x = record + (k - first) * RECORD, dt = k * h;
        for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * dt;
        memset(of_inputs, 0, sizeof of_inputs);
        const int code = pull(&FORMULA_step, &ADJOINT_step, x, inputs, du, p, t + dt, h, x + NX, wx, MAPPED, before,
                              of_inputs, wp, work + WORK, &m);
        if (code != OK) return code;
        add(of_inputs, INPUTS, wu);
        for (int i = 0; i < NU; ++i) wu[NU + i] += dt * of_inputs[i];
        memcpy(wx, before, sizeof(double) * MAPPED);
    }
    return OK;
}

/* The weights ws of the start values, from those of the state of mbfmu_initialize; weights are added to wu, which has
 * entries for u and du, and to wp. */
MBFMU_EXPORT int mbfmu_initialize_adjoint(const double *s, const double *u, const double *du, const double *p, double t,
                                          double h, const double *wx, double *ws, double *wu, double *wp, double *work) {
    struct memory m = carve(work);
    double status[S_SIZE] = {0}, begun[ROOM], x[ROOM], z[NZ + 1], middle[WIDEST + 1];
    int code = evaluate(&FORMULA_start, s, u, du, p, t, h, begun, NQV, status, &m);
    if (code != OK) return code;
    memcpy(z, m.z, sizeof(double) * NZ);
    code = evaluate(&FORMULA_begin, begun, u, du, p, t, h, x, MAPPED, status, &m);
    if (code != OK) return code;
    code = pull(&FORMULA_begin, &ADJOINT_begin, begun, u, du, p, t, h, m.z, wx, NQV, middle, wu, wp, work + WORK,
                &m);
    if (code != OK) return code;
    middle[NQV] = 0; /* the residual */
    return pull(&FORMULA_start, &ADJOINT_start, s, u, du, p, t, h, z, middle, NS, ws, wu, wp, work + WORK,
                &m);
}

/* Add to the weights of state, inputs and parameters, from those of the outputs. */
MBFMU_EXPORT void mbfmu_outputs_adjoint(const double *x, const double *u, const double *p, double t, const double *wy,
                                        double *wx, double *wu, double *wp, double *work) {
    struct memory m = carve(work);
    struct weights found;
    a_outputs((const double *const[]){x, u, p, &t, wy}, (double *const[]){found.x, found.u, found.p}, m.w);
    add(found.x, NX, wx);
    add(found.u, NU, wu);
    add(found.p, NP, wp);
}
