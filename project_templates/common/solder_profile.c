/* Charges the ticks between two rows to the layer that wrote the second one, and hashes the row. */
#include "solder_profile.h"

#include <stddef.h>
#include <string.h>

#include "solder_bytes.h"
#include "solder_deadline.h"
#include "solder_frame.h"
#include "solder_port.h"
#include "solder_ticks.h"

solder_layer_hook solder_on_layer;

static struct {
    uint32_t first;
    uint32_t count;
    uint8_t *entries;
    uint32_t before; /* the counter when the last row had been dealt with */
} profile;

static void add_ticks(uint8_t *entry, uint64_t ticks)
{
    const uint64_t sum = ((uint64_t)solder_get32(entry + 4) << 32 | solder_get32(entry)) + ticks;
    solder_set32(entry, (uint32_t)sum);
    solder_set32(entry + 4, (uint32_t)(sum >> 32));
}

/* From here on the next row is measured. */
static void begin_row(void)
{
    solder_ticks_begin();
    profile.before = solder_port_ticks();
}

static void on_layer(uint32_t layer, const void *row, uint32_t bytes)
{
    const uint32_t ticks = solder_ticks_since(profile.before);
    const uint32_t index = layer - profile.first;
    if (index < profile.count) {
        uint8_t *entry = profile.entries + index * SOLDER_PROFILE_ENTRY_BYTES;
        add_ticks(entry, solder_whole_ticks(ticks));
        solder_set32(entry + 8, solder_crc32(solder_get32(entry + 8), row, bytes));
    }
    begin_row();
}

int32_t solder_profile_run(const struct solder_model *model, uint32_t first, uint32_t count, uint8_t *entries,
                           uint32_t deadline_ms)
{
    memset(entries, 0, count * SOLDER_PROFILE_ENTRY_BYTES);
    profile.first = first;
    profile.count = count;
    profile.entries = entries;
    solder_on_layer = on_layer;
    (void)solder_port_deadline(deadline_ms);
    begin_row();
    const int32_t code = model->run(solder_arenas);
    (void)solder_port_deadline(0);
    solder_on_layer = NULL;
    return code;
}
