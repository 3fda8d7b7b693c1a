/* Tangents of formulas: the change of a result with those of all that it depends on.
 *
 * Each correction of a stage is followed by the correction of its tangent, so that the derivative is that of the result
 * computed; see tangent.py for the equations. Included after step.h. Without TANGENTS the functions do nothing.
 */
enum { KNOWN, UNKNOWN, GRAZED, SPLIT }; /* a change; where a guard only touches zero; where two events come at once */

/* Where a tangent comes from and goes to, and the changes of the time of a step and of its length. */
struct path {
    const double *from;
    double *to, t, h;
};

#ifdef TANGENTS
#define ARGUMENTS 14 /* of the functions of a formula: (x, u, du, p, t, h, z, sx, su, sp, sz, sdu, st, sh) */

/* A small change of all that a formula's value depends on, and the change of the value. */
struct tangent {
    const double *u, *du, *p; /* changes of inputs, of their time derivatives and of parameters: the same throughout */
    const double *from;       /* change of the formula's argument */
    double *to, *z, *next;    /* change of its value; of the unknowns; room */
    double *x, *half;         /* change of the state; room for that of half a step */
    double scale;             /* largest change of the unknowns of the stage being solved */
    int unknown;              /* whether the change is unknown, and why: one of the reasons above */
    double inputs[NU + 1];    /* change of the inputs where a step begins */
    double start;             /* time at which u and du are those of the inputs */
    double t, h;              /* change of the time where a step begins, and of its length */
    double begun, span;       /* change of the time at which a span begins, and of the span */
    double event, at;         /* change of the time of the event that ended it; that of which the change is unknown */
    int guard;                /* index of the guard that fell there */
};

static inline int follows(const struct memory *m) { return m->d != 0; }

/* Let the tangent of what comes go from one change to another. */
static inline void lead(struct memory *m, const double *from, double *to) {
    if (!m->d) return;
    m->d->from = from;
    m->d->to = to;
}

/* Let it go from the change of the state to that after a step, or back. */
static inline void lead_on(struct memory *m) {
    if (m->d) lead(m, m->d->x, m->d->half);
}
static inline void lead_back(struct memory *m) {
    if (m->d) lead(m, m->d->half, m->d->x);
}

/* Let it go on from the change of [q; v; angles] that start values have led to. */
static inline void lead_start(struct memory *m) {
    if (!m->d) return;
    memcpy(m->d->half, m->d->to, sizeof(double) * NQV);
    m->d->from = m->d->half;
}

static inline struct path path_of(const struct memory *m) {
    const struct tangent *const d = m->d;
    return d ? (struct path){d->from, d->to, d->t, d->h} : (struct path){0, 0, 0, 0};
}

/* Let what comes begin at a time `now` that changes by `later`, with a step whose length changes by `longer`. */
static inline void shift(const struct call *c, double now, double later, double longer, struct memory *m) {
    struct tangent *const d = m->d;
    if (!d) return;
    d->t = later;
    d->h = longer;
    for (int i = 0; i < NU; ++i) d->inputs[i] = d->u[i] + d->du[i] * (now - d->start) + c->du[i] * later;
}

/* The same at a place in a span of n steps, for a length; both are counted in steps. */
static inline void shift_part(const struct call *c, double now, double n, double place, double length, struct memory *m) {
    if (m->d) shift(c, now, m->d->begun + m->d->span / n * place, m->d->span / n * length, m);
}

/* The same where a span begins. */
static inline void shift_to_span(const struct call *c, double now, struct memory *m) {
    if (m->d) shift(c, now, m->d->begun, 0, m);
}

/* Let a span end where it does, whatever changes its beginning; or go on to the end of a span, or to an event. */
static inline void fix_end(struct memory *m) {
    if (m->d) m->d->span = -m->d->begun;
}
static inline void pass_span(struct memory *m) {
    if (m->d) m->d->begun += m->d->span;
}
static inline void pass_to_event(struct memory *m) {
    if (m->d) m->d->begun = m->d->event;
}

static inline int unknown_of(const struct memory *m) { return m->d ? m->d->unknown : KNOWN; }
static inline void set_unknown(struct memory *m, int why) {
    if (m->d) m->d->unknown = why;
}

/* Take the change after a step as that of the state. */
static inline void keep_change(struct memory *m) {
    if (m->d) memcpy(m->d->x, m->d->half, sizeof(double) * MAPPED);
}

/* Copy entries of the change that a tangent goes to, and put them back. */
static inline void hold_change(const double *change, int at, int n, double *held) {
    if (change) memcpy(held, change + at, sizeof(double) * n);
}
static inline void put_change(double *change, int at, int n, const double *held) {
    if (change) memcpy(change + at, held, sizeof(double) * n);
}

/* The arguments of a formula's tangents, after those of the formula. */
static inline void follow_arguments(const double **in, struct memory *m) {
    struct tangent *const d = m->d;
    if (!d) return;
    memset(d->z, 0, sizeof(double) * NZ);
    in[7] = d->from;
    in[8] = d->inputs;
    in[9] = d->p;
    in[10] = d->z;
    in[11] = d->du;
    in[12] = &d->t;
    in[13] = &d->h;
}

static inline void follow_guess(const struct formula *f, int k, const double *const *in, struct memory *m) {
    struct tangent *const d = m->d;
    if (!d) return;
    f->guess_tangent[k](in, &d->next, m->w);
    memcpy(d->z + f->place[k], d->next, sizeof(double) * f->size[k]);
    d->scale = 0;
}

/* Follow a correction, from the unknowns before it. */
static inline void follow_correction(const struct formula *f, int k, const double *const *in, struct memory *m) {
    struct tangent *const d = m->d;
    const int n = f->size[k];
    if (!d) return;
    f->correct_tangent[k](in, &d->next, m->w);
    memcpy(d->z + f->place[k], d->next, sizeof(double) * n);
    d->scale = fmax(d->scale, largest(d->z + f->place[k], n));
}

/* The round-off of tangents that are differences of n unknowns and of all other changes. */
static double round_off(const double *z, int n, const struct tangent *d) {
    const double changes = fmax(fmax(largest(d->p, NP), largest(d->u, NU)), largest(d->z, n));
    return TANGENT_SETTLED * fmax(1, largest(z, n)) * changes;
}

/* Correct the tangent sz of a solved stage until it is at rest; scale is its largest size so far, and `zero` a size that
 * is round-off. Return whether it is. */
static int settle(function correct, const double *const *in, double *sz, int n, double zero, struct memory *m) {
    double last = INFINITY, scale = m->d->scale, *const next = m->d->next;
    for (int pass = 0; pass < MAX_TANGENT_CORRECTIONS; ++pass) {
        double change = 0;
        correct(in, &next, m->w);
        if (!all_below(INFINITY, next, n)) return 0;
        for (int i = 0; i < n; ++i) change = fmax(change, fabs(next[i] - sz[i]));
        memcpy(sz, next, sizeof(double) * n);
        scale = fmax(scale, largest(sz, n));
        if (change <= TANGENT_SETTLED * scale || (change > last / 2 && change <= fmax(STALLED * scale, zero)))
            return 1;
        last = change;
    }
    return 0;
}

/* Bring the tangent of a stage to rest that has been solved to round-off. */
static inline void follow_solution(const struct formula *f, int k, const double *const *in, struct memory *m) {
    struct tangent *const d = m->d;
    if (!d || f->rough >> k & 1) return;
    const double zero = round_off(m->z, f->place[k] + f->size[k], d);
    if (!settle(f->correct_tangent[k], in, d->z + f->place[k], f->size[k], zero, m)) d->unknown = UNKNOWN;
}

/* Follow the result, of which `size` entries are to be finite. */
static inline void follow_result(const struct formula *f, const double *const *in, int size, struct memory *m) {
    struct tangent *const d = m->d;
    if (!d) return;
    f->result_tangent(in, &d->to, m->w);
    if (!all_below(INFINITY, d->to, size)) d->unknown = UNKNOWN;
}
#else
#define ARGUMENTS 7
static inline int follows(const struct memory *m) { return (void)m, 0; }
static inline void lead(struct memory *m, const double *from, double *to) { (void)m, (void)from, (void)to; }
static inline void lead_on(struct memory *m) { (void)m; }
static inline void lead_back(struct memory *m) { (void)m; }
static inline void lead_start(struct memory *m) { (void)m; }
static inline struct path path_of(const struct memory *m) { return (void)m, (struct path){0, 0, 0, 0}; }
static inline void shift(const struct call *c, double now, double later, double longer, struct memory *m) {
    (void)c, (void)now, (void)later, (void)longer, (void)m;
}
static inline void shift_part(const struct call *c, double now, double n, double place, double length, struct memory *m) {
    (void)c, (void)now, (void)n, (void)place, (void)length, (void)m;
}
static inline void shift_to_span(const struct call *c, double now, struct memory *m) { (void)c, (void)now, (void)m; }
static inline void fix_end(struct memory *m) { (void)m; }
static inline void pass_span(struct memory *m) { (void)m; }
static inline void pass_to_event(struct memory *m) { (void)m; }
static inline int unknown_of(const struct memory *m) { return (void)m, KNOWN; }
static inline void set_unknown(struct memory *m, int why) { (void)m, (void)why; }
static inline void keep_change(struct memory *m) { (void)m; }
static inline void hold_change(const double *change, int at, int n, double *held) {
    (void)change, (void)at, (void)n, (void)held;
}
static inline void put_change(double *change, int at, int n, const double *held) {
    (void)change, (void)at, (void)n, (void)held;
}
static inline void follow_arguments(const double **in, struct memory *m) { (void)in, (void)m; }
static inline void follow_guess(const struct formula *f, int k, const double *const *in, struct memory *m) {
    (void)f, (void)k, (void)in, (void)m;
}
static inline void follow_correction(const struct formula *f, int k, const double *const *in, struct memory *m) {
    (void)f, (void)k, (void)in, (void)m;
}
static inline void follow_solution(const struct formula *f, int k, const double *const *in, struct memory *m) {
    (void)f, (void)k, (void)in, (void)m;
}
static inline void follow_result(const struct formula *f, const double *const *in, int size, struct memory *m) {
    (void)f, (void)in, (void)size, (void)m;
}
#endif
