/* Sine and cosine, inline: the same bits on every platform, and no call between two operations.
 *
 * x = n pi/2 + r + low with |r| <= pi/4, by pi/2 in three parts of which two times n are exact (Cody and Waite); then
 * the polynomials of FDLIBM (k_sin.c, k_cos.c), and the signs and places of the quadrant n. Of two calls with one
 * argument the compiler does what they share once. Errors are below 1 in the last digit, but for arguments so near a
 * zero that the result is below 1e-9, where they are below 1e-26. Beyond 1e5 rad the platform's own functions answer.
 */
#include <math.h>
#include <string.h>

#if defined __GNUC__
#define MBFMU_INLINE static inline __attribute__((always_inline, unused))
#else
#define MBFMU_INLINE static inline
#endif

#define LARGEST_ANGLE 1e5

struct mbfmu_angle {
    double sine, cosine; /* of r + low */
    long long quadrant;
};

MBFMU_INLINE struct mbfmu_angle mbfmu_reduced(double x) {
    const double rounding = 6755399441055744.0; /* 1.5 * 2^52: what is added to it is rounded to a whole number */
    struct mbfmu_angle a;
    double n = x * 0.63661977236758138 + rounding;
    memcpy(&a.quadrant, &n, sizeof n);
    n -= rounding;
    double far = x - n * 1.57079632673412561417, near = n * 6.07710050630396597660e-11;
    double r = far - near, low = ((far - r) - near) - n * 2.02226624879595063154e-21;
    double z = r * r, zz = z * z, half = 0.5 * z, one = 1.0 - half;
    double s = (-1.66666666666666324348e-01 + z * 8.33333333332248946124e-03) +
               zz * ((-1.98412698298579493134e-04 + z * 2.75573137070700676789e-06) +
                     zz * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10));
    double c = (4.16666666666666019037e-02 + z * -1.38888888888741095749e-03) +
               zz * ((2.48015872894767294178e-05 + z * -2.75573143513906633035e-07) +
                     zz * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11));
    a.sine = r + (low * one + (r * z) * s);
    a.cosine = one + (((1.0 - one) - half) + (zz * c - r * low));
    return a;
}

/* b, or -b where bit 1 of the quadrant is set. */
MBFMU_INLINE double mbfmu_signed(double b, long long quadrant) {
    unsigned long long bits = 0x3ff0000000000000u | (unsigned long long)(quadrant & 2) << 62; /* of 1 or -1 */
    double sign;
    memcpy(&sign, &bits, sizeof sign);
    return b * sign;
}

MBFMU_INLINE double mbfmu_sin(double x) {
    struct mbfmu_angle a = mbfmu_reduced(x);
    double found = mbfmu_signed(a.quadrant & 1 ? a.cosine : a.sine, a.quadrant);
    return fabs(x) <= LARGEST_ANGLE ? found : sin(x);
}

MBFMU_INLINE double mbfmu_cos(double x) {
    struct mbfmu_angle a = mbfmu_reduced(x);
    double found = mbfmu_signed(a.quadrant & 1 ? a.sine : a.cosine, a.quadrant + 1);
    return fabs(x) <= LARGEST_ANGLE ? found : cos(x);
}
