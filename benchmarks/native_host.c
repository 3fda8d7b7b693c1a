/* Time of (set, step, get) of a native FMU, and of its kernel alone, in one C loop.
 *
 *     native_host fmu LIBRARY GUID STEPS SIZE INPUTS FIRST_OUTPUT OUTPUTS
 *     native_host kernel LIBRARY STEPS SIZE < "s..., p..."
 *
 * The kernel is the library of mbfmu.kernel.compiled_library; its start values and parameters come as numbers on
 * stdin. Compile with -I to the sources of an FMU, for the FMI headers, and -ldl. Prints JSON: ns a step in all, and
 * the median, the 99.9 % quantile and the worst of single steps, which include 20 to 30 ns of the clock. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fmi2FunctionTypes.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *symbol(void *library, const char *name) {
    void *found = library ? dlsym(library, name) : 0;
    if (!found) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(1);
    }
    return found;
}

struct fmu {
    fmi2Component c;
    fmi2SetRealTYPE *set;
    fmi2GetRealTYPE *get;
    fmi2DoStepTYPE *step;
    fmi2ValueReference *in, *out;
    double *u, *y;
    size_t n_in, n_out;
};

static int fmu_step(void *data, long k, double size) {
    struct fmu *f = data;
    for (size_t i = 0; i < f->n_in; ++i) f->u[i] = 0.1 * (double)((k + (long)i) % 5);
    return f->set(f->c, f->in, f->n_in, f->u) | f->step(f->c, k * size, size, fmi2True) |
           f->get(f->c, f->out, f->n_out, f->y);
}

struct kernel {
    int (*advance)(const double *, const double *, const double *, const double *, double, double, long long, double *,
                   double *, double *);
    int (*outputs)(const double *, const double *, const double *, double, double *, double *);
    double *x, *x1, *u, *du, *p, *y, *status, *work;
    long long n_in;
};

static int kernel_step(void *data, long k, double size) {
    struct kernel *f = data;
    for (int i = 0; i < f->n_in; ++i) f->u[i] = 0.1 * (double)((k + i) % 5);
    int failed = f->advance(f->x, f->u, f->du, f->p, k * size, size, 1, f->x1, f->status, f->work);
    double *x = f->x;
    f->x = f->x1;
    f->x1 = x;
    return failed | f->outputs(f->x, f->u, f->p, (k + 1) * size, f->y, f->work);
}

static int time_steps(int (*step)(void *, long, double), void *data, long steps, double size) {
    double *each = malloc(sizeof(double) * steps), begin = now();
    long k = 0;
    int failed = 0;
    for (; k < steps; ++k) failed |= step(data, k, size);
    double total = (now() - begin) / steps;
    for (long i = 0; i < steps; ++i, ++k) {
        double start = now();
        failed |= step(data, k, size);
        each[i] = now() - start;
    }
    qsort(each, steps, sizeof(double), compare);
    printf("{\"mean\": %.1f, \"median\": %.1f, \"q999\": %.1f, \"worst\": %.1f}\n", total, each[steps / 2],
           each[(long)(steps * 0.999)], each[steps - 1]);
    return failed;
}

static int run_fmu(char **a) {
    void *library = dlopen(a[0], RTLD_NOW);
    fmi2CallbackFunctions host = {0, calloc, free, 0, 0};
    struct fmu f;
    fmi2InstantiateTYPE *instantiate = (fmi2InstantiateTYPE *)symbol(library, "fmi2Instantiate");
    f.set = (fmi2SetRealTYPE *)symbol(library, "fmi2SetReal");
    f.get = (fmi2GetRealTYPE *)symbol(library, "fmi2GetReal");
    f.step = (fmi2DoStepTYPE *)symbol(library, "fmi2DoStep");
    f.c = instantiate("one", fmi2CoSimulation, a[1], "", &host, fmi2False, fmi2False);
    if (!f.c) return 1;
    f.n_in = strtoul(a[4], 0, 10);
    f.n_out = strtoul(a[6], 0, 10);
    f.in = malloc(sizeof *f.in * (f.n_in + 1));
    f.out = malloc(sizeof *f.out * (f.n_out + 1));
    f.u = calloc(f.n_in + 1, sizeof(double));
    f.y = calloc(f.n_out + 1, sizeof(double));
    for (size_t i = 0; i < f.n_in; ++i) f.in[i] = 1 + (unsigned)i;
    for (size_t i = 0; i < f.n_out; ++i) f.out[i] = (unsigned)strtoul(a[5], 0, 10) + (unsigned)i;
    ((fmi2SetupExperimentTYPE *)symbol(library, "fmi2SetupExperiment"))(f.c, 0, 0, 0, 0, 0);
    ((fmi2EnterInitializationModeTYPE *)symbol(library, "fmi2EnterInitializationMode"))(f.c);
    if (((fmi2ExitInitializationModeTYPE *)symbol(library, "fmi2ExitInitializationMode"))(f.c)) return 1;
    return time_steps(fmu_step, &f, atol(a[2]), atof(a[3]));
}

static int run_kernel(char **a) {
    void *library = dlopen(a[0], RTLD_NOW);
    long long n[7];
    struct kernel f;
    ((void (*)(long long *))symbol(library, "mbfmu_sizes"))(n);
    int (*initialize)(const double *, const double *, const double *, const double *, double, double, double *,
                      double *, double *) = symbol(library, "mbfmu_initialize");
    f.advance = symbol(library, "mbfmu_advance");
    f.outputs = symbol(library, "mbfmu_outputs");
    f.n_in = n[2];
    f.x = calloc(n[0], sizeof(double));
    f.x1 = calloc(n[0], sizeof(double));
    f.u = calloc(n[2] + 1, sizeof(double));
    f.du = calloc(n[2] + 1, sizeof(double));
    f.p = calloc(n[3] + 1, sizeof(double));
    f.y = calloc(n[4] + 1, sizeof(double));
    f.status = calloc(n[5], sizeof(double));
    f.work = calloc(n[6], sizeof(double));
    double *s = calloc(n[1] + 1, sizeof(double));
    for (int i = 0; i < n[1]; ++i)
        if (scanf("%lf", s + i) != 1) return 1;
    for (int i = 0; i < n[3]; ++i)
        if (scanf("%lf", f.p + i) != 1) return 1;
    if (initialize(s, f.u, f.du, f.p, 0, atof(a[2]), f.x, f.status, f.work)) return 1;
    return time_steps(kernel_step, &f, atol(a[1]), atof(a[2]));
}

int main(int argc, char **argv) {
    if (argc == 9 && strcmp(argv[1], "fmu") == 0) return run_fmu(argv + 2);
    if (argc == 5 && strcmp(argv[1], "kernel") == 0) return run_kernel(argv + 2);
    return 2;
}
