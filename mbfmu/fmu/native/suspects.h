/* The variable to suspect where a step fails: Facts.suspect of failure.py. */
#ifndef SUSPECTS_H
#define SUSPECTS_H

#include "texts.h"

#define SUSPECT_FAR 1e4 /* ratio of a value to its usual size from which it is out of its plausible range */
#define SUSPECT_NEAR 1e-3 /* ratio of a gap to its usual size below which bodies may be about to hit */
#define SUSPECT_TRIES 8 /* number of times that a step is made again up to where it failed, each time less far */

/* An input, a state, a force or a gap: name, unit, usual size, place, and place (-1: none) and unit of its rate. */
struct quantity {
    const char *name, *unit;
    double usual;
    int place, rate;
    const char *rate_unit;
};

static const struct quantity GIVEN[] = {SUSPECT_INPUTS{0, 0, 0, 0, 0, 0}};
static const struct quantity MOVING[] = {SUSPECT_STATES{0, 0, 0, 0, 0, 0}};
static const struct quantity PUSHING[] = {SUSPECT_FORCES{0, 0, 0, 0, 0, 0}}; /* normal forces of gaps */
static const struct quantity GAPPING[] = {SUSPECT_GAPS{0, 0, 0, 0, 0, 0}};   /* these gaps */
#ifndef EXCHANGE
static const struct quantity SIZED[] = {WATCHED_STATES{0, 0, 0, 0, 0, 0}}; /* states with their sizes in equal steps */
#endif
/* The last row of each is empty. */

#ifdef BOUNDED
/* The bounds of a calculated parameter: Bound of failure.py. */
struct bound {
    const char *name, *unit;
    int place;
    double min, max;
};

static const struct bound BOUNDS[] = {BOUNDED{0, 0, 0, 0, 0}}; /* the last row is empty */
#endif

static double part_of(double value, double usual) { return isfinite(value) ? fabs(value) / usual : INFINITY; }

static void add_with_unit(struct text *t, double value, const char *unit) {
    if (isnan(value)) add(t, "nan"); /* some C libraries write a sign */
    else add(t, "%.6g", value);
    if (strcmp(unit, "1") != 0) add(t, " %s", unit);
}

#ifdef BOUNDED
/* Add a message on a calculated parameter that is out of its bounds, if one is; return whether one is. */
static int add_broken(struct text *t, const double *y) {
    for (const struct bound *b = BOUNDS; b->name; ++b) {
        if (b->min <= y[b->place] && y[b->place] <= b->max) continue;
        add(t, "%s: %s = ", MODEL_NAME, b->name);
        add_with_unit(t, y[b->place], b->unit);
        add(t, " is outside its bounds %g to ", b->min);
        add_with_unit(t, b->max, b->unit);
        add(t, "; change the parameters it depends on");
        return 1;
    }
    return 0;
}
#endif

static void add_quantity(struct text *t, const struct quantity *q, double value) {
    add(t, "%s = ", q->name);
    add_with_unit(t, value, q->unit);
}

/* Add the quantity that is farthest from its usual size, if it is far; return whether one is. */
static int add_far(struct text *t, const char *kind, const struct quantity *all, const double *values) {
    const struct quantity *worst = 0;
    double size = SUSPECT_FAR;
    for (const struct quantity *q = all; q->name; ++q)
        if (part_of(values[q->place], q->usual) > size) {
            worst = q;
            size = part_of(values[q->place], q->usual);
        }
    if (!worst) return 0;
    add(t, "; %s", kind);
    add_quantity(t, worst, values[worst->place]);
    if (isinf(size)) add(t, " is not finite");
    else add(t, " is %.2g times its typical size", size);
    return 1;
}

static void add_clause(struct text *t, const struct quantity *q, const double *values, const char *clause) {
    add(t, "; ");
    add_quantity(t, q, values[q->place]);
    add(t, "%s", clause);
}

/* Add a clause on the variable that is farthest out of its plausible range, for inputs u, vectors that have states and
 * their rates, and outputs y. */
static void add_suspect(struct text *t, const double *u, const double *states, const double *rates, const double *y) {
    const struct quantity *fastest = 0, *pushed = 0;
    double rate = 0, force = 0;
    if (add_far(t, "input ", GIVEN, u) || add_far(t, "", MOVING, states)) return;
    for (const struct quantity *q = PUSHING; q->name; ++q)
        if (fabs(y[q->place]) > force) {
            pushed = q;
            force = fabs(y[q->place]);
        }
    const struct quantity *least = GAPPING;
    for (const struct quantity *q = GAPPING; q->name; ++q)
        if (y[q->place] < y[least->place]) least = q;
    if (pushed) {
        add_clause(t, pushed, y, " is the largest force of a contact");
        return;
    }
    if (least->name && y[least->place] < SUSPECT_NEAR * least->usual) {
        add_clause(t, least, y, " is the smallest gap");
        return;
    }
    for (const struct quantity *q = MOVING; q->name; ++q)
        if (q->rate >= 0 && part_of(rates[q->rate], q->usual) > rate) {
            fastest = q;
            rate = part_of(rates[q->rate], q->usual);
        }
    if (!fastest) return;
    add_clause(t, fastest, states, " changes fastest for its typical size, at ");
    add_with_unit(t, rates[fastest->rate], fastest->rate_unit);
}

#endif
