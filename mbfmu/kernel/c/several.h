/* Sine and cosine of LANES numbers at a time: of several instances (lanes.h), or of several angles (angles.h).
 *
 * Each lane gets the bits of elementary.h. A mask has all bits of a lane set, or none.
 */
typedef double SEVERAL __attribute__((vector_size(8 * LANES)));
typedef long long MASK __attribute__((vector_size(8 * LANES)));
typedef unsigned long long BITS_OF_SEVERAL __attribute__((vector_size(8 * LANES)));

#define LANEWISE static inline __attribute__((always_inline, unused))
#define ALL(x) ((x) - (SEVERAL){0}) /* of a number or of several: several */

LANEWISE SEVERAL lanes_choose(MASK mask, SEVERAL x, SEVERAL y) {
    return (SEVERAL)((mask & (MASK)x) | (~mask & (MASK)y));
}

/* Whether all, or any, of the lanes are set in a mask. */
#if LANES == 4 && defined __AVX2__
LANEWISE int lanes_all(MASK mask) { return __builtin_ia32_movmskpd256((SEVERAL)mask) == 15; }
LANEWISE int lanes_any(MASK mask) { return __builtin_ia32_movmskpd256((SEVERAL)mask) != 0; }
#elif LANES == 8 && defined __AVX512DQ__
LANEWISE int lanes_all(MASK mask) { return _mm512_movepi64_mask((__m512i)mask) == 255; }
LANEWISE int lanes_any(MASK mask) { return _mm512_movepi64_mask((__m512i)mask) != 0; }
#else
LANEWISE int lanes_any(MASK mask) {
    long long found = 0;
    for (int k = 0; k < LANES; ++k) found |= mask[k];
    return found != 0;
}
LANEWISE int lanes_all(MASK mask) { return !lanes_any(~mask); }
#endif

/* A function of numbers, lane by lane. */
#define IN_EACH_LANE(name, of)                                         \
    static __attribute__((noinline, unused)) SEVERAL name(SEVERAL x) { \
        for (int k = 0; k < LANES; ++k) x[k] = of(x[k]);               \
        return x;                                                      \
    }
IN_EACH_LANE(lanes_sine_each, mbfmu_sin)
IN_EACH_LANE(lanes_cosine_each, mbfmu_cos)

#define NUMBER SEVERAL
#define BITS BITS_OF_SEVERAL
#define TRUTH MASK
#define NAMED(name) lanes_##name
#define AS_BITS(x) ((BITS_OF_SEVERAL)(x))
#define OF_BITS(bits) ((SEVERAL)(bits))
#if LANES == 8 && defined __AVX512DQ__
#define IF_ODD(bits, x, y)                                                                                            \
    ((SEVERAL)_mm512_mask_blend_pd(_mm512_test_epi64_mask((__m512i)(bits), _mm512_set1_epi64(1)), (__m512d)(y), \
                                   (__m512d)(x)))
#define BIT_1(bits) ((bits) << 62 & (BITS_OF_SEVERAL)ALL(-0.0))
#else
#define IF_ODD(bits, x, y) lanes_choose(-(MASK)((bits) & 1), x, y)
#define BIT_1(bits) ((bits) >> 1 << 63)
#endif
#include "circular.h"

/* Whether lanes_is_near holds for all lanes; for eight by n n, which is exact, as that takes fewer masks. */
LANEWISE int lanes_are_near(BITS_OF_SEVERAL quadrant) {
#if LANES == 8 && defined __AVX512DQ__
    const SEVERAL n = (SEVERAL)quadrant - MBFMU_ROUNDING, furthest = ALL(1.0 * MBFMU_QUADRANTS * MBFMU_QUADRANTS);
    return _mm512_cmp_pd_mask((__m512d)(n * n), (__m512d)furthest, _CMP_NLE_UQ) == 0;
#else
    return lanes_all(lanes_is_near(quadrant));
#endif
}

LANEWISE SEVERAL lanes_sin(SEVERAL x) {
    struct lanes_turn a = lanes_turned(lanes_reduced(x));
    return lanes_are_near(a.quadrant) ? lanes_sine_in(a) : lanes_sine_each(x);
}

LANEWISE SEVERAL lanes_cos(SEVERAL x) {
    struct lanes_turn a = lanes_turned(lanes_reduced(x));
    return lanes_are_near(a.quadrant) ? lanes_cosine_in(a) : lanes_cosine_each(x);
}
