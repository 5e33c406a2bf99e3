/* The nest tensorized. */
static KERNEL void dots(
    const int8_t *const x[2], const int8_t *restrict w, const int32_t *restrict bias,
    int32_t *restrict y)
{
    for (int32_t o = 0; o < 2; ++o) {
        for (int32_t p = 0; p < 3; ++p) {
            int32_t sum = bias[o];
            for (int32_t r = 0; r < 2; ++r) {
                for (int32_t kb = 0; kb < 2; ++kb) {
                    mac2(&sum, x[r] + kb * 2 + p, w + kb * 2 + o * 8 + r * 4);
                }
            }
            y[o + p * 2] = sum;
        }
    }
}
