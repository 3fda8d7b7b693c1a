/* Messages, and numbers in them. */
#ifndef TEXTS_H
#define TEXTS_H

#include "core.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char all[LONGEST_TEXT];
    size_t used;
};

/* Take back the beginning of a UTF-8 character at the end of a text of the largest size. */
static void end_at_character(char all[LONGEST_TEXT]) {
    size_t last = LONGEST_TEXT - 1;
    while (last > 0 && ((unsigned char)all[last - 1] & 0xC0) == 0x80) --last; /* the bytes after a character's first */
    if (last > 0 && (unsigned char)all[last - 1] >= 0xC0) all[last - 1] = 0;
}

static void add_list(struct text *t, const char *form, va_list arguments) {
    const int n = vsnprintf(t->all + t->used, LONGEST_TEXT - t->used, form, arguments);
    if (n < 0) return;
    const int cut = t->used + n >= LONGEST_TEXT;
    t->used = cut ? LONGEST_TEXT - 1 : t->used + n; /* after a cut nothing follows */
    if (cut) end_at_character(t->all);
}

static void add(struct text *t, const char *form, ...) {
    va_list arguments;
    va_start(arguments, form);
    add_list(t, form, arguments);
    va_end(arguments);
}

/* Write a number with the fewest digits from which the same number is read. */
static void add_number(struct text *t, double value) {
    char raw[40], digits[20] = "";
    int n = 0, exponent, wanted = 0;
    if (!isfinite(value)) {
        add(t, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    do snprintf(raw, sizeof raw, "%.*e", wanted, fabs(value));
    while (++wanted < 17 && strtod(raw, 0) != fabs(value));
    for (const char *c = raw; *c && *c != 'e'; ++c)
        if (*c >= '0' && *c <= '9') digits[n++] = *c; /* the decimal sign may be the locale's */
    exponent = (int)strtol(strchr(raw, 'e') + 1, 0, 10);
    if (signbit(value)) add(t, "-");
    if (exponent < -4 || exponent >= 16) {
        add(t, "%c%s%se%c%02d", digits[0], n > 1 ? "." : "", digits + 1, exponent < 0 ? '-' : '+', abs(exponent));
    } else if (exponent < 0) {
        add(t, "0.%.*s%s", -exponent - 1, "000", digits);
    } else {
        for (int i = 0; i <= exponent; ++i) add(t, "%c", i < n ? digits[i] : '0');
        add(t, ".%s", n > exponent + 1 ? digits + exponent + 1 : "0");
    }
}

#endif
