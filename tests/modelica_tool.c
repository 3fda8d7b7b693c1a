/* A Modelica tool as far as external functions see it: a failure in one of them ends the call that the tool made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include "ModelicaUtilities.h"

static jmp_buf failed;
char told[4000]; /* the last failure */
char warned[4000];

static void write_down(char text[], const char *form, va_list list) { vsnprintf(text, sizeof told, form, list); }

void ModelicaFormatMessage(const char *form, ...) {
    va_list list;
    va_start(list, form);
    write_down(warned, form, list);
    va_end(list);
}

void ModelicaFormatError(const char *form, ...) {
    va_list list;
    va_start(list, form);
    write_down(told, form, list);
    va_end(list);
    longjmp(failed, 1);
}

void ModelicaError(const char *text) { ModelicaFormatError("%s", text); }

#include "mbfmu_exchange.h"

#define CALL(what) if (setjmp(failed)) return 1; what; return 0
#define POINT void *m, double t, const double *x, size_t nx, const int *vr, const int *type, const double *u, size_t nu
#define AT m, t, x, nx, vr, type, u, nu

int open_fmu(const char *folder, const char *id, const char *token, const int *vr, const int *type, const double *p,
             size_t n, void **m) {
    CALL(*m = mbfmu_open(folder, id, token, vr, type, p, n));
}
void close_fmu(void *m) { mbfmu_close(m); }
int start(void *m, double t, const int *vr, const int *type, const double *u, size_t nu, double interval, double *x,
          size_t nx) {
    CALL(mbfmu_start(m, t, vr, type, u, nu, interval, x, nx));
}
int rates(POINT, double *dx) { CALL(mbfmu_rates(AT, dx)); }
int indicators(POINT, double *z, size_t nz) { CALL(mbfmu_indicators(AT, z, nz)); }
int values(POINT, const int *wanted, const int *form, double *y, size_t ny) {
    CALL(mbfmu_values(AT, wanted, form, y, ny));
}
int update(POINT, double interval, double *x1) { CALL(mbfmu_update(AT, interval, x1)); }
