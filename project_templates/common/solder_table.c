/* Runs models that are tables. A table is data from outside: each of its numbers is checked before the first run, and
   what remains to be done then is little. codegen/tables/packed.py writes it. */
#include "solder_table.h"

#ifdef SOLDER_TABLES

#include <stddef.h>
#include <string.h>

#include "solder_protocol.h"

#define MOST_KERNELS 64u
#define MOST_LAYERS 128u
#define MOST_POINTERS 32u
#define MOST_TENSORS 8u /* inputs, and as many outputs */
#define MOST_RANK 8u
#define MOST_NAME 96u
#define MOST_ARENAS 4u
#define MEMORY_BIT 28u /* of a place: its upper bits name a memory, 0 the constants, then arenas */
#define OFFSET ((UINT32_C(1) << MEMORY_BIT) - 1u)
#define CONSTANTS_ALIGN 16u
#define MOST_STEPS 0x40000u /* of a run */
#define FILLS 0xFFFFu /* in the place of a kernel's number */

/* The header. The parts that it counts follow in this order; the constants are at its offset. */
struct head {
    uint8_t hash[8];
    uint16_t kernels;
    uint16_t inputs;
    uint16_t outputs;
    uint16_t segments;
    uint16_t actions;
    uint16_t pointers;
    uint16_t layers; /* the end of the actions of each: 2 bytes */
    uint16_t order;  /* the layers that are due: bytes */
    uint16_t strings; /* bytes: the model's name, and those of its tensors */
    uint16_t unused;
    uint32_t constants;
    uint32_t constant_bytes;
    uint32_t unused_too;
};

struct tensor {
    uint32_t name; /* in the strings */
    uint32_t rank;
    uint32_t dtype;
    uint32_t arena;
    uint32_t arena_offset;
    uint32_t bytes;
    uint32_t shape[MOST_RANK];
};

/* A stretch of the order that is run so often. */
struct segment {
    uint16_t first;
    uint16_t length;
    uint16_t times;
    uint16_t unused;
};

/* A call for the rows of its layer from `first` to before `end`. */
struct action {
    uint16_t first;
    uint16_t end;
    uint16_t kernel;
    uint16_t pointer;
};

/* Row by row a pointer goes through a tensor, or around a ring of `held` rows. */
struct pointer {
    uint32_t place;
    uint16_t unit; /* bytes */
    uint16_t stride;
    uint16_t start;
    uint16_t held; /* 0: no ring */
};

/* The second pointer of a fill: four bytes, repeated, in that many planes. */
struct fill {
    uint32_t value;
    uint16_t planes;
    uint16_t step; /* bytes from one to the next */
    uint16_t bytes; /* of each */
    uint16_t unused;
};

struct parts {
    const struct head *head;
    const uint32_t *kernels; /* two words of each */
    const struct tensor *tensors;
    const struct segment *segments;
    const struct action *actions;
    const struct pointer *pointers;
    const uint16_t *ends;
    const uint8_t *order;
    const char *strings;
};

static struct parts running;
static const struct solder_kernel *kernels[MOST_KERNELS];
static uint8_t *memories[1u + MOST_ARENAS];
static uint16_t next_rows[MOST_LAYERS];
static struct solder_tensor tensors[2u * MOST_TENSORS];
static struct solder_model model;

/* The positions of all parts, and their end. */
static struct parts parts_of(const uint8_t *bytes, uint32_t *end)
{
    const struct head *const head = (const struct head *)(const void *)bytes;
    struct parts parts;
    parts.head = head;
    parts.kernels = (const uint32_t *)(const void *)(head + 1);
    parts.tensors = (const struct tensor *)(const void *)(parts.kernels + 2u * head->kernels);
    parts.segments = (const struct segment *)(const void *)(parts.tensors + head->inputs + head->outputs);
    parts.actions = (const struct action *)(const void *)(parts.segments + head->segments);
    parts.pointers = (const struct pointer *)(const void *)(parts.actions + head->actions);
    parts.ends = (const uint16_t *)(const void *)(parts.pointers + head->pointers);
    parts.order = (const uint8_t *)(parts.ends + head->layers);
    parts.strings = (const char *)(parts.order + head->order);
    *end = (uint32_t)((const uint8_t *)parts.strings - bytes) + head->strings;
    return parts;
}

static const struct solder_kernel *find_kernel(const uint32_t *id)
{
    for (uint32_t i = 0; i < solder_kernel_set_count; i++) {
        const struct solder_kernel_set *const set = solder_kernel_sets[i];
        for (uint32_t k = 0; k < set->count; k++) {
            if (set->kernels[k].id[0] == id[0] && set->kernels[k].id[1] == id[1]) {
                return &set->kernels[k];
            }
        }
    }
    return NULL;
}

/* Whether that many bytes are at the pointer for each row, in writable memory if they are written. */
static int is_inside(const struct solder_table *table, const struct pointer *pointer, uint32_t rows, uint64_t bytes,
                     uint32_t align, int is_written)
{
    const struct head *const head = (const struct head *)(const void *)table->bytes;
    const uint32_t memory = pointer->place >> MEMORY_BIT;
    const uint32_t offset = pointer->place & OFFSET;
    uint64_t last = pointer->start + (uint64_t)(rows - 1u) * pointer->stride;
    if (memory > table->arena_count || (is_written && memory == 0) || ((offset | pointer->unit) & (align - 1u)) != 0) {
        return 0;
    }
    if (pointer->held != 0 && last >= pointer->held) {
        last = pointer->held - 1u;
    }
    return offset + last * pointer->unit + bytes <=
           (memory == 0 ? head->constant_bytes : table->arena_bytes[memory - 1u]);
}

static uint8_t check_action(const struct solder_table *table, const struct parts *parts, const struct action *action)
{
    const struct head *const head = parts->head;
    const struct pointer *pointer = parts->pointers + action->pointer;
    if (action->end <= action->first) {
        return SOLDER_CARTRIDGE_TABLE;
    }
    const uint32_t rows = (uint32_t)action->end - action->first;
    if (action->kernel == FILLS) {
        const struct fill *const fill = (const struct fill *)(const void *)(pointer + 1);
        return action->pointer + 2u <= head->pointers && fill->planes != 0 &&
                       (fill->planes == 1u || fill->step >= fill->bytes) &&
                       is_inside(table, pointer, rows, (fill->planes - 1u) * (uint64_t)fill->step + fill->bytes, 1u, 1)
                   ? SOLDER_OK
                   : SOLDER_CARTRIDGE_TABLE;
    }
    if (action->kernel >= head->kernels) {
        return SOLDER_CARTRIDGE_TABLE;
    }
    const struct solder_kernel *const kernel = find_kernel(parts->kernels + 2u * action->kernel);
    if (kernel == NULL) {
        return SOLDER_CARTRIDGE_KERNEL;
    }
    if (action->pointer + (uint32_t)kernel->count > head->pointers || kernel->count > MOST_POINTERS) {
        return SOLDER_CARTRIDGE_TABLE;
    }
    for (uint32_t i = 0; i < kernel->kinds; i++) {
        const struct solder_kernel_pointers *const kind = &kernel->pointers[i];
        for (uint32_t k = 0; k < kind->count; k++) {
            if (!is_inside(table, pointer++, rows, kind->bytes, kind->align, kind->is_written)) {
                return SOLDER_CARTRIDGE_TABLE;
            }
        }
    }
    return SOLDER_OK;
}

static int is_name(const struct parts *parts, uint32_t place)
{
    const uint32_t strings = parts->head->strings;
    return place < strings &&
           memchr(parts->strings + place, 0, strings - place < MOST_NAME ? strings - place : MOST_NAME) != NULL;
}

static int is_tensor(const struct solder_table *table, const struct parts *parts, const struct tensor *tensor)
{
    return is_name(parts, tensor->name) && tensor->rank <= MOST_RANK && tensor->dtype >= SOLDER_I8 &&
           tensor->dtype <= SOLDER_U64 && tensor->arena < table->arena_count && tensor->arena_offset % 4u == 0 &&
           tensor->arena_offset + (uint64_t)tensor->bytes <= table->arena_bytes[tensor->arena];
}

static int has_order(const struct parts *parts)
{
    const struct head *const head = parts->head;
    uint32_t left = MOST_STEPS;
    for (uint32_t i = 0; i < head->segments; i++) {
        const struct segment *const segment = &parts->segments[i];
        const uint32_t steps = (uint32_t)segment->length * segment->times;
        if (segment->first + (uint32_t)segment->length > head->order || steps > left) {
            return 0;
        }
        left -= steps;
    }
    for (uint32_t i = 0; i < head->order; i++) {
        if (parts->order[i] >= head->layers) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < head->layers; i++) {
        if (parts->ends[i] > head->actions || (i != 0 && parts->ends[i] < parts->ends[i - 1u])) {
            return 0;
        }
    }
    return 1;
}

uint8_t solder_table_check(const struct solder_table *table)
{
    uint32_t end;
    if (table->count < sizeof(struct head) || table->arena_count > MOST_ARENAS) {
        return SOLDER_CARTRIDGE_TABLE;
    }
    const struct parts parts = parts_of(table->bytes, &end);
    const struct head *const head = parts.head;
    if (end > table->count || head->constants > table->count || head->constants % CONSTANTS_ALIGN != 0 ||
        head->constant_bytes > table->count - head->constants || head->kernels > MOST_KERNELS ||
        head->layers > MOST_LAYERS || head->inputs > MOST_TENSORS || head->outputs > MOST_TENSORS ||
        !has_order(&parts) || !is_name(&parts, 0)) {
        return SOLDER_CARTRIDGE_TABLE;
    }
    for (uint32_t i = 0; i < (uint32_t)head->inputs + head->outputs; i++) {
        if (!is_tensor(table, &parts, &parts.tensors[i])) {
            return SOLDER_CARTRIDGE_TABLE;
        }
    }
    uint8_t status = SOLDER_OK;
    for (uint32_t i = 0; i < head->actions && status == SOLDER_OK; i++) {
        status = check_action(table, &parts, &parts.actions[i]);
    }
    return status;
}

static void *place_of(const struct pointer *pointer, uint32_t row)
{
    uint8_t *const first = memories[pointer->place >> MEMORY_BIT] + (pointer->place & OFFSET);
    if (pointer->unit == 0) { /* constants mostly */
        return first;
    }
    uint32_t number = pointer->start + row * pointer->stride;
    if (number >= pointer->held && pointer->held != 0) {
        number %= pointer->held;
    }
    return first + number * pointer->unit;
}

static void fill(uint8_t *to, const struct fill *what)
{
    const int is_alike = what->value == (what->value & 0xFFu) * 0x01010101u;
    for (uint32_t plane = 0; plane < what->planes; plane++) {
        if (is_alike && what->bytes > 2u) {
            (void)memset(to, (int)(what->value & 0xFFu), what->bytes);
        } else {
            for (uint32_t i = 0; i < what->bytes; i++) {
                to[i] = (uint8_t)(what->value >> (8u * (i % 4u)));
            }
        }
        to += what->step;
    }
}

static void perform(const struct action *action, uint32_t row)
{
    const struct solder_kernel *const kernel = action->kernel == FILLS ? NULL : kernels[action->kernel];
    const struct pointer *pointer = running.pointers + action->pointer;
    void *pointers[MOST_POINTERS];
    void **const end = pointers + (kernel == NULL ? 1u : kernel->count);
    for (void **at = pointers; at != end; at++) {
        *at = place_of(pointer++, row);
    }
    if (kernel == NULL) {
        fill(pointers[0], (const struct fill *)(const void *)pointer);
    } else {
        kernel->run(pointers);
    }
}

/* The next row of that layer. */
static void step(uint32_t layer)
{
    const uint32_t row = next_rows[layer]++;
    const struct action *action = running.actions + (layer == 0 ? 0u : running.ends[layer - 1u]);
    for (; action != running.actions + running.ends[layer]; action++) {
        if (row >= action->first && row < action->end) {
            perform(action, row - action->first);
        }
    }
}

static int32_t run(void *arenas)
{
    for (uint32_t i = 0; i < model.arena_count; i++) {
        memories[1u + i] = ((uint8_t *const *)arenas)[i];
    }
    memset(next_rows, 0, sizeof next_rows);
    for (uint32_t i = 0; i < running.head->segments; i++) {
        const struct segment *const segment = &running.segments[i];
        for (uint32_t times = 0; times < segment->times; times++) {
            for (uint32_t k = 0; k < segment->length; k++) {
                step(running.order[segment->first + k]);
            }
        }
    }
    return 0;
}

const struct solder_model *solder_table_model(const struct solder_table *table)
{
    uint32_t end;
    running = parts_of(table->bytes, &end);
    const struct head *const head = running.head;
    for (uint32_t i = 0; i < head->kernels; i++) {
        kernels[i] = find_kernel(running.kernels + 2u * i);
    }
    for (uint32_t i = 0; i < (uint32_t)head->inputs + head->outputs; i++) {
        const struct tensor *const from = &running.tensors[i];
        const struct solder_tensor tensor = {running.strings + from->name, from->shape,        from->rank, from->dtype,
                                             from->arena,                  from->arena_offset, from->bytes};
        tensors[i] = tensor;
    }
    memories[0] = (uint8_t *)(uintptr_t)table->bytes + head->constants;
    model.name = running.strings;
    memcpy(model.hash, head->hash, sizeof model.hash);
    model.arena_count = table->arena_count;
    model.arena_bytes = table->arena_bytes;
    model.input_count = head->inputs;
    model.output_count = head->outputs;
    model.layer_count = head->layers;
    model.inputs = tensors;
    model.outputs = tensors + head->inputs;
    model.run = run;
    return &model;
}

#endif
