#ifndef MODEL_H
#define MODEL_H
#ifdef __cplusplus
extern "C" {
#endif

#define MODEL_STEP @STEP@ /* length of a step, s */

@SIZES@

/* Indices of the variables, with unit and meaning. */
@INDICES@

/* All that a step needs, and all that it leaves. Nothing is allocated. */
struct MODEL_model {
    @COUNT@ steps; /* since the start */
    double u[@NU@];  /* inputs: set them before a step, which takes them as constant */
    double p[@NP@];  /* parameters; those that decide the start are read by MODEL_start alone */
    double s[@NS@];  /* start values, of outputs that have one: see MODEL_starts */
    double y[@NY@];  /* outputs, of the present time */
    double time;     /* s; set it before MODEL_start */
    double begun;
    double x[@NX@], x1[@NX@], du[@NU@], status[@STATUS@], work[@WORK@];
};

/* What functions return; after another code than MODEL_OK the state is as before. */
enum { @CODES@ };

/* Names and units of inputs, parameters and outputs by their indices, and the output of each start value. */
extern const char *const MODEL_input_names[], *const MODEL_input_units[];
extern const char *const MODEL_parameter_names[], *const MODEL_parameter_units[];
extern const char *const MODEL_output_names[], *const MODEL_output_units[];
extern const int MODEL_starts[];

/* Set inputs, parameters and start values to their defaults, and the time to 0. */
void MODEL_defaults(struct MODEL_model *m);
/* Find the state at which the mechanism starts, and its outputs. */
int MODEL_start(struct MODEL_model *m);
/* Make a step of MODEL_STEP, and compute the outputs at its end. */
int MODEL_step(struct MODEL_model *m);

#ifdef __cplusplus
}
#endif
#endif
