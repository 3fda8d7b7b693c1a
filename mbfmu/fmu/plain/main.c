/* An example: a second of steps, with the outputs at its end. */
#include "@STEM@.h"

#include <stdio.h>

static struct MODEL_model model; /* all the memory that there is */

int main(void) {
    int code;
    MODEL_defaults(&model);
    code = MODEL_start(&model);
    while (code == MODEL_OK && model.time + MODEL_STEP / 2 < 1) {
        /* set model.u[...] here, from sensors and setpoints */
        code = MODEL_step(&model);
    }
    if (code != MODEL_OK) {
        printf("code %d at t = %g s\n", code, (double)model.time);
        return 1;
    }
    for (int k = 0; k < MODEL_OUTPUTS; ++k)
        printf("%s = %.17g %s\n", MODEL_output_names[k], (double)model.y[k], MODEL_output_units[k]);
    return 0;
}
