/* Elementary functions in single precision that give the same bits on every processor.
 *
 * They use nothing but IEEE's exactly rounded +, -, *, / and sqrt, and whole numbers of 32 and 64 bits; no double is on
 * the way. The compiler must not contract a * b + c (-ffp-contract=off). Series are Taylor's, to the term that is below
 * the rounding; special values are those of C99, Annex F, but that the sine of -0 is +0. Errors: see docs/realtime.md.
 */
#include "exact.h"

#if defined __GNUC__
#define MBFMU_INLINE static inline __attribute__((unused))
#define MBFMU_CALLED static __attribute__((noinline, unused))
#else
#define MBFMU_INLINE static inline
#define MBFMU_CALLED static
#endif

#define MBFMU_ROUNDING 12582912.0f /* 1.5 * 2^23: what is added to it is rounded to a whole number */
#define MBFMU_LN2_HIGH 0.693359375f
#define MBFMU_LN2_LOW -2.12194440e-4f
#define MBFMU_HALF_PI 1.57079632679f
#define MBFMU_HALF_PI_LOW -4.37113883e-8f /* pi/2 less this float */
#define MBFMU_PI 3.14159265359f
#define MBFMU_PI_LOW -8.74227766e-8f

/* 2^k for -126 <= k <= 127. */
MBFMU_INLINE float mbfmu_power_of_two(int k) { return mbfmu_of_bits((unsigned)(k + 127) << 23); }

/* x 2^k for x in [1/2, 2] and |k| < 250. */
MBFMU_INLINE float mbfmu_scaled(float x, int k) {
    if (k > 126) return x * mbfmu_power_of_two(126) * mbfmu_power_of_two(k - 126);
    if (k < -125) return x * mbfmu_power_of_two(k + 125) * mbfmu_power_of_two(-125);
    return x * mbfmu_power_of_two(k);
}

/* ---- sine, cosine, tangent: x = n pi/2 + r with |r| <= pi/4 ---- */

struct mbfmu_angle {
    float r;
    unsigned quadrant; /* its lowest bits count */
};

/* Of any finite angle: its 24 bits times as many bits of 2/pi as they need (M. H. Payne and R. N. Hanek, Radian reduction
 * for trigonometric functions, ACM SIGNUM Newsletter 18, 1983). */
MBFMU_CALLED struct mbfmu_angle mbfmu_reduced_from_far(float x) {
    static const unsigned two_over_pi[] = {0u,          0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                           0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
    const int exponent = (int)(mbfmu_bits(x) >> 23 & 0xffu) - 150, first = (exponent + 30) / 32; /* |x| = mantissa 2^exponent */
    const int shift = exponent + 30 - 32 * first;
    const unsigned mantissa = (mbfmu_bits(x) & 0x7fffffu) | 0x800000u, *const word = two_over_pi + first;
    unsigned long long high = (unsigned long long)word[0] << 32 | word[1], low = (unsigned long long)word[2] << 32;
    struct mbfmu_angle a;
    /* 64 + 32 bits from the place on whose product with the mantissa counts quarters of a revolution */
    low |= word[3];
    if (shift) {
        high = high << shift | low >> (64 - shift);
        low <<= shift;
    }
    const unsigned long long product = high * mantissa + ((low >> 32) * mantissa >> 32);
    /* two bits of the quadrant, then the fraction of one; from 1/2 on it is counted back from the next */
    const int next = (int)(product >> 61 & 1);
    const unsigned long long fraction = product << 2;
    const long long left = (long long)fraction; /* in 2^-64 of a quadrant, -1/2 to 1/2 */
    a.quadrant = (unsigned)(product >> 62) + (unsigned)next;
    a.r = (float)left * mbfmu_power_of_two(-64) * MBFMU_HALF_PI;
    if (mbfmu_bits(x) >> 31) {
        a.r = -a.r;
        a.quadrant = 0u - a.quadrant;
    }
    return a;
}

/* pi/2 in three parts of which two times n are exact (Cody and Waite). */
MBFMU_INLINE struct mbfmu_angle mbfmu_reduced(float x) {
    if (!(fabsf(x) < 6000.0f)) return mbfmu_reduced_from_far(x);
    const float sum = x * 0.636619772f + MBFMU_ROUNDING, n = sum - MBFMU_ROUNDING;
    struct mbfmu_angle a;
    a.quadrant = mbfmu_bits(sum);
    a.r = ((x - n * 1.5703125f) - n * 4.837512969970703125e-4f) - n * 7.5497899548918823e-8f;
    return a;
}

/* The sine of r, |r| <= pi/4, and its cosine. */
MBFMU_INLINE float mbfmu_sine_near(float r) {
    const float z = r * r;
    return r + r * (z * (-1.0f / 6 + z * (1.0f / 120 + z * (-1.0f / 5040 + z * (1.0f / 362880)))));
}

MBFMU_INLINE float mbfmu_cosine_near(float r) {
    const float z = r * r, half = 0.5f * z, one = 1.0f - half;
    return one + (((1.0f - one) - half) + z * z * (1.0f / 24 + z * (-1.0f / 720 + z * (1.0f / 40320 + z * (-1.0f / 3628800)))));
}

MBFMU_CALLED float mbfmu_sin(float x) {
    if (!(fabsf(x) < INFINITY)) return x - x;
    const struct mbfmu_angle a = mbfmu_reduced(x);
    const float size = a.quadrant & 1u ? mbfmu_cosine_near(a.r) : mbfmu_sine_near(a.r);
    return a.quadrant & 2u ? -size : size;
}

MBFMU_CALLED float mbfmu_cos(float x) {
    if (!(fabsf(x) < INFINITY)) return x - x;
    const struct mbfmu_angle a = mbfmu_reduced(x);
    const float size = a.quadrant & 1u ? mbfmu_sine_near(a.r) : mbfmu_cosine_near(a.r);
    return (a.quadrant + 1u) & 2u ? -size : size;
}

MBFMU_CALLED float mbfmu_tan(float x) {
    if (!(fabsf(x) < INFINITY)) return x - x;
    const struct mbfmu_angle a = mbfmu_reduced(x);
    const float sine = mbfmu_sine_near(a.r), cosine = mbfmu_cosine_near(a.r);
    return a.quadrant & 1u ? -cosine / sine : sine / cosine;
}

/* ---- arcs: the angle of y/x, or pi/4 more than that of (y - x)/(y + x), both at most tan(pi/8) ---- */

/* Less than pi/4 of a point of the first octant, and whether it is swapped and beyond pi/8. */
MBFMU_INLINE float mbfmu_arc(float y, float x, int left) {
    const int swapped = y > x;
    const float a = swapped ? x : y, b = swapped ? y : x;
    const int far = a > 0.414213562f * b;
    const float t = far ? (a - b) / (a + b) : a / b, z = t * t;
    const float tail = t * (z * (-1.0f / 3 + z * (1.0f / 5 + z * (-1.0f / 7 + z * (1.0f / 9 + z * (-1.0f / 11 +
                       z * (1.0f / 13 + z * (-1.0f / 15 + z * (1.0f / 17)))))))));
    /* a multiple of pi/4, more or less this angle */
    const float sign = swapped != left ? -1.0f : 1.0f;
    const int quarters = (left ? 4 : 0) + (swapped ? (left ? -2 : 2) : 0) + (far ? (swapped != left ? -1 : 1) : 0);
    return quarters ? 0.785398163f * (float)quarters + (sign * (t + tail) - 2.18556941e-8f * (float)quarters) : t + tail;
}

MBFMU_CALLED float mbfmu_atan(float x) {
    const float size = fabsf(x);
    if (!(size >= 1e-5f)) return x;
    return copysignf(size > 1e9f ? MBFMU_HALF_PI : mbfmu_arc(size, 1.0f, 0), x);
}

MBFMU_CALLED float mbfmu_atan2(float y, float x) {
    const float a = fabsf(y), b = fabsf(x);
    const int left = (int)(mbfmu_bits(x) >> 31);
    if (x != x || y != y) return x + y;
    if (a == b && (a == 0 || a == INFINITY)) /* as if on the axis, and on the diagonal */
        return copysignf(a == 0 ? (left ? MBFMU_PI : 0.0f) : left ? 2.35619449f : 0.785398163f, y);
    if (b == 0 || a == INFINITY) return copysignf(MBFMU_HALF_PI, y);
    if (b == INFINITY) return left ? copysignf(MBFMU_PI, y) : y / b;
    const float scale = a + b > 1e30f ? mbfmu_power_of_two(-60) : a + b < 1e-10f ? mbfmu_power_of_two(60) : 1.0f;
    return copysignf(mbfmu_arc(a * scale, b * scale, left), y);
}

MBFMU_CALLED float mbfmu_asin(float x) {
    const float size = fabsf(x);
    if (!(size <= 1)) return (x - x) / (x - x);
    return copysignf(mbfmu_arc(size, sqrtf((1.0f - size) * (1.0f + size)), 0), x);
}

MBFMU_CALLED float mbfmu_acos(float x) {
    const float size = fabsf(x);
    if (!(size <= 1)) return (x - x) / (x - x);
    return mbfmu_arc(sqrtf((1.0f - size) * (1.0f + size)), size, x < 0);
}

MBFMU_CALLED float mbfmu_hypot(float x, float y) {
    const float a = fabsf(x), b = fabsf(y);
    if (a == INFINITY || b == INFINITY) return INFINITY;
    if (!(a + b > 0)) return a + b;
    const int k = a + b > 1e15f ? 64 : a + b < 1e-10f ? -60 : 0;
    const float scale = mbfmu_power_of_two(-k), c = a * scale, d = b * scale;
    return sqrtf(c * c + d * d) * mbfmu_power_of_two(k);
}

/* ---- exponential functions: x = k ln 2 + r with |r| <= ln(2)/2, exp(r) = 1 + r + tail ---- */

struct mbfmu_exponential {
    float r, tail;
    int k;
};

/* Of x + low, |x| < 200. */
MBFMU_INLINE struct mbfmu_exponential mbfmu_exponential(float x, float low) {
    const float sum = x * 1.44269504f + MBFMU_ROUNDING, k = sum - MBFMU_ROUNDING;
    const float far = x - k * MBFMU_LN2_HIGH, near = k * MBFMU_LN2_LOW, r = far - near, rest = ((far - r) - near) + low;
    struct mbfmu_exponential e;
    e.k = (int)k;
    e.r = r;
    e.tail = r * (r * (0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720 + r * (1.0f / 5040)))))));
    e.tail += rest * (1.0f + r);
    return e;
}

/* exp(x + low) 2^-halved. */
MBFMU_INLINE float mbfmu_power_of_e(float x, float low, int halved) {
    const struct mbfmu_exponential e = mbfmu_exponential(x, low);
    return mbfmu_scaled(1.0f + (e.r + e.tail), e.k - halved);
}

MBFMU_CALLED float mbfmu_exp(float x) {
    if (!(fabsf(x) < 110)) return x > 0 ? INFINITY : x < 0 ? 0 : x;
    return mbfmu_power_of_e(x, 0, 0);
}

MBFMU_CALLED float mbfmu_expm1(float x) {
    if (!(fabsf(x) < 30)) return x < 0 ? -1 : mbfmu_exp(x);
    const struct mbfmu_exponential e = mbfmu_exponential(x, 0);
    const float power = mbfmu_power_of_two(e.k);
    return e.k == 0 ? e.r + e.tail : (power - 1.0f) + power * (e.r + e.tail);
}

MBFMU_CALLED float mbfmu_sinh(float x) {
    const float size = fabsf(x), z = x * x;
    if (x != x) return x;
    if (size < 1) return x + x * (z * (1.0f / 6 + z * (1.0f / 120 + z * (1.0f / 5040 + z * (1.0f / 362880)))));
    if (size > 110) return copysignf(INFINITY, x);
    return copysignf(size > 10 ? mbfmu_power_of_e(size, 0, 1) : 0.5f * (mbfmu_exp(size) - mbfmu_exp(-size)), x);
}

MBFMU_CALLED float mbfmu_cosh(float x) {
    const float size = fabsf(x);
    if (x != x) return x;
    if (size > 110) return INFINITY;
    return size > 10 ? mbfmu_power_of_e(size, 0, 1) : 0.5f * (mbfmu_exp(size) + mbfmu_exp(-size));
}

/* (exp(2x) - 1) / (exp(2x) + 1). */
MBFMU_CALLED float mbfmu_tanh(float x) {
    const float size = fabsf(x);
    if (x != x || size < 1e-5f) return x;
    if (size > 10) return copysignf(1.0f, x);
    const float less = mbfmu_expm1(2 * size);
    return copysignf(less / (less + 2), x);
}

/* ---- logarithms and powers: x = 2^k m, m between sqrt(1/2) and sqrt(2), log(m) = 2 s (1 + s^2/3 + s^4/5 + ...) ---- */

/* The unevaluated sum of two floats. */
struct mbfmu_pair {
    float high, low;
};

/* a + b, exactly. */
MBFMU_INLINE struct mbfmu_pair mbfmu_exact_sum(float a, float b) {
    const float sum = a + b, part = sum - a;
    struct mbfmu_pair pair = {sum, (a - (sum - part)) + (b - part)};
    return pair;
}

/* a * b, exactly, for factors between 1e-15 and 1e15. */
MBFMU_INLINE struct mbfmu_pair mbfmu_exact_product(float a, float b) {
    const float ca = 4097.0f * a, cb = 4097.0f * b; /* 2^12 + 1 */
    const float a1 = ca - (ca - a), b1 = cb - (cb - b), a2 = a - a1, b2 = b - b1, product = a * b;
    struct mbfmu_pair pair = {product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
    return pair;
}

/* log(x + low) as a pair, 0 < x < infinity. */
MBFMU_INLINE struct mbfmu_pair mbfmu_log_pair(float x, float low) {
    const int small = x < 1.17549435e-38f;
    const unsigned bits = mbfmu_bits(small ? x * 16777216.0f : x); /* 2^24 */
    const int exponent = (int)((bits - 0x3f3504f3u + 0x40000000u) >> 23) - 128;
    const float m = mbfmu_of_bits(bits - ((unsigned)exponent << 23)), k = (float)(small ? exponent - 24 : exponent);
    /* s = (m - 1)/(m + 1) as a pair, and 2 s (z/3 + z^2/5 + ...) */
    const struct mbfmu_pair more = mbfmu_exact_sum(m, 1.0f);
    const float less = m - 1.0f, s = less / more.high;
    const struct mbfmu_pair back = mbfmu_exact_product(s, more.high);
    const float s_low = (((less - back.high) - back.low) - s * more.low) / more.high, z = s * s;
    const float tail = z * (1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7 + z * (1.0f / 9 + z * (1.0f / 11)))));
    /* k ln 2 in two parts, of which k times the first is exact */
    struct mbfmu_pair sum = mbfmu_exact_sum(k * MBFMU_LN2_HIGH, 2 * s);
    sum.low += k * MBFMU_LN2_LOW + 2 * (s_low + s * tail) + low / x;
    return mbfmu_exact_sum(sum.high, sum.low);
}

MBFMU_CALLED float mbfmu_log(float x) {
    if (!(x > 0)) return x == 0 ? -INFINITY : (x - x) / (x - x);
    return x == INFINITY ? x : mbfmu_log_pair(x, 0).high;
}

MBFMU_CALLED float mbfmu_log1p(float x) {
    if (!(x > -1)) return x == -1 ? -INFINITY : (x - x) / (x - x);
    if (fabsf(x) < 1e-9f || x == INFINITY) return x;
    const struct mbfmu_pair more = mbfmu_exact_sum(1.0f, x);
    return mbfmu_log_pair(more.high, more.low).high;
}

/* Whether a number is whole, as all from 2^24 on are; and whether it is odd. */
MBFMU_INLINE int mbfmu_is_whole(float y) { return fabsf(y) >= 16777216.0f || (float)(int)y == y; }
MBFMU_INLINE int mbfmu_is_odd(float y) { return fabsf(y) < 16777216.0f && mbfmu_is_whole(y) && ((int)y & 1) != 0; }

/* Powers of e of y log(x), and before them the list of C99, F.9.4.4. */
MBFMU_CALLED float mbfmu_pow(float x, float y) {
    const float size = fabsf(x);
    if (y == 0 || x == 1) return 1;
    if (x != x || y != y) return x + y;
    const int whole = mbfmu_is_whole(y);
    const float sign = mbfmu_bits(x) >> 31 && mbfmu_is_odd(y) ? -1.0f : 1.0f;
    if (size == 1) return whole || fabsf(y) == INFINITY ? sign : (x - x) / (x - x);
    const int large = (size > 1) == (y > 0); /* the power */
    if (size == 0 || size == INFINITY || fabsf(y) == INFINITY) return large ? sign * INFINITY : sign * 0;
    if (x < 0 && !whole) return (x - x) / (x - x);
    if (fabsf(y) > 1e10f) return large ? sign * INFINITY : sign * 0;
    struct mbfmu_pair log = mbfmu_log_pair(size, 0);
    const int tiny = fabsf(log.high) < 1e-10f || fabsf(y) < 1e-10f;
    const struct mbfmu_pair product = tiny ? (struct mbfmu_pair){y * log.high, 0} : mbfmu_exact_product(y, log.high);
    if (fabsf(product.high) > 110) return large ? sign * INFINITY : sign * 0;
    return sign * mbfmu_power_of_e(product.high, product.low + y * log.low, 0);
}

/* log(x + sqrt(x^2 + 1)) = log(1 + x + x^2 / (1 + sqrt(1 + x^2))) */
MBFMU_CALLED float mbfmu_asinh(float x) {
    const float size = fabsf(x), square = size * size;
    if (!(size >= 1e-5f) || size == INFINITY) return x;
    if (size > 1e5f) return copysignf(mbfmu_log(size) + 0.693147181f, x);
    return copysignf(mbfmu_log1p(size + square / (1 + sqrtf(1 + square))), x);
}

/* log(x + sqrt(x^2 - 1)) = log(1 + t + sqrt(t (t + 2))), t = x - 1 */
MBFMU_CALLED float mbfmu_acosh(float x) {
    const float t = x - 1;
    if (!(x >= 1)) return (x - x) / (x - x);
    if (x == INFINITY) return x;
    return x > 1e5f ? mbfmu_log(x) + 0.693147181f : mbfmu_log1p(t + sqrtf(t * (t + 2)));
}

/* log((1 + x)/(1 - x)) / 2 */
MBFMU_CALLED float mbfmu_atanh(float x) {
    const float size = fabsf(x);
    if (!(size <= 1)) return (x - x) / (x - x);
    if (size == 1) return copysignf(INFINITY, x);
    return copysignf(0.5f * mbfmu_log1p(2 * size / (1 - size)), x);
}

/* ---- the smaller and the larger; of +0 and -0, which C leaves open, the second ---- */

MBFMU_INLINE float mbfmu_fmin(float x, float y) { return x < y || y != y ? x : y; }

MBFMU_INLINE float mbfmu_fmax(float x, float y) { return x > y || y != y ? x : y; }
