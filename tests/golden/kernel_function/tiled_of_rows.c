/* The nest tiled_of_rows. */
static KERNEL void dots(
    const int8_t *const x[2], const int8_t *restrict w, const int32_t *restrict bias,
    int32_t *restrict y)
{
    for (int32_t ob = 0; ob < 2; ++ob) {
        for (int32_t p = 0; p < 3; ++p) {
            int32_t sum0 = bias[ob * 2], sum1 = bias[ob * 2 + 1];
            for (int32_t r = 0; r < 2; ++r) {
                for (int32_t k = 0; k < 4; ++k) {
                    sum0 += x[r][k + p] * w[k + ob * 16 + r * 4];
                    sum1 += x[r][k + p] * w[k + ob * 16 + r * 4 + 8];
                }
            }
            y[ob * 2 + p * 5] = sum0;
            y[ob * 2 + p * 5 + 1] = sum1;
        }
    }
    for (int32_t p = 0; p < 3; ++p) {
        int32_t sum = bias[4];
        for (int32_t r = 0; r < 2; ++r) {
            for (int32_t k = 0; k < 4; ++k) {
                sum += x[r][k + p] * w[k + r * 4 + 32];
            }
        }
        y[p * 5 + 4] = sum;
    }
}
