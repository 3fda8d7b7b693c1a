/* What kernels and the core use of the C library's string.h, for tcc on x86-64. */
#ifndef MBFMU_STRING_H
#define MBFMU_STRING_H

void *memcpy(void *to, const void *from, unsigned long long size);
void *memmove(void *to, const void *from, unsigned long long size);
void *memset(void *to, int value, unsigned long long size);
int memcmp(const void *one, const void *other, unsigned long long size);
unsigned long long strlen(const char *text);
int strcmp(const char *one, const char *other);
int strncmp(const char *one, const char *other, unsigned long long size);
char *strchr(const char *text, int character);

#endif
