/* An FMU of another maker: variables of every type, and faults on demand. y' = u; the other outputs repeat inputs. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fmi2Functions.h"

enum { T, U, Y, DY, WORST };       /* Real */
enum { N, MODE, FAULT, OUT_N, OUT_MODE, INTEGERS };
enum { ON, OUT_ON, BOOLEANS };
enum { EXIT = 1, CRASH, HANG, NOT_A_NUMBER, INFINITE, DISCARD, PRINT, CRASH_AT_END, TALK, LATER, REFUSE, HANG_AT_START, LOCAL,
       FORGE, REMOVE, FLOOD, UNKNOWN, PAST, BLIND, NOMINAL, MORE };

typedef struct {
    double r[WORST + 1], du;
    int i[INTEGERS], b[BOOLEANS], steps, pending;
    char label[64];
    const fmi2CallbackFunctions *f;
} Slave;
#define S ((Slave *)c)

static fmi2Status say(Slave *s, fmi2Status status, const char *text, int k) {
    s->f->logger(s->f->componentEnvironment, "foreign", status, "logAll", "%s %d", text, k);
    return status;
}
static char block[1 << 16];
static const char LINES[] = "\x1b[31mhalf a line\n{\"done\": true, \"seconds\": 0}\n{\"failed\": 5}\n"
                            "{\"time\": \"x\"}\nrest";
static void spill(const char *text, size_t n) { /* to descriptors that are not the FMU's */
    for (int k = 3; k < 20; k++) if (write(k, text, n) < 0) continue;
}
static void hang(void) {
    const char *file = getenv("FOREIGN_PID");
    FILE *out = file ? fopen(file, "w") : 0;
    if (out) { fprintf(out, "%d", (int)getpid()); fclose(out); }
    for (;;) sleep(1);
}
const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String names[]) { return fmi2OK; }
fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *f, fmi2Boolean visible, fmi2Boolean logging) {
    Slave *s = calloc(1, sizeof *s);
    s->f = f;
    strcpy(s->label, "none");
    return s;
}
void fmi2FreeInstance(fmi2Component c) {
    if (S->i[FAULT] == CRASH_AT_END) raise(SIGSEGV);
    free(c);
}
fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean a, fmi2Real b, fmi2Real start, fmi2Boolean d, fmi2Real e) {
    S->r[T] = start;
    return fmi2OK;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    if (S->i[FAULT] == HANG_AT_START) hang();
    return fmi2OK;
}
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2Reset(fmi2Component c) {
    const fmi2CallbackFunctions *f = S->f;
    memset(S, 0, sizeof *S);
    S->f = f;
    strcpy(S->label, "none");
    return fmi2OK;
}
#define ACCESS(name, type, field, before, after) \
    fmi2Status fmi2Get##name(fmi2Component c, const fmi2ValueReference vr[], size_t n, type value[]) { \
        before; for (size_t k = 0; k < n; k++) value[k] = S->field[vr[k]]; return fmi2OK; } \
    fmi2Status fmi2Set##name(fmi2Component c, const fmi2ValueReference vr[], size_t n, const type value[]) { \
        for (size_t k = 0; k < n; k++) S->field[vr[k]] = value[k]; after; return fmi2OK; }
ACCESS(Real, fmi2Real, r, S->r[DY] = S->r[U], )
ACCESS(Integer, fmi2Integer, i, , (S->i[OUT_N] = S->i[N], S->i[OUT_MODE] = S->i[MODE]))
ACCESS(Boolean, fmi2Boolean, b, , S->b[OUT_ON] = S->b[ON])
fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[]) {
    for (size_t k = 0; k < n; k++) value[k] = S->label;
    return fmi2OK;
}
fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String value[]) {
    if (n) strncpy(S->label, value[0], 63);
    S->r[WORST] = strlen(S->label);
    return fmi2OK;
}
fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean forget) {
    S->steps++;
    if (S->i[FAULT] == TALK) say(S, fmi2Warning, "step", S->steps);
    if (S->i[FAULT] && t > 0.245) switch (S->i[FAULT]) {
        case EXIT: exit(0);
        case CRASH: raise(SIGSEGV);
        case HANG: hang();
        case NOT_A_NUMBER: S->r[U] = NAN; break;
        case INFINITE: S->r[U] = INFINITY; break;
        case LOCAL: S->r[WORST] = NAN; break;
        case DISCARD: return fmi2Discard;
        case REFUSE: return say(S, fmi2Error, "no more", 0);
        case TALK: if (t > 0.5) return say(S, fmi2Error, "too much", 0); break;
        case FORGE: spill(LINES, sizeof LINES - 1); break;
        case REMOVE: if (system("rm -rf \"$PWD\"")) break; break;
        case FLOOD: for (;;) spill(block, sizeof block);
        case UNKNOWN: return -3;
        case PRINT: for (;;) puts("again and again and again and again");
    }
    S->r[Y] += h * (S->r[U] + 0.5 * h * S->du);
    S->r[T] = t + h;
    return S->i[FAULT] == LATER && S->pending++ >= 0 ? fmi2Pending : fmi2OK;
}
fmi2Status fmi2CancelStep(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value) {
    *value = S->pending-- > 0 ? fmi2Pending : fmi2OK;
    return fmi2OK;
}
#define LESS(name, type) fmi2Status name(fmi2Component c, const fmi2StatusKind k, type *value) { return fmi2Discard; }
LESS(fmi2GetRealStatus, fmi2Real) LESS(fmi2GetIntegerStatus, fmi2Integer)
LESS(fmi2GetBooleanStatus, fmi2Boolean) LESS(fmi2GetStringStatus, fmi2String)
fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
        const fmi2Integer order[], const fmi2Real value[]) { S->du = value[0]; return fmi2OK; }
fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
        const fmi2Integer order[], fmi2Real value[]) { return fmi2Error; }
#define STATE(name, type) fmi2Status name(fmi2Component c, type state) { return fmi2Error; }
STATE(fmi2GetFMUstate, fmi2FMUstate *) STATE(fmi2SetFMUstate, fmi2FMUstate) STATE(fmi2FreeFMUstate, fmi2FMUstate *)
fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate s, size_t *n) { return fmi2Error; }
fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate s, fmi2Byte b[], size_t n) { return fmi2Error; }
fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte b[], size_t n, fmi2FMUstate *s) { return fmi2Error; }
fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference z[], size_t nz,
        const fmi2ValueReference v[], size_t nv, const fmi2Real dv[], fmi2Real dz[]) { return fmi2Error; }

/* model exchange */
fmi2Status fmi2EnterEventMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info) {
    memset(info, 0, sizeof *info);
    info->nextEventTimeDefined = S->i[FAULT] == PAST;
    info->nextEventTime = S->r[T] - 1.0;
    return fmi2OK;
}
fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean a, fmi2Boolean *event, fmi2Boolean *end) {
    *event = *end = 0;
    return fmi2OK;
}
fmi2Status fmi2SetTime(fmi2Component c, fmi2Real t) {
    S->r[T] = t;
    if (S->i[FAULT] == CRASH && t > 0.245) raise(SIGSEGV);
    return fmi2OK;
}
fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n) { S->r[Y] = x[0]; return fmi2OK; }
fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n) {
    x[0] = S->r[Y];
    if (S->i[FAULT] == MORE) x[1] = x[2] = 0.0;
    return fmi2OK;
}
fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real dx[], size_t n) { dx[0] = S->r[U]; return fmi2OK; }
fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real z[], size_t n) {
    if (n) z[0] = S->i[FAULT] == BLIND && S->r[T] > 5.5 ? NAN : 1.0;
    return fmi2OK;
}
fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x[], size_t n) {
    x[0] = S->i[FAULT] == NOMINAL ? 0.0 : 1.0;
    return fmi2OK;
}
