/* Elementary functions that give the same bits on every processor.
 *
 * They use nothing but IEEE's exactly rounded +, -, *, / and sqrt; the platform's library picks other instructions on
 * other processors. The compiler must not contract a * b + c (-ffp-contract=off). Errors are below 1 unit in the last
 * place; special values are those of C99, Annex F, but that the sine of -0 is +0. Sine and cosine are inline, the
 * others called.
 *
 * Pairs of doubles (T. J. Dekker, A floating-point technique for extending the available precision, Numerische
 * Mathematik 18, 1971) carry what the rounding of a double would lose.
 */
#include <math.h>
#include <string.h>

#if defined __GNUC__ && defined __OPTIMIZE__
#define MBFMU_INLINE static inline __attribute__((always_inline, unused))
#define MBFMU_CALLED static __attribute__((noinline, unused, const))
#define MBFMU_RARE static __attribute__((noinline, unused, const, cold))
#elif defined __GNUC__ /* gcc -O0 leaves an inline function out that nothing calls, but no other */
#define MBFMU_INLINE static inline __attribute__((unused))
#define MBFMU_CALLED static inline __attribute__((unused, const))
#define MBFMU_RARE static inline __attribute__((unused, const, cold))
#else
#define MBFMU_INLINE static inline
#define MBFMU_CALLED static
#define MBFMU_RARE static
#endif

#define MBFMU_ROUNDING 6755399441055744.0 /* 1.5 * 2^52: what is added to it is rounded to a whole number */

/* ---- pairs ---- */

/* The unevaluated sum of two doubles. */
struct mbfmu_pair {
    double high, low;
};

MBFMU_INLINE struct mbfmu_pair mbfmu_pair(double high, double low) {
    struct mbfmu_pair sum = {high, low};
    return sum;
}

/* a + b, exactly. */
MBFMU_INLINE struct mbfmu_pair mbfmu_exact_sum(double a, double b) {
    double sum = a + b, part = sum - a;
    return mbfmu_pair(sum, (a - (sum - part)) + (b - part));
}

/* a * b, exactly, for factors between 1e-140 and 1e140. */
MBFMU_INLINE struct mbfmu_pair mbfmu_exact_product(double a, double b) {
    double ca = 134217729.0 * a, cb = 134217729.0 * b; /* 2^27 + 1 */
    double a1 = ca - (ca - a), b1 = cb - (cb - b), a2 = a - a1, b2 = b - b1, product = a * b;
    return mbfmu_pair(product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2);
}

MBFMU_INLINE struct mbfmu_pair mbfmu_pair_sum(struct mbfmu_pair a, struct mbfmu_pair b) {
    struct mbfmu_pair sum = mbfmu_exact_sum(a.high, b.high);
    return mbfmu_exact_sum(sum.high, sum.low + (a.low + b.low));
}

MBFMU_INLINE struct mbfmu_pair mbfmu_pair_product(struct mbfmu_pair a, struct mbfmu_pair b) {
    struct mbfmu_pair product = mbfmu_exact_product(a.high, b.high);
    return mbfmu_exact_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

MBFMU_INLINE struct mbfmu_pair mbfmu_pair_quotient(struct mbfmu_pair a, struct mbfmu_pair b) {
    double quotient = a.high / b.high;
    struct mbfmu_pair back = mbfmu_exact_product(quotient, b.high);
    return mbfmu_pair(quotient, (((a.high - back.high) - back.low) + (a.low - quotient * b.low)) / b.high);
}

MBFMU_INLINE struct mbfmu_pair mbfmu_pair_root(struct mbfmu_pair a) {
    double root = sqrt(a.high);
    struct mbfmu_pair back = mbfmu_exact_product(root, root);
    return mbfmu_pair(root, root > 0 ? (((a.high - back.high) - back.low) + a.low) / (2 * root) : 0);
}

MBFMU_INLINE unsigned long long mbfmu_bits(double x) {
    unsigned long long bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

MBFMU_INLINE double mbfmu_of_bits(unsigned long long bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^k for -1022 <= k <= 1023. */
MBFMU_INLINE double mbfmu_power_of_two(long long k) { return mbfmu_of_bits((unsigned long long)(k + 1023) << 52); }

/* x 2^k for x in [1/2, 2] and |k| < 1900, rounded once. */
MBFMU_INLINE double mbfmu_scaled(double x, long long k) {
    if (k > 1000) return x * mbfmu_power_of_two(1000) * mbfmu_power_of_two(k - 1000);
    if (k < -1000) return k < -1100 ? 0 : x * mbfmu_power_of_two(k + 200) * mbfmu_power_of_two(-200);
    return x * mbfmu_power_of_two(k);
}

/* ---- sine, cosine, tangent ----
 *
 * x = n pi/2 + r + low with |r| <= pi/4, by pi/2 in three parts of which two times n are exact (Cody and Waite); then
 * the polynomials of FDLIBM (k_sin.c, k_cos.c), and the signs and places of the quadrant n. Of two calls with one
 * argument the compiler does what they share once. Up to 1e5 rad, arguments so near a zero that the result is below
 * 1e-9 have errors below 1e-26. Larger angles are reduced with as many digits of 2/pi as they need (M. H. Payne and
 * R. N. Hanek, Radian reduction for trigonometric functions, ACM SIGNUM Newsletter 18, 1983).
 */

#define NUMBER double
#define BITS unsigned long long
#define TRUTH int
#define BIT_1(bits) ((bits) >> 1 << 63)
#define NAMED(name) mbfmu_##name
#define AS_BITS mbfmu_bits
#define OF_BITS mbfmu_of_bits
#define IF_ODD(bits, x, y) ((bits) & 1 ? (x) : (y))
#include "circular.h"

/* 64 bits of a number, least word first, from a place on. */
MBFMU_INLINE unsigned long long mbfmu_64_bits(const unsigned *words, int place) {
    const unsigned *w = words + place / 32;
    int shift = place % 32;
    unsigned long long low = (unsigned long long)w[1] << 32 | w[0];
    return shift ? low >> shift | (unsigned long long)w[2] << (64 - shift) : low;
}

/* The same for any finite x with |x| > 1. */
MBFMU_RARE struct mbfmu_angle mbfmu_reduced_from_far(double x) {
    static const unsigned two_over_pi[] = {
        0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u,
        0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u,
        0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu,
        0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu,
        0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu,
    };
    unsigned long long mantissa = (mbfmu_bits(x) & 0xfffffffffffffu) | 0x10000000000000u, sum = 0, head, tail;
    int exponent = (int)(mbfmu_bits(x) >> 52 & 0x7ff) - 1075; /* |x| = mantissa 2^exponent */
    int first = exponent > 2 ? (exponent - 2) / 32 : 0; /* words before it give multiples of 4 */
    unsigned product[11] = {0}; /* of the mantissa and seven words */
    for (int half = 0; half < 2; ++half) {
        unsigned long long factor = half ? mantissa >> 32 : mantissa & 0xffffffffu;
        sum = 0;
        for (int i = 0; i < 7; ++i) {
            sum += factor * two_over_pi[first + 6 - i] + product[half + i];
            product[half + i] = (unsigned)sum;
            sum >>= 32;
        }
        product[half + 7] = (unsigned)sum;
    }
    int point = 224 - (exponent - 32 * first);
    struct mbfmu_angle a;
    a.quadrant = mbfmu_64_bits(product, point) & 3;
    head = mbfmu_64_bits(product, point - 64);
    tail = mbfmu_64_bits(product, point - 128);
    int above = (int)(head >> 63), shift = 0; /* above: a fraction from 1/2 on is counted from the next quadrant */
    if (above) {
        a.quadrant += 1;
        tail = -tail;
        head = ~head + (tail == 0);
    }
    for (; shift < 64 && !(head >> 63); ++shift) {
        head = head << 1 | tail >> 63;
        tail <<= 1;
    }
    struct mbfmu_pair fraction;
    fraction.high = (double)(head >> 11) * mbfmu_power_of_two(-53 - shift);
    fraction.low = (double)((head & 0x7ff) << 42 | tail >> 22) * mbfmu_power_of_two(-106 - shift);
    struct mbfmu_pair rest =
        mbfmu_pair_product(fraction, mbfmu_pair(1.57079632679489655800e+00, 6.12323399573676603587e-17));
    int turned = above != (x < 0);
    a.r = turned ? -rest.high : rest.high;
    a.low = turned ? -rest.low : rest.low;
    if (x < 0) a.quadrant = -a.quadrant;
    return a;
}

MBFMU_RARE double mbfmu_sine_from_far(double x) {
    return fabs(x) < INFINITY ? mbfmu_sine_in(mbfmu_turned(mbfmu_reduced_from_far(x))) : x - x;
}

MBFMU_RARE double mbfmu_cosine_from_far(double x) {
    return fabs(x) < INFINITY ? mbfmu_cosine_in(mbfmu_turned(mbfmu_reduced_from_far(x))) : x - x;
}

MBFMU_INLINE double mbfmu_sin(double x) {
    struct mbfmu_turn a = mbfmu_turned(mbfmu_reduced(x));
    double sine = mbfmu_sine_in(a);
    return mbfmu_is_near(a.quadrant) ? sine : mbfmu_sine_from_far(x);
}

MBFMU_INLINE double mbfmu_cos(double x) {
    struct mbfmu_turn a = mbfmu_turned(mbfmu_reduced(x));
    double cosine = mbfmu_cosine_in(a);
    return mbfmu_is_near(a.quadrant) ? cosine : mbfmu_cosine_from_far(x);
}

/* Sine over cosine, or minus cosine over sine, both as pairs. */
MBFMU_CALLED double mbfmu_tan(double x) {
    if (!(fabs(x) < INFINITY)) return x - x;
    if (fabs(x) < 1e-9) return x;
    struct mbfmu_angle a = mbfmu_reduced(x);
    if (!mbfmu_is_near(a.quadrant) || (fabs(a.r) < 1e-6 && fabs(x) > 1)) a = mbfmu_reduced_from_far(x);
    struct mbfmu_pair square = mbfmu_exact_product(a.r, a.r), cube, sine, cosine;
    double z = square.high, zz = z * z;
    cube = mbfmu_pair_product(mbfmu_pair(a.r, 0), square);
    sine = mbfmu_pair_product(cube, mbfmu_pair(MBFMU_SINE_3, z * MBFMU_SINE_5 + zz * mbfmu_sine_rest(z, zz)));
    sine = mbfmu_pair_sum(mbfmu_pair(a.r, a.low * (1.0 - 0.5 * z)), sine);
    cosine = mbfmu_exact_sum(1.0, -0.5 * z);
    cosine.low += zz * mbfmu_cosine_series(z, zz) - (a.r * a.low + 0.5 * square.low);
    cosine = mbfmu_exact_sum(cosine.high, cosine.low);
    struct mbfmu_pair tangent =
        a.quadrant & 1 ? mbfmu_pair_quotient(cosine, sine) : mbfmu_pair_quotient(sine, cosine);
    double value = tangent.high + tangent.low;
    return a.quadrant & 1 ? -value : value;
}

/* ---- arcs ----
 *
 * The angle of a point (x, y) of the first octant is that of y/x, or pi/4 more than that of (y - x)/(y + x), both
 * at most tan(pi/8); then the polynomial of FDLIBM (s_atan.c).
 */

/* The angle of a point of the first quadrant. */
MBFMU_INLINE struct mbfmu_pair mbfmu_arc(struct mbfmu_pair y, struct mbfmu_pair x) {
    int swapped = y.high > x.high;
    struct mbfmu_pair a = swapped ? x : y, b = swapped ? y : x, base = mbfmu_pair(0, 0), t, angle;
    if (a.high > 0.41421356237309503 * b.high) {
        struct mbfmu_pair minus = mbfmu_pair(-b.high, -b.low), difference = mbfmu_pair_sum(a, minus);
        b = mbfmu_pair_sum(a, b);
        a = difference;
        base = mbfmu_pair(7.85398163397448278999e-01, 3.06161699786838301793e-17);
    }
    t = mbfmu_pair_quotient(a, b);
    double z = t.high * t.high, w = z * z;
    double odd = 3.33333333333329318027e-01 +
                 w * (1.42857142725034663711e-01 +
                      w * (9.09088713343650656196e-02 +
                           w * (6.66107313738753120669e-02 +
                                w * (4.97687799461593236017e-02 + w * 1.62858201153657823623e-02))));
    double even = -1.99999999998764832476e-01 +
                  w * (-1.11111104054623557880e-01 +
                       w * (-7.69187620504482999495e-02 +
                            w * (-5.83357013379057348645e-02 + w * -3.65315727442169155270e-02)));
    angle = mbfmu_exact_sum(base.high, t.high);
    angle.low += base.low + (t.low * (1.0 - z) - t.high * (z * (odd + z * even)));
    if (swapped) {
        double low = angle.low;
        angle = mbfmu_exact_sum(1.57079632679489655800e+00, -angle.high);
        angle.low += 6.12323399573676603587e-17 - low;
    }
    return angle;
}

/* The same, mirrored at the y axis where asked for. */
MBFMU_INLINE double mbfmu_mirrored(struct mbfmu_pair angle, int left) {
    if (!left) return angle.high + angle.low;
    struct mbfmu_pair rest = mbfmu_exact_sum(3.14159265358979311600e+00, -angle.high);
    return rest.high + (rest.low + (1.22464679914735320717e-16 - angle.low));
}

MBFMU_CALLED double mbfmu_atan(double x) {
    double size = fabs(x);
    if (!(size >= 1e-9)) return x;
    if (size > 1e18) return copysign(1.57079632679489655800e+00, x);
    return copysign(mbfmu_mirrored(mbfmu_arc(mbfmu_pair(size, 0), mbfmu_pair(1, 0)), 0), x);
}

MBFMU_CALLED double mbfmu_atan2(double y, double x) {
    double a = fabs(y), b = fabs(x), angle;
    int left = (int)(mbfmu_bits(x) >> 63);
    if (x != x || y != y) return x + y;
    if (a == b && (a == 0 || a == INFINITY)) { /* as if on the axis, and on the diagonal */
        angle = a == 0 ? 0 : 7.85398163397448278999e-01;
        return copysign(left ? a == 0 ? 3.14159265358979311600e+00 : 2.35619449019234483700e+00 : angle, y);
    }
    if (b < a * 1e-20) return copysign(1.57079632679489655800e+00, y);
    if (a < b * 1e-20) return left ? copysign(3.14159265358979311600e+00, y) : y / b;
    double scale = mbfmu_power_of_two(a + b > 1e100 ? -600 : a + b < 1e-100 ? 600 : 0);
    struct mbfmu_pair arc = mbfmu_arc(mbfmu_pair(a * scale, 0), mbfmu_pair(b * scale, 0));
    return copysign(mbfmu_mirrored(arc, left), y);
}

/* sqrt(1 - x^2) for 1e-9 <= x <= 1. */
MBFMU_INLINE struct mbfmu_pair mbfmu_other_leg(double x) {
    struct mbfmu_pair square = mbfmu_exact_product(x, x), rest = mbfmu_exact_sum(1.0, -square.high);
    return mbfmu_pair_root(mbfmu_exact_sum(rest.high, rest.low - square.low));
}

MBFMU_CALLED double mbfmu_asin(double x) {
    double size = fabs(x);
    if (!(size <= 1)) return (x - x) / (x - x);
    if (size < 1e-9) return x;
    struct mbfmu_pair arc = mbfmu_arc(mbfmu_pair(size, 0), mbfmu_other_leg(size));
    return copysign(arc.high + arc.low, x);
}

MBFMU_CALLED double mbfmu_acos(double x) {
    double size = fabs(x);
    if (!(size <= 1)) return (x - x) / (x - x);
    if (size < 1e-18) return 1.57079632679489655800e+00;
    return mbfmu_mirrored(mbfmu_arc(mbfmu_other_leg(size), mbfmu_pair(size, 0)), x < 0);
}

MBFMU_CALLED double mbfmu_hypot(double x, double y) {
    double a = fabs(x), b = fabs(y);
    if (a == INFINITY || b == INFINITY) return INFINITY;
    if (!(a + b > 0) || b < a * 1e-20 || a < b * 1e-20) return a + b;
    double scale = mbfmu_power_of_two(a + b > 1e100 ? -600 : a + b < 1e-100 ? 600 : 0);
    double back = mbfmu_power_of_two(a + b > 1e100 ? 600 : a + b < 1e-100 ? -600 : 0);
    struct mbfmu_pair root = mbfmu_pair_root(
        mbfmu_pair_sum(mbfmu_exact_product(a * scale, a * scale), mbfmu_exact_product(b * scale, b * scale)));
    return (root.high + root.low) * back;
}

/* ---- exponential functions ----
 *
 * x = k ln 2 + r with |r| <= ln(2)/2, by ln 2 in two parts of which k times the first is exact (Cody and Waite); then
 * exp(r) = 1 + r + tail, by its Taylor series.
 */

struct mbfmu_exponential {
    double r, tail;
    long long k;
};

/* Of x + low, |x| < 1000. */
MBFMU_INLINE struct mbfmu_exponential mbfmu_exponential(double x, double low) {
    struct mbfmu_exponential e;
    double sum = x * 1.44269504088896338700e+00 + MBFMU_ROUNDING, k = sum - MBFMU_ROUNDING;
    double far = x - k * 6.93147180369123816490e-01, near = k * 1.90821492927058770002e-10;
    double r = far - near, rest = ((far - r) - near) + low, z = r * r, w = z * z;
    e.k = (long long)(mbfmu_bits(sum) - mbfmu_bits(MBFMU_ROUNDING));
    double series = ((1.0 / 6 + r * (1.0 / 24)) + z * (1.0 / 120 + r * (1.0 / 720))) +
                    w * (((1.0 / 5040 + r * (1.0 / 40320)) + z * (1.0 / 362880 + r * (1.0 / 3628800))) +
                         w * ((1.0 / 39916800 + r * (1.0 / 479001600)) + z * (1.0 / 6227020800.0)));
    e.r = r;
    e.tail = 0.5 * z + z * (r * series);
    e.tail += rest * (1.0 + (r + e.tail));
    return e;
}

/* 2^k (1 + r + tail) for the k of another power of e, up to |k| <= 1022. */
MBFMU_INLINE struct mbfmu_pair mbfmu_times(struct mbfmu_exponential e, long long k) {
    double power = mbfmu_power_of_two(k);
    struct mbfmu_pair sum = mbfmu_exact_sum(1.0, e.r);
    return mbfmu_pair(sum.high * power, (sum.low + e.tail) * power);
}

MBFMU_INLINE double mbfmu_power_of_e(double x, double low, int halved) {
    struct mbfmu_exponential e = mbfmu_exponential(x, low);
    struct mbfmu_pair sum = mbfmu_exact_sum(1.0, e.r);
    return mbfmu_scaled(sum.high + (sum.low + e.tail), e.k - halved);
}

MBFMU_CALLED double mbfmu_exp(double x) {
    if (!(fabs(x) < 750)) return x > 0 ? INFINITY : x < 0 ? 0 : x;
    return mbfmu_power_of_e(x, 0, 0);
}

/* exp(x) - 1 for |x| < 700. */
MBFMU_INLINE struct mbfmu_pair mbfmu_exp_less_one(double x) {
    struct mbfmu_exponential e = mbfmu_exponential(x, 0);
    if (e.k == 0) return mbfmu_exact_sum(e.r, e.tail);
    return mbfmu_pair_sum(mbfmu_pair(-1.0, 0), mbfmu_times(e, e.k));
}

MBFMU_CALLED double mbfmu_expm1(double x) {
    if (fabs(x) < 1e-18) return x;
    if (!(fabs(x) < 60)) return x < 0 ? -1 : mbfmu_exp(x);
    struct mbfmu_pair difference = mbfmu_exp_less_one(x);
    return difference.high + difference.low;
}

/* (exp(x) + sign exp(-x)) / 2 for x > 0. */
MBFMU_INLINE double mbfmu_mean(double x, double sign) {
    if (x > 750) return INFINITY;
    if (x > 40) return mbfmu_power_of_e(x, 0, 1);
    struct mbfmu_exponential up = mbfmu_exponential(x, 0), down = mbfmu_exponential(-x, 0);
    struct mbfmu_pair a = mbfmu_times(up, up.k - 1), b = mbfmu_times(down, down.k - 1);
    struct mbfmu_pair sum = mbfmu_exact_sum(a.high, sign * b.high);
    return sum.high + (sum.low + (a.low + sign * b.low));
}

MBFMU_CALLED double mbfmu_sinh(double x) {
    double size = fabs(x), z = x * x;
    if (size != size || size < 1e-9) return x;
    if (size < 0.35)
        return x + x * (z * (1.0 / 6 + z * (1.0 / 120 + z * (1.0 / 5040 + z * (1.0 / 362880 +
                             z * (1.0 / 39916800 + z * (1.0 / 6227020800.0)))))));
    return copysign(mbfmu_mean(size, -1), x);
}

MBFMU_CALLED double mbfmu_cosh(double x) {
    return x != x ? x : mbfmu_mean(fabs(x), 1);
}

/* (exp(2x) - 1) / (exp(2x) + 1). */
MBFMU_CALLED double mbfmu_tanh(double x) {
    double size = fabs(x);
    if (size != size || size < 1e-9) return x;
    if (size > 20) return copysign(1.0, x);
    struct mbfmu_pair less = mbfmu_exp_less_one(2 * size), more = mbfmu_exact_sum(2.0, less.high);
    struct mbfmu_pair quotient = mbfmu_pair_quotient(less, mbfmu_pair(more.high, more.low + less.low));
    return copysign(quotient.high + quotient.low, x);
}

/* ---- logarithms and powers ----
 *
 * x = 2^k m with m between sqrt(1/2) and sqrt(2), and s = (m - 1)/(m + 1): log(m) = 2 s (1 + s^2/3 + s^4/5 + ...).
 * log takes the polynomial of FDLIBM (e_log.c); the others need log(m) as a pair, right to about 2^-66.
 */

struct mbfmu_parts {
    double m, k;
};

/* Of 0 < x < infinity. */
MBFMU_INLINE struct mbfmu_parts mbfmu_parts(double x) {
    int small = x < 2.2250738585072014e-308;
    unsigned long long bits = mbfmu_bits(small ? x * 18014398509481984.0 : x); /* 2^54 */
    long long k = (long long)((bits - 0x3fe6a09e667f3bcdu + 0x4000000000000000u) >> 52) - 1024;
    struct mbfmu_parts parts;
    parts.m = mbfmu_of_bits(bits - ((unsigned long long)k << 52));
    parts.k = (double)(small ? k - 54 : k);
    return parts;
}

MBFMU_CALLED double mbfmu_log(double x) {
    if (!(x > 0)) return x == 0 ? -INFINITY : (x - x) / (x - x);
    if (x == INFINITY) return x;
    struct mbfmu_parts parts = mbfmu_parts(x);
    double f = parts.m - 1.0, s = f / (2.0 + f), z = s * s, w = z * z, half = 0.5 * f * f;
    double odd = z * (6.666666666666735130e-01 +
                      w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860510658591e-01)));
    double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double bend = s * (half + (odd + even)); /* f - half + bend is log(m) */
    return parts.k * 6.93147180369123816490e-01 - ((half - (bend + parts.k * 1.90821492927058770002e-10)) - f);
}

/* Of x + low, 0 < x < infinity. */
MBFMU_INLINE struct mbfmu_pair mbfmu_log_pair(double x, double low) {
    struct mbfmu_parts parts = mbfmu_parts(x);
    struct mbfmu_pair s = mbfmu_pair_quotient(mbfmu_pair(parts.m - 1.0, 0), mbfmu_exact_sum(parts.m, 1.0));
    struct mbfmu_pair z = mbfmu_pair_product(s, s), sum;
    double w = z.high;
    double series = 1.0 / 7 + w * (1.0 / 9 + w * (1.0 / 11 + w * (1.0 / 13 + w * (1.0 / 15 + w * (1.0 / 17 +
                    w * (1.0 / 19 + w * (1.0 / 21 + w * (1.0 / 23 + w * (1.0 / 25)))))))));
    sum = mbfmu_exact_sum(1.0 / 5, w * series + -1.11022302462515655e-17);                        /* + s^4/7 ... */
    sum = mbfmu_pair_sum(mbfmu_pair(1.0 / 3, 1.85037170770859413e-17), mbfmu_pair_product(z, sum));
    sum = mbfmu_pair_product(s, mbfmu_pair_product(z, sum));
    sum = mbfmu_pair_sum(mbfmu_pair(2 * s.high, 2 * s.low), mbfmu_pair(2 * sum.high, 2 * sum.low));
    struct mbfmu_pair far = mbfmu_exact_sum(parts.k * 6.93147180369123816490e-01, parts.k * 1.90821492927058770002e-10);
    sum = mbfmu_pair_sum(far, sum);
    return mbfmu_exact_sum(sum.high, sum.low + low / x);
}

/* log(1 + x) */
MBFMU_INLINE struct mbfmu_pair mbfmu_log_of_more(struct mbfmu_pair x) {
    struct mbfmu_pair sum = mbfmu_exact_sum(1.0, x.high);
    return mbfmu_log_pair(sum.high, sum.low + x.low);
}

MBFMU_CALLED double mbfmu_log1p(double x) {
    if (!(x > -1)) return x == -1 ? -INFINITY : (x - x) / (x - x);
    if (fabs(x) < 1e-17 || x == INFINITY) return x;
    struct mbfmu_pair value = mbfmu_log_of_more(mbfmu_pair(x, 0));
    return value.high + value.low;
}

/* Whether a number is whole, as all from 2^53 on are; and whether it is odd. */
MBFMU_INLINE int mbfmu_is_whole(double y) { return fabs(y) >= 9007199254740992.0 || (double)(long long)y == y; }
MBFMU_INLINE int mbfmu_is_odd(double y) { return fabs(y) < 9007199254740992.0 && mbfmu_is_whole(y) && (long long)y & 1; }

/* Powers of e of y log(x), and before them the list of C99, F.9.4.4. */
MBFMU_CALLED double mbfmu_pow(double x, double y) {
    double size = fabs(x);
    if (y == 0 || x == 1) return 1;
    if (x != x || y != y) return x + y;
    double sign = mbfmu_bits(x) >> 63 && mbfmu_is_odd(y) ? -1 : 1;
    int whole = mbfmu_is_whole(y);
    if (size == 1) return whole || fabs(y) == INFINITY ? sign : (x - x) / (x - x);
    int large = (size > 1) == (y > 0); /* the power */
    if (size == 0 || size == INFINITY || fabs(y) == INFINITY) return large ? sign * INFINITY : sign * 0;
    if (x < 0 && !whole) return (x - x) / (x - x);
    if (fabs(y) > 1e20) return large ? sign * INFINITY : sign * 0;
    struct mbfmu_pair log = mbfmu_log_pair(size, 0), product = mbfmu_exact_product(y, log.high);
    if (fabs(product.high) > 750) return large ? sign * INFINITY : sign * 0;
    return sign * mbfmu_power_of_e(product.high, product.low + y * log.low, 0);
}

/* log(x + sqrt(x^2 + 1)) = log(1 + x + x^2 / (1 + sqrt(1 + x^2))) */
MBFMU_CALLED double mbfmu_asinh(double x) {
    double size = fabs(x);
    struct mbfmu_pair one = mbfmu_pair(1, 0), itself = mbfmu_pair(size, 0), square, root, value;
    if (!(size >= 1e-9) || size == INFINITY) return x;
    if (size > 1e9) {
        value = mbfmu_log_pair(size, 0);
        value = mbfmu_pair_sum(value, mbfmu_pair(6.93147180559945286227e-01, 2.31904681384629955842e-17));
    } else {
        square = mbfmu_exact_product(size, size);
        root = mbfmu_pair_root(mbfmu_pair_sum(one, square));
        square = mbfmu_pair_quotient(square, mbfmu_pair_sum(one, root));
        value = mbfmu_log_of_more(mbfmu_pair_sum(itself, square));
    }
    return copysign(value.high + value.low, x);
}

/* log(x + sqrt(x^2 - 1)) = log(1 + t + sqrt(t (t + 2))), t = x - 1 */
MBFMU_CALLED double mbfmu_acosh(double x) {
    struct mbfmu_pair value, t = mbfmu_pair(x - 1, 0), root;
    if (!(x >= 1)) return (x - x) / (x - x);
    if (x == 1 || x == INFINITY) return x == 1 ? 0 : x;
    if (x > 1e9) {
        value = mbfmu_log_pair(x, 0);
        value = mbfmu_pair_sum(value, mbfmu_pair(6.93147180559945286227e-01, 2.31904681384629955842e-17));
    } else {
        t = mbfmu_exact_sum(x, -1.0);
        root = mbfmu_pair_root(mbfmu_pair_product(t, mbfmu_pair_sum(t, mbfmu_pair(2, 0))));
        value = mbfmu_log_of_more(mbfmu_pair_sum(t, root));
    }
    return value.high + value.low;
}

/* log((1 + x)/(1 - x)) / 2 */
MBFMU_CALLED double mbfmu_atanh(double x) {
    double size = fabs(x);
    if (!(size <= 1)) return (x - x) / (x - x);
    if (size < 1e-9) return x;
    if (size == 1) return copysign(INFINITY, x);
    struct mbfmu_pair twice = mbfmu_pair(2 * size, 0), value;
    value = mbfmu_log_of_more(mbfmu_pair_quotient(twice, mbfmu_exact_sum(1.0, -size)));
    return copysign(0.5 * value.high + 0.5 * value.low, x);
}

/* ---- the smaller and the larger; of +0 and -0, which C leaves open, the second ---- */

MBFMU_INLINE double mbfmu_fmin(double x, double y) { return x < y || y != y ? x : y; }

MBFMU_INLINE double mbfmu_fmax(double x, double y) { return x > y || y != y ? x : y; }
