/* Equal steps of LANES instances at a time. Each lane makes the passes of a stage that advance() of driver.c makes, and
 * then rests, so that its bits are those of its instance alone. A lane whose step fails is left to advance().
 *
 * Included after the generated code, in lanes, the definitions that step.h and driver.c need, and block.h.
 */
#include <math.h>
#include <string.h>

#define MAPPED (NX - 1)
#define PUT(array, values, count)                                \
    for (int i_ = 0; i_ < (count); ++i_) (array)[i_] = (values)[i_]

struct lanes_memory {
    V *w, *z, *next, *now, *x1, *inputs;
};

/* The lanes in which a correction leaves at most an error, or no longer shrinks and is at most a size. */
static MASK lanes_end(V correction, V ratio, V error, V stalled) {
    return ((ratio < 1.0) & (correction * ratio <= error * (1.0 - ratio))) | ((ratio > 0.5) & (correction <= stalled));
}

/* The lanes that are at rest: see runtime.py. */
static MASK at_rest(V correction, V last, MASK solved, const V *q, int n) {
    const V ratio = correction / last;
    solved |= (correction <= ROUND_OFF / 10) | lanes_end(correction, ratio, ALL(ROUND_OFF), ALL(STALLED));
    if (!n || lanes_all(solved)) return solved;
    V lost = ALL(0.0);
    for (int i = 0; i < n; ++i) lost += lanes_fabs(q[i]);
    lost *= HALF_UNIT;
    return solved | lanes_end(correction, ratio, lost, STALLED_UNITS * lost);
}

/* Take a step from m->now to m->x1; return the lanes in which it failed. */
static MASK take(const V *du, const V *p, V t, V h, struct lanes_memory *m) {
    const struct formula *const f = &FORMULA_step;
    const V *const in[] = {m->now, m->inputs, du, p, &t, &h, m->z};
    MASK failed = t != t;
    for (int k = 0; k < f->stages; ++k) {
        const int n = f->size[k];
        V *const z = m->z + f->place[k];
        V last = ALL(NAN), correction = ALL(NAN);
        MASK solved = failed;
        f->guess[k](in, (V *const[]){z, 0}, m->w);
        if (!f->correct[k]) continue;
        for (int pass = 0; pass < MAX_CORRECTIONS && !lanes_all(solved); ++pass) {
            f->correct[k](in, (V *const[]){m->next, &correction}, m->w);
            const MASK lost = ~solved & ~(lanes_fabs(correction) < INFINITY);
            failed |= lost;
            solved |= lost;
            for (int i = 0; i < n; ++i) z[i] = lanes_choose(solved, z[i], m->next[i]);
            solved = at_rest(correction, last, solved, m->now, pass < QUICK_CORRECTIONS ? 0 : f->coordinates);
            last = correction;
        }
        failed |= ~solved;
    }
    f->result(in, (V *const[]){m->x1, 0}, m->w);
    for (int i = 0; i < MAPPED; ++i) failed |= ~(lanes_fabs(m->x1[i]) < LOST);
    return failed;
}

/* Take the n equal steps of a block from x to x1, and find the outputs y there. */
void BLOCK(const struct block *b) {
    struct lanes_memory m;
    const V *const from = (const V *)b->x, *const start = (const V *)b->u, *const rates = (const V *)b->du;
    const V *const parameters = (const V *)b->p;
    const double t = b->t, H = b->H, h = H / b->n;
    m.z = (V *)b->work;
    m.next = m.z + NZ + 1;
    m.now = m.next + NZ + 1;
    m.x1 = m.now + NX;
    m.inputs = m.x1 + NX;
    m.w = m.inputs + NU + 1;
    MASK lost = ALL(t) != ALL(t);
    PUT(m.now, from, NX);
    PUT(m.x1, from, NX); /* with the entry that no step maps */
    for (long long k = 0; k < b->n && !lanes_all(lost); ++k) {
        const double dt = k * h;
        for (int i = 0; i < NU; ++i) m.inputs[i] = start[i] + rates[i] * dt;
        lost |= take(rates, parameters, ALL(t + dt), ALL(h), &m);
        V *const before = m.now;
        m.now = m.x1;
        m.x1 = before;
    }
    const V end = ALL(t + H);
    for (int i = 0; i < NU; ++i) m.inputs[i] = start[i] + rates[i] * H;
    outputs((const V *const[]){m.now, m.inputs, parameters, &end}, (V *const[]){(V *)b->y}, m.w);
    for (int i = 0; i < NY; ++i) lost |= ~(lanes_fabs(((const V *)b->y)[i]) < INFINITY);
    PUT((V *)b->x1, m.now, NX);
    for (int k = 0; k < LANES; ++k) b->failed[k] = lost[k] != 0;
}
