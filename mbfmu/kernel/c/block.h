/* A block of instances that go in lanes: the arguments of the function for a number of lanes, see lanes.c and many.c. */
struct block {
    const double *x, *u, *du, *p; /* entry after entry, each with a number for every lane */
    double t, H;                  /* time, and span, s */
    long long n;                  /* number of equal steps */
    double *x1, *y, *work;        /* state and outputs after them, likewise; memory */
    int *failed;                  /* whether these are unknown, for each lane */
};
