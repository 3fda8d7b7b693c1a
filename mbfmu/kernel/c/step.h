/* The arguments of a step, and the memory that it works in.
 *
 * Included after the generated code and these definitions:
 *   FORMULA_start, FORMULA_begin, FORMULA_step   struct formula; a number of corrections fixes the work of a step,
 *                                                whatever it leaves of the equations, and 0 solves them to round-off
 *   NX NS NU NP NY NQV NZ                        sizes of x, s, u, p, y, [q; v; angles] and of all unknowns of a formula
 *   STAGES                                       most stages of a formula
 *   SZ_W                                         room to work of the largest generated function, or a variable of it
 *   DECOUPLED_ROOM                               room that the linear algebra of decoupled nodes needs
 *   HELD_AT HELD                                 the entries of x that hold sampled inputs
 *   the codes, the entries of a status, and the limits of limits.py
 *
 * What a model may lack stands in a file of its own, which defines functions that do nothing where it does:
 *   tangents.c    with TANGENTS: changes of all results; with TIMED those of the time by events and samplings too
 *   samplings.c   with SAMPLED: blocks that compute now and then
 *   modes.c       with SWITCHED: modes of gaps and dry friction; events.c finds where they change
 *   short.c       with SHORT: steps that are followed by a new beginning
 *   decoupled.c   with DECOUPLED: the linear algebra of a stage whose nodes are decoupled
 *   lasting.c     with LASTING: what a step leaves for the next one
 */
#include <math.h>
#include <string.h>

#ifdef MBFMU_EXPORT
#elif defined _WIN32
#define MBFMU_EXPORT __declspec(dllexport)
#else
#define MBFMU_EXPORT __attribute__((visibility("default")))
#endif

#define MAPPED (NX - 1) /* entries of x that a step maps; the last one is the step chosen last, 0 before the first */
#define ROOM (NX > NQV + 1 ? NX : NQV + 1)
#define TRIAL (2 * NZ + ROOM) /* memory to take a step in */
#define WORK (2 * TRIAL + DECOUPLED_ROOM + SZ_W)

/* The arguments of a formula, and of what takes steps. */
struct call {
    const double *x;      /* state, or start values */
    const double *u, *du; /* inputs at the time t, and their constant time derivatives */
    const double *p;      /* parameters */
    double t, h;          /* time, and length of a step from there, s */
};

/* A span of time, and the steps to go over it. */
struct span {
    double H, h_max; /* its length, and that of the longest step, s */
    double tol;      /* error that a second may add, by which steps are chosen; 0: they are equal */
    long long most;  /* largest number of steps that are chosen, those that are repeated included */
};

struct tangent;

struct memory {
    double *w, *z, *next, *x, *factors;
    double *status;    /* counts, see runtime.py */
    double *estimate;  /* where the estimated error of a step goes; 0: it is not wanted */
    double *errors;    /* those of the run, see doubling.c; 0: they are not wanted */
    double *spare;     /* memory to take a step once more in */
    struct tangent *d; /* 0: no tangents are wanted */
    int goes_on;       /* whether a step begins where the last one has ended, with the same parameters */
    int lasts;         /* whether z holds what that step left there */
    int stops;         /* whether to stop at samplings and events instead of letting them happen */
    double after;      /* time after which events are worth a stop */
    double *guards;    /* those at the start of the next step */
    double usual;      /* the length of steps that no event shortens */
    double nudge;      /* the least length of a step up to an event */
};

static struct memory carve(double *work, double *status) {
    struct memory m = {0};
    m.status = status;
    m.z = work;
    m.next = m.z + NZ;
    m.x = m.next + NZ;
    m.spare = m.x + ROOM;
    m.factors = m.spare + TRIAL;
    m.w = m.factors + DECOUPLED_ROOM;
    return m;
}

/* The inputs at a time dt after that of a call. */
static inline void inputs_after(const struct call *c, double dt, double *inputs) {
    for (int i = 0; i < NU; ++i) inputs[i] = c->u[i] + c->du[i] * dt;
}

static int all_below(double bound, const double *values, int n) {
    for (int i = 0; i < n; ++i)
        if (!(fabs(values[i]) < bound)) return 0;
    return 1;
}

static inline double largest(const double *values, int n) {
    double size = 0;
    for (int i = 0; i < n; ++i) size = fmax(size, fabs(values[i]));
    return size;
}
