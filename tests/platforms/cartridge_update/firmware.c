/* Arena, models, memory and verification: what firmware has beside its loader and its line. */
#define _DEFAULT_SOURCE
#include "firmware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "solder_cartridge.h"
#include "solder_firmware.h"
#include "solder_port.h"
#include "solder_table.h"

static uint8_t arena[64] __attribute__((aligned(32)));
uint8_t *solder_arenas[] = {arena};
const uint32_t solder_arena_sizes[] = {sizeof arena};
const uint32_t solder_arena_count = 1;
const char solder_build_id[] = "update";
const char solder_cartridge_core[32] = CORE;
const char solder_cartridge_product[28] = "tiny";
const uint32_t solder_cartridge_version = BUILT_IN_VERSION;
struct solder_slots solder_slots;
uint8_t *memory;
long power = UNLIMITED;
long sound = UNLIMITED;

#ifdef SOLDER_WEIGHTS
const uint8_t *weights;
const uint32_t solder_weights_bytes = WEIGHTS_BYTES;
void solder_weights_lie_at(const void *place)
{
    weights = place;
}
#else
static const uint8_t nines[] = {9, 9, 9, 9};
static const uint8_t *const weights = nines;
#endif
static int32_t run_built_in(void *arenas)
{
    uint8_t *const bytes = *(uint8_t *const *)arenas;
    for (int i = 0; i < 4; i++) {
        bytes[4 + i] = (uint8_t)(bytes[i] + (weights == NULL ? 0 : weights[i]));
    }
    return weights == NULL;
}
static const uint32_t shape[] = {4};
static const struct solder_tensor in[] = {{"x", shape, 1, SOLDER_I8, 0, 0, 4}};
static const struct solder_tensor out[] = {{"y", shape, 1, SOLDER_I8, 0, 4, 4}};
static const uint32_t arena_bytes[] = {8};
const struct solder_model built_in = {"nine", {9}, 1, arena_bytes, 1, 1, 0, in, out, run_built_in, NULL, NULL, NULL, NULL};
const struct solder_model *solder_models[] = {&built_in};
const uint32_t solder_model_count = 1;

#ifdef SOLDER_TABLES
static void add_4(void *const *p)
{
    for (int i = 0; i < 4; i++) {
        ((uint8_t *)p[1])[i] = (uint8_t)(((const uint8_t *)p[0])[i] + ((const uint8_t *)p[2])[i]);
    }
}
static const struct solder_kernel_pointers four_bytes[] = {{4, 1, 4, 0}, {4, 1, 4, 1}, {4, 1, 4, 0}};
static const struct solder_kernel adds[] = {{{0x89ABCDEFu, 0x01234567u}, add_4, four_bytes, 3, 3}};
static const struct solder_kernel_set set = {adds, 1};
const struct solder_kernel_set *const solder_kernel_sets[] = {&set};
const uint32_t solder_kernel_set_count = 1;
#endif

void require(int holds, const char *what, long where)
{
    if (!holds) {
        printf("%s at %ld\n", what, where);
        exit(1);
    }
}

void make_slots(void)
{
    memory = mmap(NULL, 2 * SLOT_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(memory != MAP_FAILED, "no memory", 0);
    const struct solder_slots slots = {{memory, memory + SLOT_BYTES}, SLOT_BYTES};
    solder_slots = slots;
}

int added(void)
{
    memset(arena, 0, sizeof arena);
    arena[0] = 5;
    if (solder_models[0]->run(solder_arenas) != 0) {
        return -1;
    }
    return arena[solder_models[0]->outputs[0].arena_offset] - 5;
}

/* Of the last byte that is written before the power goes, only half of the bits arrive. */
static void store(uint8_t *to, uint8_t value, int erases)
{
    if (power == 0) {
        *to = (uint8_t)(erases ? *to | 0x55u : *to & (value | 0x55u));
        power = UNLIMITED;
        power_lost();
    }
    power -= power > 0;
    require(erases || *to == 0xFF, "memory that was not erased is written", to - memory);
    *to = value;
}

static int fails(void)
{
    before_memory();
    if (sound == UNLIMITED) {
        return 0;
    }
    return sound-- == 0;
}

int solder_port_erase(uint32_t slot)
{
    if (fails()) {
        return 1;
    }
    for (uint32_t i = 0; i < SLOT_BYTES; i++) {
        store(solder_slots.base[slot] + i, 0xFF, 1);
    }
    return 0;
}

int solder_port_program(uint8_t *to, const uint8_t *bytes, uint32_t count)
{
    if (fails()) {
        return 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        store(to + i, bytes[i], 0);
    }
    if ((uint32_t)(to - memory) % SLOT_BYTES >= SLOT_BYTES - 3u * SOLDER_RECORD_BYTES) {
        after_record(to);
    }
    return 0;
}

void solder_port_sync_code(const uint8_t *code, uint32_t bytes)
{
    (void)code;
    (void)bytes;
}

#ifdef SOLDER_CARTRIDGE_KEY
const uint8_t solder_cartridge_key[SOLDER_CARTRIDGE_KEY] = {KEY};
#endif

uint32_t solder_port_milliseconds(void)
{
    return 0;
}
