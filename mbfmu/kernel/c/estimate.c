/* The error of a run, from the distances of its shadows: see doubling.c and errors.py. Included after growth.c. */
#ifdef MEASURED
/* The error of a quantity after all steps of a run, from its row: the largest distance, or what the sums of the distances
 * lead to. A sum of distances after L steps, for all N steps, is N / L of them. It is the same for all L where errors add up,
 * and falls with L where they are forgotten: the power of L by which it falls leads from L to N. */
static double lasting_error(const double *e, const double *row) {
    const int first = e[E_COVERED + 1] > 0; /* single steps count where there is nothing else */
    double error = row[R_MOST], length = first ? BRIEF : 1, totals[SCALES] = {0}, power = 0;
    int end = first;
    for (; end < SCALES && e[E_COVERED + end] > 0; ++end)
        totals[end] = row[R_SUM + end] * e[E_STEPS] / e[E_COVERED + end];
    if (end - first > 1 && totals[first] > 0)
        power = mbfmu_log(fmax(totals[end - 1] / totals[first], FORGOTTEN)) / ((end - 1 - first) * mbfmu_log(4)) + DOUBT;
    power = power > 0 ? 0 : power < -1 ? -1 : power;
    for (int i = first; i < end; ++i, length *= 4)
        error = fmax(error, totals[i] * mbfmu_pow(fmax(e[E_STEPS] / length, 1), power));
    return error;
}

/* What the errors of n quantities are relative to: their ranges, or a part of the largest of them. */
static void scale_of(const double *rows, int n, double *scale) {
    double most = 0;
    for (int i = 0; i < n; ++i) {
        scale[i] = rows[i * E_ROW + R_GREATEST] - rows[i * E_ROW + R_LEAST];
        most = fmax(most, scale[i]);
    }
    for (int i = 0; i < n; ++i) scale[i] = fmax(scale[i], fmax(NARROW, SMALL * most));
}

/* The error of a run relative to the range of the quantity with the largest one, whose index is *worst; most of
 * it arises at the time *when. NAN where none is known. Of the quantities 2 n are coordinates and their rates, the others have usual sizes. `amounts` become all errors, in
 * their own units; it may be 0. */
MBFMU_EXPORT double mbfmu_error(const double *e, int n, const double *usual, double *amounts, int *worst,
                                double *when) {
    const double *const rows = e + E_SIZE;
    double scale[MEASURED], relative[MEASURED], largest = -1;
    if (!(e[E_COVERED] > 0)) return NAN;
    scale_of(rows, n, scale);
    scale_of(rows + n * E_ROW, n, scale + n);
    for (int i = 0; i < MEASURED; ++i) {
        const double *const row = rows + i * E_ROW;
        const double error = lasting_error(e, row);
        const double size = SLIGHT_RANGE * fmax(fabs(row[R_LEAST]), fabs(row[R_GREATEST]));
        if (i >= 2 * n) scale[i] = fmax(row[R_GREATEST] - row[R_LEAST], SMALL * usual[i - 2 * n]);
        relative[i] = error > 0 ? error / fmax(scale[i], size) : 0;
        const double most = n <= i && i < 2 * n ? PASSING * relative[i - n] : INFINITY;
        if (amounts) amounts[i] = error * (relative[i] > most ? most / relative[i] : 1);
        relative[i] = fmin(relative[i], most);
        if (relative[i] > largest || isnan(error)) {
            largest = isnan(error) ? INFINITY : relative[i];
            *worst = i;
            *when = row[R_TIME];
        }
    }
    return largest;
}
#else
MBFMU_EXPORT double mbfmu_error(const double *e, int n, const double *usual, double *amounts, int *worst,
                                double *when) {
    return (void)e, (void)n, (void)usual, (void)amounts, (void)worst, (void)when, NAN;
}
#endif
