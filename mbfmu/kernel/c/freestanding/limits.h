/* What the core uses of the C library's limits.h, for tcc on x86-64. */
#ifndef MBFMU_LIMITS_H
#define MBFMU_LIMITS_H

#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)

#endif
