/* The nest numbered. */
static KERNEL void numbered(const int8_t *restrict x, int32_t *restrict y)
{
    for (int32_t r = 0; r < 2; ++r) {
        for (int32_t k = 0; k < 3; ++k) {
            y[k + r * 3] = x[k + r * 3] + (k + r * 3);
        }
    }
}
