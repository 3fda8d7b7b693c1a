/* Many instances of one model: blocks of WIDTH of them, whose values stand side by side, entry after entry. A block goes
 * in lanes where the steps are equal and nothing stops them, its outcome instance by instance where that fails.
 *
 * Included after driver.c, with LANES_2, LANES_4 and LANES_8 defined where there is code for as many lanes.
 */
#define MANY_ROOM (NX + 2 * NU + NP + NX + WORK)

typedef void (*block)(const double *x, const double *u, const double *du, const double *p, double t, double H,
                      long long n, double *x1, double *y, double *work, int *failed);
#define DECLARED(name)                                                                                             \
    void name(const double *x, const double *u, const double *du, const double *p, double t, double H, long long n, \
              double *x1, double *y, double *work, int *failed)
#ifdef LANES_2
DECLARED(lanes_2);
#endif
#ifdef LANES_4
DECLARED(lanes_4);
#endif
#ifdef LANES_8
DECLARED(lanes_8);
#endif

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
#endif

/* The code for a number of lanes; 0: there is none, or this processor cannot run it. */
static block lanes_of(int width) {
#if defined __x86_64__ && defined __GNUC__
#ifdef LANES_8
    if (width == 8 && has_vectors(8)) return lanes_8;
#endif
#ifdef LANES_4
    if (width == 4 && has_vectors(4)) return lanes_4;
#endif
#endif
#ifdef LANES_2
    if (width == 2) return lanes_2;
#endif
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

/* Move `blocks` blocks of `width` instances over the span H in steps of at most h_max, chosen by their error if tol > 0.
 *
 * x (NX), u and du (NU), p (NP) and x1 (NX entries) are arrays [block][entry][instance]; y (NY), codes and status
 * (S_SIZE) go instance by instance. One that fails has x as x1, and y is NAN. work is aligned to 64 bytes. */
MBFMU_EXPORT void mbfmu_move_many(long long blocks, int width, const double *x, const double *u, const double *du,
                                  const double *p, double t, double H, double h_max, double tol, double *x1, double *y,
                                  int *codes, double *status, double *work) {
    const block in_lanes = tol > 0 ? 0 : lanes_of(width);
    const long long n = mbfmu_count(H, h_max);
    double span[] = {t, H, h_max, tol};
    for (long long b = 0; b < blocks; ++b, x += NX * width, u += NU * width, du += NU * width, p += NP * width,
                   x1 += NX * width, y += NY * width, codes += width, status += S_SIZE * width) {
        int failed[8] = {1, 1, 1, 1, 1, 1, 1, 1};
        if (in_lanes) {
            in_lanes(x, u, du, p, t, H, n, x1, work, work + NY * width, failed);
            for (int i = 0; i < width; ++i) pick(work, NY, width, i, y + i * NY);
        }
        for (int i = 0; i < width; ++i) {
            codes[i] = OK;
            if (!failed[i]) continue;
            double *const x_i = work, *const u_i = x_i + NX, *const du_i = u_i + NU, *const p_i = du_i + NU;
            double *const x1_i = p_i + NP, *const y_i = y + i * NY, *const status_i = status + i * S_SIZE;
            double *const a[] = {x_i, u_i, du_i, p_i, x1_i, y_i, status_i, x1_i + NX, span};
            pick(x, NX, width, i, x_i);
            pick(u, NU, width, i, u_i);
            pick(du, NU, width, i, du_i);
            pick(p, NP, width, i, p_i);
            codes[i] = mbfmu_communicate(a);
            if (codes[i] != OK) {
                memcpy(x1_i, x_i, sizeof(double) * NX);
                for (int k = 0; k < NY; ++k) y_i[k] = NAN;
            }
            place(x1_i, NX, width, i, x1);
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
