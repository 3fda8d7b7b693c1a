/* The parts of sine and cosine that have no branches, for numbers one by one (elementary.h) and in lanes (lanes.h).
 *
 * Included after these definitions, which it takes back:
 *   NUMBER BITS TRUTH            a number or several, their bits as whole numbers, and the outcome of a comparison
 *   NAMED(name)                  a name of this kind of number
 *   AS_BITS(x) OF_BITS(bits)     the bits of a number, and the number of bits
 *   IF_ODD(bits, x, y)           x where the lowest bit is set, else y
 *   BIT_1(bits)                  bit 1, as the highest bit of a number whose other bits are 0
 */
#ifndef MBFMU_QUADRANTS
#define MBFMU_QUADRANTS 63662u                /* up to 1e5 rad */
#define MBFMU_NO_QUADRANT 0x4338000000000000u /* bits of MBFMU_ROUNDING */
/* (sin(r) - r) / r^3 = SINE_3 + z (SINE_5 + z sine_rest) and (cos(r) - 1 + r^2/2) / r^4, z = r^2. */
#define MBFMU_SINE_3 -1.66666666666666324348e-01
#define MBFMU_SINE_5 8.33333333332248946124e-03
#endif

struct NAMED(angle) {
    NUMBER r, low;
    BITS quadrant; /* its lowest bits count */
};

MBFMU_INLINE struct NAMED(angle) NAMED(reduced)(NUMBER x) {
    struct NAMED(angle) a;
    NUMBER sum = x * 0.63661977236758138 + MBFMU_ROUNDING, n = sum - MBFMU_ROUNDING;
    NUMBER far = x - n * 1.57079632673412561417, near = n * 6.07710050630396597660e-11;
    a.quadrant = AS_BITS(sum);
    a.r = far - near;
    a.low = ((far - a.r) - near) - n * 2.02226624879595063154e-21;
    return a;
}

MBFMU_INLINE NUMBER NAMED(sine_rest)(NUMBER z, NUMBER zz) {
    return (-1.98412698298579493134e-04 + z * 2.75573137070700676789e-06) +
           zz * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10);
}

MBFMU_INLINE NUMBER NAMED(cosine_series)(NUMBER z, NUMBER zz) {
    return (4.16666666666666019037e-02 + z * -1.38888888888741095749e-03) +
           zz * ((2.48015872894767294178e-05 + z * -2.75573143513906633035e-07) +
                 zz * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11));
}

struct NAMED(turn) {
    NUMBER sine, cosine; /* of r + low */
    BITS quadrant;
};

MBFMU_INLINE struct NAMED(turn) NAMED(turned)(struct NAMED(angle) a) {
    NUMBER r = a.r, z = r * r, zz = z * z, half = 0.5 * z, one = 1.0 - half;
    NUMBER s = (MBFMU_SINE_3 + z * MBFMU_SINE_5) + zz * NAMED(sine_rest)(z, zz), c = NAMED(cosine_series)(z, zz);
    struct NAMED(turn) turn;
    turn.sine = r + (a.low * one + (r * z) * s);
    turn.cosine = one + (((1.0 - one) - half) + (zz * c - r * a.low));
    turn.quadrant = a.quadrant;
    return turn;
}

/* b, or -b where bit 1 of the quadrant is set. */
MBFMU_INLINE NUMBER NAMED(signed)(NUMBER b, BITS quadrant) {
    return OF_BITS(AS_BITS(b) ^ BIT_1(quadrant));
}

MBFMU_INLINE NUMBER NAMED(sine_in)(struct NAMED(turn) a) {
    return NAMED(signed)(IF_ODD(a.quadrant, a.cosine, a.sine), a.quadrant);
}

MBFMU_INLINE NUMBER NAMED(cosine_in)(struct NAMED(turn) a) {
    return NAMED(signed)(IF_ODD(a.quadrant, a.sine, a.cosine), a.quadrant + 1);
}

/* Whether the argument was near enough to be reduced so: |n| < MBFMU_QUADRANTS, which no infinity and no NaN has. */
MBFMU_INLINE TRUTH NAMED(is_near)(BITS quadrant) {
    return quadrant + MBFMU_QUADRANTS - MBFMU_NO_QUADRANT < 2 * MBFMU_QUADRANTS + 1;
}

#undef NUMBER
#undef BITS
#undef TRUTH
#undef NAMED
#undef AS_BITS
#undef OF_BITS
#undef IF_ODD
#undef BIT_1
