/* From sampling to sampling and from event to event. Included after driver.c.
 *
 * Without SAMPLED and SWITCHED nothing is on the way.
 */
#if defined SAMPLED || defined SWITCHED

#ifdef SWITCHED
/* The events of a call: how many there were, and how many in a row made no progress. */
struct passage {
    double guards[GUARDS];
    int settled; /* whether the modes are those after an event */
    int events, row;
};

static inline void begin_passage(struct passage *e, struct call *at, double h_max, struct memory *m) {
    if (at->h < SLIVER * h_max) at->h = h_max; /* the next communication step is longer */
    e->settled = e->events = e->row = 0;
    m->guards = e->guards;
    m->usual = at->h;
    m->nudge = 0;
}

/* Find the guards, and modes anew where an input has jumped. */
static inline int settle_passage(struct passage *e, const struct call *at, double *now, struct memory *m) {
    const int settled = e->settled;
    e->settled = 0;
    if (!settled) return settle_jump(at, now, e->guards, m);
    watch(at, now, 0, e->guards, m);
    return OK;
}

/* Pass the event at the end of a span that began at the time `begun`: the least length of the next step grows by four times
 * with each event that made no progress, from the third on. Return EVENT to stop there instead, or MANY_EVENTS with the
 * index of a guard that fell last in *guard. */
static int pass_event(struct passage *e, const struct call *at, double begun, double *now, double *guard,
                      struct memory *m) {
    const double h = at->h, least = h * (e->events < CROWDED ? NUDGE : CREEP);
    e->row = at->t - begun <= fmax(least, m->nudge) ? e->row + 1 : 0;
    m->nudge = e->row < 2 ? 0 : e->row < 32 ? h * NUDGE * (1LL << 2 * e->row) : h;
    if (m->stops && at->t > m->after) {
        for (int i = 0; i < GUARDS; ++i) now[FALLEN_AT + i] = e->guards[i] < 0;
        return EVENT;
    }
    pass_to_event(m);
    shift_to_span(at, at->t, m);
    e->settled = 1;
    const int code = change_modes(at, now, e->guards, 0, m);
    if (code != OK || ++e->events < MOST_EVENTS) return code;
    int fallen = 0;
    while (fallen < GUARDS - 1 && !(e->guards[fallen] < 0)) ++fallen;
    *guard = fallen;
    return MANY_EVENTS;
}

#ifdef MEASURED
#define SHADOWED_EVENTS 100 /* most events of a shadow in a step of the motion */

/* Let the shadow at x take the step c, in halves or not, from event to event of its own. */
static int shadow_step(const struct call *c, int halves, double *x, struct memory *own) {
    double inputs[NU + 1], length, guard, done = 0;
    struct call at = {x, inputs, c->du, c->p, c->t, own->usual};
    struct passage passage;
    int code = EVENT;
    begin_passage(&passage, &at, own->usual, own);
    own->stops = 0;
    while (code == EVENT && done < c->h) {
        if (passage.events == SHADOWED_EVENTS) return MANY_EVENTS;
        const double begun = at.t = c->t + done;
        struct call step = at;
        step.h = c->h - done;
        inputs_after(c, done, inputs);
        code = settle_passage(&passage, &at, x, own);
        if (code == OK) code = reach(&step, halves, own);
        if (code == OK) code = look(&step, halves, 0, &length, own);
        if (code != OK && code != EVENT) return code;
        memcpy(x, own->x, sizeof(double) * MAPPED);
        if (code == OK) break;
        done += length;
        at.t = c->t + done;
        inputs_after(c, done, inputs);
        code = pass_event(&passage, &at, begun, x, &guard, own);
        if (code == OK) code = EVENT;
    }
    return code == EVENT ? OK : code;
}
#endif
#else
struct passage {
    int none;
};
static inline void begin_passage(struct passage *e, struct call *at, double h_max, struct memory *m) {
    (void)e, (void)at, (void)h_max, (void)m;
}
static inline int settle_passage(struct passage *e, const struct call *at, double *now, struct memory *m) {
    return (void)e, (void)at, (void)now, (void)m, OK;
}
static inline int pass_event(struct passage *e, const struct call *at, double begun, double *now, double *guard,
                             struct memory *m) {
    return (void)e, (void)at, (void)begun, (void)now, (void)guard, (void)m, OK;
}
#endif

/* Add the counts of what begins a part of a call to those of the whole, or of the part itself. */
static void add_counts(double *total, const double *status) {
    total[S_ITERATIONS] += status[S_ITERATIONS];
    total[S_CORRECTION] = fmax(total[S_CORRECTION], status[S_CORRECTION]);
}
static void add_steps(double *total, const double *status) {
    add_counts(total, status);
    total[S_SUBSTEPS] += status[S_SUBSTEPS];
    total[S_LEAST_STEP] = fmin(total[S_LEAST_STEP], status[S_LEAST_STEP]);
    total[S_TIME] = status[S_TIME];
}

/* Let what is due act where a span begins: samplings, and inputs that have jumped. span->H becomes the time until the next
 * sampling, if that is on the way; *last tells whether it is not. */
static int begin_span(const struct call *at, double *now, struct passage *e, struct span *span, int *last,
                      double *total, struct memory *m) {
    double until[2];
    sample_shadow(at, m);
    int code = sample(at, now, until, m);
    if (code == OK) code = settle_passage(e, at, now, m);
    add_counts(total, m->status);
    if (code != OK) return code;
    if (!(until[0] > 0)) return NO_PERIOD; /* the period is not positive */
    *last = until[0] >= span->H - until[1];
    if (!*last) span->H = until[0];
    fix_end(m);
    if (!*last) follow_sampling(at, m);
    return OK;
}

/* Whether to stop before a sampling that is due on the way. */
static inline int stops_here(const struct call *at, double done, struct memory *m) {
    return m->stops && done > 0 && time_left(at, m) <= 0;
}

/* Go over the span from sampling to sampling and from event to event. A sampling at the end of the span is left to the
 * next call, which has the inputs that hold from there on; `outputs` shows what it will give. */
static int travel(const struct call *c, const struct span *whole, double *x1, struct memory *m) {
    double now[NX], inputs[NU + 1], total[S_SIZE] = {0}, done = 0, *const status = m->status;
    struct call at = {now, inputs, c->du, c->p, c->t, whole->h_max < whole->H ? whole->h_max : whole->H};
    struct span part = *whole;
    struct passage passage;
    int code = OK, last;
    begin_passage(&passage, &at, whole->h_max, m);
    memcpy(now, c->x, sizeof now);
    total[S_LEAST_STEP] = whole->H;
    while (done < whole->H && code == OK) {
        /* what is due where the next part begins */
        at.t = c->t + done;
        part.H = whole->H - done;
        memset(status, 0, sizeof(double) * S_SIZE);
        status[S_TIME] = total[S_TIME] = at.t;
        inputs_after(c, done, inputs);
        shift_to_span(c, at.t, m);
        code = stops_here(&at, done, m) ? EVENT : begin_span(&at, now, &passage, &part, &last, total, m);
        if (code == OK && part.most-- <= 0) code = UNFINISHED;
        if (code != OK) break;
        /* the part, up to the next sampling or to an event */
        code = stretch(&at, &part, m->x, m);
        add_steps(total, status);
        part.most -= (long long)status[S_SUBSTEPS];
        if (code != OK && code != UNFINISHED && code != EVENT) break;
        memcpy(now, m->x, sizeof now);
        if (code == EVENT) {
            const double begun = at.t;
            at.t = status[S_TIME];
            done = at.t - c->t;
            inputs_after(c, done, inputs);
            code = pass_event(&passage, &at, begun, now, total + S_CORRECTION, m);
        } else {
            done = last ? whole->H : done + part.H;
            pass_span(m);
        }
    }
    total[S_CODE] = code;
    memcpy(status, total, sizeof total);
    if (code == OK || code == UNFINISHED || code == EVENT) memcpy(x1, now, sizeof now);
    return code;
}

static inline int travel_equally(const struct call *c, long long n, double *x1, struct memory *m) {
    return travel(c, &(struct span){c->h * n, c->h, 0, MOST_STEPS}, x1, m);
}

/* Go from one communication point to the next as mbfmu_communicate does, but only up to a sampling on the way, or to the
 * first event after a time. Neither acts yet: the code is EVENT then, and status[S_TIME] is where that is. */
MBFMU_EXPORT int mbfmu_stride(double *const *a, double after) {
    struct memory m = carve(a[7], a[6]);
    m.errors = a[9];
    const struct call c = {a[0], a[1], a[2], a[3], a[8][0], 0};
    const struct span span = {a[8][1], a[8][2], a[8][3], MOST_STEPS};
    double inputs[NU + 1];
    struct call end = {a[4], inputs, c.du, c.p, c.t + span.H, 0};
    m.stops = 1;
    m.after = after;
    const int code = travel(&c, &span, a[4], &m);
    if (code != OK && code != EVENT) return code;
    if (code == EVENT) end.t = m.status[S_TIME];
    inputs_after(&c, code == EVENT ? end.t - c.t : span.H, inputs);
    if (show(&end, a[5], &m) == OK) return code;
    m.status[S_TIME] = end.t;
    m.status[S_CODE] = OUTPUTS_NOT_FINITE;
    return OUTPUTS_NOT_FINITE;
}

#ifdef SWITCHED
/* Let the event act at which a stride has stopped; *fallen tells whether there is one. */
static inline int act(const struct call *c, double *now, int *fallen, struct memory *m) {
    for (int i = 0; i < GUARDS; ++i) *fallen |= now[FALLEN_AT + i] != 0;
    return *fallen ? restart(&FORMULA_switch, c, now, m) : OK;
}

static inline int act_on_jump(const struct call *c, double *now, struct memory *m) {
    double values[GUARDS];
    return settle_jump(c, now, values, m);
}
#else
static inline int act(const struct call *c, double *now, int *fallen, struct memory *m) {
    return (void)c, (void)now, (void)fallen, (void)m, OK;
}
static inline int act_on_jump(const struct call *c, double *now, struct memory *m) {
    return (void)c, (void)now, (void)m, OK;
}
#endif

/* Let the event act at which a stride has stopped, the samplings that are due, and inputs that have jumped. */
MBFMU_EXPORT int mbfmu_settle(const double *x, const double *u, const double *du, const double *p, double t, double h,
                              double *x1, double *status, double *work) {
    struct memory m = carve(work, status);
    double now[NX], until[2];
    const struct call c = {now, u, du, p, t, h};
    int fallen = 0;
    memcpy(now, x, sizeof now);
    memset(status, 0, sizeof(double) * S_SIZE);
    status[S_TIME] = t;
    m.usual = h;
    int code = act(&c, now, &fallen, &m);
    if (code == OK) code = sample(&c, now, until, &m);
    if (code == OK && !fallen) code = act_on_jump(&c, now, &m);
    if (code == OK) memcpy(x1, now, sizeof now);
    status[S_CODE] = code;
    return code;
}

/* The time until the next sampling: 0 if one is due, and infinity if there is none. */
MBFMU_EXPORT double mbfmu_until(const double *x, const double *p, double t, double *work) {
    struct memory m = carve(work, 0);
    return time_left(&(struct call){x, 0, 0, p, t, 0}, &m);
}
#else
static inline int travel(const struct call *c, const struct span *whole, double *x1, struct memory *m) {
    return stretch(c, whole, x1, m);
}
static inline int travel_equally(const struct call *c, long long n, double *x1, struct memory *m) {
    return advance(c, n, x1, m);
}
#endif
