/* The nest tiled. */
static KERNEL void dots(
    const int8_t *restrict x, const int8_t *restrict w, const int32_t *restrict bias,
    int32_t *restrict y)
{
    for (int32_t ob = 0; ob < 2; ++ob) {
        for (int32_t p = 0; p < 3; ++p) {
            int32_t sum0 = bias[ob * 2], sum1 = bias[ob * 2 + 1];
            for (int32_t k = 0; k < 4; ++k) {
                sum0 += x[k + p] * w[k + ob * 8];
                sum1 += x[k + p] * w[k + ob * 8 + 4];
            }
            y[ob * 2 + p * 5] = sum0;
            y[ob * 2 + p * 5 + 1] = sum1;
        }
    }
    for (int32_t p = 0; p < 3; ++p) {
        int32_t sum = bias[4];
        for (int32_t k = 0; k < 4; ++k) {
            sum += x[k + p] * w[k + 16];
        }
        y[p * 5 + 4] = sum;
    }
}
