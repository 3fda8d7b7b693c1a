/* Operations as data, which follow() takes run by run. FOLLOWED(X1, X2, X3) names each kind of operation in the file by the
 * number of its operands: X1(NEG) X2(ADD) ...
 *
 * A run is {kind, number of operations, of a sum that of its products}, then for each operation the entry of s that it
 * fills and those that it takes. */
#define TABLE_KIND(name) TABLE_##name,
enum { TABLE_END, TABLE_SUM, TABLE_DOT, TABLE_DIFFERENCE, FOLLOWED(TABLE_KIND, TABLE_KIND, TABLE_KIND) };

struct table {
    const unsigned short *runs;
    int first;        /* number of entries of s that are filled before */
    const V *numbers; /* of the next ones */
    int n_numbers;
    const int *arguments; /* index and entry of each; they fill the next ones */
    int n_arguments;
    const int *results; /* index, entry, and the entry of s */
    int n_results;
};

#define TABLE_SUM_OF(first, width, counted, sign)                                                     \
    for (const int products = *k++; n; --n) {                                                  \
        V sum = first;                                                                         \
        V *const to = s + *k;                                                                  \
        k += width;                                                                            \
        for (int i = counted; i < products; ++i, k += 2) sum = sum sign s[k[0]] * s[k[1]];           \
        *to = sum;                                                                             \
    }                                                                                          \
    break;
#define TABLE_CASE_1(name) \
    case TABLE_##name:     \
        for (; n; --n, k += 2) s[*k] = name(s[k[1]]); \
        break;
#define TABLE_CASE_2(name) \
    case TABLE_##name:     \
        for (; n; --n, k += 3) s[*k] = name(s[k[1]], s[k[2]]); \
        break;
#define TABLE_CASE_3(name) \
    case TABLE_##name:     \
        for (; n; --n, k += 4) s[*k] = name(s[k[1]], s[k[2]], s[k[3]]); \
        break;

static void follow(const struct table *f, const V *const *arg, V *const *res, V *s) {
    V *const numbers = s + f->first, *const arguments = numbers + f->n_numbers;
    for (int i = 0; i < f->n_numbers; ++i) numbers[i] = f->numbers[i];
    for (int i = 0; i < f->n_arguments; ++i) arguments[i] = arg[f->arguments[2 * i]][f->arguments[2 * i + 1]];
    for (const unsigned short *k = f->runs; *k != TABLE_END;) {
        const int kind = *k++;
        int n = *k++;
        switch (kind) {
        case TABLE_SUM: TABLE_SUM_OF(s[k[1]] * s[k[2]], 3, 1, +)
        case TABLE_DOT: TABLE_SUM_OF(s[k[1]], 2, 0, +)
        case TABLE_DIFFERENCE: TABLE_SUM_OF(s[k[1]], 2, 0, -)
        FOLLOWED(TABLE_CASE_1, TABLE_CASE_2, TABLE_CASE_3)
        }
    }
    for (int i = 0; i < f->n_results; ++i) {
        const int *const at = f->results + 3 * i;
        if (res[at[0]]) res[at[0]][at[1]] = s[at[2]];
    }
}
