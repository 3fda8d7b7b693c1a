/* A run of the default values, for the comparison of both precisions. */
#include "kernel.h"

#include "@STEM@.h"

#ifdef _WIN32
#define SHOWN __declspec(dllexport)
#else
#define SHOWN __attribute__((visibility("default")))
#endif

static struct MODEL_model model;

/* Take n steps; write the outputs at the start and after every `every` steps into y, one row after the other. Return the
 * number of steps taken; *code is that of the last one, and *left what it left of its equations. */
SHOWN long long compared(long long n, long long every, double *y, int *code, double *left) {
    long long k = 0;
    MODEL_defaults(&model);
    *code = MODEL_start(&model);
    while (*code == OK) {
        if (k % every == 0) {
            for (int i = 0; i < NY; ++i) *y++ = model.y[i];
        }
        if (k == n) break;
        *code = MODEL_step(&model);
        if (*code == OK) ++k;
    }
    *left = model.status[S_CORRECTION];
    return k;
}
