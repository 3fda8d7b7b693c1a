/* An instance of the FMU, what of it is state, and when each function may be called. */
#ifndef INSTANCE_H
#define INSTANCE_H

#include "kernel.h"
#include "model.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"
#include "prefix.h"

enum { FIRST_U = 1, FIRST_P = FIRST_U + NU, STEP = FIRST_P + NP, TOLERANCE, FIRST_Y, CORRECTION = FIRST_Y + NY };
enum { START_TIME = N_VALUES }; /* what is refused beside variables */

#define LARGEST 1e100  /* of the values that may be set */
#define MOST_STEPS 1e9 /* of the stepper in one communication step; more would not end */
#define UNSOLVED 1e-9  /* a correction above it is worth a notice, where their number is fixed */

enum phase { INSTANTIATED = 1, INITIALISING = 2, RUNNING = 4, TERMINATED = 8, ANY = 15 };

/* When each function may be called (FMI 2.0.4, table in 4.2.4); a discarded step leaves all as it was. */
enum call {
    SET_DEBUG_LOGGING, SETUP_EXPERIMENT, ENTER_INITIALIZATION_MODE, EXIT_INITIALIZATION_MODE, TERMINATE, RESET,
    GET_REAL, GET_INTEGER, GET_BOOLEAN, GET_STRING, SET_REAL, SET_INTEGER, SET_BOOLEAN, SET_STRING, GET_STATE,
    SET_STATE, FREE_STATE, STATE_SIZE, SERIALIZE, DESERIALIZE, DIRECTIONAL_DERIVATIVE, INPUT_DERIVATIVES,
    OUTPUT_DERIVATIVES, DO_STEP, CANCEL_STEP, GET_STATUS, GET_REAL_STATUS, GET_INTEGER_STATUS, GET_BOOLEAN_STATUS,
    GET_STRING_STATUS
};
static const struct {
    const char *name;
    int phases;
} CALLS[] = {
    [SET_DEBUG_LOGGING] = {"fmi2SetDebugLogging", ANY},
    [SETUP_EXPERIMENT] = {"fmi2SetupExperiment", INSTANTIATED},
    [ENTER_INITIALIZATION_MODE] = {"fmi2EnterInitializationMode", INSTANTIATED},
    [EXIT_INITIALIZATION_MODE] = {"fmi2ExitInitializationMode", INITIALISING},
    [TERMINATE] = {"fmi2Terminate", RUNNING},
    [RESET] = {"fmi2Reset", ANY},
    [GET_REAL] = {"fmi2GetReal", INITIALISING | RUNNING | TERMINATED},
    [GET_INTEGER] = {"fmi2GetInteger", INITIALISING | RUNNING | TERMINATED},
    [GET_BOOLEAN] = {"fmi2GetBoolean", INITIALISING | RUNNING | TERMINATED},
    [GET_STRING] = {"fmi2GetString", INITIALISING | RUNNING | TERMINATED},
    [SET_REAL] = {"fmi2SetReal", INSTANTIATED | INITIALISING | RUNNING},
    [SET_INTEGER] = {"fmi2SetInteger", INSTANTIATED | INITIALISING | RUNNING},
    [SET_BOOLEAN] = {"fmi2SetBoolean", INSTANTIATED | INITIALISING | RUNNING},
    [SET_STRING] = {"fmi2SetString", INSTANTIATED | INITIALISING | RUNNING},
    [GET_STATE] = {"fmi2GetFMUstate", ANY},
    [SET_STATE] = {"fmi2SetFMUstate", ANY},
    [FREE_STATE] = {"fmi2FreeFMUstate", ANY},
    [STATE_SIZE] = {"fmi2SerializedFMUstateSize", ANY},
    [SERIALIZE] = {"fmi2SerializeFMUstate", ANY},
    [DESERIALIZE] = {"fmi2DeSerializeFMUstate", ANY},
    [DIRECTIONAL_DERIVATIVE] = {"fmi2GetDirectionalDerivative", INITIALISING | RUNNING | TERMINATED},
    [INPUT_DERIVATIVES] = {"fmi2SetRealInputDerivatives", INSTANTIATED | INITIALISING | RUNNING},
    [OUTPUT_DERIVATIVES] = {"fmi2GetRealOutputDerivatives", RUNNING | TERMINATED},
    [DO_STEP] = {"fmi2DoStep", RUNNING},
    [CANCEL_STEP] = {"fmi2CancelStep", 0}, /* no step is ever in progress */
    [GET_STATUS] = {"fmi2GetStatus", RUNNING | TERMINATED},
    [GET_REAL_STATUS] = {"fmi2GetRealStatus", RUNNING | TERMINATED},
    [GET_INTEGER_STATUS] = {"fmi2GetIntegerStatus", RUNNING | TERMINATED},
    [GET_BOOLEAN_STATUS] = {"fmi2GetBooleanStatus", RUNNING | TERMINATED},
    [GET_STRING_STATUS] = {"fmi2GetStringStatus", RUNNING | TERMINATED},
};

enum { LOG_WARNING, LOG_DISCARD, LOG_ERROR, LOG_ALL, N_CATEGORIES };
static const char *const CATEGORIES[] = {"logStatusWarning", "logStatusDiscard", "logStatusError", "logAll"};

enum why { FINE, IS_NOT_FINITE, TOO_LARGE, IS_COMPUTED, START_IS_OVER, IS_FIXED, OUT_OF_BOUNDS };

struct refusal {
    double value;
    int64_t where; /* value reference, or START_TIME */
    int64_t why;
};

/* All that later calls depend on; members of eight bytes, so that it has no gaps. */
struct state {
    int64_t phase;
    int64_t last; /* fmi2Status of the last step */
    int64_t refused; /* how many */
    double time, step, tolerance, correction;
    double u[NU + 1], du[NU + 1], p[NP + 1], s[NS + 1], x[NX + 1];
    /* where x comes from: a step over the span, or the start values if that is 0 */
    double from_time, span, from_step, from_tolerance;
    double from_u[NU + 1], from_du[NU + 1], from_p[NP + 1], from_x[NX + 1];
    struct refusal refusals[N_VALUES + 1];
};

struct head {
    char magic[8];
    uint64_t version, size, checksum;
    char owner[40];
};

struct saved {
    struct head head;
    struct state state;
};

#define VERSION 1
static const char MAGIC[8] = {'m', 'b', 'f', 'm', 'u', ' ', 'x', '\n'};

struct instance {
    fmi2CallbackFunctions host;
    char *name;
    int categories; /* bits of those that are told */
    int stale;      /* values have changed since outputs were computed */
    struct state now;
    double *y, *y1; /* outputs, and room for those of a step that may still fail */
    double outputs[2][NY];
    double x1[NX + 1];
    double none[NU + 1];
    double su[NU + 1], sp[NP + 1], ss[NS + 1], sx[NX + 1];
    double work[WORK_SIZE];
};

#endif
