/* The nest dots. */
static KERNEL void dots(
    const int8_t *restrict x, const int8_t *restrict w, const int32_t *restrict bias,
    int32_t *restrict y)
{
    for (int32_t o = 0; o < 2; ++o) {
        for (int32_t p = 0; p < 3; ++p) {
            int32_t sum = bias[o];
            for (int32_t k = 0; k < 4; ++k) {
                sum += x[k + p] * w[k + o * 4];
            }
            y[o + p * 2] = sum;
        }
    }
}
