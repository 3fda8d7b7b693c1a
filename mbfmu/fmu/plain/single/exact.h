/* What the step uses of the C library's math.h, in single precision: it needs no libm.
 *
 * All of it is exact or, as sqrtf, exactly rounded, so that the bits are those of any C library.
 */
#ifndef MBFMU_MATH_H
#define MBFMU_MATH_H

#include <stddef.h>
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *one, const void *other, size_t size);

#define INFINITY (1e38f * 10.0f)
#define NAN (mbfmu_of_bits(0x7fc00000u))
#define isnan(x) ((x) != (x))
#define isfinite(x) (fabsf(x) < INFINITY)

static inline unsigned mbfmu_bits(float x) {
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float mbfmu_of_bits(unsigned bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float copysignf(float x, float y) {
    return mbfmu_of_bits((mbfmu_bits(x) & 0x7fffffffu) | (mbfmu_bits(y) & 0x80000000u));
}

static inline float fabsf(float x) { return mbfmu_of_bits(mbfmu_bits(x) & 0x7fffffffu); }

#if !defined __TINYC__ && (defined __SSE__ || defined __aarch64__ || defined __ARM_FP && __ARM_FP & 4 || defined __wasm__ || \
    defined __riscv_flen)
static inline float sqrtf(float x) { return __builtin_sqrtf(x); } /* an instruction, with -fno-math-errno */
#else
/* The root of m 4^e for m in [1, 4), bit by bit: 25 of them, the last of which rounds, as no root lies halfway. */
static inline float sqrtf(float x) {
    if (!(x > 0) || x == INFINITY) return x < 0 ? NAN : x;
    const int tiny = x < 1e-30f;
    const unsigned bits = mbfmu_bits(tiny ? x * 16777216.0f : x); /* 2^24 */
    unsigned mantissa = (bits & 0x7fffffu) | 0x800000u, left = 0, root = 0;
    int exponent = (int)(bits >> 23) - 127;
    if (exponent & 1) mantissa <<= 1;
    exponent = (exponent - (exponent & 1)) / 2;
    for (int k = 0; k < 25; ++k) {
        left = left << 2 | (k < 13 ? (k < 12 ? mantissa >> (23 - 2 * k) : mantissa << 1) & 3 : 0);
        root <<= 1;
        if (left >= 2 * root + 1) {
            left -= 2 * root + 1;
            ++root;
        }
    }
    root = (root + 1) >> 1;
    const float result = mbfmu_of_bits(((unsigned)(exponent + 127) << 23) + (root - 0x800000u));
    return tiny ? result / 4096.0f : result;
}
#endif

static inline float fminf(float x, float y) { return isnan(x) || y < x ? y : x; }

static inline float fmaxf(float x, float y) { return isnan(x) || y > x ? y : x; }

/* Sizes of at least 2^23 are whole; smaller ones fit into a whole number of 32 bits. */
static inline float floorf(float x) {
    if (!(fabsf(x) < 8388608.0f)) return x;
    const float whole = (float)(int)x;
    return copysignf(whole > x ? whole - 1 : whole, x);
}

static inline float ceilf(float x) { return -floorf(-x); }

/* Sums beyond 2^23 are rounded to whole numbers, of two that are as near to the even one. */
static inline float rintf(float x) {
    const float shift = copysignf(8388608.0f, x);
    return fabsf(x) < 8388608.0f ? copysignf(x + shift - shift, x) : x;
}

/* Every difference is exact: it leaves less than half of what it is taken from. */
static inline float fmodf(float x, float y) {
    float left = fabsf(x), size = fabsf(y), part = size;
    if (!(left < INFINITY) || !(size > 0)) return (x * y) / (x * y);
    if (size == INFINITY) return x;
    while (part <= left - part) part += part;
    while (left >= size) {
        if (left >= part) left -= part;
        part /= 2;
    }
    return copysignf(left, x);
}

#endif
