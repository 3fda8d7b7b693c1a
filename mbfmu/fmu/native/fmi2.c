/* FMI 2.0 for co-simulation around a generated kernel; the same for every model.
 *
 * kernel.h gives the sizes and functions of the kernel, model.h the tables of the variables. Value references number
 * time, inputs, parameters, solver.step, solver.tolerance, the outputs and, with a fixed number of corrections,
 * solver.correction. An instance is one block of memory and nothing is allocated later, but for the states a master
 * asks for. There is no data outside of instances, so instances may run in threads of their own.
 *
 * A value that may not be taken is refused with a message and fmi2Warning, the old one stays, and steps are discarded
 * until a good value takes its place. */
#include "instance.h"
#include "texts.h"

/* -- values ------------------------------------------------------------------------------------------------------ */

static double known(const struct state *now, int reference) {
    if (reference == TOLERANCE) return now->tolerance;
    if (reference == STEP) return now->step;
    if (reference >= FIRST_P) return now->p[reference - FIRST_P];
    return reference ? now->u[reference - FIRST_U] : now->time;
}

static enum why why_not(const struct state *now, int reference, double value) {
    const int started = now->phase == RUNNING;
    const int is_start = reference >= FIRST_Y && reference < FIRST_Y + NY && START_OF[reference - FIRST_Y] >= 0;
    if (!isfinite(value)) return IS_NOT_FINITE;
    if (fabs(value) > LARGEST) return TOO_LARGE;
    if (reference == 0 || (reference >= FIRST_Y && !is_start)) return IS_COMPUTED;
    if (is_start && started) return START_IS_OVER;
    if (reference >= FIRST_P && reference < FIRST_Y) {
        const struct bounds *b = &BOUNDS[reference - FIRST_P];
        if (started && !b->tunable && value != known(now, reference)) return IS_FIXED;
        if (!(b->min <= value && value <= b->max)) return OUT_OF_BOUNDS;
    }
    return FINE;
}

/* Compute the outputs that belong to the present values; 0, or a text that says why not. */
static const char *refresh(struct instance *m, struct text *t) {
    struct state *now = &m->now;
    int finite;
    if (now->phase < RUNNING) {
        double status[S_SIZE];
        int code = mbfmu_initialize(now->s, now->u, m->none, now->p, now->time, now->step, m->x1, status, m->work);
        if (code != OK) {
            add(t,
                "%s: no consistent start at t = %.9g s: start values contradict the constraints, or the parameters "
                "leave a loop open (last correction %.2g)",
                MODEL_NAME, now->time, status[S_CORRECTION]);
            return t->all;
        }
        memcpy(now->x, m->x1, sizeof now->x);
        memcpy(now->from_u, now->u, sizeof now->u);
        memset(now->from_du, 0, sizeof now->from_du);
        memcpy(now->from_p, now->p, sizeof now->p);
        now->from_time = now->time;
        now->from_step = now->step;
        now->span = 0;
    }
    finite = mbfmu_outputs(now->x, now->u, now->p, now->time, m->y1, m->work) == OK;
    if (now->phase < RUNNING && !finite) {
        add(t, "%s: the start values give outputs that are not finite", MODEL_NAME);
        return t->all;
    }
    double *y = m->y;
    m->y = m->y1;
    m->y1 = y;
    m->stale = 0;
    return 0;
}

static fmi2Status unknown(struct instance *m, enum call which, fmi2ValueReference vr) {
    return fail(m, fmi2Error, "%s: value reference %u: there is no such variable", CALLS[which].name, vr);
}

static int all_known(struct instance *m, enum call which, const fmi2ValueReference vr[], size_t nvr) {
    for (size_t i = 0; i < nvr; ++i)
        if (vr[i] >= N_VALUES) {
            unknown(m, which, vr[i]);
            return 0;
        }
    return 1;
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Real value[]) {
    struct instance *m = enter(c, GET_REAL);
    if (!m) return fmi2Error;
    if (nvr && (!vr || !value)) return missing(m, GET_REAL);
    if (m->stale) {
        struct text t = {"", 0};
        refresh(m, &t); /* an impossible start is told when the initialisation ends; until then the last one shows */
    }
    for (size_t i = 0; i < nvr; ++i) {
        const fmi2ValueReference output = vr[i] - FIRST_Y; /* large for all before */
        if (output < NY)
            value[i] = m->y[output];
        else if (vr[i] < FIRST_Y)
            value[i] = known(&m->now, (int)vr[i]);
        else if (vr[i] < N_VALUES)
            value[i] = m->now.correction;
        else
            return unknown(m, GET_REAL, vr[i]);
    }
    return fmi2OK;
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Real value[]) {
    struct instance *m = enter(c, SET_REAL);
    fmi2Status status = fmi2OK;
    if (!m) return fmi2Error;
    if (nvr && (!vr || !value)) return missing(m, SET_REAL);
    if (!all_known(m, SET_REAL, vr, nvr)) return fmi2Error;
    struct state *now = &m->now;
    for (size_t i = 0; i < nvr; ++i) {
        int reference = (int)vr[i];
        enum why why = why_not(now, reference, value[i]);
        if (why != FINE) {
            struct text t = {"", 0};
            struct refusal r = {value[i], reference, why};
            refuse(now, reference, value[i], why);
            add_refusal(&t, &r);
            say(m, fmi2Error, &t);
            status = fmi2Warning;
            continue;
        }
        if (now->refused) forgive(now, reference);
        if (reference < FIRST_P)
            now->u[reference - FIRST_U] = value[i];
        else if (reference < STEP)
            now->p[reference - FIRST_P] = value[i];
        else if (reference == STEP)
            now->step = value[i];
        else if (reference == TOLERANCE)
            now->tolerance = value[i];
        else
            now->s[START_OF[reference - FIRST_Y]] = value[i];
    }
    m->stale = 1;
    return status;
}

static fmi2Status other_type(fmi2Component c, enum call which, size_t nvr) {
    struct instance *m = enter(c, which);
    if (!m) return fmi2Error;
    return nvr ? fail(m, fmi2Error, "all variables are real numbers") : fmi2OK;
}

fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Integer value[]) {
    (void)vr, (void)value;
    return other_type(c, GET_INTEGER, nvr);
}

fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Boolean value[]) {
    (void)vr, (void)value;
    return other_type(c, GET_BOOLEAN, nvr);
}

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2String value[]) {
    (void)vr, (void)value;
    return other_type(c, GET_STRING, nvr);
}

fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Integer value[]) {
    (void)vr, (void)value;
    return other_type(c, SET_INTEGER, nvr);
}

fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Boolean value[]) {
    (void)vr, (void)value;
    return other_type(c, SET_BOOLEAN, nvr);
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2String value[]) {
    (void)vr, (void)value;
    return other_type(c, SET_STRING, nvr);
}

/* -- life cycle -------------------------------------------------------------------------------------------------- */

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }

const char *fmi2GetVersion(void) { return fmi2Version; }

static void begin(struct instance *m) {
    struct state *now = &m->now;
    memset(now, 0, sizeof *now);
    now->phase = INSTANTIATED;
    now->step = STEP_DEFAULT;
    now->tolerance = TOLERANCE_DEFAULT;
    memcpy(now->u, U_DEFAULT, sizeof now->u);
    memcpy(now->p, P_DEFAULT, sizeof now->p);
    memcpy(now->s, S_DEFAULT, sizeof now->s);
    memset(m->outputs, 0, sizeof m->outputs);
    m->stale = 1;
}

static void *allocate(const fmi2CallbackFunctions *host, size_t size) {
    void *found = host->allocateMemory && host->freeMemory ? host->allocateMemory(1, size) : calloc(1, size);
    if (found) memset(found, 0, size);
    return found;
}

static void release(const fmi2CallbackFunctions *host, void *block) {
    if (host->allocateMemory && host->freeMemory)
        host->freeMemory(block);
    else
        free(block);
}

fmi2Component fmi2Instantiate(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                              fmi2String fmuResourceLocation, const fmi2CallbackFunctions *functions,
                              fmi2Boolean visible, fmi2Boolean loggingOn) {
    const fmi2CallbackFunctions nobody = {0, 0, 0, 0, 0};
    const fmi2CallbackFunctions *host = functions ? functions : &nobody;
    struct text t = {"", 0};
    struct instance *m = 0;
    (void)fmuResourceLocation, (void)visible;
    add(&t, "%s: ", MODEL_NAME);
    if (!functions) return 0;
    if (!instanceName || !*instanceName) {
        add(&t, "an instance needs a name");
    } else if (fmuType != fmi2CoSimulation) {
        add(&t, "this FMU is for co-simulation only");
    } else if (!fmuGUID || strcmp(fmuGUID, MODEL_GUID) != 0) {
        add(&t, "the GUID is %s and not %s: modelDescription.xml belongs to another FMU", fmuGUID ? fmuGUID : "NULL",
            MODEL_GUID);
    } else {
        size_t length = strlen(instanceName) + 1;
        m = allocate(host, sizeof *m + length);
        if (m) {
            m->host = *host;
            m->name = (char *)(m + 1);
            memcpy(m->name, instanceName, length);
            m->categories = loggingOn ? (1 << N_CATEGORIES) - 1 : 0;
            m->y = m->outputs[0];
            m->y1 = m->outputs[1];
            begin(m);
            return m;
        }
        add(&t, "the master gave no memory");
    }
    tell(host, instanceName ? instanceName : "", fmi2Error, LOG_ERROR, &t);
    return 0;
}

void fmi2FreeInstance(fmi2Component c) {
    struct instance *m = c;
    if (m) {
        fmi2CallbackFunctions host = m->host;
        release(&host, m);
    }
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                               const fmi2String categories[]) {
    struct instance *m = enter(c, SET_DEBUG_LOGGING);
    int chosen = nCategories ? 0 : (1 << N_CATEGORIES) - 1;
    if (!m) return fmi2Error;
    if (nCategories && !categories) return missing(m, SET_DEBUG_LOGGING);
    for (size_t i = 0; i < nCategories; ++i) {
        int k = 0;
        while (k < N_CATEGORIES && (!categories[i] || strcmp(categories[i], CATEGORIES[k]) != 0)) ++k;
        if (k == N_CATEGORIES)
            return fail(m, fmi2Error, "there is no log category '%.200s'", categories[i] ? categories[i] : "NULL");
        chosen |= 1 << k;
    }
    m->categories = loggingOn ? chosen : 0;
    return fmi2OK;
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance, fmi2Real startTime,
                               fmi2Boolean stopTimeDefined, fmi2Real stopTime) {
    struct instance *m = enter(c, SETUP_EXPERIMENT);
    (void)toleranceDefined, (void)tolerance, (void)stopTimeDefined, (void)stopTime;
    if (!m) return fmi2Error;
    m->stale = 1;
    if (isfinite(startTime)) {
        forgive(&m->now, START_TIME);
        m->now.time = startTime;
        return fmi2OK;
    }
    refuse(&m->now, START_TIME, startTime, IS_NOT_FINITE);
    return fmi2Warning;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    struct instance *m = enter(c, ENTER_INITIALIZATION_MODE);
    if (!m) return fmi2Error;
    m->now.phase = INITIALISING;
    return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
    struct instance *m = enter(c, EXIT_INITIALIZATION_MODE);
    struct text t = {"", 0};
    if (!m) return fmi2Error;
    add_refusals(&t, &m->now);
    if (t.used || (m->stale && refresh(m, &t))) {
        say(m, fmi2Error, &t);
        return fmi2Error;
    }
    m->now.phase = RUNNING;
    return fmi2OK;
}

fmi2Status fmi2Terminate(fmi2Component c) {
    struct instance *m = enter(c, TERMINATE);
    if (!m) return fmi2Error;
    m->now.phase = TERMINATED;
    return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c) {
    struct instance *m = enter(c, RESET);
    if (!m) return fmi2Error;
    begin(m);
    return fmi2OK;
}

/* -- steps ------------------------------------------------------------------------------------------------------- */

static fmi2Status discard(struct instance *m, const char *form, ...) {
    struct text t = {"", 0};
    va_list arguments;
    add(&t, "%s: ", MODEL_NAME);
    va_start(arguments, form);
    add_list(&t, form, arguments);
    va_end(arguments);
    say(m, fmi2Discard, &t);
    m->now.last = fmi2Discard;
    return fmi2Discard;
}

static fmi2Status not_done(struct instance *m, int code, const double *status) {
    const char *halved = FIXED_PASSES ? "" : ", even with the step halved 6 times";
    if (code == NOT_ACCURATE)
        return discard(m,
                       "no step from t = %.9g s meets solver.tolerance, however short; take a larger one, or a "
                       "stepper of higher order",
                       status[S_TIME]);
    if (code == NOT_FINITE)
        return discard(m,
                       "no step from t = %.9g s: the solution is no longer finite%s; check inputs and parameters, "
                       "take a smaller solver.step, or for stiff forces the stepper 'radau'",
                       status[S_TIME], halved);
    return discard(m,
                   "no step from t = %.9g s: the equations did not converge (last correction %.2g)%s; take a "
                   "smaller solver.step, smoother inputs, or for stiff forces 'radau'",
                   status[S_TIME], status[S_CORRECTION], halved);
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint, fmi2Real communicationStepSize,
                      fmi2Boolean noSetFMUStatePriorToCurrentPoint) {
    struct instance *m = enter(c, DO_STEP);
    const double t = currentCommunicationPoint, H = communicationStepSize;
    double status[S_SIZE];
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!m) return fmi2Error;
    struct state *now = &m->now;
    if (now->refused) {
        struct text reasons = {"", 0};
        add_refusals(&reasons, now);
        return discard(m, "no step while a value is refused: %s", reasons.all);
    }
    if (!(H > 0 && isfinite(H) && isfinite(t))) {
        struct text size = {"", 0}, time = {"", 0};
        add_number(&size, H);
        add_number(&time, t);
        return discard(m, "a communication step of %s s from t = %s s is not possible; it must be > 0", size.all,
                       time.all);
    }
    if (H / now->step > MOST_STEPS) {
        struct text size = {"", 0};
        add_number(&size, H);
        return discard(m, "a communication step of %s s needs %.3g steps; take a longer solver.step", size.all,
                       H / now->step);
    }
    double *const all[] = {now->x, now->u, now->du, now->p, m->x1, m->y1, status, m->work};
    int code = mbfmu_communicate(all, t, H, now->step, now->tolerance);
    if (code == OUTPUTS_NOT_FINITE) {
        struct text time = {"", 0};
        add_number(&time, t + H);
        return discard(m, "outputs at t = %s s are not finite; take a smaller solver.step", time.all);
    }
    if (code != OK) return not_done(m, code, status);
    memcpy(now->from_x, now->x, sizeof now->x);
    memcpy(now->from_u, now->u, sizeof now->u);
    memcpy(now->from_du, now->du, sizeof now->du);
    memcpy(now->from_p, now->p, sizeof now->p);
    now->from_time = t;
    now->span = H;
    now->from_step = now->step;
    now->from_tolerance = now->tolerance;
    memcpy(now->x, m->x1, sizeof now->x);
    for (int i = 0; i < NU; ++i) now->u[i] += now->du[i] * H;
    now->time = t + H;
    now->correction = status[S_CORRECTION];
    now->last = fmi2OK;
    double *y = m->y;
    m->y = m->y1;
    m->y1 = y;
    m->stale = 0;
    if (FIXED_PASSES && now->correction > UNSOLVED) {
        struct text note = {"", 0};
        add(&note, "%s: the step to t = %.9g s leaves a correction of %.2g; take a smaller solver.step or more passes",
            MODEL_NAME, now->time, now->correction);
        say(m, fmi2Warning, &note);
    }
    return fmi2OK;
}

fmi2Status fmi2CancelStep(fmi2Component c) {
    enter(c, CANCEL_STEP);
    return fmi2Error;
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind s, fmi2Status *value) {
    struct instance *m = enter(c, GET_STATUS);
    if (!m) return fmi2Error;
    if (!value) return missing(m, GET_STATUS);
    if (s != fmi2DoStepStatus) return fmi2Discard;
    *value = (fmi2Status)m->now.last;
    return fmi2OK;
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind s, fmi2Real *value) {
    struct instance *m = enter(c, GET_REAL_STATUS);
    if (!m) return fmi2Error;
    if (!value) return missing(m, GET_REAL_STATUS);
    if (s != fmi2LastSuccessfulTime) return fmi2Discard;
    *value = m->now.time;
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind s, fmi2Integer *value) {
    struct instance *m = enter(c, GET_INTEGER_STATUS);
    (void)s;
    if (!m) return fmi2Error;
    return value ? fmi2Discard : missing(m, GET_INTEGER_STATUS);
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value) {
    struct instance *m = enter(c, GET_BOOLEAN_STATUS);
    if (!m) return fmi2Error;
    if (!value) return missing(m, GET_BOOLEAN_STATUS);
    if (s != fmi2Terminated) return fmi2Discard;
    if (m->now.last != fmi2OK) return fmi2Discard; /* after a "no" FMPy would try the same step again, for ever */
    *value = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind s, fmi2String *value) {
    struct instance *m = enter(c, GET_STRING_STATUS);
    if (!m) return fmi2Error;
    if (!value) return missing(m, GET_STRING_STATUS);
    if (s != fmi2PendingStatus) return fmi2Discard;
    *value = "";
    return fmi2OK;
}

/* -- derivatives ------------------------------------------------------------------------------------------------- */

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real value[]) {
    struct instance *m = enter(c, INPUT_DERIVATIVES);
    if (!m) return fmi2Error;
    if (nvr && (!vr || !order || !value)) return missing(m, INPUT_DERIVATIVES);
    if (!all_known(m, INPUT_DERIVATIVES, vr, nvr)) return fmi2Error;
    for (size_t i = 0; i < nvr; ++i) {
        if (vr[i] < FIRST_U || vr[i] >= FIRST_P) return fail(m, fmi2Error, "%s is no input", NAMES[vr[i]]);
        if (order[i] != 1)
            return fail(m, fmi2Error, "%s: inputs have derivatives of order 1, not %d", NAMES[vr[i]], order[i]);
        if (!(fabs(value[i]) <= LARGEST))
            return fail(m, fmi2Error, "%s: a rate of %g is not possible", NAMES[vr[i]], value[i]);
    }
    for (size_t i = 0; i < nvr; ++i) m->now.du[vr[i] - FIRST_U] = value[i];
    return fmi2OK;
}

static int all_outputs(struct instance *m, enum call which, const fmi2ValueReference vr[], size_t nvr) {
    if (!all_known(m, which, vr, nvr)) return 0;
    for (size_t i = 0; i < nvr; ++i)
        if (vr[i] < FIRST_Y || vr[i] >= CORRECTION) {
            fail(m, fmi2Error, "%s: %s is no output", CALLS[which].name, NAMES[vr[i]]);
            return 0;
        }
    return 1;
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real value[]) {
    struct instance *m = enter(c, OUTPUT_DERIVATIVES);
    if (!m) return fmi2Error;
    if (nvr && (!vr || !order || !value)) return missing(m, OUTPUT_DERIVATIVES);
    if (!all_outputs(m, OUTPUT_DERIVATIVES, vr, nvr)) return fmi2Error;
    for (size_t i = 0; i < nvr; ++i)
        if (order[i] != 1)
            return fail(m, fmi2Error, "%s: outputs have derivatives of order 1, not %d", NAMES[vr[i]], order[i]);
    struct state *now = &m->now;
    mbfmu_output_rates(now->x, now->u, now->du, now->p, now->time, m->y1, m->work);
    for (size_t i = 0; i < nvr; ++i) {
        value[i] = m->y1[vr[i] - FIRST_Y];
        if (!isfinite(value[i]))
            return fail(m, fmi2Discard, "the derivative of %s at t = %.9g s is not finite", NAMES[vr[i]], now->time);
    }
    return fmi2OK;
}

/* Take the direction of a derivative; 0 if one of the variables cannot have one now. */
static int take_direction(struct instance *m, const fmi2ValueReference vr[], size_t nvr, const fmi2Real direction[]) {
    const int starting = m->now.phase == INITIALISING;
    memset(m->su, 0, sizeof m->su);
    memset(m->sp, 0, sizeof m->sp);
    memset(m->ss, 0, sizeof m->ss);
    if (!all_known(m, DIRECTIONAL_DERIVATIVE, vr, nvr)) return 0;
    for (size_t i = 0; i < nvr; ++i) {
        int reference = (int)vr[i];
        if (reference >= FIRST_U && reference < FIRST_P) {
            m->su[reference - FIRST_U] += direction[i];
        } else if (reference >= FIRST_P && reference < STEP && (starting || BOUNDS[reference - FIRST_P].tunable)) {
            m->sp[reference - FIRST_P] += direction[i];
        } else if (starting && reference >= FIRST_Y && reference < CORRECTION && START_OF[reference - FIRST_Y] >= 0) {
            m->ss[START_OF[reference - FIRST_Y]] += direction[i];
        } else {
            fail(m, fmi2Error, "nothing can be differentiated by %s %s; inputs and %s can be known", NAMES[reference],
                 starting ? "in the initialisation mode" : "after the initialisation",
                 starting ? "all parameters but those of the solver, and start values" : "tunable parameters");
            return 0;
        }
    }
    return 1;
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference vUnknown_ref[], size_t nUnknown,
                                        const fmi2ValueReference vKnown_ref[], size_t nKnown,
                                        const fmi2Real dvKnown[], fmi2Real dvUnknown[]) {
    struct instance *m = enter(c, DIRECTIONAL_DERIVATIVE);
    int found;
    if (!m) return fmi2Error;
    if ((nUnknown && (!vUnknown_ref || !dvUnknown)) || (nKnown && (!vKnown_ref || !dvKnown)))
        return missing(m, DIRECTIONAL_DERIVATIVE);
    if (!all_outputs(m, DIRECTIONAL_DERIVATIVE, vUnknown_ref, nUnknown)) return fmi2Error;
    if (!take_direction(m, vKnown_ref, nKnown, dvKnown)) return fmi2Error;
    struct state *now = &m->now;
    if (now->phase == INITIALISING && m->stale) {
        struct text t = {"", 0};
        if (refresh(m, &t)) {
            say(m, fmi2Discard, &t);
            return fmi2Discard;
        }
    }
    if (!now->span) {
        found = mbfmu_initialize_tangent(now->s, now->from_u, now->from_du, now->from_p, now->from_time,
                                         now->from_step, m->ss, m->su, m->sp, m->sx, m->work);
    } else {
        found = mbfmu_move_tangent(now->from_x, now->from_u, now->from_du, now->from_p, now->from_time, now->span,
                                   now->from_step, now->from_tolerance, m->su, m->sp, m->sx, m->work);
    }
    mbfmu_outputs_tangent(now->x, now->u, now->p, now->time, m->sx, m->su, m->sp, m->y1, m->work);
    for (size_t i = 0; i < nUnknown; ++i) {
        dvUnknown[i] = m->y1[vUnknown_ref[i] - FIRST_Y];
        if (!found || !isfinite(dvUnknown[i]))
            return fail(m, fmi2Discard, "the derivative of %s at t = %.9g s cannot be told", NAMES[vUnknown_ref[i]],
                        now->time);
    }
    return fmi2OK;
}

/* -- state ------------------------------------------------------------------------------------------------------- */

/* FNV-1a (Fowler, Noll & Vo) of a serialised state but for the checksum itself. */
static uint64_t checksum(const void *state, size_t size) {
    const size_t from = offsetof(struct head, checksum), to = from + sizeof(uint64_t);
    const unsigned char *bytes = state;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; ++i)
        if (i < from || i >= to) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

static void sign(struct head *head) {
    memset(head, 0, sizeof *head);
    memcpy(head->magic, MAGIC, sizeof MAGIC);
    head->version = VERSION;
    head->size = sizeof(struct saved);
    memcpy(head->owner, MODEL_GUID, sizeof MODEL_GUID);
}

/* Whether a state is one of this FMU; says what is wrong. */
static int is_ours(struct instance *m, const struct head *head) {
    if (memcmp(head->magic, MAGIC, sizeof MAGIC) != 0) {
        fail(m, fmi2Error, "the state is damaged");
        return 0;
    }
    if (head->version != VERSION || head->size != sizeof(struct saved) ||
        memcmp(head->owner, MODEL_GUID, sizeof MODEL_GUID) != 0) {
        fail(m, fmi2Error, "the state belongs to another FMU");
        return 0;
    }
    return 1;
}

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *FMUstate) {
    struct instance *m = enter(c, GET_STATE);
    if (!m) return fmi2Error;
    if (!FMUstate) return missing(m, GET_STATE);
    struct saved *saved = *FMUstate;
    if (saved && !is_ours(m, &saved->head)) return fmi2Error;
    if (!saved) saved = allocate(&m->host, sizeof *saved);
    if (!saved) return fail(m, fmi2Error, "the master gave no memory for a state");
    sign(&saved->head);
    saved->state = m->now;
    *FMUstate = saved;
    return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate FMUstate) {
    struct instance *m = enter(c, SET_STATE);
    if (!m) return fmi2Error;
    if (!FMUstate) return missing(m, SET_STATE);
    const struct saved *saved = FMUstate;
    if (!is_ours(m, &saved->head)) return fmi2Error;
    m->now = saved->state;
    m->stale = 1;
    return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *FMUstate) {
    struct instance *m = enter(c, FREE_STATE);
    if (!m) return fmi2Error;
    if (!FMUstate || !*FMUstate) return fmi2OK;
    release(&m->host, *FMUstate);
    *FMUstate = 0;
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate FMUstate, size_t *size) {
    struct instance *m = enter(c, STATE_SIZE);
    if (!m) return fmi2Error;
    if (!FMUstate || !size) return missing(m, STATE_SIZE);
    *size = sizeof(struct saved);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate FMUstate, fmi2Byte bytes[], size_t size) {
    struct instance *m = enter(c, SERIALIZE);
    if (!m) return fmi2Error;
    if (!FMUstate || !bytes) return missing(m, SERIALIZE);
    struct saved *saved = FMUstate;
    if (!is_ours(m, &saved->head)) return fmi2Error;
    if (size < sizeof *saved)
        return fail(m, fmi2Error, "a state takes %lu bytes, not %lu", (unsigned long)sizeof *saved,
                    (unsigned long)size);
    saved->head.checksum = checksum(saved, sizeof *saved);
    memcpy(bytes, saved, sizeof *saved);
    return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *FMUstate) {
    struct instance *m = enter(c, DESERIALIZE);
    struct head head;
    if (!m) return fmi2Error;
    if (!bytes || !FMUstate) return missing(m, DESERIALIZE);
    if (size >= sizeof head) memcpy(&head, bytes, sizeof head);
    if (size < sizeof head || head.size != size || head.checksum != checksum(bytes, size))
        return fail(m, fmi2Error, "the state is damaged");
    if (!is_ours(m, &head)) return fmi2Error;
    *FMUstate = allocate(&m->host, size);
    if (!*FMUstate) return fail(m, fmi2Error, "the master gave no memory for a state");
    memcpy(*FMUstate, bytes, size);
    return fmi2OK;
}
