/* Steps the library of a native FMU of FMI 2.0 and prints the bits of what it computes: the same text on every platform.
 *
 *     platform_host LIBRARY GUID STEPS H N
 *
 * N is the number of value references that are read after every step, from the first on; all of them are of type Real.
 * It prints a hash of all their values, one of the state that is saved at the end, and the values at the end. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"

#ifdef _WIN32
#include <windows.h>
static HMODULE library;
static void load(const char *path) { library = LoadLibraryA(path); }
#define FIND(name) GetProcAddress(library, name)
#else
#include <dlfcn.h>
static void *library;
static void load(const char *path) {
    library = dlopen(path, RTLD_NOW);
    if (!library) fprintf(stderr, "%s\n", dlerror());
}
#define FIND(name) dlsym(library, name)
#endif
#define FUNCTION(name) ((name##TYPE *)FIND(#name))

static uint64_t hashed(uint64_t hash, const void *data, size_t size) { /* FNV-1a, as core.c has it */
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

static void show(uint64_t bits) {
    printf("%08lx%08lx\n", (unsigned long)(bits >> 32), (unsigned long)(bits & 0xffffffffu));
}

static void logger(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status, fmi2String category,
                   fmi2String message, ...) {
    (void)environment, (void)name, (void)category;
    fprintf(stderr, "%d %s\n", (int)status, message);
}

static int failed(fmi2Status status, const char *what) {
    if (status != fmi2OK) fprintf(stderr, "%s: status %d\n", what, (int)status);
    return status != fmi2OK;
}

int main(int argc, char **argv) {
    static const fmi2CallbackFunctions host = {logger, calloc, free, 0, 0};
    if (argc != 6) return 2;
    const int steps = atoi(argv[3]), n = atoi(argv[5]);
    const double h = strtod(argv[4], 0);
    unsigned int *references = calloc(n, sizeof *references);
    double *values = calloc(n, sizeof *values);
    uint64_t all = 14695981039346656037u, bits;
    load(argv[1]);
    if (!library) return 1;
    fmi2Component c =
        FUNCTION(fmi2Instantiate)("one", fmi2CoSimulation, argv[2], "file:///nowhere", &host, fmi2False, fmi2True);
    if (!c) return 1;
    for (int i = 0; i < n; ++i) references[i] = i;
    if (failed(FUNCTION(fmi2SetupExperiment)(c, fmi2False, 0, 0, fmi2False, 0), "set up")) return 1;
    if (failed(FUNCTION(fmi2EnterInitializationMode)(c), "enter initialisation")) return 1;
    if (failed(FUNCTION(fmi2ExitInitializationMode)(c), "exit initialisation")) return 1;
    for (int k = 0; k < steps; ++k) {
        if (failed(FUNCTION(fmi2DoStep)(c, k * h, h, fmi2True), "step")) return 1;
        if (failed(FUNCTION(fmi2GetReal)(c, references, n, values), "outputs")) return 1;
        all = hashed(all, values, n * sizeof *values);
    }
    show(all);
    fmi2FMUstate state = 0;
    size_t size = 0;
    if (failed(FUNCTION(fmi2GetFMUstate)(c, &state), "state")) return 1;
    if (failed(FUNCTION(fmi2SerializedFMUstateSize)(c, state, &size), "size")) return 1;
    char *bytes = calloc(size, 1);
    if (failed(FUNCTION(fmi2SerializeFMUstate)(c, state, bytes, size), "serialise")) return 1;
    show(hashed(14695981039346656037u, bytes, size));
    for (int i = 0; i < n; ++i) {
        memcpy(&bits, &values[i], sizeof bits);
        show(bits);
    }
    FUNCTION(fmi2FreeFMUstate)(c, &state);
    FUNCTION(fmi2FreeInstance)(c);
    return 0;
}
