/* What kernels use of the C library's string.h, for tcc on x86-64. */
#ifndef MBFMU_STRING_H
#define MBFMU_STRING_H

void *memcpy(void *to, const void *from, unsigned long long size);
void *memset(void *to, int value, unsigned long long size);

#endif
