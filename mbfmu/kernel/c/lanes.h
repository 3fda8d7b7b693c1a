/* Operations of generated code, for LANES instances at a time, one in each lane: the counterpart of arithmetic.h.
 *
 * Each lane gets the bits that arithmetic.h gives. A truth is 1 or 0 as a number, as there.
 */
#include <math.h>
#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>
#endif

#include "several.h"

typedef SEVERAL V;
typedef void (*function)(const V *const *arg, V *const *res, V *w);

#if LANES == 2
#define ENTRY(x) {x, x}
#elif LANES == 4
#define ENTRY(x) {x, x, x, x}
#else
#define ENTRY(x) {x, x, x, x, x, x, x, x}
#endif
#define TRUE_WHERE(mask) ((V)((MASK)ALL(1.0) & (mask)))
#define NONZERO(x) (ALL(x) != 0)

/* A function of two numbers, lane by lane. */
#define IN_EACH_LANE_2(name, of)                              \
    static __attribute__((noinline, unused)) V name(V x, V y) { \
        for (int k = 0; k < LANES; ++k) x[k] = of(x[k], y[k]);  \
        return x;                                               \
    }
IN_EACH_LANE(lanes_floor, floor)
IN_EACH_LANE(lanes_ceil, ceil)
IN_EACH_LANE(lanes_tan, mbfmu_tan)
IN_EACH_LANE(lanes_asin, mbfmu_asin)
IN_EACH_LANE(lanes_acos, mbfmu_acos)
IN_EACH_LANE(lanes_atan, mbfmu_atan)
IN_EACH_LANE(lanes_exp, mbfmu_exp)
IN_EACH_LANE(lanes_expm1, mbfmu_expm1)
IN_EACH_LANE(lanes_log, mbfmu_log)
IN_EACH_LANE(lanes_log1p, mbfmu_log1p)
IN_EACH_LANE(lanes_sinh, mbfmu_sinh)
IN_EACH_LANE(lanes_cosh, mbfmu_cosh)
IN_EACH_LANE(lanes_tanh, mbfmu_tanh)
IN_EACH_LANE(lanes_asinh, mbfmu_asinh)
IN_EACH_LANE(lanes_acosh, mbfmu_acosh)
IN_EACH_LANE(lanes_atanh, mbfmu_atanh)
IN_EACH_LANE_2(lanes_fmod, fmod)
IN_EACH_LANE_2(lanes_hypot, mbfmu_hypot)
IN_EACH_LANE_2(lanes_atan2, mbfmu_atan2)
IN_EACH_LANE_2(lanes_pow, mbfmu_pow)

LANEWISE V lanes_sqrt(V x) {
#if LANES == 4 && defined __AVX2__
    return (V)_mm256_sqrt_pd((__m256d)x);
#elif LANES == 8 && defined __AVX512DQ__
    return (V)_mm512_sqrt_pd((__m512d)x);
#elif LANES == 2 && defined __SSE2__
    return (V)_mm_sqrt_pd((__m128d)x);
#else
    for (int k = 0; k < LANES; ++k) x[k] = sqrt(x[k]);
    return x;
#endif
}

#define SIGN_BIT ((MASK)ALL(-0.0))
LANEWISE V lanes_fabs(V x) { return (V)((MASK)x & ~SIGN_BIT); }
LANEWISE V lanes_copysign(V x, V y) { return (V)(((MASK)x & ~SIGN_BIT) | ((MASK)y & SIGN_BIT)); }
LANEWISE V lanes_fmin(V x, V y) { return lanes_choose((x < y) | (y != y), x, y); }
LANEWISE V lanes_fmax(V x, V y) { return lanes_choose((x > y) | (y != y), x, y); }
LANEWISE V lanes_sign(V x) { return lanes_choose(x < 0, ALL(-1.0), lanes_choose(x > 0, ALL(1.0), x)); }

#define ADD(x, y) ((x) + (y))
#define SUB(x, y) ((x) - (y))
#define MUL(x, y) ((x) * (y))
#define DIV(x, y) ((x) / (y))
#define NEG(x) (-(x))
#define SQUARE(x) ((x) * (x))
#define SAME(x) ALL(x)
#define LT(x, y) TRUE_WHERE(ALL(x) < ALL(y))
#define LE(x, y) TRUE_WHERE(ALL(x) <= ALL(y))
#define EQ(x, y) TRUE_WHERE(ALL(x) == ALL(y))
#define NE(x, y) TRUE_WHERE(ALL(x) != ALL(y))
#define NOT(x) TRUE_WHERE(~NONZERO(x))
#define AND(x, y) TRUE_WHERE(NONZERO(x) & NONZERO(y))
#define OR(x, y) TRUE_WHERE(NONZERO(x) | NONZERO(y))
#define SELECT(condition, x, y) lanes_choose(NONZERO(condition), ALL(x), ALL(y))
#define SIGN(x) lanes_sign(ALL(x))
#define FMIN(x, y) lanes_fmin(ALL(x), ALL(y))
#define FMAX(x, y) lanes_fmax(ALL(x), ALL(y))
#define FABS(x) lanes_fabs(ALL(x))
#define COPYSIGN(x, y) lanes_copysign(ALL(x), ALL(y))
#define FMOD(x, y) lanes_fmod(ALL(x), ALL(y))
#define FLOOR(x) lanes_floor(ALL(x))
#define CEIL(x) lanes_ceil(ALL(x))
#define SQRT(x) lanes_sqrt(ALL(x))
#define HYPOT(x, y) lanes_hypot(ALL(x), ALL(y))
#define SIN(x) lanes_sin(ALL(x))
#define COS(x) lanes_cos(ALL(x))
#define TAN(x) lanes_tan(ALL(x))
#define ASIN(x) lanes_asin(ALL(x))
#define ACOS(x) lanes_acos(ALL(x))
#define ATAN(x) lanes_atan(ALL(x))
#define ATAN2(x, y) lanes_atan2(ALL(x), ALL(y))
#define EXP(x) lanes_exp(ALL(x))
#define EXPM1(x) lanes_expm1(ALL(x))
#define LOG(x) lanes_log(ALL(x))
#define LOG1P(x) lanes_log1p(ALL(x))
#define POW(x, y) lanes_pow(ALL(x), ALL(y))
#define SINH(x) lanes_sinh(ALL(x))
#define COSH(x) lanes_cosh(ALL(x))
#define TANH(x) lanes_tanh(ALL(x))
#define ASINH(x) lanes_asinh(ALL(x))
#define ACOSH(x) lanes_acosh(ALL(x))
#define ATANH(x) lanes_atanh(ALL(x))
