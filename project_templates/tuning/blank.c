/* What the result and the memory around it hold before a candidate runs. */
#include <stdint.h>

#include "tuning.h"

static void fill(uint8_t *bytes, uint32_t count, uint8_t value)
{
    for (uint32_t i = 0; i < count; ++i) {
        ((volatile uint8_t *)bytes)[i] = value;
    }
}

int32_t blank(void *memory)
{
    static const uint8_t row[ROW_BYTES] = BLANK_ROW;
    uint8_t *const output = (uint8_t *)memory + OUTPUT;

    fill(output - GUARD_BYTES, GUARD_BYTES, GUARD);
    fill(output + OUTPUT_BYTES, GUARD_BYTES, GUARD);
    for (uint32_t i = 0; i < OUTPUT_BYTES; ++i) {
        ((volatile uint8_t *)output)[i] = row[i % ROW_BYTES];
    }
    return 0;
}
