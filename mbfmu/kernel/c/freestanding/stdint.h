/* What the core uses of the C library's stdint.h, for tcc on x86-64. */
#ifndef MBFMU_STDINT_H
#define MBFMU_STDINT_H

typedef long long int64_t;
typedef unsigned long long uint64_t;

#endif
