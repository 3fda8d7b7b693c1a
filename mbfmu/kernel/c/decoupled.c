/* Newton's method for the nodes of a collocation method, decoupled by the eigenvalues of D = A^-1.
 *
 * With D T = T Gamma, the changes W = (T^-1 x I) dw of the unknowns of the nodes, and right sides transformed in the same
 * way, the equations linearised at one point fall into groups (Hairer & Wanner, Solving Ordinary Differential Equations II,
 * IV.8), one of each real eigenvalue gamma and of each pair of complex ones, with V = gamma W + off mu:
 *
 *     B2 gamma V + B1 V + B0 W + C^T L + Bz Wz = r1,    C_P W = r2,    C V = r3,    gamma Wz - F1 V - F0 W - Fz Wz = r4
 *
 * The derivative of C V with respect to the coordinates is left out, and with it a part of the order of h in each
 * correction; the residual is that of the equations as they are, so that the solution has all digits. The constraints give
 * W = Wp + N zeta, where C N = 0, and the first-order states, block by block, Wz = y + X zeta:
 *
 *     (N^T (gamma^2 B2 + gamma B1 + B0) N + N^T Bz X) zeta = N^T (r1 - (gamma B2 + B1) V_p - B0 Wp - Bz y)
 *
 * Complex numbers are pairs of reals, and complex matrices [[Re, -Im], [Im, Re]]. Matrices are stored column by column, T and
 * T^-1 row by row. Included after lasting.c; without DECOUPLED the functions call those of the formula.
 */
#ifdef DECOUPLED
#define D_LEAST 0.01 /* ratio of two corrections that is counted on */
#define D_RATE 10.0   /* rate, m/s or rad/s, of whose digits the last ones do not count */
#define D_FREE (D_N - D_C)
#define D_ROWS (D_N + D_P + D_CLOSING)

/* What one linearisation gives, and the memory of a correction. */
struct factors {
    /* the matrices as they are supplied */
    double B2[D_N * D_N + 1], B1[D_N * D_N + 1], B0[D_N * D_N + 1], C[D_C * D_N + 1], Bz[D_N * D_Z + 1];
    double F1[D_Z * D_N + 1], F0[D_Z * D_N + 1], Fz[D_Z * D_Z + 1], off[D_N * D_MU + 1];
    /* the constraints: C_order Y = 1 for the dependent coordinates order[i], i < D_C; the basis N; B2 N, B1 N, B0 N */
    double Y[D_C * D_C + 1], N[D_N * D_FREE + 1], E2[D_N * D_FREE + 1], E1[D_N * D_FREE + 1], E0[D_N * D_FREE + 1];
    double work[D_C * (D_N + D_C) + 1], NBz[D_FREE * D_Z + 1], S[D_MU * D_MU + 1];
    /* factors of the groups, one after the other, and X */
    double blocks[D_FACTORS + 1], X[2 * D_GROUPS * D_Z * D_FREE + 1], K[4 * D_GROUPS * D_FREE * D_FREE + 1];
    /* residuals of the nodes, the same transformed, and the changes of the unknowns of each vector of T */
    double residual[D_S * (D_ROWS + D_Z) + 1], turned[D_S * (D_ROWS + D_Z) + 1];
    double W[D_S * D_N + 1], Wz[D_S * D_Z + 1], L[D_S * D_C + 1], mu[D_S * D_MU + 1];
    int order[D_N + 1], block_rows[2 * D_GROUPS * D_Z + 1], K_rows[2 * D_GROUPS * D_FREE + 1], S_rows[D_MU + 1];
};
typedef char factors_fit[sizeof(struct factors) <= sizeof(double) * DECOUPLED_ROOM ? 1 : -1];

/* y += factor A x, and y += A^T x. */
static void add_product(const double *A, int rows, int columns, const double *x, double factor, double *y) {
    for (int j = 0; j < columns; ++j, A += rows) {
        const double part = factor * x[j];
        if (part != 0)
            for (int i = 0; i < rows; ++i) y[i] += A[i] * part;
    }
}
static void add_transposed(const double *A, int rows, int columns, const double *x, double *y) {
    for (int j = 0; j < columns; ++j, A += rows) {
        double sum = 0;
        for (int i = 0; i < rows; ++i) sum += A[i] * x[i];
        y[j] += sum;
    }
}

/* The same for each of `parts` real parts of x. */
static void add_products(const double *A, int rows, int columns, int parts, const double *x, double factor, double *y) {
    for (int part = 0; part < parts; ++part) add_product(A, rows, columns, x + part * columns, factor, y + part * rows);
}

/* y = gamma x. */
static void times_gamma(const double *gamma, int parts, int n, const double *x, double *y) {
    for (int i = 0; i < n; ++i) {
        const double re = x[i], im = parts > 1 ? x[n + i] : 0;
        y[i] = gamma[0] * re - gamma[1] * im;
        if (parts > 1) y[n + i] = gamma[0] * im + gamma[1] * re;
    }
}

/* Factor a matrix of n rows with row exchanges (Golub & Van Loan, Matrix Computations, 3.4); its diagonal then holds the
 * inverse pivots. */
static void factor(double *A, int n, int *rows) {
    for (int c = 0; c < n; ++c) {
        double *const pivot = A + c * n;
        int best = c;
        for (int i = c + 1; i < n; ++i)
            if (fabs(pivot[i]) > fabs(pivot[best])) best = i;
        rows[c] = best;
        for (int j = 0; best != c && j < n; ++j) {
            const double held = A[j * n + c];
            A[j * n + c] = A[j * n + best];
            A[j * n + best] = held;
        }
        pivot[c] = 1 / pivot[c];
        for (int i = c + 1; i < n; ++i) pivot[i] *= pivot[c];
        for (int j = c + 1; j < n; ++j) {
            double *const column = A + j * n;
            const double part = column[c];
            if (part != 0)
                for (int i = c + 1; i < n; ++i) column[i] -= pivot[i] * part;
        }
    }
}

/* x = A^-1 x. */
static void substitute(const double *A, int n, const int *rows, double *x) {
    for (int c = 0; c < n; ++c) {
        const double held = x[rows[c]];
        x[rows[c]] = x[c];
        x[c] = held;
    }
    for (int c = 0; c < n; ++c)
        for (int i = c + 1; i < n; ++i) x[i] -= A[c * n + i] * x[c];
    for (int c = n - 1; c >= 0; --c) {
        x[c] *= A[c * n + c];
        for (int i = 0; i < c; ++i) x[i] -= A[c * n + i] * x[c];
    }
}

/* Find dependent coordinates, Y and N by Gauss and Jordan's elimination of [C 1], with the largest pivot of all. */
static void split_coordinates(struct factors *F) {
    const int width = D_N + D_C;
    double *const A = F->work;
    for (int i = 0; i < D_C; ++i)
        for (int j = 0; j < width; ++j) A[i * width + j] = j < D_N ? F->C[j * D_C + i] : j - D_N == i;
    for (int j = 0; j < D_N; ++j) F->order[j] = j;
    for (int c = 0; c < D_C; ++c) {
        int row = c, column = c;
        double largest = -1;
        for (int i = c; i < D_C; ++i)
            for (int j = c; j < D_N; ++j)
                if (fabs(A[i * width + F->order[j]]) > largest) largest = fabs(A[i * width + F->order[row = i, column = j]]);
        const int chosen = F->order[column];
        F->order[column] = F->order[c];
        F->order[c] = chosen;
        const double pivot = A[row * width + chosen];
        for (int j = 0; j < width; ++j) {
            const double held = A[row * width + j];
            A[row * width + j] = A[c * width + j];
            A[c * width + j] = held / pivot;
        }
        for (int i = 0; i < D_C; ++i) {
            const double part = A[i * width + chosen];
            if (i == c || part == 0) continue;
            for (int j = 0; j < width; ++j) A[i * width + j] -= part * A[c * width + j];
        }
    }
    memset(F->N, 0, sizeof F->N);
    for (int i = 0; i < D_C; ++i) {
        for (int j = 0; j < D_C; ++j) F->Y[j * D_C + i] = A[i * width + D_N + j];
        for (int j = 0; j < D_FREE; ++j) F->N[j * D_N + F->order[i]] = -A[i * width + F->order[D_C + j]];
    }
    for (int j = 0; j < D_FREE; ++j) F->N[j * D_N + F->order[D_C + j]] = 1;
}

/* The entries of gamma - Fz between the states of a block, as a real matrix. */
static void block_matrix(const double *Fz, const double *gamma, int parts, const int *state, int n, double *A) {
    const int size = parts * n;
    memset(A, 0, sizeof(double) * size * size);
    for (int part = 0; part < parts; ++part)
        for (int j = 0; j < n; ++j) {
            double *const column = A + (part * n + j) * size;
            for (int i = 0; i < n; ++i) column[part * n + i] = -Fz[state[j] * D_Z + state[i]];
            column[part * n + j] += gamma[0];
            if (parts > 1) column[(1 - part) * n + j] = part ? -gamma[1] : gamma[1];
        }
}

/* y = (gamma - Fz)^-1 y, for complex columns y of D_Z rows: part after part, column after column. */
static void solve_states(const double *A, const int *rows, int parts, int columns, double *y) {
    double x[2 * D_BLOCK + 1];
    for (int b = 0; b < D_BLOCKS; ++b) {
        const int n = d_ends[b + 1] - d_ends[b], *const state = d_states + d_ends[b];
        for (int column = 0; column < columns; ++column) {
            double *const at = y + column * parts * D_Z;
            int zero = 1;
            for (int part = 0; part < parts; ++part)
                for (int i = 0; i < n; ++i) zero &= (x[part * n + i] = at[part * D_Z + state[i]]) == 0;
            if (zero) continue; /* few coordinates act on a block */
            substitute(A, parts * n, rows, x);
            for (int part = 0; part < parts; ++part)
                for (int i = 0; i < n; ++i) at[part * D_Z + state[i]] = x[part * n + i];
        }
        A += parts * parts * n * n;
        rows += parts * n;
    }
}

/* Where the factors of a group are. */
struct group {
    const double *gamma;
    int parts, column; /* real parts; its first column in T */
    double *blocks, *X, *K;
    int *block_rows, *K_rows;
};

/* The group after another one, or the first one after one without parts. */
static struct group next_group(struct factors *F, const struct group *g) {
    struct group n = {d_gamma, 0, 0, F->blocks, F->X, F->K, F->block_rows, F->K_rows};
    if (g->parts) {
        n = *g;
        n.gamma += 2;
        n.column += g->parts;
        for (int b = 0; b < D_BLOCKS; ++b) {
            const int size = g->parts * (d_ends[b + 1] - d_ends[b]);
            n.blocks += size * size;
        }
        n.block_rows += g->parts * D_Z;
        n.X += g->parts * D_Z * D_FREE;
        n.K += g->parts * g->parts * D_FREE * D_FREE;
        n.K_rows += g->parts * D_FREE;
    }
    n.parts = n.gamma[1] != 0 ? 2 : 1;
    return n;
}

/* Factor the matrices of a group: gamma - Fz, block by block, X = (gamma - Fz)^-1 (F0 + gamma F1) N, and K. */
static void factor_group(struct factors *F, const struct group *g) {
    const int parts = g->parts, size = parts * D_FREE;
    const double *const gamma = g->gamma;
    const double square[2] = {gamma[0] * gamma[0] - gamma[1] * gamma[1], 2 * gamma[0] * gamma[1]};
    double *A = g->blocks;
    int *rows = g->block_rows;
    for (int b = 0; b < D_BLOCKS; ++b) {
        const int n = d_ends[b + 1] - d_ends[b];
        block_matrix(F->Fz, gamma, parts, d_states + d_ends[b], n, A);
        factor(A, parts * n, rows);
        A += parts * parts * n * n;
        rows += parts * n;
    }
    memset(g->X, 0, sizeof(double) * parts * D_Z * D_FREE);
    for (int j = 0; j < D_FREE; ++j) {
        double *const X = g->X + j * parts * D_Z, *const N = F->N + j * D_N;
        add_product(F->F0, D_Z, D_N, N, 1, X);
        for (int part = 0; part < parts; ++part) add_product(F->F1, D_Z, D_N, N, gamma[part], X + part * D_Z);
    }
    solve_states(g->blocks, g->block_rows, parts, D_FREE, g->X);
    for (int j = 0; j < D_FREE; ++j) {
        double k[2 * D_FREE + 1] = {0}, sum[2 * D_N + 1] = {0};
        for (int i = 0; i < D_N; ++i) sum[i] = F->E0[j * D_N + i];
        for (int part = 0; part < parts; ++part)
            for (int i = 0; i < D_N; ++i)
                sum[part * D_N + i] += square[part] * F->E2[j * D_N + i] + gamma[part] * F->E1[j * D_N + i];
        for (int part = 0; part < parts; ++part) add_transposed(F->N, D_N, D_FREE, sum + part * D_N, k + part * D_FREE);
        add_products(F->NBz, D_FREE, D_Z, parts, g->X + j * parts * D_Z, 1, k);
        for (int i = 0; i < D_FREE; ++i) {
            g->K[j * size + i] = k[i];
            if (parts == 1) continue;
            g->K[(D_FREE + j) * size + D_FREE + i] = k[i];
            g->K[j * size + D_FREE + i] = k[D_FREE + i];
            g->K[(D_FREE + j) * size + i] = -k[D_FREE + i];
        }
    }
    factor(g->K, size, g->K_rows);
}

/* Linearise by one of the generated functions, and factor all that is solved with. */
static void linearise(function slopes, const double *const *in, struct memory *m) {
    struct factors *const F = (struct factors *)m->factors;
    double *const matrices[] = {F->B2, F->B1, F->B0, F->C, F->Bz, F->F1, F->F0, F->Fz, F->off};
    slopes(in, matrices, m->w);
    split_coordinates(F);
    /* S = C_P off */
    for (int i = 0; i < D_MU; ++i)
        for (int j = 0; j < D_MU; ++j) {
            double sum = 0;
            for (int l = 0; l < D_N; ++l) sum += F->C[l * D_C + i] * F->off[j * D_N + l];
            F->S[j * D_MU + i] = sum;
        }
    factor(F->S, D_MU, F->S_rows);
    /* B N and N^T Bz */
    memset(F->E2, 0, sizeof F->E2);
    memset(F->E1, 0, sizeof F->E1);
    memset(F->E0, 0, sizeof F->E0);
    memset(F->NBz, 0, sizeof F->NBz);
    for (int j = 0; j < D_FREE; ++j) {
        add_product(F->B2, D_N, D_N, F->N + j * D_N, 1, F->E2 + j * D_N);
        add_product(F->B1, D_N, D_N, F->N + j * D_N, 1, F->E1 + j * D_N);
        add_product(F->B0, D_N, D_N, F->N + j * D_N, 1, F->E0 + j * D_N);
    }
    for (int j = 0; j < D_Z; ++j) add_transposed(F->N, D_N, D_FREE, F->Bz + j * D_N, F->NBz + j * D_FREE);
    struct group g = {0};
    for (int k = 0; k < D_GROUPS; ++k) {
        g = next_group(F, &g);
        factor_group(F, &g);
    }
}

/* Solve for the changes of a group: the right sides are F->turned, the changes go to F->W, Wz, L and mu. */
static void solve_group(struct factors *F, const struct group *g) {
    const int parts = g->parts, first = g->column;
    const double *const gamma = g->gamma, square = gamma[0] * gamma[0] + gamma[1] * gamma[1];
    double *const W = F->W + first * D_N, *const Wz = F->Wz + first * D_Z, *const L = F->L + first * D_C;
    double *const mu = F->mu + first * D_MU;
    double r1[2 * D_N + 1], r2[2 * D_P + 1], r4[2 * D_Z + 1], c[2 * D_C + 1], zeta[2 * D_FREE + 1];
    double h0[2 * D_N + 1] = {0}, V[2 * D_N + 1], A[2 * D_N + 1], shifted[2 * D_C + 1];
    for (int part = 0; part < parts; ++part) {
        const double *const r = F->turned + (first + part) * D_ROWS;
        memcpy(r1 + part * D_N, r, sizeof(double) * D_N);
        memcpy(r2 + part * D_P, r + D_N, sizeof(double) * D_P);
        memcpy(c + part * D_C, r + D_N + D_P, sizeof(double) * D_CLOSING);
        memcpy(r4 + part * D_Z, F->turned + D_S * D_ROWS + (first + part) * D_Z, sizeof(double) * D_Z);
    }
    /* mu = (C_P off)^-1 (r3 - gamma r2), and V without W */
    times_gamma(gamma, parts, D_P, r2, shifted);
    for (int part = 0; part < parts; ++part) {
        for (int i = 0; i < D_MU; ++i) mu[part * D_MU + i] = c[part * D_C + i] - shifted[part * D_P + i];
        substitute(F->S, D_MU, F->S_rows, mu + part * D_MU);
    }
    add_products(F->off, D_N, D_MU, parts, mu, 1, h0);
    /* C Wp: r2, and of the other rows (r3 - C V) / gamma */
    for (int i = 0; i < D_C; ++i) {
        if (i < D_P) {
            for (int part = 0; part < parts; ++part) c[part * D_C + i] = r2[part * D_P + i];
            continue;
        }
        double left[2] = {0, 0};
        for (int part = 0; part < parts; ++part) {
            left[part] = c[part * D_C + i];
            for (int l = 0; l < D_N; ++l) left[part] -= F->C[l * D_C + i] * h0[part * D_N + l];
        }
        c[i] = (gamma[0] * left[0] + gamma[1] * left[1]) / square;
        if (parts > 1) c[D_C + i] = (gamma[0] * left[1] - gamma[1] * left[0]) / square;
    }
    memset(W, 0, sizeof(double) * parts * D_N);
    for (int part = 0; part < parts; ++part) {
        double solved[D_C + 1] = {0};
        add_product(F->Y, D_C, D_C, c + part * D_C, 1, solved);
        for (int i = 0; i < D_C; ++i) W[part * D_N + F->order[i]] = solved[i];
    }
    /* r1 - B0 Wp - B1 V - B2 gamma V, and y = (gamma - Fz)^-1 (gamma r4 + F0 Wp + F1 V) */
    times_gamma(gamma, parts, D_N, W, V);
    for (int i = 0; i < parts * D_N; ++i) V[i] += h0[i];
    times_gamma(gamma, parts, D_N, V, A);
    add_products(F->B0, D_N, D_N, parts, W, -1, r1);
    add_products(F->B1, D_N, D_N, parts, V, -1, r1);
    add_products(F->B2, D_N, D_N, parts, A, -1, r1);
    times_gamma(gamma, parts, D_Z, r4, Wz);
    add_products(F->F0, D_Z, D_N, parts, W, 1, Wz);
    add_products(F->F1, D_Z, D_N, parts, V, 1, Wz);
    solve_states(g->blocks, g->block_rows, parts, 1, Wz);
    /* zeta, Wz = y + X zeta and W = Wp + N zeta */
    memset(zeta, 0, sizeof zeta);
    for (int part = 0; part < parts; ++part) add_transposed(F->N, D_N, D_FREE, r1 + part * D_N, zeta + part * D_FREE);
    add_products(F->NBz, D_FREE, D_Z, parts, Wz, -1, zeta);
    substitute(g->K, parts * D_FREE, g->K_rows, zeta);
    for (int j = 0; j < D_FREE; ++j) {
        const double *const X = g->X + j * parts * D_Z;
        for (int i = 0; i < D_Z; ++i) {
            const double re = X[i], im = parts > 1 ? X[D_Z + i] : 0;
            Wz[i] += re * zeta[j] - (parts > 1 ? im * zeta[D_FREE + j] : 0);
            if (parts > 1) Wz[D_Z + i] += im * zeta[j] + re * zeta[D_FREE + j];
        }
    }
    add_products(F->N, D_N, D_FREE, parts, zeta, 1, W);
    /* L of C^T L = r1 - B0 N zeta - ... - Bz Wz */
    if (!D_C) return;
    add_products(F->E0, D_N, D_FREE, parts, zeta, -1, r1);
    times_gamma(gamma, parts, D_FREE, zeta, V);
    add_products(F->E1, D_N, D_FREE, parts, V, -1, r1);
    times_gamma(gamma, parts, D_FREE, V, A);
    add_products(F->E2, D_N, D_FREE, parts, A, -1, r1);
    add_products(F->Bz, D_N, D_Z, parts, Wz, -1, r1);
    memset(L, 0, sizeof(double) * parts * D_C);
    for (int part = 0; part < parts; ++part) {
        double left[D_C + 1];
        for (int i = 0; i < D_C; ++i) left[i] = r1[part * D_N + F->order[i]];
        add_transposed(F->Y, D_C, D_C, left, L + part * D_C);
    }
}

/* to = (M x I) from, for an s x s matrix M stored row by row and vectors of n entries. */
static void combine(const double *M, const double *from, int n, double *to) {
    memset(to, 0, sizeof(double) * D_S * n);
    for (int i = 0; i < D_S; ++i)
        for (int j = 0; j < D_S; ++j) {
            const double part = M[i * D_S + j];
            for (int l = 0; l < n; ++l) to[i * n + l] += part * from[j * n + l];
        }
}

/* Subtract changes from unknowns, from a place on, and return the place after them. */
static int subtract(const double *changes, int n, const double *z, double *room, double *next, int at) {
    combine(d_vectors, changes, n, room);
    for (int i = 0; i < D_S * n; ++i) next[at + i] = z[at + i] - room[i];
    return at + D_S * n;
}

static inline int is_decoupled(const struct formula *f, int k) { return f == &FORMULA_step && k == DECOUPLED; }

/* Linearise at the start of the step, before the first correction of a stage. */
static inline void prepare(const struct formula *f, int k, const double *const *in, struct memory *m) {
    if (is_decoupled(f, k)) linearise(D_SLOPES, in, m);
}

/* Linearise at the unknowns where a correction has become too small a part smaller than the one before. */
static inline void renew(const struct formula *f, int k, const double *const *in, double ratio, struct memory *m) {
    if (is_decoupled(f, k) && ratio > SLOW) linearise(D_RENEWED, in, m);
}

/* The ratio of a correction to the one before from which they no longer shrink: these may shrink slowly. */
static inline double still_ratio(const struct formula *f, int k) { return is_decoupled(f, k) ? 0.9 : 0.5; }

/* Whether a correction at rest wants another one: rates are differences of the unknowns over the step, so that these are to
 * be known to the last digits of their own size, which Newton's method gives by itself. */
static int wants_another(const struct formula *f, int k, const double *const *in, double correction, double last) {
    const double ratio = correction / last, part = ratio > D_LEAST ? ratio : D_LEAST;
    if (!is_decoupled(f, k) || ratio > 0.5) return 0;
    double size = *in[5] * D_RATE;
    for (int i = 0; i < D_WATCHED; ++i) size += fabs(in[6][f->place[k] + i]);
    return correction * part > HALF_UNIT * size;
}

/* Correct the unknowns of a stage once: {the unknowns after it, the size of the correction}. */
static void correct(const struct formula *f, int k, const double *const *in, double *const *result, struct memory *m) {
    struct factors *const F = (struct factors *)m->factors;
    const double *const z = in[6] + f->place[k];
    double *const next = result[0];
    double change = 0;
    if (!is_decoupled(f, k)) {
        f->correct[k](in, result, m->w);
        return;
    }
    f->correct[k](in, (double *const[]){F->residual}, m->w);
    combine(d_inverse, F->residual, D_ROWS, F->turned);
    combine(d_inverse, F->residual + D_S * D_ROWS, D_Z, F->turned + D_S * D_ROWS);
    struct group g = {0};
    for (int i = 0; i < D_GROUPS; ++i) {
        g = next_group(F, &g);
        solve_group(F, &g);
    }
    int at = subtract(F->W, D_N, z, F->residual, next, 0);
    at = subtract(F->Wz, D_Z, z, F->residual, next, at);
    at = subtract(F->L, D_C, z, F->residual, next, at);
    subtract(F->mu, D_MU, z, F->residual, next, at);
    for (int i = 0; i < D_WATCHED; ++i) change += fabs(next[i] - z[i]);
    *result[1] = change;
}
#else
static inline void prepare(const struct formula *f, int k, const double *const *in, struct memory *m) {
    (void)f, (void)k, (void)in, (void)m;
}
static inline void renew(const struct formula *f, int k, const double *const *in, double ratio, struct memory *m) {
    (void)f, (void)k, (void)in, (void)ratio, (void)m;
}
static inline double still_ratio(const struct formula *f, int k) { return (void)f, (void)k, 0.5; }
static inline int wants_another(const struct formula *f, int k, const double *const *in, double correction, double last) {
    return (void)f, (void)k, (void)in, (void)correction, (void)last, 0;
}
static inline void correct(const struct formula *f, int k, const double *const *in, double *const *result,
                           struct memory *m) {
    f->correct[k](in, result, m->w);
}
#endif
