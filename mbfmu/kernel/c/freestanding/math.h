/* What kernels and the core use of the C library's math.h, for tcc on x86-64 and for plain C: they need no libm.
 *
 * All of it is exact or, as sqrt, exactly rounded, so that the bits are those of any C library.
 */
#ifndef MBFMU_MATH_H
#define MBFMU_MATH_H

#define INFINITY (1e308 * 10)
#define NAN (mbfmu_number(0x7ff8000000000000))
#define isnan(x) ((x) != (x))
#define isfinite(x) (fabs(x) < INFINITY)
#define isinf(x) (fabs(x) == INFINITY)
#define signbit(x) (copysign(1.0, x) < 0)

union mbfmu_double {
    double value;
    unsigned long long bits;
};

static inline double mbfmu_number(unsigned long long bits) {
    union mbfmu_double x;
    x.bits = bits;
    return x.value;
}

static inline double copysign(double x, double y) {
    union mbfmu_double size, sign;
    size.value = x, sign.value = y;
    return mbfmu_number((size.bits & 0x7fffffffffffffff) | (sign.bits & 0x8000000000000000));
}

static inline double fabs(double x) { return copysign(x, 1.0); }

#ifdef __TINYC__
/* sqrtsd (%rax), %xmm0 and movsd %xmm0, (%rax), which tcc's assembler does not know by name. */
static inline double sqrt(double x) {
    __asm__(".byte 0xf2, 0x0f, 0x51, 0x00, 0xf2, 0x0f, 0x11, 0x00" : : "a"(&x) : "memory");
    return x;
}
#elif defined __SSE2__ || defined __aarch64__ || defined __ARM_FP && __ARM_FP & 8 || defined __wasm__ || \
    defined __riscv_flen && __riscv_flen >= 64
static inline double sqrt(double x) { return __builtin_sqrt(x); } /* an instruction, with -fno-math-errno */
#else
/* The root of m 4^e for m in [1, 4), bit by bit: 54 of them, the last of which rounds, as no root lies halfway. */
static inline double sqrt(double x) {
    union mbfmu_double number, result;
    unsigned long long left = 0, root = 0, mantissa;
    int exponent, k;
    if (!(x > 0) || x == INFINITY) return x < 0 ? NAN : x;
    number.value = x < 1e-300 ? x * 18014398509481984.0 : x; /* 2^54 */
    exponent = (int)(number.bits >> 52) - 1023;
    mantissa = (number.bits & 0xfffffffffffff) | 0x10000000000000;
    if (exponent & 1) mantissa <<= 1;
    exponent = (exponent - (exponent & 1)) / 2;
    for (k = 0; k < 54; ++k) {
        left = left << 2 | (k < 27 ? mantissa >> (52 - 2 * k) & 3 : 0);
        root <<= 1;
        if (left >= 2 * root + 1) left -= 2 * root + 1, ++root;
    }
    root = (root + 1) >> 1;
    result.bits = ((unsigned long long)(exponent + 1023) << 52) + (root - 0x10000000000000);
    return x < 1e-300 ? result.value / 134217728.0 : result.value; /* 2^27 */
}
#endif

static inline double fmin(double x, double y) { return isnan(x) || y < x ? y : x; }

static inline double fmax(double x, double y) { return isnan(x) || y > x ? y : x; }

/* Sizes of at least 2^52 are whole; smaller ones fit into a whole number of 64 bits. */
static inline double floor(double x) {
    if (!(fabs(x) < 4503599627370496.0)) return x;
    double whole = (double)(long long)x;
    return copysign(whole > x ? whole - 1 : whole, x);
}

static inline double ceil(double x) { return -floor(-x); }

/* Sums beyond 2^52 are rounded to whole numbers, of two that are as near to the even one. */
static inline double rint(double x) {
    const double shift = copysign(4503599627370496.0, x);
    return fabs(x) < 4503599627370496.0 ? copysign(x + shift - shift, x) : x;
}

/* Every difference is exact: it leaves less than half of what it is taken from. */
static inline double fmod(double x, double y) {
    double left = fabs(x), size = fabs(y), part = size;
    if (!(left < INFINITY) || !(size > 0)) return (x * y) / (x * y);
    if (size == INFINITY) return x;
    while (part <= left - part) part += part;
    while (left >= size) {
        if (left >= part) left -= part;
        part /= 2;
    }
    return copysign(left, x);
}

#endif
