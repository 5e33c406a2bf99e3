/* The nest two_parts. */
static KERNEL void numbered(const int8_t *restrict x, int32_t *restrict y)
{
    for (int32_t r = 0; r < 2; ++r) {
        for (int32_t whole = 0; whole < 2; ++whole) {
            y[r * 3 + whole] = x[r * 3 + whole] + (r * 3 + whole);
        }
        y[r * 3 + 2] = x[r * 3 + 2] + (r * 3 + 2);
    }
}
