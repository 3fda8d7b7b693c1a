/* The loops around the generated functions: solve a formula's stages, take many steps in one call.
 *
 * Every function is pure: state in, state out, all memory from the caller. runtime.py holds the same loops in Python
 * for the interpreted kernel; a change here is a change there.
 *
 * Included after the generated code and these tables:
 *   FORMULA_start, FORMULA_begin, FORMULA_step   struct formula; a number of passes fixes the work of a step, whatever
 *                                                it leaves of the equations, and 0 solves them to round-off
 *   ORDER                                        of the stepper
 *   NX NS NU NP NY NQV NZ                        sizes of x, s, u, p, y, [q; v; angles] and of all unknowns of a formula
 *   STAGES                                       most stages of a formula
 *   SZ_ARG SZ_RES SZ_IW SZ_W                     work sizes of the largest generated function
 */
#include <math.h>
#include <string.h>

#ifdef MBFMU_EXPORT
#elif defined _WIN32
#define MBFMU_EXPORT __declspec(dllexport)
#else
#define MBFMU_EXPORT __attribute__((visibility("default")))
#endif

enum { OK = 0, NOT_CONVERGED = 1, NOT_FINITE = 2, INCONSISTENT_START = 3, NOT_ACCURATE = 4, OUTPUTS_NOT_FINITE = 5 };
enum { S_CODE, S_ITERATIONS, S_CORRECTION, S_TIME, S_SUBSTEPS, S_LEAST_STEP, S_SIZE };

#define MAX_PASSES 40
#define ROUND_OFF 1e-14  /* estimated error of the unknowns at which a stage counts as solved */
#define STALLED 1e-9     /* below it, corrections that shrink no more are round-off */
#define MAX_HALVINGS 6   /* a step that fails is retried with up to 2^6 substeps */
#define LOST 1e50        /* a state beyond it has left all meaning, though it is still finite */
#define SAFETY 0.9       /* of a chosen step */
#define WORST 5.0        /* a step shrinks by at most this factor at once */
#define SHORTEST 1e-9    /* of the span: a chosen step below it is given up */
#define CLOSE 1e-9       /* a step that ends so near the end, relatively, ends there */
#define CONSISTENT 1e-9  /* largest residual of a consistent start */

struct memory;
struct tangent;

/* Told of every step that is taken: from x at t, with the inputs there, over h. */
typedef void (*follower)(struct tangent *d, const double *x, const double *u, const double *du, const double *p,
                         double t, double h, struct memory *m);

struct memory {
    const double **arg;
    double **res;
    casadi_int *iw;
    double *w, *z, *next, *x;
    follower follow; /* 0: nobody follows */
    struct tangent *d;
};

static struct memory carve(double *work) {
    struct memory m;
    m.follow = 0;
    m.d = 0;
    m.z = work;
    m.next = m.z + NZ;
    m.x = m.next + NZ;
    m.w = m.x + (NX > NQV + 1 ? NX : NQV + 1);
    m.iw = (casadi_int *)(m.w + SZ_W);
    m.arg = (const double **)(m.iw + SZ_IW);
    m.res = (double **)(m.arg + SZ_ARG);
    return m;
}

/* Call a generated function; what it could not compute, such as a singular solve, is left NaN. */
static void call(casadi_function f, const double *const in[7], double *out0, double *out1, struct memory *m) {
    for (int i = 0; i < 7; ++i) m->arg[i] = in[i];
    m->res[0] = out0;
    m->res[1] = out1;
    if (f(m->arg, m->res, m->iw, m->w, 0)) {
        out0[0] = NAN;
        if (out1) *out1 = NAN;
    }
}

static int all_below(double bound, const double *values, int n) {
    for (int i = 0; i < n; ++i)
        if (!(fabs(values[i]) < bound)) return 0;
    return 1;
}

/* Whether a correction that came after another leaves an error at round-off. */
static int at_rest(double correction, double last) {
    double ratio = correction / last;
    return correction <= ROUND_OFF / 10 || (ratio < 1 && correction * ratio <= ROUND_OFF * (1 - ratio)) ||
           (ratio > 0.5 && correction <= STALLED);
}

/* Evaluate a formula at (x, u, du, p, t, h): solve its stages one after the other, then its result. */
static int evaluate(const struct formula *f, const double *x, const double *u, const double *du, const double *p,
                    double t, double h, double *result, double *status, struct memory *m) {
    const double *in[7] = {x, u, du, p, &t, &h, m->z};
    double *z = m->z;
    for (int k = 0; k < f->stages; ++k) {
        double last = NAN, correction = NAN; /* the first pass has no rate of convergence */
        int solved = 0;
        call(f->guess[k], in, m->next, 0, m);
        memcpy(z, m->next, sizeof(double) * f->size[k]);
        for (int pass = 0; pass < (f->passes ? f->passes : MAX_PASSES) && !solved; ++pass) {
            call(f->correct[k], in, m->next, &correction, m);
            status[S_ITERATIONS] += 1;
            if (!isfinite(correction)) {
                status[S_CORRECTION] = correction;
                return NOT_FINITE;
            }
            memcpy(z, m->next, sizeof(double) * f->size[k]);
            solved = !f->passes && at_rest(correction, last);
            last = correction;
        }
        if (!f->passes || correction > status[S_CORRECTION]) status[S_CORRECTION] = correction;
        if (!f->passes && !solved) return NOT_CONVERGED;
        z += f->size[k];
    }
    call(f->result, in, result, 0, m);
    return OK;
}

#define WORK (2 * NZ + (NX > NQV + 1 ? NX : NQV + 1) + SZ_W + SZ_IW + SZ_ARG + SZ_RES)

MBFMU_EXPORT void mbfmu_sizes(long long *sizes) {
    const long long all[] = {NX, NS, NU, NP, NY, S_SIZE, WORK};
    memcpy(sizes, all, sizeof all);
}

/* Consistent state x of the start values s at time t; h is the step the history of a multistep method is made with. */
MBFMU_EXPORT int mbfmu_initialize(const double *s, const double *u, const double *du, const double *p, double t,
                                  double h, double *x, double *status, double *work) {
    struct memory m = carve(work);
    memset(status, 0, sizeof(double) * S_SIZE);
    status[S_TIME] = t;
    int code = evaluate(&FORMULA_start, s, u, du, p, t, h, m.x, status, &m);
    if (code == OK) {
        status[S_CORRECTION] = m.x[NQV];
        if (!(m.x[NQV] <= CONSISTENT)) code = INCONSISTENT_START;
    }
    if (code == OK) code = evaluate(&FORMULA_begin, m.x, u, du, p, t, h, x, status, &m);
    if (code == OK && !all_below(INFINITY, x, NX)) code = NOT_FINITE;
    status[S_CODE] = code;
    return code;
}

/* n steps of length h from x at time t to x1; u is the input at t and du its constant derivative.
 * A step that fails is done again in halves, quarters and so on; x1 is written only if all is well. */
static int advance(const double *x, const double *u, const double *du, const double *p, double t, double h,
                   long long n, double *x1, double *status, struct memory *m) {
    double now[NX + 1], inputs[NU + 1];
    const int halvings = FORMULA_step.passes ? 0 : MAX_HALVINGS, whole = 1 << MAX_HALVINGS;
    memset(status, 0, sizeof(double) * S_SIZE);
    memcpy(now, x, sizeof(double) * NX);
    status[S_LEAST_STEP] = h;
    for (long long k = 0; k < n; ++k) {
        int level = 0, done = 0; /* done counts in whole-ths of the step */
        while (done < whole) {
            int part = whole >> level;
            double dt = k * h + (done ? h * done / whole : 0), small = level ? h * part / whole : h;
            for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * dt;
            int code = evaluate(&FORMULA_step, now, inputs, du, p, t + dt, small, m->x, status, m);
            if (code == OK && !all_below(LOST, m->x, NX)) code = NOT_FINITE;
            status[S_TIME] = t + dt;
            if (code != OK) {
                if (level == halvings) {
                    status[S_CODE] = code;
                    return code;
                }
                ++level;
                continue;
            }
            if (small < status[S_LEAST_STEP]) status[S_LEAST_STEP] = small;
            status[S_SUBSTEPS] += 1;
            if (m->follow) m->follow(m->d, now, inputs, du, p, t + dt, small, m);
            memcpy(now, m->x, sizeof(double) * NX);
            done += part;
            while (level && done % (whole >> (level - 1)) == 0) --level;
        }
    }
    memcpy(x1, now, sizeof(double) * NX);
    return OK;
}

MBFMU_EXPORT int mbfmu_advance(const double *x, const double *u, const double *du, const double *p, double t,
                               double h, long long n, double *x1, double *status, double *work) {
    struct memory m = carve(work);
    return advance(x, u, du, p, t, h, n, x1, status, &m);
}

/* From x at time t over the span H with steps chosen so that each adds at most tol times its length to the error.
 *
 * A step of h is compared with two of h/2, which are kept (Hairer, Norsett & Wanner, Solving Ordinary Differential
 * Equations I, II.4); their difference over 2^ORDER - 1 estimates their error. h_max bounds the steps. The choice
 * begins anew in every call, so that a call depends on its arguments alone. */
static int control(const double *x, const double *u, const double *du, const double *p, double t, double H,
                   double h_max, double tol, double *x1, double *status, struct memory *m) {
    double now[NX + 1], big[NX + 1], half[NX + 1], inputs[NU + 1];
    double done = 0, h = h_max < H ? h_max : H;
    memset(status, 0, sizeof(double) * S_SIZE);
    memcpy(now, x, sizeof(double) * NX);
    status[S_LEAST_STEP] = h;
    while (done < H) {
        int last = done + h >= H * (1 - CLOSE), code;
        double small = last ? H - done : h, apart = NAN;
        for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * done;
        code = evaluate(&FORMULA_step, now, inputs, du, p, t + done, small, big, status, m);
        if (code == OK) code = evaluate(&FORMULA_step, now, inputs, du, p, t + done, small / 2, half, status, m);
        for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * (done + small / 2);
        if (code == OK)
            code = evaluate(&FORMULA_step, half, inputs, du, p, t + done + small / 2, small / 2, m->x, status, m);
        if (code == OK && !(all_below(LOST, big, NX) && all_below(LOST, m->x, NX))) code = NOT_FINITE;
        status[S_TIME] = t + done;
        if (code == OK) {
            double end = t + done + small;
            const double *in[4] = {big, m->x, p, &end};
            for (int i = 0; i < 4; ++i) m->arg[i] = in[i];
            m->res[0] = &apart;
            distance(m->arg, m->res, m->iw, m->w, 0);
        }
        double excess = apart == 0 ? 0 : apart / ((1 << ORDER) - 1) / (tol * small); /* tol * small may be 0 */
        if (code != OK) excess = mbfmu_pow(WORST, ORDER);
        double factor = SAFETY * mbfmu_pow(excess > 0 ? excess : 1e-300, -1.0 / ORDER);
        factor = factor > 4 ? 4 : factor > 1 / WORST ? factor : 1 / WORST;
        if (code == OK && excess <= 1) {
            if (m->follow) {
                double first[NU + 1];
                for (int i = 0; i < NU; ++i) first[i] = u[i] + du[i] * done;
                m->follow(m->d, now, first, du, p, t + done, small / 2, m);
                m->follow(m->d, half, inputs, du, p, t + done + small / 2, small / 2, m);
            }
            memcpy(now, m->x, sizeof(double) * NX);
            done = last ? H : done + small;
            status[S_SUBSTEPS] += 1;
            if (small < status[S_LEAST_STEP]) status[S_LEAST_STEP] = small;
        } else if (small * factor <= SHORTEST * H) {
            status[S_CODE] = code == OK ? NOT_ACCURATE : code;
            return (int)status[S_CODE];
        }
        h = small * factor < h_max ? small * factor : h_max;
    }
    memcpy(x1, now, sizeof(double) * NX);
    return OK;
}

MBFMU_EXPORT int mbfmu_control(const double *x, const double *u, const double *du, const double *p, double t, double H,
                               double h_max, double tol, double *x1, double *status, double *work) {
    struct memory m = carve(work);
    return control(x, u, du, p, t, H, h_max, tol, x1, status, &m);
}

/* Outputs y of the state x; returns NOT_FINITE if one of them is not finite. */
MBFMU_EXPORT int mbfmu_outputs(const double *x, const double *u, const double *p, double t, double *y, double *work) {
    struct memory m = carve(work);
    m.arg[0] = x;
    m.arg[1] = u;
    m.arg[2] = p;
    m.arg[3] = &t;
    m.res[0] = y;
    outputs(m.arg, m.res, m.iw, m.w, 0);
    return all_below(INFINITY, y, NY) ? OK : NOT_FINITE;
}

/* How many equal steps of at most a length a span takes. */
MBFMU_EXPORT long long mbfmu_count(double span, double longest) {
    double n = ceil(span / longest * (1 - 1e-9));
    return n > 1 ? (long long)n : 1;
}

/* From one communication point to the next, and the outputs there: one call with few arguments, for each of them costs
 * a caller in another language. a = {x, u, du, p, x1, y, status, work}; steps of at most h_max, chosen if tol > 0. */
MBFMU_EXPORT int mbfmu_communicate(double *const *a, double t, double H, double h_max, double tol) {
    struct memory m = carve(a[7]);
    double *x1 = a[4], *status = a[6], inputs[NU + 1];
    long long n = mbfmu_count(H, h_max);
    int code = tol > 0 ? control(a[0], a[1], a[2], a[3], t, H, h_max, tol, x1, status, &m)
                       : advance(a[0], a[1], a[2], a[3], t, H / n, n, x1, status, &m);
    if (code != OK) return code;
    for (int i = 0; i < NU; ++i) inputs[i] = a[1][i] + a[2][i] * H;
    if (mbfmu_outputs(x1, inputs, a[3], t + H, a[5], a[7]) == OK) return OK;
    status[S_TIME] = t + H;
    status[S_CODE] = OUTPUTS_NOT_FINITE;
    return OUTPUTS_NOT_FINITE;
}
