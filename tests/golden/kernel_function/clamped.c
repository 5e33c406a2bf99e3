/* The nest clamped. */
static KERNEL void nest(const int8_t *restrict x, int8_t *restrict y)
{
    for (int32_t k = 0; k < 4; ++k) {
        y[k] = (int8_t)((twice(x[k]) > (-100) ? twice(x[k]) : (-100)) < (k * 3 + 90) ? (twice(x[k]) > (-100) ? twice(x[k]) : (-100)) : (k * 3 + 90));
    }
}
