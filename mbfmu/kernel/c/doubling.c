/* The error of the steps of a run, by step doubling now and then: a shadow begins where the motion is, goes along with it in
 * steps of half the length, and their distance is noted after 1, 4, 16 ... steps (Hairer, Norsett & Wanner, Solving Ordinary
 * Differential Equations I, II.4). From how it grows with the length of the shadow follows whether errors add up, grow or are
 * forgotten. The motion stays as it is.
 *
 * Included after samplings.c, with MEASURED, the number of coordinates, rates and first-order states: measured() reads them.
 * Without MEASURED there are no shadows. An array of errors has the entries E_... of errors.py, then for each quantity its
 * row, then the state of the shadow. All are zero at the start of a run, but for E_EVERY; E_LENGTH is to be 0 where the motion
 * goes on from another state.
 */
#ifdef MEASURED
#define E_SHADOW (E_SIZE + MEASURED * E_ROW)

static inline int shadowed(const struct memory *m) { return m->errors && m->errors[E_LENGTH] > 0; }

/* Memory to move the shadow in, with counts of its own. */
static struct memory aside(const struct memory *m, double *status) {
    struct memory own = *m;
    own.z = m->spare;
    own.next = own.z + NZ;
    own.x = own.next + NZ;
    own.status = status;
    own.d = 0;
    own.estimate = 0;
    own.goes_on = own.lasts = 0;
    memset(status, 0, sizeof(double) * S_SIZE);
    return own;
}

/* End the shadow; the next one waits for a time that grows with the run. */
static void abandon(struct memory *m) {
    if (!shadowed(m)) return;
    double *const e = m->errors;
    e[E_WAIT] = ceil(e[E_DONE] * fmax(fmin(e[E_STEPS] / DENSE, e[E_EVERY]) - 1, 0));
    e[E_LENGTH] = 0;
}

/* Begin a shadow with a step c. Every fourth is four times as long as those before, every sixteenth sixteen times and so on,
 * up to half the run so far; in the first steps of a run, most of which have shadows, every second and every fourth. */
static void begin_shadow(const struct call *c, double *e) {
    long long turn = (long long)(e[E_SHADOWS] += 1);
    const int rare = e[E_STEPS] < 8 * DENSE ? 2 : 4;
    double length = BRIEF;
    for (int scale = 2; scale < SCALES && turn % rare == 0 && length * 8 <= e[E_STEPS]; ++scale, turn /= rare) length *= 4;
    e[E_LENGTH] = length;
    e[E_DONE] = 0;
    memcpy(e + E_SHADOW, c->x, sizeof(double) * NX);
}

/* Enter the distance of the motion at x from its shadow at the time t, after 4^scale steps; `part` of it is the motion's.
 * It stands for the steps since the last one of this scale. After one step it counts only as long as there is no other. */
static void enter(double t, const double *x, const double *p, double part, int scale, struct memory *m) {
    double *const e = m->errors, *row = e + E_SIZE, here[MEASURED], there[MEASURED];
    measured((const double *const[]){x, p, &t}, (double *const[]){here}, m->w);
    measured((const double *const[]){e + E_SHADOW, p, &t}, (double *const[]){there}, m->w);
    const double weight = (e[E_STEPS] - e[E_LAST + scale]) / e[E_DONE];
    const int first = !(e[E_COVERED] > 0), counts = scale || !(e[E_COVERED + 1] > 0);
    for (int i = 0; i < MEASURED; ++i, row += E_ROW) {
        const double error = fabs(here[i] - there[i]) * part;
        row[R_LEAST] = first ? here[i] : fmin(row[R_LEAST], here[i]);
        row[R_GREATEST] = first ? here[i] : fmax(row[R_GREATEST], here[i]);
        row[R_SUM + scale] += error * weight;
        if (!counts) continue;
        if (scale == 1 && !(e[E_COVERED + 1] > 0)) row[R_MOST] = row[R_FASTEST] = 0;
        row[R_MOST] = fmax(row[R_MOST], error);
        if (error > row[R_FASTEST] * e[E_DONE]) row[R_FASTEST] = error / e[E_DONE], row[R_TIME] = t;
    }
    e[E_COVERED + scale] += e[E_STEPS] - e[E_LAST + scale];
    e[E_LAST + scale] = e[E_STEPS];
}

#ifdef SWITCHED
static int shadow_step(const struct call *c, int halves, double *x, struct memory *own);
#else
/* Let the shadow at x take the step c, in halves or not. */
static int shadow_step(const struct call *c, int halves, double *x, struct memory *own) {
    struct call step = *c;
    step.x = x;
    const int code = reach(&step, halves, own);
    if (code == OK) memcpy(x, own->x, sizeof(double) * MAPPED);
    return code;
}
#endif

/* Let the shadow take the step c, which the motion has taken to x1 in halves or not. Where the motion is made of halves, the
 * shadow goes in whole steps instead. */
static void follow_with_shadow(const struct call *c, const double *x1, int halves, struct memory *m) {
    double *const e = m->errors, status[S_SIZE];
    if (!(e[E_LENGTH] > 0)) begin_shadow(c, e);
    struct memory own = aside(m, status);
    if (shadow_step(c, !halves, e + E_SHADOW, &own) != OK) {
        abandon(m);
        return;
    }
    e[E_DONE] += 1;
    const double part = (halves ? 1 : 1 << ORDER) / ((1 << ORDER) - 1.0);
    double length = 1;
    for (int scale = 0; scale < SCALES && length <= e[E_DONE]; ++scale, length *= 4)
        if (e[E_DONE] == length) enter(c->t + c->h, x1, c->p, part, scale, &own);
    if (e[E_DONE] == e[E_LENGTH]) abandon(m);
}

/* The same if there is a shadow, or its turn has come. */
static inline void accompany(const struct call *c, const double *x1, int halves, struct memory *m) {
    double *const e = m->errors;
    if (!e || !(e[E_EVERY] > 0)) return;
    e[E_STEPS] += 1;
    if ((e[E_WAIT] -= 1) > 0) return;
    follow_with_shadow(c, x1, halves, m);
}

/* Let the samplings act on the shadow that are due at the motion at->x. */
static void sample_shadow(const struct call *at, struct memory *m) {
    if (!shadowed(m)) return;
    double status[S_SIZE], until[2];
    struct memory own = aside(m, status);
    if (sample(at, m->errors + E_SHADOW, until, &own) != OK) abandon(m);
}
#else
static inline void abandon(struct memory *m) { (void)m; }
static inline void accompany(const struct call *c, const double *x1, int halves, struct memory *m) {
    (void)c, (void)x1, (void)halves, (void)m;
}
static inline void sample_shadow(const struct call *at, struct memory *m) { (void)at, (void)m; }
#endif
