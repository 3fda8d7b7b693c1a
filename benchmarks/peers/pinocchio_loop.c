// Explicit Runge-Kutta steps around the accelerations that Pinocchio generated. N: number of coordinates; S: of stages.
#include <stdlib.h>

int acceleration(const double **arg, double **res, long long *iw, double *w, int memory);
int acceleration_work(long long *, long long *, long long *, long long *);

// n steps of length h of the method (A, b) with s stages; q and v are changed in place.
void run(double *q, double *v, const double *A, const double *b, int s, double h, long n) {
    double x[S][N], w[S][N], a[S][N];
    long long size;
    acceleration_work(0, 0, 0, &size);
    double *scratch = malloc((size_t)(size + 1) * sizeof *scratch);
    for (long k = 0; k < n; ++k) {
        for (int i = 0; i < s; ++i) {
            for (int m = 0; m < N; ++m) {
                x[i][m] = q[m];
                w[i][m] = v[m];
            }
            for (int j = 0; j < i; ++j) {
                const double c = h * A[i * s + j];
                if (c == 0) continue;
                for (int m = 0; m < N; ++m) {
                    x[i][m] += c * w[j][m];
                    w[i][m] += c * a[j][m];
                }
            }
            const double *arg[] = {x[i], w[i]};
            double *res[] = {a[i]};
            acceleration(arg, res, 0, scratch, 0);
        }
        for (int i = 0; i < s; ++i)
            for (int m = 0; m < N; ++m) {
                q[m] += h * b[i] * w[i][m];
                v[m] += h * b[i] * a[i][m];
            }
    }
    free(scratch);
}
