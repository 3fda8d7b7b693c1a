/* How long a step may be before errors grow from step to step. Included after entries.c and this definition:
 *   N_MOVING   number of the leading entries of x that are coordinates, rates or momenta, and first-order states
 */
#define FRACTION 100 /* of a difference, which gives that fraction of its step unless both are round-off */

/* Find the step from a state near x, to end, less that from x to base, and return the largest entry relative to 1 and x; -1
 * if it fails. */
static double changed(const struct call *c, const double *near, const double *base, double *end, struct memory *m) {
    struct call beside = *c;
    double size = 0;
    beside.x = near;
    if (evaluate(&FORMULA_step, &beside, end, MAPPED, m) != OK) return -1;
    if (!all_below(LOST, end, N_MOVING)) return -1;
    for (int i = 0; i < N_MOVING; ++i) {
        end[i] -= base[i];
        size = fmax(size, fabs(end[i]) / (1 + fabs(c->x[i])));
    }
    return size;
}

/* A state near x, with some part of every error, by a linear congruential generator. */
static void draw_error(const double *x, double *near) {
    unsigned draw = 1;
    memcpy(near, x, sizeof(double) * NX);
    for (int i = 0; i < N_MOVING; ++i) {
        draw = draw * 1664525u + 1013904223u;
        near[i] += NEARBY * (1 + fabs(x[i])) * ((draw & 0xffffffffu) / 2147483648.0 - 1);
    }
}

/* The factor by which COUNTED steps of length h multiply an error that the step does not resolve, -1 if a step has no
 * solution.
 *
 * The steps are powers of the derivative A of the step at x, by differences. With `fast` those before apply A - 1,
 * which leaves of slow motions next to nothing. As errors may swing, the largest of COUNTED steps is compared with that of as
 * many before; `same` is the mean cosine between an error and the next one, 1 where they keep their direction. */
static double growth(const struct call *c, int fast, double *same, struct memory *m) {
    double base[ROOM], near[ROOM], end[ROOM], total = 1, largest_of[2] = {0, 0};
    const double *const x = c->x;
    *same = 0;
    if (evaluate(&FORMULA_step, c, base, MAPPED, m) != OK) return -1;
    draw_error(x, near);
    for (int k = -(fast ? 2 : 6) * COUNTED; k < 2 * COUNTED; ++k) {
        double size = 0, product = 0, before = 0, after = 0;
        if (changed(c, near, base, end, m) < 0) return -1;
        for (int i = 0; i < N_MOVING; ++i) {
            const double weight = 1 / (1 + fabs(x[i])), was = near[i] - x[i];
            if (k < 0 && fast) end[i] -= was;
            size = fmax(size, weight * fabs(end[i]));
            product += weight * weight * was * end[i];
            before += weight * weight * was * was;
            after += weight * weight * end[i] * end[i];
        }
        if (!(size > NEARBY * STALLED)) return 0; /* round-off is left */
        if (k >= 0) {
            total *= size / NEARBY;
            largest_of[k >= COUNTED] = fmax(largest_of[k >= COUNTED], total);
        }
        if (k >= COUNTED) *same += product / sqrt(before * after) / COUNTED;
        for (int i = 0; i < N_MOVING; ++i) near[i] = x[i] + end[i] * (NEARBY / size);
    }
    const double whole = changed(c, near, base, end, m);
    for (int i = 0; i < N_MOVING; ++i) near[i] = x[i] + (near[i] - x[i]) / FRACTION;
    const double part = changed(c, near, base, end, m);
    return part * FRACTION < 2 * whole ? largest_of[1] / largest_of[0] : 0; /* else it is round-off, or a kink */
}

static double growth_by(const struct call *c, double h, int fast, double *same, struct memory *m) {
    struct call at = *c;
    at.h = h;
    return growth(&at, fast, same, m);
}

/* Whether errors grow; what keeps its direction may be a slow motion that grows itself, and must grow more. */
static int grows(double factor, double same) { return factor > (same > DIRECTED ? GROWN_STRAIGHT : GROWN); }

/* The longest step from x at which errors do not grow, of which LIMIT_SHARE is taken; infinity if h is no longer.
 *
 * What grows in the motion itself keeps its direction, and grows with half a step by the square root: it is left out. */
MBFMU_EXPORT double mbfmu_longest(const double *x, const double *u, const double *du, const double *p, double t,
                                  double h, double *work) {
    double status[S_SIZE], same, other = 0, far = h / LIMIT_SHARE, near = INFINITY;
    struct memory m = carve(work, status);
    const struct call c = {x, u, du, p, t, h};
    double most = growth_by(&c, far, 1, &same, &m);
    for (int k = 0; most < 0 && k < MAX_HALVINGS; ++k) /* as a run does with a step that has no solution */
        most = growth_by(&c, far /= 2, 1, &same, &m);
    if (!grows(most, same)) return INFINITY;
    for (int k = 0; k < MOST_HALVED && !(near < far); ++k) {
        const double factor = growth_by(&c, far / 2, 1, &other, &m);
        if (grows(factor, other)) {
            far /= 2;
            most = factor;
            same = other;
        } else near = far / 2;
    }
    if (!(near < far)) return INFINITY;
    if (same > DIRECTED) {
        const double slower = growth_by(&c, near, 0, &other, &m);
        if (slower * slower * slower * slower * slower > most) return INFINITY; /* more than a fifth of the logarithm */
    }
    for (int k = 0; k < BISECTIONS; ++k) {
        const double middle = (near + far) / 2, factor = growth_by(&c, middle, 1, &other, &m);
        if (factor < 0 || grows(factor, other)) far = middle;
        else near = middle;
    }
    return LIMIT_SHARE * near;
}
