/* The loops of a stepper: take many steps in one call, from event to event.
 *
 * Without a compiler, runtime.Interpreted takes equal steps without tangents, and nothing else.
 *
 * Included after formulas.c and these definitions:
 *   ORDER ESTIMATE_ORDER         of the stepper and of its error estimate; 0: it has none
 *   moved with SWITCHED, N_SCHEME whether a step moves anything; number of the entries of x that are the stepper's
 *   FORMULA_short, SHORT, REPLACED where a step below this part of the usual one is followed by a new beginning; with
 *                                REPLACED the formula takes that step too
 */
#ifdef SHORT
/* Take a step that is far shorter than usual, and begin anew from its end. */
static int take_short(const double *x, const double *sx, const double *u, const double *du, const double *p, double t,
                      double h, double *x1, double *sx1, double *status, struct memory *m) {
    struct tangent *const d = m->d;
    double end[ROOM], send[ROOM], inputs[NU + 1];
    for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * h;
    int code = OK;
#ifdef FOLLOWED
    const double later = d ? d->t : 0, longer = d ? d->h : 0;
#endif
    if (!REPLACED) {
        if (d) {
            d->from = sx;
            d->to = sx1;
        }
        code = evaluate(&FORMULA_step, x, u, du, p, t, h, x1, MAPPED, status, m);
        if (code != OK) return code;
        x = x1, sx = sx1;
    }
    if (d) {
        d->from = sx;
        d->to = send;
    }
    const double at = REPLACED ? t : t + h;
    SHIFT(at, REPLACED ? later : later + longer, longer);
    code = evaluate(&FORMULA_short, x, REPLACED ? u : inputs, du, p, at, h, end, NQV + HELD, status, m);
    if (code != OK) return code;
    if (d) {
        d->from = send;
        d->to = sx1;
    }
    SHIFT(t + h, later + longer, 0);
    code = evaluate(&FORMULA_begin, end, inputs, du, p, t + h, m->usual, x1, MAPPED, status, m);
    memcpy(x1 + HELD_AT, end + NQV, sizeof(double) * HELD);
    if (d) memcpy(sx1 + HELD_AT, send + NQV, sizeof(double) * HELD);
    return code;
}
#endif

/* Take a step from x to x1, and its tangent from one change to another; the code says whether it can be used. */
static int take(const double *x, const double *sx, const double *u, const double *du, const double *p, double t,
                double h, double *x1, double *sx1, double *status, struct memory *m) {
    if (m->d) {
        m->d->from = sx;
        m->d->to = sx1;
    }
    status[S_TIME] = t;
#ifdef SHORT
    int code = h < SHORT * m->usual ? take_short(x, sx, u, du, p, t, h, x1, sx1, status, m)
                                    : evaluate(&FORMULA_step, x, u, du, p, t, h, x1, MAPPED, status, m);
#else
    int code = evaluate(&FORMULA_step, x, u, du, p, t, h, x1, MAPPED, status, m);
#endif
    return code == OK && !all_below(LOST, x1, MAPPED) ? NOT_FINITE : code;
}

/* Take two steps of half a length from x to m->x; the arguments are those of `take`. */
static int take_halves(const double *x, const double *sx, const double *u, const double *du, const double *p, double t,
                       double h, double *sx1, double *status, struct memory *m) {
    double half[NX], change[ROOM], middle[NU + 1];
#ifdef FOLLOWED
    const double later = m->d ? m->d->t : 0, longer = m->d ? m->d->h / 2 : 0;
#endif
    SHIFT(t, later, longer);
    int code = take(x, sx, u, du, p, t, h / 2, half, change, status, m);
    if (code != OK) return code;
    for (int i = 0; i < NU; ++i) middle[i] = u[i] + du[i] * (h / 2);
    SHIFT(t + h / 2, later + longer, longer);
    return take(half, change, middle, du, p, t + h / 2, h / 2, m->x, sx1, status, m);
}

#ifdef SWITCHED
#define COARSE (-1)      /* a code within this file: the step is to be divided */
#define MOST_TURNED 0.1  /* largest change of a slip in space in a step, relative to the slip */
#define MOST_LEVELS 28   /* most halvings of a step, for that */
/* The least of the guards that are negative where `fallen` was found. */
static double least(const double *found, const double *fallen) {
    double value = INFINITY;
    for (int i = 0; i < GUARDS; ++i)
        if (fallen[i] < 0) value = fmin(value, found[i]);
    return value;
}

/* Take a step from x to m->x, or two of half its length. */
static int reach(const double *x, const double *sx, const double *u, const double *du, const double *p, double t,
                 double h, int halves, double *sx1, double *status, struct memory *m) {
    return halves ? take_halves(x, sx, u, du, p, t, h, sx1, status, m)
                  : take(x, sx, u, du, p, t, h, m->x, sx1, status, m);
}

#ifdef TIMED
/* Find the change of the state in d->half and of the time in d->event at the end of a step of length h, from x at time t
 * to m->x, at which a guard has fallen. `root` tells whether that is where these guards are zero, or a time after. */
static int salt(const double *x, const double *u, const double *du, const double *p, double t, double h, int halves,
                int root, const double *fallen, const double *before, double *status, struct memory *m) {
    const double still[(ROOM > NP ? ROOM : NP) + NU + 1] = {0}, one = 1, end = t + h;
    double along[ROOM], moved[GUARDS], rates[GUARDS], inputs[NU + 1], longer = 0;
    struct tangent *const d = m->d, whole = *d;
    int code, found = 0;
    SHIFT(t, whole.t, 0);
    code = reach(x, d->x, u, du, p, t, h, halves, d->half, status, m);
    d->event = whole.t;
    if (code != OK || !root) return code;
    d->u = d->du = d->p = still;
    SHIFT(t, 0, 1);
    code = reach(x, still, u, du, p, t, h, halves, along, status, m);
    d->u = whole.u;
    d->du = whole.du;
    d->p = whole.p;
    SHIFT(end, whole.t, 0);
    if (code != OK) return code;
    for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * h;
    t_guards((const double *const[]){m->x, inputs, p, &end, d->half, d->inputs, d->p, &d->t}, (double *const[]){moved}, m->w);
    t_guards((const double *const[]){m->x, inputs, p, &end, along, du, still, &one}, (double *const[]){rates}, m->w);
    const double zero = 1000 * round_off(m->z, NZ, d);
    for (int i = 0; i < GUARDS; ++i) {
        if (!(fallen[i] < 0 && m->guards[i] < 0)) continue;
        const double rate = fabs(rates[i]);
        const int hovers = rate * m->usual <= ARMED && fabs(moved[i]) <= zero; /* at zero, so that its time is alike */
        const double change = hovers ? 0 : -moved[i] / rates[i], apart = fabs(change - longer) * rate;
        int why = KNOWN;
        if (!hovers && (!(rate * h > GRAZING * fabs(before[i])) || !isfinite(change))) why = GRAZED;
        else if (found && !(apart <= TOGETHER * (fabs(change) + fabs(longer)) * rate + zero)) why = SPLIT;
        if (why && !d->unknown) {
            d->unknown = why;
            d->at = end;
            d->guard = i;
        }
        if (!found) longer = change;
        found = 1;
    }
    for (int i = 0; i < MAPPED; ++i) d->half[i] += along[i] * longer;
    d->event = whole.t + longer;
    return code;
}
#endif

/* Look at a step of length h from x at time t to m->x, which has been taken, in halves or not, with u the inputs at t.
 * Where a guard falls below zero in it, take the step up to there instead: to the first time found at which one of these
 * guards is negative, known to round-off. m->guards are those at x, and become those at m->x.
 * Return EVENT then, OK if none falls, COARSE if the step can be divided and a slip in space turned too far in it,
 * or what kept a step from being taken; *length is the length of the step. */
static int look(const double *x, const double *u, const double *du, const double *p, double t, double h, int halves,
                int divides, double *length, double *status, struct memory *m) {
    double fallen[GUARDS], now[GUARDS], *const before = m->guards, still, turned, end = t + h;
    const double *const in[] = {x, m->x, p, &end};
    *length = h;
    moved(in, (double *const[]){&still, &turned}, m->w);
    if (divides && turned > MOST_TURNED) return COARSE;
    if (still == 0) memcpy(m->x, x, sizeof(double) * N_SCHEME); /* what rests keeps its bits */
    watch(m->x, u, du, p, t, h, fallen, m);
    int any = 0;
    memcpy(now, fallen, sizeof now);
    for (int i = 0; i < GUARDS; ++i) {
        if (isnan(fallen[i])) return NOT_FINITE;
        const double round_off = i < GAPS && x[CLOSED_AT + i] == 0 ? 0 : ARMED; /* of an open gap it is not known here */
        if (fallen[i] < (before[i] > round_off ? 0 : -round_off)) any = 1;
        else fallen[i] = 0;
    }
    if (!any) {
        memcpy(before, now, sizeof now);
        return OK;
    }
    struct tangent *const d = m->d;
#ifdef TIMED
    double first[GUARDS];
    memcpy(first, before, sizeof first);
#else
    if (d) d->unknown = UNKNOWN; /* the time of the event changes too */
#endif
    m->d = 0;
    double low = 0, high = h, at_low = least(before, fallen), at_high = least(fallen, fallen), taken = h;
    int side = 0, code = OK, bracketed = at_low > 0; /* if not, it begins at zero: the last event was that of this guard */
    for (int trial = 0; trial < EVENT_TRIALS && code == OK; ++trial) {
        double middle;
        if (!bracketed) middle = high / 4;
        else if (high - low <= 2.3e-16 * (high + 1e-300)) break;
        else {
            middle = high - at_high * (high - low) / (at_high - at_low);
            if (!(middle > low && middle < high)) middle = low + (high - low) / 2;
        }
        if (middle <= low || middle >= high || middle <= h * SHORTEST * SHORTEST) break;
        code = reach(x, 0, u, du, p, t, middle, halves, 0, status, m);
        if (code != OK) break;
        taken = middle;
        watch(m->x, u, du, p, t, middle, now, m);
        const double value = least(now, fallen);
        if (isnan(value)) code = NOT_FINITE;
        else if (value >= 0) {
            at_low = value, low = middle, bracketed = 1;
            if (side == 1) at_high /= 2; /* Illinois */
            side = 1;
        } else {
            at_high = value, high = middle;
            if (side == -1) at_low /= 2;
            side = -1;
        }
    }
    const int root = bracketed && m->nudge <= high;
    high = fmin(h, fmax(high, m->nudge));
    if (code == OK && taken != high) code = reach(x, 0, u, du, p, t, high, halves, 0, status, m);
    if (code == OK) watch(m->x, u, du, p, t, high, before, m);
    m->d = d;
#ifdef TIMED
    if (code == OK && d) code = salt(x, u, du, p, t, high, halves, root, fallen, first, status, m);
#else
    (void)root;
#endif
    *length = high;
    return code == OK ? EVENT : code;
}

/* Find the modes after an event, for guards of which those below a bound have fallen, and begin anew. */
static int change_modes(const double *found, double bound, double *x, const double *u, const double *du, const double *p,
                        double t, double h, double *status, struct memory *m) {
    for (int i = 0; i < GUARDS; ++i) x[FALLEN_AT + i] = found[i] < bound;
    return restart(&FORMULA_switch, x, u, du, p, t, h, status, m);
}
#define ENDS(code) ((code) == EVENT)
#else
#define ENDS(code) 0
#define MOST_LEVELS MAX_HALVINGS
#endif

/* n steps of length h from x at time t to x1; u is the input at t and du its constant derivative.
 * A step that fails is done again in halves, quarters and so on; x1 is written only if all is well. */
static int advance(const double *x, const double *u, const double *du, const double *p, double t, double h,
                   long long n, double *x1, double *status, struct memory *m) {
    double here[NX], inputs[NU + 1], *now = here;
    struct memory own = *m; /* in which now and x change places: what was just stored is slow to copy */
#ifdef LASTING
    struct memory *const given = m;
#endif
    struct tangent *const d = m->d;
    const int halvings = FORMULA_step.corrections ? 0 : MAX_HALVINGS, whole = 1 << MOST_LEVELS;
    m = &own;
    memset(status, 0, sizeof(double) * S_SIZE);
    memcpy(now, x, sizeof(double) * NX);
    status[S_LEAST_STEP] = h;
    for (long long k = 0; k < n; ++k) {
        int level = 0, done = 0; /* done counts in whole-ths of the step */
        while (done < whole) {
            int part = whole >> level, unknown = d && d->unknown;
            double dt = k * h + (done ? h * done / whole : 0), small = level ? h * part / whole : h;
            for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * dt;
            SHIFT(t + dt, d->begun + d->span / n * (k + (double)done / whole), d->span / n * part / whole);
            int code = take(now, d ? d->x : 0, inputs, du, p, t + dt, small, m->x, d ? d->half : 0, status, m);
#ifdef SWITCHED
            const int divides = level < MOST_LEVELS && !FORMULA_step.corrections;
            if (code == OK) code = look(now, inputs, du, p, t + dt, small, 0, divides, &small, status, m);
            if (code == COARSE) {
                if (d) d->unknown = unknown;
                ++level;
                continue;
            }
#endif
#ifdef LASTING
            own.goes_on = code == OK;
#endif
            if (code != OK && !ENDS(code)) {
                if (level >= halvings) {
                    status[S_CODE] = code;
                    return code;
                }
                if (d) d->unknown = unknown;
                ++level;
                continue;
            }
            if (small < status[S_LEAST_STEP]) status[S_LEAST_STEP] = small;
            status[S_SUBSTEPS] += 1;
            memcpy(m->x + MAPPED, now + MAPPED, sizeof(double) * (NX - MAPPED));
            double *const before = now;
            now = m->x;
            m->x = before;
            if (d) memcpy(d->x, d->half, sizeof(double) * MAPPED);
            if (ENDS(code)) {
                status[S_TIME] = t + (dt + small);
                memcpy(x1, now, sizeof(double) * NX);
                return code;
            }
            done += part;
            while (level && done % (whole >> (level - 1)) == 0) --level;
        }
    }
#ifdef LASTING
    given->lasts = m->goes_on && m->lasts;
#endif
    memcpy(x1, now, sizeof(double) * NX);
    return OK;
}

/* A step over h to m->x with its estimated error: that of the method's own estimate, or of two steps of h/2, which are
 * kept, against one of h (Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.4). */
static int attempt(const double *x, const double *u, const double *du, const double *p, double t, double h,
                   double *error, double *status, struct memory *m) {
    struct tangent *const d = m->d;
    double big[NX], end = t + h;
    int code;
    if (ESTIMATE_ORDER) {
        m->estimate = error;
        code = take(x, d ? d->x : 0, u, du, p, t, h, m->x, d ? d->half : 0, status, m);
        m->estimate = 0;
        return code == OK && !isfinite(*error) ? NOT_FINITE : code;
    }
    m->d = 0;
    code = take(x, 0, u, du, p, t, h, big, 0, status, m);
    m->d = d;
    if (code == OK) code = take_halves(x, d ? d->x : 0, u, du, p, t, h, d ? d->half : 0, status, m);
    status[S_TIME] = t;
    if (code != OK) return code;
    state_difference((const double *const[]){big, m->x, p, &end}, (double *const[]){error}, m->w);
    *error /= (1 << ORDER) - 1;
    return OK;
}

#define SLIGHT 1e-20 /* least error of a step that counts, relative to the one allowed */
#define LITTLE 1e-4  /* least error of the step before that counts, relative to the one allowed */

/* The factor by which the error of a step changes the next one. That of the step before counts too if it is known
 * (past > 0) and this step is kept, so that fewer steps are repeated: the PI controller with exponents 0.7 and 0.4
 * (Gustafsson 1991; Hairer & Wanner, Solving Ordinary Differential Equations II, IV.2). Methods of order 2 repeat few
 * steps anyway, and would take more. Errors are relative to those allowed. */
static double factor_of(double excess, double past, int order) {
    const int both = past > 0 && excess <= 1 && order > 2;
    const double square = excess * excess, before = past * past;
    double factor = both ? mbfmu_pow(square * square * square * excess / (before * before), -0.1 / order)
                         : mbfmu_pow(excess, -1.0 / order);
    factor *= SAFETY;
    return factor > BEST ? BEST : factor > 1 / WORST ? factor : 1 / WORST;
}

/* Go from x at time t over the span H, with steps chosen so that each adds at most tol times its length to the error.
 *
 * h_max bounds the steps. The step chosen last is part of x, so that the next call goes on with it, and a restored
 * state gives the same steps again. A step shortened by the end of the span leaves the planned step as it is; if it is
 * so short that its error is round-off, it is accepted. After `most` steps, those that are repeated included, x1 is the
 * state at status[S_TIME], from where another call can go on. */
static int control(const double *x, const double *u, const double *du, const double *p, double t, double H,
                   double h_max, double tol, long long most, double *x1, double *status, struct memory *m) {
    const int order = ESTIMATE_ORDER ? ESTIMATE_ORDER : ORDER;
    struct tangent *const d = m->d;
    double now[NX], inputs[NU + 1], done = 0, past = 0, h = x[MAPPED] > 0 && x[MAPPED] < h_max ? x[MAPPED] : h_max;
    memset(status, 0, sizeof(double) * S_SIZE);
    memcpy(now, x, sizeof(double) * NX);
    status[S_LEAST_STEP] = h < H ? h : H;
    for (long long tried = 0; done < H; ++tried) {
        if (tried == most) {
            status[S_TIME] = t + done;
            status[S_CODE] = UNFINISHED;
            break;
        }
        const int last = done + h >= H * (1 - CLOSE), unknown = d && d->unknown;
        double small = last ? H - done : h, error = NAN;
#ifdef SWITCHED
        m->usual = h;
#endif
        for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * done;
        SHIFT(t + done, d->begun, last ? d->span : 0);
        int code = attempt(now, inputs, du, p, t + done, small, &error, status, m);
        double excess = error == 0 || (last && error <= ROUND_OFF) ? 0 : error / (tol * small); /* tol * small may be 0 */
        if (code != OK) excess = mbfmu_pow(WORST, order);
        double factor = factor_of(excess > SLIGHT ? excess : SLIGHT, past, order);
#ifdef SWITCHED
        if (code == OK && excess <= 1) code = look(now, inputs, du, p, t + done, small, !ESTIMATE_ORDER, small > SHORTEST * h_max, &small, status, m);
        if (code != OK && !ENDS(code)) factor = 1 / WORST;
#endif
        if ((code == OK || ENDS(code)) && excess <= 1) {
            memcpy(now, m->x, sizeof(double) * MAPPED);
            if (d) memcpy(d->x, d->half, sizeof(double) * MAPPED);
            if (ENDS(code)) {
                status[S_SUBSTEPS] += 1;
                status[S_TIME] = t + (done + small);
                status[S_CODE] = code;
                break;
            }
            done = last ? H : done + small;
            past = excess > LITTLE ? excess : LITTLE;
            status[S_SUBSTEPS] += 1;
            if (small < status[S_LEAST_STEP]) status[S_LEAST_STEP] = small;
            if (last && small * factor < h) continue;
        } else if (small * factor <= SHORTEST * H) {
            status[S_CODE] = code == OK ? NOT_ACCURATE : code;
            return (int)status[S_CODE];
        } else if (d) {
            d->unknown = unknown;
        }
        h = small * factor < h_max ? small * factor : h_max;
    }
#ifdef LASTING
    m->lasts = 0;
#endif
    now[MAPPED] = h;
    memcpy(x1, now, sizeof(double) * NX);
    return (int)status[S_CODE];
}

/* The number of equal steps, each at most `longest`, that a span takes. */
MBFMU_EXPORT long long mbfmu_count(double span, double longest) {
    double n = ceil(span / longest * (1 - CLOSE));
    return n > 1 ? (long long)n : 1;
}

/* Go over the span H in steps of at most h_max, chosen by their error if tol > 0: then at most `most` of them. */
static int stretch(const double *x, const double *u, const double *du, const double *p, double t, double H, double h_max,
                   double tol, long long most, double *x1, double *status, struct memory *m) {
    long long n = mbfmu_count(H, h_max);
    return tol > 0 ? control(x, u, du, p, t, H, h_max, tol, most, x1, status, m)
                   : advance(x, u, du, p, t, H / n, n, x1, status, m);
}

#ifdef SAMPLED
/* The time until the next sampling, 0 if one is due. */
static double time_left(const double *x, const double *p, double t, struct memory *m) {
    double until[2];
    until_sampling((const double *const[]){x, p, &t}, (double *const[]){until, until + 1}, m->w);
    return until[0];
}
#endif

#if defined SAMPLED || defined SWITCHED
/* Go over the span H from sampling to sampling and from event to event. A sampling at the end of the span is left to the
 * next call, which has the inputs that hold from there on; `outputs` shows what it will give. */
static int travel(const double *x, const double *u, const double *du, const double *p, double t, double H, double h_max,
                  double tol, long long most, double *x1, double *status, struct memory *m) {
    double now[NX], inputs[NU + 1], total[S_SIZE] = {0}, done = 0;
    double h = h_max < H ? h_max : H;
    long long left = most;
#ifdef SWITCHED
    double values[GUARDS];
    int switched = 0, events = 0, row = 0;
    m->guards = values;
    if (h < SLIVER * h_max) h = h_max; /* the next communication step is longer */
    m->usual = h;
    m->nudge = 0;
#endif
    memcpy(now, x, sizeof now);
    total[S_LEAST_STEP] = H;
    while (done < H && total[S_CODE] == OK) {
        double at = t + done, span = H - done;
        int last = 1;
        memset(status, 0, sizeof(double) * S_SIZE);
        status[S_TIME] = at;
        for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * done;
        SHIFT(at, m->d->begun, 0);
#ifdef SAMPLED
        double until[2];
        if (m->stops && done > 0 && time_left(now, p, at, m) <= 0) {
            total[S_TIME] = at;
            total[S_CODE] = EVENT;
            break;
        }
        total[S_CODE] = sample(now, inputs, du, p, at, h, until, status, m);
#endif
#ifdef SWITCHED
        watch(now, inputs, du, p, at, 0, values, m);
        for (int i = 0; i < GUARDS && !switched && total[S_CODE] == OK; ++i)
            if (values[i] < JUMPED) { /* an input has jumped */
                total[S_CODE] = change_modes(values, JUMPED, now, inputs, du, p, at, h, status, m);
                watch(now, inputs, du, p, at, 0, values, m);
                switched = 1;
            }
        switched = 0;
#endif
        total[S_ITERATIONS] += status[S_ITERATIONS];
        total[S_CORRECTION] = fmax(total[S_CORRECTION], status[S_CORRECTION]);
        total[S_TIME] = at;
        if (total[S_CODE] != OK) break;
#ifdef SAMPLED
        if (!(until[0] > 0)) { /* the period is not positive */
            total[S_CODE] = NO_PERIOD;
            break;
        }
        last = until[0] >= H - done - until[1];
        if (!last) span = until[0];
#endif
        CHANGE(m->d->span = -m->d->begun);
#if defined SAMPLED && defined TIMED
        if (m->d && !last) {
            const double *const in[] = {now, p, &at, m->d->x, m->d->p, &m->d->begun};
            t_until_sampling(in, (double *const[]){&m->d->span}, m->w);
        }
#endif
        if (left-- <= 0) {
            total[S_CODE] = UNFINISHED;
            break;
        }
        int code = stretch(now, inputs, du, p, at, span, h_max, tol, left, m->x, status, m);
        total[S_ITERATIONS] += status[S_ITERATIONS];
        total[S_CORRECTION] = fmax(total[S_CORRECTION], status[S_CORRECTION]);
        total[S_SUBSTEPS] += status[S_SUBSTEPS];
        total[S_LEAST_STEP] = fmin(total[S_LEAST_STEP], status[S_LEAST_STEP]);
        total[S_TIME] = status[S_TIME];
        left -= (long long)status[S_SUBSTEPS];
#ifdef SWITCHED
        if (code == EVENT) {
            memcpy(now, m->x, sizeof now);
            row = status[S_TIME] - at <= fmax(h * NUDGE, m->nudge) ? row + 1 : 0;
            m->nudge = row < 2 ? 0 : row < 32 ? h * NUDGE * (1LL << 2 * row) : h;
            at = status[S_TIME];
            done = at - t;
            if (m->stops && at > m->after) {
                for (int i = 0; i < GUARDS; ++i) now[FALLEN_AT + i] = values[i] < 0;
                total[S_CODE] = EVENT;
                break;
            }
            for (int i = 0; i < NU; ++i) inputs[i] = u[i] + du[i] * done;
            CHANGE(m->d->begun = m->d->event);
            SHIFT(at, m->d->begun, 0);
            code = change_modes(values, 0, now, inputs, du, p, at, h, status, m);
            switched = 1;
            if (code == OK && ++events == MOST_EVENTS) {
                int fallen = 0;
                while (fallen < GUARDS - 1 && !(values[fallen] < 0)) ++fallen;
                total[S_CORRECTION] = fallen;
                code = MANY_EVENTS;
            }
            total[S_CODE] = code;
            continue;
        }
#endif
        total[S_CODE] = code;
        if (code != OK && code != UNFINISHED) break;
        memcpy(now, m->x, sizeof now);
        done = last ? H : done + span;
        CHANGE(m->d->begun += m->d->span);
    }
    memcpy(status, total, sizeof total);
    const int code = (int)status[S_CODE];
    if (code == OK || code == UNFINISHED || code == EVENT) memcpy(x1, now, sizeof now);
    return code;
}
#else
#define travel stretch
#endif

MBFMU_EXPORT int mbfmu_advance(const double *x, const double *u, const double *du, const double *p, double t,
                               double h, long long n, double *x1, double *status, double *work) {
    struct memory m = carve(work);
#if defined SAMPLED || defined SWITCHED
    return travel(x, u, du, p, t, h * n, h, 0, MOST_STEPS, x1, status, &m);
#else
    return advance(x, u, du, p, t, h, n, x1, status, &m);
#endif
}

MBFMU_EXPORT int mbfmu_control(const double *x, const double *u, const double *du, const double *p, double t, double H,
                               double h_max, double tol, long long most, double *x1, double *status, double *work) {
    struct memory m = carve(work);
#if defined SAMPLED || defined SWITCHED
    return travel(x, u, du, p, t, H, h_max, tol, most, x1, status, &m);
#else
    return control(x, u, du, p, t, H, h_max, tol, most, x1, status, &m);
#endif
}

/* Go over the span H in steps of at most h_max, chosen by their error if tol > 0. */
static int move(const double *x, const double *u, const double *du, const double *p, double t, double H, double h_max,
                double tol, double *x1, double *status, struct memory *m) {
    return travel(x, u, du, p, t, H, h_max, tol, MOST_STEPS, x1, status, m);
}

/* Go from one communication point to the next, and compute the outputs there: one call with one argument, as each
 * costs time where the caller is written in another language. a = {x, u, du, p, x1, y, status, work, span}, and span =
 * {t, H, h_max, tol}. */
MBFMU_EXPORT int mbfmu_communicate(double *const *a) {
    struct memory m = carve(a[7]);
    const double t = a[8][0], H = a[8][1];
    double *x1 = a[4], *status = a[6], inputs[NU + 1];
    int code = move(a[0], a[1], a[2], a[3], t, H, a[8][2], a[8][3], x1, status, &m);
    if (code != OK) return code;
    for (int i = 0; i < NU; ++i) inputs[i] = a[1][i] + a[2][i] * H;
    if (show(x1, inputs, a[3], t + H, a[5], &m) == OK) return OK;
    status[S_TIME] = t + H;
    status[S_CODE] = OUTPUTS_NOT_FINITE;
    return OUTPUTS_NOT_FINITE;
}

#if defined SAMPLED || defined SWITCHED
/* The same, but only up to a sampling on the way, or to the first event after a time. Neither acts yet: the code is EVENT
 * then, and status[S_TIME] is where that is. */
MBFMU_EXPORT int mbfmu_stride(double *const *a, double after) {
    struct memory m = carve(a[7]);
    const double t = a[8][0], H = a[8][1];
    double *x1 = a[4], *status = a[6], inputs[NU + 1];
    m.stops = 1;
    m.after = after;
    const int code = move(a[0], a[1], a[2], a[3], t, H, a[8][2], a[8][3], x1, status, &m);
    if (code != OK && code != EVENT) return code;
    const double end = code == EVENT ? status[S_TIME] : t + H, span = code == EVENT ? end - t : H;
    for (int i = 0; i < NU; ++i) inputs[i] = a[1][i] + a[2][i] * span;
    if (mbfmu_outputs(x1, inputs, a[3], end, a[5], a[7]) == OK) return code;
    status[S_TIME] = end;
    status[S_CODE] = OUTPUTS_NOT_FINITE;
    return OUTPUTS_NOT_FINITE;
}

/* Let the event act at which a stride has stopped, the samplings that are due, and inputs that have jumped. */
MBFMU_EXPORT int mbfmu_settle(const double *x, const double *u, const double *du, const double *p, double t, double h,
                              double *x1, double *status, double *work) {
    struct memory m = carve(work);
    double now[NX];
    int code = OK;
    memcpy(now, x, sizeof now);
    memset(status, 0, sizeof(double) * S_SIZE);
    status[S_TIME] = t;
#ifdef SWITCHED
    double values[GUARDS];
    int fallen = 0;
    m.usual = h;
    for (int i = 0; i < GUARDS; ++i) fallen |= now[FALLEN_AT + i] != 0;
    if (fallen) code = restart(&FORMULA_switch, now, u, du, p, t, h, status, &m);
#endif
#ifdef SAMPLED
    double until[2];
    if (code == OK) code = sample(now, u, du, p, t, h, until, status, &m);
#endif
#ifdef SWITCHED
    watch(now, u, du, p, t, 0, values, &m);
    for (int i = 0; i < GUARDS && !fallen && code == OK; ++i)
        if (values[i] < JUMPED) {
            code = change_modes(values, JUMPED, now, u, du, p, t, h, status, &m);
            fallen = 1;
        }
#endif
    if (code == OK) memcpy(x1, now, sizeof now);
    status[S_CODE] = code;
    return code;
}

/* The time until the next sampling: 0 if one is due, and infinity if there is none. */
MBFMU_EXPORT double mbfmu_until(const double *x, const double *p, double t, double *work) {
#ifdef SAMPLED
    struct memory m = carve(work);
    return time_left(x, p, t, &m);
#else
    (void)x, (void)p, (void)t, (void)work;
    return INFINITY;
#endif
}
#endif
