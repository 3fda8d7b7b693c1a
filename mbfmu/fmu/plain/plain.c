#include "kernel.h"

#include "@STEM@.h"
#include "exact.h"

@TABLES@

void MODEL_defaults(struct MODEL_model *m) {
    static const double u[] = {@U@}, p[] = {@P@}, s[] = {@S@};
    memset(m, 0, sizeof *m);
    memcpy(m->u, u, sizeof m->u);
    memcpy(m->p, p, sizeof m->p);
    memcpy(m->s, s, sizeof m->s);
}

int MODEL_start(struct MODEL_model *m) {
    const int code =
        mbfmu_initialize(m->s, m->u, m->du, m->p, m->time, MODEL_STEP, m->x1, m->status, m->work);
    if (code != OK) return code;
    if (mbfmu_outputs(m->x1, m->u, m->p, m->time, m->y, m->work) != OK) return OUTPUTS_NOT_FINITE;
    memcpy(m->x, m->x1, sizeof m->x);
    m->begun = m->time;
    m->steps = 0;
    return OK;
}

int MODEL_step(struct MODEL_model *m) {
    double span[] = {@NOW@, MODEL_STEP, MODEL_STEP, 0};
    double *const all[] = {m->x, m->u, m->du, m->p, m->x1, m->y, m->status, m->work, span, 0};
    const int code = mbfmu_communicate(all);
    if (code != OK) return code;
    memcpy(m->x, m->x1, sizeof m->x);
    m->steps += 1;
    m->time = m->begun + m->steps * MODEL_STEP;
    return OK;
}
