/* What the core uses of the C library's stdlib.h, for tcc on x86-64. */
#ifndef MBFMU_STDLIB_H
#define MBFMU_STDLIB_H

void *calloc(unsigned long long number, unsigned long long size);
void free(void *block);
double strtod(const char *text, char **end);
long strtol(const char *text, char **end, int base);
int abs(int value);

#endif
