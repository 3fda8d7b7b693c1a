/* What the core uses of the C library's stdio.h, for tcc on x86-64. */
#ifndef MBFMU_STDIO_H
#define MBFMU_STDIO_H

#include <stdarg.h>

int snprintf(char *text, unsigned long long size, const char *form, ...);
int vsnprintf(char *text, unsigned long long size, const char *form, va_list arguments);

#endif
