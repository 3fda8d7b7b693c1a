/* Time of (set, step, get) of a native FMU beside that of its kernel alone, in one C loop.
 *
 *     native_host STEPS SIZE FMU GUID INPUTS FIRST_OUTPUT OUTPUTS KERNEL < "s..., p..."
 *
 * FMU is the library of a native FMU and KERNEL that of mbfmu.kernel.loading.library, whose start values and parameters
 * come as numbers on stdin; STEPS are at least 1000. Compile with -I to the sources of an FMU, for the FMI headers, and
 * -ldl. Both step in turn, block by block, as others on a machine slow down whatever runs meanwhile. Prints JSON: the
 * medians of ns a step and of the ratio of the blocks, then the 99.9 % quantile and the worst of single steps of the
 * FMU, ns, which include 20 to 30 ns of the clock. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fmi2FunctionTypes.h"

#define BLOCK 1000 /* steps */

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
                   double *, double *, double *);
    int (*outputs)(const double *, const double *, const double *, double, double *, double *);
    double *x, *x1, *u, *du, *p, *y, *status, *work;
    long long n_in;
};

static int kernel_step(void *data, long k, double size) {
    struct kernel *f = data;
    for (int i = 0; i < f->n_in; ++i) f->u[i] = 0.1 * (double)((k + i) % 5);
    int failed = f->advance(f->x, f->u, f->du, f->p, k * size, size, 1, f->x1, f->status, f->work, 0);
    double *x = f->x;
    f->x = f->x1;
    f->x1 = x;
    return failed | f->outputs(f->x, f->u, f->p, (k + 1) * size, f->y, f->work);
}

static int run(int (*step)(void *, long, double), void *data, long from, long count, double size) {
    int failed = 0;
    for (long k = from; k < from + count; ++k) failed |= step(data, k, size);
    return failed;
}

static int time_in_turn(struct fmu *fmu, struct kernel *kernel, long steps, double size) {
    const long blocks = steps / BLOCK;
    double *of_fmu = malloc(sizeof(double) * blocks), *of_kernel = malloc(sizeof(double) * blocks);
    double *ratios = malloc(sizeof(double) * blocks), *each = malloc(sizeof(double) * steps);
    int failed = 0;
    for (long i = 0; i < blocks; ++i) {
        const double start = now();
        failed |= run(fmu_step, fmu, i * BLOCK, BLOCK, size);
        const double middle = now();
        failed |= run(kernel_step, kernel, i * BLOCK, BLOCK, size);
        of_fmu[i] = (middle - start) / BLOCK;
        of_kernel[i] = (now() - middle) / BLOCK;
        ratios[i] = of_fmu[i] / of_kernel[i];
    }
    for (long i = 0; i < steps; ++i) {
        const double start = now();
        failed |= fmu_step(fmu, blocks * BLOCK + i, size);
        each[i] = now() - start;
    }
    qsort(of_fmu, blocks, sizeof(double), compare);
    qsort(of_kernel, blocks, sizeof(double), compare);
    qsort(ratios, blocks, sizeof(double), compare);
    qsort(each, steps, sizeof(double), compare);
    printf("{\"kernel\": %.1f, \"fmu\": %.1f, \"ratio\": %.4f, \"q999\": %.1f, \"worst\": %.1f}\n",
           of_kernel[blocks / 2], of_fmu[blocks / 2], ratios[blocks / 2], each[(long)(steps * 0.999)], each[steps - 1]);
    return failed;
}

static int open_fmu(struct fmu *f, const char *path, const char *guid, char **variables) {
    void *library = dlopen(path, RTLD_NOW);
    fmi2CallbackFunctions host = {0, calloc, free, 0, 0};
    fmi2InstantiateTYPE *instantiate = (fmi2InstantiateTYPE *)symbol(library, "fmi2Instantiate");
    f->set = (fmi2SetRealTYPE *)symbol(library, "fmi2SetReal");
    f->get = (fmi2GetRealTYPE *)symbol(library, "fmi2GetReal");
    f->step = (fmi2DoStepTYPE *)symbol(library, "fmi2DoStep");
    f->c = instantiate("one", fmi2CoSimulation, guid, "", &host, fmi2False, fmi2False);
    if (!f->c) return 1;
    f->n_in = strtoul(variables[0], 0, 10);
    f->n_out = strtoul(variables[2], 0, 10);
    f->in = malloc(sizeof *f->in * (f->n_in + 1));
    f->out = malloc(sizeof *f->out * (f->n_out + 1));
    f->u = calloc(f->n_in + 1, sizeof(double));
    f->y = calloc(f->n_out + 1, sizeof(double));
    for (size_t i = 0; i < f->n_in; ++i) f->in[i] = 1 + (unsigned)i;
    for (size_t i = 0; i < f->n_out; ++i) f->out[i] = (unsigned)strtoul(variables[1], 0, 10) + (unsigned)i;
    ((fmi2SetupExperimentTYPE *)symbol(library, "fmi2SetupExperiment"))(f->c, 0, 0, 0, 0, 0);
    ((fmi2EnterInitializationModeTYPE *)symbol(library, "fmi2EnterInitializationMode"))(f->c);
    return ((fmi2ExitInitializationModeTYPE *)symbol(library, "fmi2ExitInitializationMode"))(f->c);
}

static int open_kernel(struct kernel *f, const char *path, double size) {
    void *library = dlopen(path, RTLD_NOW);
    long long n[9];
    ((void (*)(long long *))symbol(library, "mbfmu_sizes"))(n);
    int (*initialize)(const double *, const double *, const double *, const double *, double, double, double *,
                      double *, double *) = symbol(library, "mbfmu_initialize");
    f->advance = symbol(library, "mbfmu_advance");
    f->outputs = symbol(library, "mbfmu_outputs");
    f->n_in = n[2];
    f->x = calloc(n[0], sizeof(double));
    f->x1 = calloc(n[0], sizeof(double));
    f->u = calloc(n[2] + 1, sizeof(double));
    f->du = calloc(n[2] + 1, sizeof(double));
    f->p = calloc(n[3] + 1, sizeof(double));
    f->y = calloc(n[4] + 1, sizeof(double));
    f->status = calloc(n[5], sizeof(double));
    f->work = calloc(n[6], sizeof(double));
    double *s = calloc(n[1] + 1, sizeof(double));
    for (int i = 0; i < n[1]; ++i)
        if (scanf("%lf", s + i) != 1) return 1;
    for (int i = 0; i < n[3]; ++i)
        if (scanf("%lf", f->p + i) != 1) return 1;
    return initialize(s, f->u, f->du, f->p, 0, size, f->x, f->status, f->work);
}

int main(int argc, char **argv) {
    struct fmu fmu;
    struct kernel kernel;
    if (argc != 9 || atol(argv[1]) < BLOCK) return 2;
    const double size = atof(argv[2]);
    if (open_fmu(&fmu, argv[3], argv[4], argv + 5) || open_kernel(&kernel, argv[8], size)) return 1;
    return time_in_turn(&fmu, &kernel, atol(argv[1]), size);
}
