/* Sines and cosines of many angles, several at a time where the compiler has vectors. */
#if defined __GNUC__ && !defined __TINYC__
#ifdef __AVX2__
#define LANES 4
#else
#define LANES 2
#endif
#include "several.h"
#endif

static void sines_and_cosines(const double *angles, int n, double *sines, double *cosines) {
    int k = 0;
#ifdef LANES
    for (; k + LANES <= n; k += LANES) {
        SEVERAL x, sine, cosine;
        memcpy(&x, angles + k, sizeof x);
        struct lanes_turn a = lanes_turned(lanes_reduced(x));
        if (lanes_are_near(a.quadrant)) {
            sine = lanes_sine_in(a);
            cosine = lanes_cosine_in(a);
        } else {
            sine = lanes_sine_each(x);
            cosine = lanes_cosine_each(x);
        }
        memcpy(sines + k, &sine, sizeof sine);
        memcpy(cosines + k, &cosine, sizeof cosine);
    }
#endif
    for (; k < n; ++k) {
        sines[k] = mbfmu_sin(angles[k]);
        cosines[k] = mbfmu_cos(angles[k]);
    }
}
