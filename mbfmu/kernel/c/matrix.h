/* Sparse matrices of generated code: copies, products, and the solution of linear systems by Householder's method.
 *
 * A pattern is {rows, columns, where each column begins among the nonzeros (columns + 1 numbers), row of each nonzero}.
 */
#include <math.h>

#define UNUSED __attribute__((unused))
#define SECTION static __attribute__((noinline)) /* of a long function, which a compiler would put together again */
/* The square of a length is nothing beside that of another below this part of it; the inverse of the part is finite. */
#define NEGLIGIBLE 1e-200
#if !defined __GNUC__ && !defined __TINYC__
#define __attribute__(x)
#endif

UNUSED static void copy(const V *from, int n, V *to) {
    for (int i = 0; i < n; ++i) to[i] = from[i];
}

/* to[i] = from[at[i]], and 0 where at[i] < 0. */
UNUSED static void gather(const V *from, const int *at, int n, V *to) {
    for (int i = 0; i < n; ++i) to[i] = at[i] < 0 ? SAME(0.0) : from[at[i]];
}

UNUSED static V norm_1(const V *x, int n) {
    V sum = SAME(0.0);
    for (int i = 0; i < n; ++i) sum += FABS(x[i]);
    return sum;
}

UNUSED static V dot(const V *x, const V *y, int n) {
    V sum = SAME(0.0);
    for (int i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
}

/* z = x y + z0, on the pattern of z; room has as many entries as z has rows. */
UNUSED static void multiply_add(const int *px, const V *x, const int *py, const V *y, const V *z0, const int *pz, V *z,
                                V *room) {
    const int *begin_x = px + 2, *row_x = begin_x + px[1] + 1, *begin_y = py + 2, *row_y = begin_y + py[1] + 1;
    const int *begin_z = pz + 2, *row_z = begin_z + pz[1] + 1;
    const int rows = px[0], dense = begin_x[px[1]] == rows * px[1] && begin_z[pz[1]] == rows * pz[1];
    for (int column = 0; column < py[1]; ++column) {
        if (dense) {
            V *const to = z + column * rows;
            for (int i = 0; i < rows; ++i) to[i] = z0[column * rows + i];
            for (int k = begin_y[column]; k < begin_y[column + 1]; ++k) {
                const V factor = y[k], *const from = x + row_y[k] * rows;
                for (int i = 0; i < rows; ++i) to[i] += from[i] * factor;
            }
            continue;
        }
        for (int k = begin_z[column]; k < begin_z[column + 1]; ++k) room[row_z[k]] = z0[k];
        for (int k = begin_y[column]; k < begin_y[column + 1]; ++k) {
            const V factor = y[k];
            for (int j = begin_x[row_y[k]]; j < begin_x[row_y[k] + 1]; ++j) room[row_x[j]] += x[j] * factor;
        }
        for (int k = begin_z[column]; k < begin_z[column + 1]; ++k) z[k] = room[row_z[k]];
    }
}

/* The pattern of a factorisation A = P^T (I - beta_1 v_1 v_1^T) ... (I - beta_n v_n v_n^T) R Q^T. */
struct qr {
    const int *A, *v, *R;       /* patterns; the columns of v are Householder's vectors */
    const int *rows, *columns;  /* row of A -> row of R, column of R -> column of A */
};

/* Subtract beta v (v^T x) from x. */
static void reflect(const int *row, const V *v, int n, V beta, V *x) {
    V alpha = SAME(0.0);
    for (int k = 0; k < n; ++k) alpha += v[k] * x[row[k]];
    alpha *= beta;
    for (int k = 0; k < n; ++k) x[row[k]] -= alpha * v[k];
}

/* Replace x by the vector v that reflects it onto the first axis, with v[0] = 1 for a beta of 0; return its length.
 * (Golub & Van Loan, Matrix Computations, 5.1; v is scaled as in Davis, Direct Methods for Sparse Linear Systems, 5.1.)
 */
static V householder(V *x, int n, V *beta) {
    const V first = x[0];
    V rest = SAME(0.0);
    for (int k = 1; k < n; ++k) rest += x[k] * x[k];
    const V square = first * first, length = SQRT(square + rest), least = NEGLIGIBLE * square;
    x[0] = SELECT(LE(rest, least), 1.0, SELECT(LE(first, 0.0), first - length, -rest / (first + length)));
    *beta = SELECT(LE(rest, least), SELECT(LE(first, 0.0), 2.0, 0.0), -1.0 / (length * x[0]));
    return length;
}

/* x = A^-1 b for a number of right-hand sides (x may be b); room has an entry for each nonzero of v and R, and for each
 * column and row of v. */
UNUSED static void solve(const struct qr *f, const V *A, const V *b, int sides, V *x, V *room) {
    const int n = f->A[1], rows = f->v[0];
    const int *begin_A = f->A + 2, *row_A = begin_A + n + 1, *begin_v = f->v + 2, *row_v = begin_v + n + 1;
    const int *begin_R = f->R + 2, *row_R = begin_R + n + 1;
    V *const v = room, *const R = v + begin_v[n], *const beta = R + begin_R[n], *const dense = beta + n;
    for (int i = 0; i < rows; ++i) dense[i] = SAME(0.0);
    for (int c = 0; c < n; ++c) {
        const int from = f->columns[c], last = begin_R[c + 1] - 1, begin = begin_v[c], length = begin_v[c + 1] - begin;
        for (int k = begin_A[from]; k < begin_A[from + 1]; ++k) dense[f->rows[row_A[k]]] = A[k];
        for (int k = begin_R[c]; k < last; ++k) {
            const int r = row_R[k], at = begin_v[r];
            reflect(row_v + at, v + at, begin_v[r + 1] - at, beta[r], dense);
            R[k] = dense[r];
            dense[r] = SAME(0.0);
        }
        for (int k = begin; k < begin + length; ++k) {
            v[k] = dense[row_v[k]];
            dense[row_v[k]] = SAME(0.0);
        }
        R[last] = householder(v + begin, length, beta + c);
    }
    for (int side = 0; side < sides; ++side, b += n, x += n) {
        for (int i = 0; i < rows; ++i) dense[i] = SAME(0.0);
        for (int i = 0; i < n; ++i) dense[f->rows[i]] = b[i];
        for (int c = 0; c < n; ++c)
            reflect(row_v + begin_v[c], v + begin_v[c], begin_v[c + 1] - begin_v[c], beta[c], dense);
        for (int c = n - 1; c >= 0; --c) {
            const V value = dense[c] /= R[begin_R[c + 1] - 1];
            for (int k = begin_R[c + 1] - 2; k >= begin_R[c]; --k) dense[row_R[k]] -= R[k] * value;
        }
        for (int c = 0; c < n; ++c) x[f->columns[c]] = dense[c];
    }
}
