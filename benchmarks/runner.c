/* runner LIBRARY STATE H N: N steps of a compiled kernel from a state in a file, for instructions.py. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*advance_t)(const double *, const double *, const double *, const double *, double, double, long long,
                         double *, double *, double *, double *);

static double *doubles(long long n, FILE *file) {
    double *values = calloc(n + 1, sizeof(double));
    if (file && fread(values, sizeof(double), n, file) != (size_t)n) exit(2);
    return values;
}

int main(int count, char **given) {
    if (count != 5) return 1;
    void *library = dlopen(given[1], RTLD_NOW);
    FILE *file = fopen(given[2], "rb");
    long long n[3], sizes[9];
    if (!library || !file || fread(n, sizeof n[0], 3, file) != 3) return 2;
    double *x = doubles(n[0], file), *u = doubles(n[1], file), *p = doubles(n[2], file);
    ((void (*)(long long *))dlsym(library, "mbfmu_sizes"))(sizes);
    double *still = doubles(n[1], 0), *x1 = doubles(n[0], 0), *status = doubles(sizes[5], 0), *work = doubles(sizes[6], 0);
    advance_t advance = (advance_t)dlsym(library, "mbfmu_advance");
    return advance(x, u, still, p, 0, atof(given[3]), atoll(given[4]), x1, status, work, 0);
}
