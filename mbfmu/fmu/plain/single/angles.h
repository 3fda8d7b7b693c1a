/* Sines and cosines of many angles, in single precision. */
static void sines_and_cosines(const float *angles, int n, float *sines, float *cosines) {
    for (int k = 0; k < n; ++k) {
        sines[k] = mbfmu_sin(angles[k]);
        cosines[k] = mbfmu_cos(angles[k]);
    }
}
