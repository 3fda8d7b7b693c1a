/* Gradients of runs by the adjoint: record the steps, then go back through them.
 *
 * A weight is the derivative of some number with respect to a result; a step turns the weights of its end into those of
 * its start, and adds to the weights of parameters and inputs. Each loop here is the transposed of one in formulas.c.
 *
 * Included after entries.c and these definitions:
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

/* Where weights of a formula's argument, of the inputs and of the parameters go: those of x are written, others added. */
struct sinks {
    double *x, *u, *p;
};

/* A walk back through a formula that has been evaluated. */
struct walk {
    const struct formula *f;
    const struct adjoint *a;
    const double *in[8];              /* its arguments, the last of which are weights */
    double *z, *path;                 /* the unknowns that it has found; room for those on the way to them */
    int size, all;                    /* number of entries of its argument, and of all unknowns */
    struct sinks to;
    double wz[NZ + 1], w[NZ + 1];     /* weights of all unknowns, and of those of a stage */
    struct weights part;              /* what the last adjoint gave */
    struct memory *m;
};

/* Add what a function's adjoint gives for the weights in[7] of its result; `before` unknowns stand before those of its
 * stage, and these have their new weights in part.z + before. */
static void turn(struct walk *b, function adjoint, int before) {
    struct weights *const part = &b->part;
    adjoint(b->in, (double *const[]){part->x, part->u, part->u + NU, part->p, part->z}, b->m->w);
    add(part->x, b->size, b->to.x);
    add(part->u, INPUTS, b->to.u);
    add(part->p, NP, b->to.p);
    add(part->z, before, b->wz);
}

/* Turn the weights of stage k at its solution into those before its corrections, which are at rest there:
 *     w <- (dz/dz)^T w, and what it adds to all others, until nothing is left.
 * *left is the size of what is left then; > 0: the solution depends on the guess. */
static int turn_at_rest(struct walk *b, int k, int before, double *left) {
    const int n = b->f->size[k], at = b->f->place[k];
    const double scale = *left, *const next = b->part.z + at;
    double last = INFINITY;
    for (int passes = 0; *left > 0; ++passes) {
        double change = 0;
        if (passes == MAX_TANGENT_CORRECTIONS) return NOT_CONVERGED;
        turn(b, b->a->correct[k], before);
        if (!all_below(INFINITY, next, n)) return NOT_FINITE;
        for (int i = 0; i < n; ++i) change = fmax(change, fabs(next[i] - b->w[i]));
        const double now = largest(next, n), ratio = now / *left;
        memcpy(b->w, next, sizeof(double) * n);
        *left = ratio < 1 && now <= PASSED * (1 - ratio) * scale ? 0 : now;
        if (change <= TANGENT_SETTLED * scale || (change > last / 2 && change <= STALLED * scale)) break;
        last = change;
    }
    return OK;
}

/* Turn the weights of stage k back through the corrections that led to its solution. */
static void retrace(struct walk *b, int k, int before) {
    const struct formula *const f = b->f;
    const int n = f->size[k], at = f->place[k];
    double solved[NZ + 1], *to = b->path, last = NAN, correction;
    int passes = 0;
    memcpy(solved, b->z + at, sizeof(double) * n);
    f->guess[k](b->in, (double *const[]){to, 0}, b->m->w);
    prepare(f, k, b->in, b->m);
    for (; passes < MAX_CORRECTIONS; ++passes) {
        memcpy(b->z + at, to, sizeof(double) * n);
        to += n;
        correct(f, k, b->in, (double *const[]){to, &correction}, b->m);
        if (at_rest(correction, last, still_ratio(f, k), b->in[0], passes < QUICK_CORRECTIONS ? 0 : f->coordinates)) break;
        last = correction;
    }
    for (; passes >= 0; --passes) {
        memcpy(b->z + at, b->path + passes * n, sizeof(double) * n);
        turn(b, b->a->correct[k], before);
        memcpy(b->w, b->part.z + at, sizeof(double) * n);
    }
    memcpy(b->z + at, solved, sizeof(double) * n);
}

/* Turn the weights of the unknowns of stage k into those of what they depend on: the adjoint of `solve_stage`. */
static int pull_stage(struct walk *b, int k) {
    const struct formula *const f = b->f;
    const int n = f->size[k], at = f->place[k], again = k && !at; /* in the place of the first stage's values */
    const int before = again ? b->all : at;
    memcpy(b->w, b->wz + at, sizeof(double) * n);
    if (again) memset(b->wz, 0, sizeof(double) * n);
    if (!all_below(INFINITY, b->w, n)) return NOT_FINITE;
    double left = largest(b->w, n);
    if (f->correct[k]) {
        const int code = turn_at_rest(b, k, before, &left);
        if (code != OK) return code;
        if (left > 0) retrace(b, k, before);
        else memset(b->w, 0, sizeof(double) * n);
    }
    if (!f->correct[k] || left > 0) turn(b, b->a->guess[k], before);
    if (again) f->guess[0](b->in, (double *const[]){b->z, 0}, b->m->w);
    return OK;
}

/* Find the weights of a formula's argument c->x from those of its result, and add to those of u and p: the adjoint of
 * `evaluate`. The walk has f, a, z, size and path; the weights are b->in[7]. */
static int pull(struct walk *b, const struct call *c, const double *result, const struct sinks *to, struct memory *m) {
    const double *const in[8] = {c->x, c->u, c->du, c->p, &c->t, &c->h, b->z, result};
    const struct formula *const f = b->f;
    memcpy(b->in, in, sizeof in);
    b->to = *to;
    b->m = m;
    b->all = 0;
    for (int k = 0; k < f->stages; ++k)
        if (f->place[k] + f->size[k] > b->all) b->all = f->place[k] + f->size[k];
    memset(to->x, 0, sizeof(double) * b->size);
    memset(b->wz, 0, sizeof b->wz);
    /* the result, then the stages from the last to the first */
    turn(b, b->a->result, b->all);
    b->in[7] = b->w;
    for (int k = f->stages - 1; k >= 0; --k) {
        const int code = pull_stage(b, k);
        if (code != OK) return code;
    }
    const int finite = all_below(INFINITY, to->x, b->size) && all_below(INFINITY, to->p, NP) && all_below(INFINITY, to->u, INPUTS);
    return finite ? OK : NOT_FINITE;
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
    struct memory m = carve(work, status);
    const struct call c = {x, u, du, p, t, h};
    double inputs[NU + 1];
    memset(status, 0, sizeof(double) * S_SIZE);
    memcpy(x1, x, sizeof(double) * NX);
    status[S_LEAST_STEP] = h;
    for (long long k = first; k < end; ++k, record += RECORD) {
        const double dt = k * h;
        inputs_after(&c, dt, inputs);
        memcpy(record, x1, sizeof(double) * NX);
        const int code = take(&(struct call){record, inputs, du, p, t + dt, h}, x1, &m);
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
    struct memory m = carve(work, 0);
    double inputs[NU + 1], before[NX], of_inputs[INPUTS + 1];
    const struct call c = {0, u, du, p, t, h};
    const struct sinks to = {before, of_inputs, wp};
    struct walk walk = {.f = &FORMULA_step, .a = &ADJOINT_step, .size = MAPPED, .path = work + WORK};
    wx[MAPPED] = 0; /* equal steps do not depend on the step chosen last */
    for (long long k = end - 1; k >= first; --k) {
        double *const x = record + (k - first) * RECORD, dt = k * h;
        inputs_after(&c, dt, inputs);
        memset(of_inputs, 0, sizeof of_inputs);
        walk.z = x + NX;
        const int code = pull(&walk, &(struct call){x, inputs, du, p, t + dt, h}, wx, &to, &m);
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
    double status[S_SIZE] = {0}, begun[ROOM], x[ROOM], z[NZ + 1], middle[WIDEST + 1];
    struct memory m = carve(work, status);
    const struct call at_start = {s, u, du, p, t, h}, at_begin = {begun, u, du, p, t, h};
    struct walk walk = {.path = work + WORK};
    /* the start, as mbfmu_initialize takes it */
    int code = evaluate(&FORMULA_start, &at_start, begun, NQV, &m);
    if (code != OK) return code;
    memcpy(z, m.z, sizeof(double) * NZ);
    code = evaluate(&FORMULA_begin, &at_begin, x, MAPPED, &m);
    if (code != OK) return code;
    /* back through its formulas */
    walk.f = &FORMULA_begin;
    walk.a = &ADJOINT_begin;
    walk.size = NQV;
    walk.z = m.z;
    code = pull(&walk, &at_begin, wx, &(struct sinks){middle, wu, wp}, &m);
    if (code != OK) return code;
    middle[NQV] = 0; /* the residual */
    walk.f = &FORMULA_start;
    walk.a = &ADJOINT_start;
    walk.size = NS;
    walk.z = z;
    return pull(&walk, &at_start, middle, &(struct sinks){ws, wu, wp}, &m);
}

/* Add to the weights of state, inputs and parameters, from those of the outputs. */
MBFMU_EXPORT void mbfmu_outputs_adjoint(const double *x, const double *u, const double *p, double t, const double *wy,
                                        double *wx, double *wu, double *wp, double *work) {
    struct memory m = carve(work, 0);
    struct weights found;
    a_outputs((const double *const[]){x, u, p, &t, wy}, (double *const[]){found.x, found.u, found.p}, m.w);
    add(found.x, NX, wx);
    add(found.u, NU, wu);
    add(found.p, NP, wp);
}
