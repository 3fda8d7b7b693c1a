/* Many instances of one model: blocks of WIDTH of them, whose values stand side by side, entry after entry. A block goes
 * in lanes where the steps are equal and nothing stops them, its outcome instance by instance where that fails.
 *
 * Included after entries.c and block.h, with LANES_2, LANES_4 and LANES_8: the functions for as many lanes, 0 where there
 * is none.
 */
#define MANY_ROOM (NX + 2 * NU + NP + NX + WORK)

typedef void (*block_function)(const struct block *b);
void lanes_2(const struct block *b);
void lanes_4(const struct block *b);
void lanes_8(const struct block *b);

#if defined __x86_64__ && defined __GNUC__
#include <cpuid.h>
/* Whether the processor and its system let programs use the vectors of so many lanes: by CPUID's leaves 1 and 7 and the
 * registers that the system keeps (Intel, Software Developer's Manual, volume 1, 14.3 and 15.2). Compilers' own function
 * for it needs a library that zig does not link. */
static int has_vectors(int width) {
    unsigned a, b, c, d, kept, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 0; /* the system tells what it keeps */
    __asm__ volatile("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if (width == 8) return (kept & 0xe6) == 0xe6 && b >> 16 & 1 && b >> 17 & 1;
    return (kept & 6) == 6 && b >> 5 & 1;
}
#else
static int has_vectors(int width) { return (void)width, 0; }
#endif

/* The code for a number of lanes; 0: there is none, or this processor cannot run it. */
static block_function lanes_of(int width) {
    if (width == 2) return LANES_2;
    if (width == 4 && has_vectors(4)) return LANES_4;
    if (width == 8 && has_vectors(8)) return LANES_8;
    return 0;
}

/* The sizes of memory for blocks of a width: the doubles to work with; and whether they go in lanes. */
MBFMU_EXPORT int mbfmu_many_room(int width, long long *room) {
    const long long lanes = (NY + 2 * (NZ + 1) + 2 * NX + NU + 1 + SZ_LANES) * (long long)width;
    *room = lanes > MANY_ROOM ? lanes : MANY_ROOM;
    return lanes_of(width) != 0;
}

static void pick(const double *from, int n, int width, int at, double *to) {
    for (int i = 0; i < n; ++i) to[i] = from[i * width + at];
}

static void place(const double *from, int n, int width, int at, double *to) {
    for (int i = 0; i < n; ++i) to[i * width + at] = from[i];
}

/* Whether instances go alone over n steps, for one has a shadow (see doubling.c) or begins one. */
static int with_shadows(const double *errors, int width, long long n) {
    for (int i = 0; i < width; ++i, errors += ERRORS)
        if (errors[E_LENGTH] > 0 || errors[E_WAIT] <= n) return 1;
    return 0;
}

/* Move one instance of a block over a span, {t, H, h_max, tol}, to its place in b->x1; b->y, status and errors are its
 * own. */
static int move_one(const struct block *b, int width, int at, double *span, double *status, double *errors) {
    double *const x = b->work, *const u = x + NX, *const du = u + NU, *const p = du + NU, *const x1 = p + NP;
    double *const a[] = {x, u, du, p, x1, b->y + at * NY, status + at * S_SIZE, x1 + NX, span, errors};
    pick(b->x, NX, width, at, x);
    pick(b->u, NU, width, at, u);
    pick(b->du, NU, width, at, du);
    pick(b->p, NP, width, at, p);
    const int code = mbfmu_communicate(a);
    if (code != OK) {
        memcpy(x1, x, sizeof(double) * NX);
        for (int k = 0; k < NY; ++k) a[5][k] = NAN;
    }
    place(x1, NX, width, at, b->x1);
    return code;
}

/* Move `blocks` blocks of `width` instances over the span H in steps of at most h_max, chosen by their error if tol > 0.
 *
 * x (NX), u and du (NU), p (NP) and x1 (NX entries) are arrays [block][entry][instance]; y (NY), codes, status
 * (S_SIZE) and errors (ERRORS; 0: none are estimated) go instance by instance. One that fails has x as x1, and y is NAN.
 * work is aligned to 64 bytes. */
MBFMU_EXPORT void mbfmu_move_many(long long blocks, int width, const double *x, const double *u, const double *du,
                                  const double *p, double t, double H, double h_max, double tol, double *x1, double *y,
                                  int *codes, double *status, double *errors, double *work) {
    const block_function in_lanes = tol > 0 ? 0 : lanes_of(width);
    const long long n = mbfmu_count(H, h_max);
    double span[] = {t, H, h_max, tol};
    int failed[8];
    for (long long k = 0; k < blocks; ++k) {
        const long long at = k * width;
        struct block b = {x + at * NX, u + at * NU, du + at * NU, p + at * NP, t, H, n, x1 + at * NX, y + at * NY, work, failed};
        double *const own = errors ? errors + at * ERRORS : 0;
        for (int i = 0; i < width; ++i) failed[i] = 1;
        if (in_lanes && !(own && with_shadows(own, width, n))) {
            b.y = work;
            b.work = work + NY * width;
            in_lanes(&b);
            b.y = y + at * NY;
            b.work = work;
            for (int i = 0; i < width; ++i) pick(work, NY, width, i, b.y + i * NY);
        }
        for (int i = 0; i < width; ++i) {
            double *const e = own ? own + i * ERRORS : 0;
            if (!failed[i] && e) e[E_STEPS] += n, e[E_WAIT] -= n;
            codes[at + i] = failed[i] ? move_one(&b, width, i, span, status + at * S_SIZE, e) : OK;
        }
    }
}

/* The outputs y of the states x at time t; arrays as above. */
MBFMU_EXPORT void mbfmu_outputs_many(long long blocks, int width, const double *x, const double *u, const double *p,
                                     double t, double *y, double *work) {
    double *const x_i = work, *const u_i = x_i + NX, *const p_i = u_i + NU;
    for (long long b = 0; b < blocks; ++b, x += NX * width, u += NU * width, p += NP * width)
        for (int i = 0; i < width; ++i, y += NY) {
            pick(x, NX, width, i, x_i);
            pick(u, NU, width, i, u_i);
            pick(p, NP, width, i, p_i);
            mbfmu_outputs(x_i, u_i, p_i, t, y, p_i + NP);
        }
}
