/* The functions of a kernel that evaluate a formula: solve its stages, then compute its result.
 *
 * Every function is pure: state in, state out, all memory from the caller. Included after lasting.c.
 */

/* Whether a correction leaves at most an error, or no longer shrinks (by a ratio) and is at most a size. */
static int ends(double correction, double ratio, double still, double error, double stalled) {
    return (ratio < 1 && correction * ratio <= error * (1 - ratio)) || (ratio > still && correction <= stalled);
}

/* Whether a correction that came after another leaves an error at round-off: see runtime.py. */
static int at_rest(double correction, double last, double still, const double *q, int n) {
    const double ratio = correction / last;
    if (correction <= ROUND_OFF / 10 || ends(correction, ratio, still, ROUND_OFF, STALLED)) return 1;
    if (!n) return 0;
    double lost = 0;
    for (int i = 0; i < n; ++i) lost += fabs(q[i]);
    lost *= HALF_UNIT;
    return ends(correction, ratio, still, lost, STALLED_UNITS * lost);
}

/* Solve stage k of a formula with the arguments `in`, the last of which are the unknowns of all stages: guess them, then
 * correct them, z <- z + d(z), until the correction is at round-off, or a fixed number of times. The tangent follows the
 * corrections, as the solution may depend on the guess. */
static int solve_stage(const struct formula *f, int k, const double *const *in, struct memory *m) {
    const int fixed = f->corrections, most = fixed ? fixed : MAX_CORRECTIONS;
    double *const z = m->z + f->place[k], *const status = m->status;
    double last = NAN, correction = NAN; /* the first pass has no rate of convergence */
    double *const guess[] = {z, k ? 0 : m->estimate}, *const next[] = {m->next, &correction};
    int solved = 0, more = 1;
    follow_guess(f, k, in, m);
    f->guess[k](in, guess, m->w);
    if (!f->correct[k]) return OK; /* values that are only computed */
    prepare(f, k, in, m);
    for (int pass = 0; pass < most && (!solved || more); ++pass) {
        correct(f, k, in, next, m);
        status[S_ITERATIONS] += 1;
        if (!isfinite(correction)) {
            status[S_CORRECTION] = correction;
            return NOT_FINITE;
        }
        follow_correction(f, k, in, m);
        memcpy(z, m->next, sizeof(double) * f->size[k]);
        const int counted = pass < QUICK_CORRECTIONS ? 0 : f->coordinates;
        solved = solved || (!fixed && at_rest(correction, last, still_ratio(f, k), in[0], counted));
        if (solved) more = wants_another(f, k, in, correction, last);
        else if (!fixed) renew(f, k, in, correction / last, m);
        last = correction;
    }
    if (!fixed || correction > status[S_CORRECTION]) status[S_CORRECTION] = correction;
    if (fixed) return OK;
    if (!solved) return NOT_CONVERGED;
    follow_solution(f, k, in, m);
    return OK;
}

/* Evaluate a formula: solve its stages one after the other, then compute the result, which has `size` entries. */
static int evaluate(const struct formula *f, const struct call *c, double *result, int size, struct memory *m) {
    const double *in[ARGUMENTS] = {c->x, c->u, c->du, c->p, &c->t, &c->h, m->z};
    const int known = known_stages(f, m);
    follow_arguments(in, m);
    for (int k = known; k < f->stages; ++k) {
        const int code = solve_stage(f, k, in, m);
        if (code != OK) return code;
    }
    double *const results[] = {result, f->stages ? 0 : m->estimate};
    f->result(in, results, m->w);
    follow_result(f, in, size, m);
    keep_last(f, m);
    return OK;
}

MBFMU_EXPORT void mbfmu_sizes(long long *sizes) {
    const long long all[] = {NX, NS, NU, NP, NY, S_SIZE, WORK, ERRORS, ORDER};
    memcpy(sizes, all, sizeof all);
}
