/* An FMU for model exchange by FMI 2.0, called from the functions of a Modelica package.
 *
 * A call gives a whole point, time, states and inputs, and gets what belongs to it, so that a Modelica tool may call in any
 * order and as often as it likes; what an event changes beside the states has a count among the arguments there. A failure
 * ends in ModelicaFormatError, which does not return. */
#ifndef MBFMU_EXCHANGE_H
#define MBFMU_EXCHANGE_H

#include "fmi2FunctionTypes.h"
#include "ModelicaUtilities.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#define MBFMU_PLATFORM (sizeof(void *) == 8 ? "win64" : "win32")
#define MBFMU_ENDING ".dll"
#elif defined __APPLE__
#include <dlfcn.h>
#define MBFMU_PLATFORM "darwin64"
#define MBFMU_ENDING ".dylib"
#else
#include <dlfcn.h>
#define MBFMU_PLATFORM (sizeof(void *) == 8 ? "linux64" : "linux32")
#define MBFMU_ENDING ".so"
#endif

#define MBFMU_NEVER 1e60 /* as Modelica.Constants.inf: later than any time */
#define MBFMU_ROUNDS 1000 /* of an event, after which it has no end */

/* Values of variables: their references, types (0 Real, 1 Integer, 2 Boolean) and values as real numbers. */
struct mbfmu_values {
    size_t n;
    int *reference, *type;
    double *value;
};

struct mbfmu_fmu {
    void *library;
    fmi2Component component;
    fmi2CallbackFunctions callbacks; /* the FMU keeps a pointer to them */
    char identifier[256], said[1024]; /* said: the last message of a failure */
    struct mbfmu_values parameters;
    double *given; /* the point at which the FMU is: time, states, inputs */
    size_t n_given;
    int started;
    fmi2FreeInstanceTYPE *free_instance;
    fmi2ResetTYPE *reset;
    fmi2SetupExperimentTYPE *setup;
    fmi2EnterInitializationModeTYPE *enter_initialization;
    fmi2ExitInitializationModeTYPE *exit_initialization;
    fmi2EnterEventModeTYPE *enter_event;
    fmi2NewDiscreteStatesTYPE *new_discrete_states;
    fmi2EnterContinuousTimeModeTYPE *enter_continuous;
    fmi2CompletedIntegratorStepTYPE *completed_step;
    fmi2SetTimeTYPE *set_time;
    fmi2SetContinuousStatesTYPE *set_states;
    fmi2GetContinuousStatesTYPE *get_states;
    fmi2GetDerivativesTYPE *get_derivatives;
    fmi2GetEventIndicatorsTYPE *get_indicators;
    fmi2SetRealTYPE *set_real;
    fmi2SetIntegerTYPE *set_integer;
    fmi2SetBooleanTYPE *set_boolean;
    fmi2GetRealTYPE *get_real;
    fmi2GetIntegerTYPE *get_integer;
    fmi2GetBooleanTYPE *get_boolean;
};

static void mbfmu_log(fmi2ComponentEnvironment who, fmi2String name, fmi2Status status, fmi2String category,
                      fmi2String form, ...) {
    struct mbfmu_fmu *m = who;
    char text[sizeof m->said];
    va_list list;
    (void)name, (void)category;
    va_start(list, form);
    vsnprintf(text, sizeof text, form, list);
    va_end(list);
    if (status > fmi2Warning) memcpy(m->said, text, sizeof text);
    else if (status == fmi2Warning) ModelicaFormatMessage("%s: %s\n", m->identifier, text);
}

static void mbfmu_must(struct mbfmu_fmu *m, fmi2Status status, const char *what) {
    if (status > fmi2Warning) ModelicaFormatError("%s: %s failed: %s", m->identifier, what, m->said);
}

static void *mbfmu_function(struct mbfmu_fmu *m, const char *name) {
#ifdef _WIN32
    void *found = (void *)GetProcAddress((HMODULE)m->library, name);
#else
    void *found = dlsym(m->library, name);
#endif
    if (!found) ModelicaFormatError("%s: its binary has no function %s", m->identifier, name);
    return found;
}

static void *mbfmu_room(size_t n, size_t size) {
    void *found = calloc(n + 1, size);
    if (!found) ModelicaError("there is no memory for an FMU");
    return found;
}

static void mbfmu_set(struct mbfmu_fmu *m, const int *reference, const int *type, const double *value, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        const fmi2ValueReference vr = (fmi2ValueReference)reference[i];
        const int whole = (int)floor(value[i] + 0.5), truth = value[i] > 0.5;
        mbfmu_must(m,
                   type[i] == 0   ? m->set_real(m->component, &vr, 1, &value[i])
                   : type[i] == 1 ? m->set_integer(m->component, &vr, 1, &whole)
                                  : m->set_boolean(m->component, &vr, 1, &truth),
                   "to set a value");
    }
}

/* Bring the FMU to a point, unless it is there. */
static void mbfmu_go(struct mbfmu_fmu *m, double t, const double *x, size_t n_x, const int *reference, const int *type,
                     const double *u, size_t n_u) {
    const size_t n = 1 + n_x + n_u;
    if (n > m->n_given) {
        free(m->given);
        m->n_given = 0;
        m->given = mbfmu_room(n, sizeof(double));
        m->n_given = n;
        m->given[0] = NAN;
    }
    double *at = m->given;
    const int there = at[0] == t && !memcmp(at + 1, x, n_x * sizeof *x);
    if (there && !memcmp(at + 1 + n_x, u, n_u * sizeof *u)) return;
    at[0] = NAN; /* until all is set */
    if (!there) {
        mbfmu_must(m, m->set_time(m->component, t), "to set the time");
        if (n_x) mbfmu_must(m, m->set_states(m->component, x, n_x), "to set the states");
    }
    mbfmu_set(m, reference, type, u, n_u);
    memcpy(at + 1, x, n_x * sizeof *x);
    memcpy(at + 1 + n_x, u, n_u * sizeof *u);
    at[0] = t;
}

/* Let the FMU act in event mode until nothing changes; return the time of its next event, at most t + interval. */
static double mbfmu_settle(struct mbfmu_fmu *m, double t, double interval) {
    fmi2EventInfo info;
    int round = 0;
    do {
        if (++round > MBFMU_ROUNDS) ModelicaFormatError("%s: the event at t = %g s has no end", m->identifier, t);
        memset(&info, 0, sizeof info);
        mbfmu_must(m, m->new_discrete_states(m->component, &info), "an event");
        if (info.terminateSimulation) ModelicaFormatError("%s ended the simulation at t = %g s", m->identifier, t);
    } while (info.newDiscreteStatesNeeded);
    mbfmu_must(m, m->enter_continuous(m->component), "to go on after an event");
    if (m->n_given) m->given[0] = NAN; /* states are other ones */
    const double next = info.nextEventTimeDefined ? info.nextEventTime : MBFMU_NEVER;
    return interval > 0 && t + interval < next ? t + interval : next;
}

/* Load the binary of an FMU in a folder, and make an instance with values of its parameters. */
static void *mbfmu_open(const char *folder, const char *identifier, const char *token, const int *reference,
                        const int *type, const double *value, size_t n) {
    struct mbfmu_fmu *m = mbfmu_room(1, sizeof *m);
    const fmi2CallbackFunctions callbacks = {mbfmu_log, calloc, free, NULL, m};
    char path[4096], resources[4200];
    snprintf(m->identifier, sizeof m->identifier, "%s", identifier);
    snprintf(path, sizeof path, "%s/binaries/%s/%s%s", folder, MBFMU_PLATFORM, identifier, MBFMU_ENDING);
    snprintf(resources, sizeof resources, "file://%s%s/resources", folder[0] == '/' ? "" : "/", folder);
#ifdef _WIN32
    m->library = (void *)LoadLibraryA(path);
    if (!m->library) ModelicaFormatError("%s: '%s' cannot be loaded (error %lu)", identifier, path, GetLastError());
#else
    m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!m->library) ModelicaFormatError("%s: '%s' cannot be loaded: %s", identifier, path, dlerror());
#endif
    m->free_instance = (fmi2FreeInstanceTYPE *)mbfmu_function(m, "fmi2FreeInstance");
    m->reset = (fmi2ResetTYPE *)mbfmu_function(m, "fmi2Reset");
    m->setup = (fmi2SetupExperimentTYPE *)mbfmu_function(m, "fmi2SetupExperiment");
    m->enter_initialization = (fmi2EnterInitializationModeTYPE *)mbfmu_function(m, "fmi2EnterInitializationMode");
    m->exit_initialization = (fmi2ExitInitializationModeTYPE *)mbfmu_function(m, "fmi2ExitInitializationMode");
    m->enter_event = (fmi2EnterEventModeTYPE *)mbfmu_function(m, "fmi2EnterEventMode");
    m->new_discrete_states = (fmi2NewDiscreteStatesTYPE *)mbfmu_function(m, "fmi2NewDiscreteStates");
    m->enter_continuous = (fmi2EnterContinuousTimeModeTYPE *)mbfmu_function(m, "fmi2EnterContinuousTimeMode");
    m->completed_step = (fmi2CompletedIntegratorStepTYPE *)mbfmu_function(m, "fmi2CompletedIntegratorStep");
    m->set_time = (fmi2SetTimeTYPE *)mbfmu_function(m, "fmi2SetTime");
    m->set_states = (fmi2SetContinuousStatesTYPE *)mbfmu_function(m, "fmi2SetContinuousStates");
    m->get_states = (fmi2GetContinuousStatesTYPE *)mbfmu_function(m, "fmi2GetContinuousStates");
    m->get_derivatives = (fmi2GetDerivativesTYPE *)mbfmu_function(m, "fmi2GetDerivatives");
    m->get_indicators = (fmi2GetEventIndicatorsTYPE *)mbfmu_function(m, "fmi2GetEventIndicators");
    m->set_real = (fmi2SetRealTYPE *)mbfmu_function(m, "fmi2SetReal");
    m->set_integer = (fmi2SetIntegerTYPE *)mbfmu_function(m, "fmi2SetInteger");
    m->set_boolean = (fmi2SetBooleanTYPE *)mbfmu_function(m, "fmi2SetBoolean");
    m->get_real = (fmi2GetRealTYPE *)mbfmu_function(m, "fmi2GetReal");
    m->get_integer = (fmi2GetIntegerTYPE *)mbfmu_function(m, "fmi2GetInteger");
    m->get_boolean = (fmi2GetBooleanTYPE *)mbfmu_function(m, "fmi2GetBoolean");
    m->parameters.n = n;
    m->parameters.reference = mbfmu_room(n, sizeof(int));
    m->parameters.type = mbfmu_room(n, sizeof(int));
    m->parameters.value = mbfmu_room(n, sizeof(double));
    if (n) {
        memcpy(m->parameters.reference, reference, n * sizeof(int));
        memcpy(m->parameters.type, type, n * sizeof(int));
        memcpy(m->parameters.value, value, n * sizeof(double));
    }
    memcpy(&m->callbacks, &callbacks, sizeof callbacks); /* its members are constant */
    m->component = ((fmi2InstantiateTYPE *)mbfmu_function(m, "fmi2Instantiate"))(
        identifier, fmi2ModelExchange, token, resources, &m->callbacks, fmi2False, fmi2True);
    if (!m->component) ModelicaFormatError("%s cannot be instantiated: %s", identifier, m->said);
    return m;
}

static void mbfmu_close(void *instance) {
    struct mbfmu_fmu *m = instance;
    if (!m) return;
    if (m->component) m->free_instance(m->component);
#ifdef _WIN32
    FreeLibrary((HMODULE)m->library);
#else
    dlclose(m->library);
#endif
    free(m->parameters.reference);
    free(m->parameters.type);
    free(m->parameters.value);
    free(m->given);
    free(m);
}

/* Initialise with some inputs; x are the states, and behind them the time of the first event. */
static void mbfmu_start(void *instance, double t, const int *reference, const int *type, const double *u, size_t n_u,
                        double interval, double *x, size_t n_x) {
    struct mbfmu_fmu *m = instance;
    const struct mbfmu_values *p = &m->parameters;
    if (m->started) mbfmu_must(m, m->reset(m->component), "to reset");
    m->started = 1;
    mbfmu_must(m, m->setup(m->component, fmi2False, 0, t, fmi2False, 0), "to set the start time");
    mbfmu_set(m, p->reference, p->type, p->value, p->n);
    mbfmu_must(m, m->enter_initialization(m->component), "the initialisation");
    mbfmu_set(m, reference, type, u, n_u);
    mbfmu_must(m, m->exit_initialization(m->component), "the initialisation");
    x[n_x] = mbfmu_settle(m, t, interval);
    if (n_x) mbfmu_must(m, m->get_states(m->component, x, n_x), "to get the states");
}

/* The time derivatives of the states. */
static void mbfmu_rates(void *instance, double t, const double *x, size_t n_x, const int *reference, const int *type,
                        const double *u, size_t n_u, double *dx) {
    struct mbfmu_fmu *m = instance;
    mbfmu_go(m, t, x, n_x, reference, type, u, n_u);
    if (n_x) mbfmu_must(m, m->get_derivatives(m->component, dx, n_x), "to compute the derivatives");
}

/* The event indicators. */
static void mbfmu_indicators(void *instance, double t, const double *x, size_t n_x, const int *reference,
                             const int *type, const double *u, size_t n_u, double *z, size_t n_z) {
    struct mbfmu_fmu *m = instance;
    mbfmu_go(m, t, x, n_x, reference, type, u, n_u);
    if (n_z) mbfmu_must(m, m->get_indicators(m->component, z, n_z), "to compute the event indicators");
}

/* The values of some variables. */
static void mbfmu_values(void *instance, double t, const double *x, size_t n_x, const int *reference, const int *type,
                         const double *u, size_t n_u, const int *wanted, const int *form, double *y, size_t n_y) {
    struct mbfmu_fmu *m = instance;
    mbfmu_go(m, t, x, n_x, reference, type, u, n_u);
    for (size_t i = 0; i < n_y; ++i) {
        const fmi2ValueReference vr = (fmi2ValueReference)wanted[i];
        int whole = 0;
        mbfmu_must(m,
                   form[i] == 0   ? m->get_real(m->component, &vr, 1, &y[i])
                   : form[i] == 1 ? m->get_integer(m->component, &vr, 1, &whole)
                                  : m->get_boolean(m->component, &vr, 1, &whole),
                   "to get a value");
        if (form[i]) y[i] = whole;
    }
}

/* Complete a step of the solver and do what is due at an event: x1 are the states after it, and behind them the time of
 * the next. */
static void mbfmu_update(void *instance, double t, const double *x, size_t n_x, const int *reference, const int *type,
                         const double *u, size_t n_u, double interval, double *x1) {
    struct mbfmu_fmu *m = instance;
    fmi2Boolean wanted, ends;
    mbfmu_go(m, t, x, n_x, reference, type, u, n_u);
    mbfmu_must(m, m->completed_step(m->component, fmi2True, &wanted, &ends), "to accept a step");
    if (ends) ModelicaFormatError("%s ended the simulation at t = %g s", m->identifier, t);
    mbfmu_must(m, m->enter_event(m->component), "an event");
    x1[n_x] = mbfmu_settle(m, t, interval);
    if (n_x) mbfmu_must(m, m->get_states(m->component, x1, n_x), "to get the states");
}

#endif
