/* What an FMU for model exchange does beside core.c: a solver of the master's own integrates its continuous states. */
#include "core.h"

#include <math.h>
#include <string.h>

static const int PLACES[] = {STATE_PLACES};
static const double NOMINALS[] = {STATE_NOMINALS};
static const char *const NAMES[] = {STATE_NAMES};

/* Whether a master means all states or indicators. */
static int all(struct core *m, size_t n, size_t number, const char *what) {
    if (n == number) return 1;
    core_say(&m->host, REFUSED, "there are %lu %s, not %lu", (unsigned long)number, what, (unsigned long)n);
    return 0;
}

/* Whether there is a state: while initialising it is that of the values set so far; logs why there is none. */
static int has_state(struct core *m) {
#ifdef BOUNDED
    if (m->retuned && core_prepare(m) != DONE) return 0;
#endif
    return m->now.phase != INITIALISING || core_prepare(m) == DONE;
}

enum outcome core_at(struct core *m, double time) {
    if (!isfinite(time)) return core_say(&m->host, REFUSED, "a time of %g s is not possible", time);
    if (time == m->now.time) return DONE;
    m->now.time = time;
    note_change(m);
    return DONE;
}

enum outcome core_get_states(struct core *m, double states[], size_t n) {
    if (!all(m, n, N_STATES, "continuous states") || !has_state(m)) return REFUSED;
    for (size_t i = 0; i < n; ++i) states[i] = m->now.x[PLACES[i]];
    return DONE;
}

enum outcome core_set_states(struct core *m, const double states[], size_t n) {
    if (!all(m, n, N_STATES, "continuous states")) return REFUSED;
    for (size_t i = 0; i < n; ++i)
        if (!(fabs(states[i]) <= LARGEST))
            return core_say(&m->host, DISCARDED, "%s = %.6g is not finite, or larger than %g", NAMES[i], states[i],
                            LARGEST);
    for (size_t i = 0; i < n; ++i) m->now.x[PLACES[i]] = states[i];
    note_change(m);
    return DONE;
}

enum outcome core_get_nominals(struct core *m, double nominals[], size_t n) {
    if (!all(m, n, N_STATES, "continuous states")) return REFUSED;
    for (size_t i = 0; i < n; ++i) nominals[i] = NOMINALS[i];
    return DONE;
}

int core_compute_rates(struct core *m) {
    const struct state *now = &m->now;
    const double stabilised = now->settings[STABILIZATION];
    if (m->rates_stale)
        m->rates_stale = mbfmu_rates(now->x, now->u, now->p, now->time, stabilised, m->rates, m->work) != OK;
    return !m->rates_stale;
}

enum outcome core_get_state_rates(struct core *m, double rates[], size_t n) {
    if (!all(m, n, N_STATES, "continuous states") || !has_state(m)) return REFUSED;
    if (!core_valid(m, DISCARDED)) return DISCARDED;
    if (!core_compute_rates(m)) return core_lost(m, DISCARDED, "the time derivatives are not finite");
    for (size_t i = 0; i < n; ++i) rates[i] = m->rates[PLACES[i]];
    return DONE;
}

enum outcome core_get_indicators(struct core *m, double indicators[], size_t n) {
    if (!all(m, n, N_INDICATORS, "event indicators") || !has_state(m)) return REFUSED;
#ifdef SWITCHED
    const struct state *now = &m->now;
    mbfmu_indicators(now->x, now->u, now->p, now->time, now->shift, indicators, m->work);
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(indicators[i]))
            return core_lost(m, DISCARDED, "event indicators are not finite");
#else
    (void)indicators;
#endif
    return DONE;
}

void core_note_inputs(struct core *m) {
    memcpy(m->now.from_u, m->now.u, sizeof m->now.u);
    memcpy(m->now.from_p, m->now.p, sizeof m->now.p);
    memcpy(m->now.from_settings, m->now.settings, sizeof m->now.settings);
}

/* Whether inputs or parameters are other ones than when the event mode began, or at the last update in it. */
static int inputs_jumped(const struct state *now) {
    for (int i = 0; i < NU; ++i)
        if (now->u[i] != now->from_u[i]) return 1;
    for (int i = 0; i < NP; ++i)
        if (now->p[i] != now->from_p[i]) return 1;
    return now->settings[STABILIZATION] != now->from_settings[STABILIZATION];
}

enum outcome core_update(struct core *m, struct update *done) {
    struct state *now = &m->now;
    double status[S_SIZE], shift[N_INDICATORS + 1];
    if (!core_valid(m, REFUSED)) return REFUSED;
    memcpy(shift, now->shift, sizeof shift);
    const int code = mbfmu_update(now->x, now->u, now->p, now->time, shift, m->x1, &done->next, status, m->work);
    if (code == NO_PERIOD)
        return core_say(&m->host, REFUSED,
                        "a sampled block has more than one sampling to do at t = %.9g s: a solver must stop at the time of "
                        "each event, and the period must be positive; check the parameters it depends on",
                        now->time);
    if (code == MANY_EVENTS)
        return core_say(&m->host, REFUSED,
                        "no modes of contacts at t = %.9g s agree with the forces after %d changes; if the solver's "
                        "steps are long, take shorter ones",
                        now->time, MOST_CHANGES);
    if (code != OK)
        return core_say(&m->host, REFUSED,
                        "the event at t = %.9g s has no solution: the equations did not converge (last correction "
                        "%.2g); if the solver's steps are long, take shorter ones",
                        now->time, status[S_CORRECTION]);
    done->changed = inputs_jumped(now);
    for (int i = 0; i < NX; ++i) done->changed |= m->x1[i] != now->x[i];
    memcpy(now->x, m->x1, sizeof now->x);
    memcpy(now->shift, shift, sizeof shift);
    core_note_inputs(m);
    note_change(m);
    return DONE;
}

enum outcome core_accept(struct core *m, int *wanted) {
    struct state *now = &m->now;
    double status[S_SIZE];
    *wanted = mbfmu_drift(now->x, now->u, now->p, now->time, m->work) > now->settings[DRIFT];
    if (mbfmu_accept(now->x, now->u, now->p, now->time, m->x1, status, m->work) != OK)
        return core_say(&m->host, REFUSED,
                        "the constraints cannot be met at t = %.9g s (last correction %.2g): the solver's steps have left "
                        "them too far, or the mechanism is near a singular position; give the solver a tighter tolerance "
                        "or shorter steps, or raise solver.stabilization (now %g 1/s)",
                        now->time, status[S_CORRECTION], now->settings[STABILIZATION]);
    memcpy(now->x, m->x1, sizeof now->x);
#ifdef SWITCHED
    *wanted |= mbfmu_arm(now->x, now->u, now->p, now->time, now->shift, m->work);
#endif
    *wanted |= mbfmu_due(now->x, now->p, now->time, m->work);
    note_change(m);
    return DONE;
}
