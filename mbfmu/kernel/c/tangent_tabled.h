/* The tangents of operations as data, which follow_tangent() takes with their values along one table. Included after
 * tabled.h.
 *
 * TANGENT_name(y, x, dx) is the change of y = name(x), TANGENT_name(y, a, b, da, db) that of y = name(a, b). A change of 0
 * is 0 also where the slope is infinite. */
#define TANGENT_TIMES(slope, dx) ((dx) == 0 ? 0 : (slope) * (dx))
#define TANGENT_SAME(y, x, dx) (dx)
#define TANGENT_NEG(y, x, dx) (-(dx))
#define TANGENT_SQUARE(y, x, dx) (2 * (x) * (dx))
#define TANGENT_FABS(y, x, dx) (SIGN(x) * (dx))
#define TANGENT_SQRT(y, x, dx) TANGENT_TIMES(0.5 / (y), dx)
#define TANGENT_SIN(y, x, dx) TANGENT_TIMES(COS(x), dx)
#define TANGENT_COS(y, x, dx) TANGENT_TIMES(-SIN(x), dx)
#define TANGENT_TAN(y, x, dx) TANGENT_TIMES(1 + (y) * (y), dx)
#define TANGENT_ASIN(y, x, dx) TANGENT_TIMES(1 / SQRT(1 - (x) * (x)), dx)
#define TANGENT_ACOS(y, x, dx) TANGENT_TIMES(-1 / SQRT(1 - (x) * (x)), dx)
#define TANGENT_ATAN(y, x, dx) TANGENT_TIMES(1 / (1 + (x) * (x)), dx)
#define TANGENT_EXP(y, x, dx) TANGENT_TIMES(y, dx)
#define TANGENT_EXPM1(y, x, dx) TANGENT_TIMES(EXP(x), dx)
#define TANGENT_LOG(y, x, dx) TANGENT_TIMES(1 / (x), dx)
#define TANGENT_LOG1P(y, x, dx) TANGENT_TIMES(1 / (1 + (x)), dx)
#define TANGENT_SINH(y, x, dx) TANGENT_TIMES(COSH(x), dx)
#define TANGENT_COSH(y, x, dx) TANGENT_TIMES(SINH(x), dx)
#define TANGENT_TANH(y, x, dx) TANGENT_TIMES(1 - (y) * (y), dx)
#define TANGENT_ASINH(y, x, dx) TANGENT_TIMES(1 / SQRT(1 + (x) * (x)), dx)
#define TANGENT_ACOSH(y, x, dx) TANGENT_TIMES(1 / (SQRT((x)-1) * SQRT((x) + 1)), dx)
#define TANGENT_ATANH(y, x, dx) TANGENT_TIMES(1 / (1 - (x) * (x)), dx)
#define TANGENT_NOT(y, x, dx) 0
#define TANGENT_SIGN(y, x, dx) 0
#define TANGENT_FLOOR(y, x, dx) 0
#define TANGENT_CEIL(y, x, dx) 0
#define TANGENT_ADD(y, a, b, da, db) ((da) + (db))
#define TANGENT_SUB(y, a, b, da, db) ((da) - (db))
#define TANGENT_MUL(y, a, b, da, db) ((da) * (b) + (a) * (db))
#define TANGENT_DIV(y, a, b, da, db) (((da) - (y) * (db)) / (b))
#define TANGENT_FMIN(y, a, b, da, db) ((a) < (b) ? (da) : (b) < (a) ? (db) : ((da) + (db)) / 2)
#define TANGENT_FMAX(y, a, b, da, db) TANGENT_FMIN(y, b, a, da, db)
#define TANGENT_FMOD(y, a, b, da, db) ((da) + TANGENT_TIMES(((y) - (a)) / (b), db))
#define TANGENT_HYPOT(y, a, b, da, db) (TANGENT_TIMES((a) / (y), da) + TANGENT_TIMES((b) / (y), db))
#define TANGENT_ATAN2(y, a, b, da, db) (((b) * (da) - (a) * (db)) / ((a) * (a) + (b) * (b)))
#define TANGENT_POW(y, a, b, da, db) (TANGENT_TIMES((b) * POW(a, (b)-1), da) + TANGENT_TIMES(LOG(a) * (y), db))
#define TANGENT_COPYSIGN(y, a, b, da, db) (COPYSIGN(1.0, b) * SIGN(a) * (da))
#define TANGENT_LT(y, a, b, da, db) 0
#define TANGENT_LE(y, a, b, da, db) 0
#define TANGENT_EQ(y, a, b, da, db) 0
#define TANGENT_NE(y, a, b, da, db) 0
#define TANGENT_AND(y, a, b, da, db) 0
#define TANGENT_OR(y, a, b, da, db) 0
#define TANGENT_SELECT(y, a, b, c, da, db, dc) ((a) != 0 ? (db) : (dc))

#define TANGENT_SUM_OF(first, change, width, counted, sign)                                       \
    for (const int products = *k++; n; --n) {                                                     \
        const int to = *k;                                                                        \
        V sum = first, ds = change;                                                               \
        k += width;                                                                               \
        for (int i = counted; i < products; ++i, k += 2) {                                        \
            sum = sum sign s[k[0]] * s[k[1]];                                                     \
            ds = ds sign(d[k[0]] * s[k[1]] + s[k[0]] * d[k[1]]);                                  \
        }                                                                                         \
        s[to] = sum, d[to] = ds;                                                                  \
    }                                                                                             \
    break;
#define TANGENT_CASE_1(name)                                                                      \
    case TABLE_##name:                                                                            \
        for (; n; --n, k += 2) {                                                                  \
            const V x = s[k[1]], y = name(x), dx = d[k[1]];                                       \
            s[*k] = y, d[*k] = TANGENT_##name(y, x, dx);                                          \
            (void)x, (void)dx;                                                                    \
        }                                                                                         \
        break;
#define TANGENT_CASE_2(name)                                                                      \
    case TABLE_##name:                                                                            \
        for (; n; --n, k += 3) {                                                                  \
            const V a = s[k[1]], b = s[k[2]], y = name(a, b), da = d[k[1]], db = d[k[2]];         \
            s[*k] = y, d[*k] = TANGENT_##name(y, a, b, da, db);                                   \
            (void)da, (void)db;                                                                   \
        }                                                                                         \
        break;
#define TANGENT_CASE_3(name)                                                                      \
    case TABLE_##name:                                                                            \
        for (; n; --n, k += 4) {                                                                  \
            const V a = s[k[1]], b = s[k[2]], c = s[k[3]], y = name(a, b, c);                     \
            s[*k] = y, d[*k] = TANGENT_##name(y, a, b, c, d[k[1]], d[k[2]], d[k[3]]);             \
        }                                                                                         \
        break;

/* The change of the results for the changes of the arguments, `seeds`; d has the changes of the entries of s. */
static void follow_tangent(const struct table *f, const V *const *arg, const V *const *seeds, V *const *res, V *s, V *d) {
    const int leaves = f->first + f->n_numbers;
    (void)follow; /* a file may have changes alone */
    for (int i = 0; i < f->n_numbers; ++i) s[f->first + i] = f->numbers[i];
    for (int i = 0; i < leaves; ++i) d[i] = 0;
    for (int i = 0; i < f->n_arguments; ++i) {
        const int *const at = f->arguments + 2 * i;
        s[leaves + i] = arg[at[0]][at[1]];
        d[leaves + i] = seeds[at[0]][at[1]];
    }
    for (const unsigned short *k = f->runs; *k != TABLE_END;) {
        const int kind = *k++;
        int n = *k++;
        switch (kind) {
        case TABLE_SUM: TANGENT_SUM_OF(s[k[1]] * s[k[2]], d[k[1]] * s[k[2]] + s[k[1]] * d[k[2]], 3, 1, +)
        case TABLE_DOT: TANGENT_SUM_OF(s[k[1]], d[k[1]], 2, 0, +)
        case TABLE_DIFFERENCE: TANGENT_SUM_OF(s[k[1]], d[k[1]], 2, 0, -)
        FOLLOWED(TANGENT_CASE_1, TANGENT_CASE_2, TANGENT_CASE_3)
        }
    }
    for (int i = 0; i < f->n_results; ++i) {
        const int *const at = f->results + 3 * i;
        if (res[at[0]]) res[at[0]][at[1]] = d[at[2]];
    }
}
