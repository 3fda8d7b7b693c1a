/* What is told to the master: messages, numbers, and why values are refused. */
#ifndef TEXTS_H
#define TEXTS_H
#include "instance.h"

#define TEXT 2000

struct text {
    char all[TEXT];
    size_t used;
};

static void add_list(struct text *t, const char *form, va_list arguments) {
    int n = vsnprintf(t->all + t->used, TEXT - t->used, form, arguments);
    if (n > 0) t->used = t->used + n < TEXT ? t->used + n : TEXT - 1;
}

static void add(struct text *t, const char *form, ...) {
    va_list arguments;
    va_start(arguments, form);
    add_list(t, form, arguments);
    va_end(arguments);
}

/* Write a number with the fewest digits that give it back. */
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

/* The logger's message is a format of printf, so a percent sign is doubled. */
static void tell(const fmi2CallbackFunctions *host, const char *name, fmi2Status status, int category,
                 const struct text *t) {
    char doubled[2 * TEXT], *end = doubled;
    if (!host->logger) return;
    for (const char *c = t->all; *c; ++c) {
        if (*c == '%') *end++ = '%';
        *end++ = *c;
    }
    *end = 0;
    host->logger(host->componentEnvironment, name, status, CATEGORIES[category], doubled);
}

static void say(struct instance *m, fmi2Status status, const struct text *t) {
    int category = status == fmi2Warning ? LOG_WARNING : status == fmi2Discard ? LOG_DISCARD : LOG_ERROR;
    if (m->categories & (1 << category | 1 << LOG_ALL)) tell(&m->host, m->name, status, category, t);
}

static fmi2Status fail(struct instance *m, fmi2Status status, const char *form, ...) {
    struct text t = {"", 0};
    va_list arguments;
    add(&t, "%s: ", MODEL_NAME);
    va_start(arguments, form);
    add_list(&t, form, arguments);
    va_end(arguments);
    say(m, status, &t);
    return status;
}

/* The instance of a call, if it may be made now. */
static struct instance *enter(fmi2Component c, enum call which) {
    struct instance *m = c;
    if (!m || (m->now.phase & CALLS[which].phases)) return m;
    if (which == DO_STEP && m->now.phase < RUNNING)
        fail(m, fmi2Error, "a step before the initialisation is finished");
    else
        fail(m, fmi2Error, "%s may not be called %s", CALLS[which].name,
             m->now.phase == INSTANTIATED   ? "before the initialisation mode"
             : m->now.phase == INITIALISING ? "in the initialisation mode"
             : m->now.phase == RUNNING      ? "after the initialisation"
                                            : "after fmi2Terminate");
    return 0;
}

static fmi2Status missing(struct instance *m, enum call which) {
    return fail(m, fmi2Error, "%s: an argument is NULL", CALLS[which].name);
}

/* -- what is refused --------------------------------------------------------------------------------------------- */

static void add_refusal(struct text *t, const struct refusal *r) {
    add(t, "%s = ", r->where == START_TIME ? "start time" : NAMES[r->where]);
    add_number(t, r->value);
    add(t, ": ");
    if (r->where == START_TIME) {
        add(t, "not a finite number");
    } else if (r->why == IS_NOT_FINITE) {
        add(t, "not a finite number; the value before is kept");
    } else if (r->why == TOO_LARGE) {
        add(t, "larger than %g, beyond which sums and products overflow; the value before is kept", LARGEST);
    } else if (r->why == IS_COMPUTED) {
        add(t, "this variable is computed, it cannot be set");
    } else if (r->why == START_IS_OVER) {
        add(t, "a start value cannot be set after initialisation; use reset");
    } else if (r->why == IS_FIXED) {
        add(t, "a fixed parameter cannot be set after initialisation; use reset");
    } else {
        add(t, "outside its bounds [");
        add_number(t, BOUNDS[r->where - FIRST_P].min);
        add(t, ", ");
        add_number(t, BOUNDS[r->where - FIRST_P].max);
        add(t, "]");
    }
}

static void add_refusals(struct text *t, const struct state *now) {
    for (int i = 0; i < now->refused; ++i) {
        if (i) add(t, "; ");
        add_refusal(t, &now->refusals[i]);
    }
}

static void refuse(struct state *now, int where, double value, enum why why) {
    int i = 0;
    while (i < now->refused && now->refusals[i].where != where) ++i;
    now->refusals[i].where = where;
    now->refusals[i].value = value;
    now->refusals[i].why = why;
    if (i == now->refused) ++now->refused;
}

static void forgive(struct state *now, int where) {
    for (int i = 0; i < now->refused; ++i)
        if (now->refusals[i].where == where) {
            --now->refused;
            memmove(&now->refusals[i], &now->refusals[i + 1], sizeof(struct refusal) * (now->refused - i));
            memset(&now->refusals[now->refused], 0, sizeof(struct refusal));
            return;
        }
}

#endif
