/* Log categories of an FMU in any version of the standard, as modelDescription.xml declares them. */
#ifndef CATEGORIES_H
#define CATEGORIES_H

#include "core.h"

#include <string.h>

enum { LOG_WARNING, LOG_DISCARD, LOG_ERROR, LOG_ALL, N_CATEGORIES };
#define ALL_CATEGORIES ((1 << N_CATEGORIES) - 1)
static const char *const CATEGORIES[] = {"logStatusWarning", "logStatusDiscard", "logStatusError", "logAll"};

/* The category of a message. */
static inline int category_of(enum outcome severity) {
    return severity == NOTED ? LOG_WARNING : severity == DISCARDED ? LOG_DISCARD : LOG_ERROR;
}

/* Whether a message is wanted, if these are the bits of the categories to log. */
static inline int is_wanted(int categories, enum outcome severity) {
    return categories & (1 << category_of(severity) | 1 << LOG_ALL);
}

/* The bits of n categories, of all if n is 0; -1, with a message, if there is no category of a name. */
static inline int chosen_categories(const struct host *host, size_t n, const char *const names[]) {
    int chosen = n ? 0 : ALL_CATEGORIES;
    for (size_t i = 0; i < n; ++i) {
        int k = 0;
        while (k < N_CATEGORIES && (!names[i] || strcmp(names[i], CATEGORIES[k]) != 0)) ++k;
        if (k == N_CATEGORIES) {
            core_say(host, REFUSED, "there is no log category '%s'", names[i] ? names[i] : "NULL");
            return -1;
        }
        chosen |= 1 << k;
    }
    return chosen;
}

#endif
