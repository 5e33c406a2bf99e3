/* A model of the device. Each queue goes as far ahead as its tokens allow, LOAD first: a program whose tokens do
   not keep its parts of the memories apart has other results here. */
#include "gemm_npu_device.h"
#include "gemm_npu_isa.h"

#include <string.h>

enum { LANES = GEMM_NPU_LANES, TILE_BYTES = LANES * LANES, QUEUES = 3 };
enum { LOADS, EXECUTES, STORES };

static int8_t inputs[GEMM_NPU_INPUT_ENTRIES * LANES];
static int8_t weights[GEMM_NPU_WEIGHT_ENTRIES * TILE_BYTES];
static int32_t sums[GEMM_NPU_ACCUMULATOR_ENTRIES * LANES];
static uint32_t micro_code[GEMM_NPU_MICROCODE_ENTRIES];
static int8_t outputs[GEMM_NPU_OUTPUT_ENTRIES * LANES];

struct target {
    void *memory;
    uint32_t entries, entry_bytes;
};

static struct target target_of(uint32_t memory)
{
    const struct target targets[] = {
        { inputs, GEMM_NPU_INPUT_ENTRIES, LANES },
        { weights, GEMM_NPU_WEIGHT_ENTRIES, TILE_BYTES },
        { sums, GEMM_NPU_ACCUMULATOR_ENTRIES, 4 * LANES },
        { micro_code, GEMM_NPU_MICROCODE_ENTRIES, 4 },
    };
    return targets[memory];
}

/* Writes the entries of one element; NULL is padding. Returns the entries, 0 where there is no room. */
static uint32_t put(const uint32_t *one, const struct target *to, uint32_t index, const int8_t *from)
{
    const uint32_t size = gemm_npu_bytes(one), is_diagonal = gemm_npu_diagonal(one);
    const uint32_t entry = is_diagonal != 0u ? LANES : to->entry_bytes, count = (size + entry - 1u) / entry;
    if (count > to->entries || index > to->entries - count) {
        return 0;
    }
    int8_t *const place = (int8_t *)to->memory + index * to->entry_bytes;
    if (from == NULL) {
        memset(place, gemm_npu_fill(one), count * to->entry_bytes);
        return count;
    }
    memset(place, 0, count * to->entry_bytes);
    if (is_diagonal == 0u) {
        memcpy(place, from, size);
        return count;
    }
    for (uint32_t i = 0; i < size; ++i) {
        place[i / LANES * TILE_BYTES + i % LANES * (LANES + 1)] = from[i];
    }
    return count;
}

static int load(const uint32_t *one, const struct gemm_npu_job *job)
{
    const struct target to = target_of(gemm_npu_memory(one));
    const uint32_t top = gemm_npu_top(one), left = gemm_npu_left(one);
    const uint32_t rows = gemm_npu_rows(one), columns = gemm_npu_columns(one);
    const uint32_t all_rows = top + rows + gemm_npu_bottom(one), width = left + columns + gemm_npu_right(one);
    uint32_t index = gemm_npu_index(one);
    if (gemm_npu_base(one) >= GEMM_NPU_BASES) {
        return 0;
    }
    for (uint32_t i = 0; i < all_rows; ++i) {
        for (uint32_t j = 0; j < width; ++j) {
            const int8_t *from = NULL;
            if (i >= top && i < top + rows && j >= left && j < left + columns) {
                from = job->bases[gemm_npu_base(one)] + gemm_npu_offset(one) +
                       (i - top) * gemm_npu_row_stride(one) + (j - left) * gemm_npu_column_stride(one);
            }
            const uint32_t count = put(one, &to, index, from);
            if (count == 0u) {
                return 0;
            }
            index += count;
        }
    }
    return 1;
}

static int store(const uint32_t *one, const struct gemm_npu_job *job)
{
    const uint32_t size = gemm_npu_bytes(one), count = (size + LANES - 1u) / LANES;
    uint32_t index = gemm_npu_index(one);
    if (gemm_npu_base(one) != GEMM_NPU_Y) {
        return 0;
    }
    for (uint32_t i = 0; i < gemm_npu_rows(one); ++i) {
        for (uint32_t j = 0; j < gemm_npu_columns(one); ++j) {
            if (index + count > GEMM_NPU_OUTPUT_ENTRIES) {
                return 0;
            }
            int8_t *const to = job->result + gemm_npu_offset(one) + i * gemm_npu_row_stride(one) +
                               j * gemm_npu_column_stride(one);
            memcpy(to, outputs + index * LANES, size);
            index += count;
        }
    }
    return 1;
}

static int32_t wrapped(uint32_t bits)
{
    int32_t value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* round(a * b / 2^31), halves up; then round(_ / 2^right), halves away from zero. */
static int32_t scaled(int32_t sum, int32_t multiplier, int32_t shift)
{
    const uint32_t left = shift < 0 ? 0u - (uint32_t)shift : 0u;
    const int32_t right = shift > 0 ? shift : 0;
    const int64_t a = wrapped((uint32_t)sum << (left & 31u)), product = a * multiplier + (INT64_C(1) << 30);
    const int64_t high = product >> 31 > INT32_MAX ? INT32_MAX : product >> 31;
    const int64_t mask = (INT64_C(1) << (right & 31)) - 1, half = (mask >> 1) + (high < 0);
    return (int32_t)((high >> (right & 31)) + ((high & mask) > half));
}

static void multiply(int32_t *to, const int8_t *vector, const int8_t *tile)
{
    for (int32_t i = 0; i < LANES; ++i) {
        int32_t sum = 0;
        for (int32_t j = 0; j < LANES; ++j) {
            sum += tile[i * LANES + j] * vector[j];
        }
        to[i] = wrapped((uint32_t)to[i] + (uint32_t)sum);
    }
}

static int8_t clipped(const uint32_t *one, int32_t sum)
{
    const int64_t total = (int64_t)sum + gemm_npu_value(one);
    const int32_t least = gemm_npu_least(one), greatest = gemm_npu_greatest(one);
    return (int8_t)(total < least ? least : total > greatest ? greatest : total);
}

static int compute(const uint32_t *one, uint32_t to, uint32_t from)
{
    const uint32_t operation = gemm_npu_alu(one), has_value = gemm_npu_immediate(one);
    const uint32_t room = operation == GEMM_NPU_ALU_CLIP ? GEMM_NPU_OUTPUT_ENTRIES : GEMM_NPU_ACCUMULATOR_ENTRIES;
    if (to >= room || (has_value == 0u && from >= GEMM_NPU_ACCUMULATOR_ENTRIES) ||
        (operation == GEMM_NPU_ALU_SCALE && from + 1u >= GEMM_NPU_ACCUMULATOR_ENTRIES)) {
        return 0;
    }
    for (uint32_t i = 0; i < LANES; ++i) {
        int32_t *const own = sums + to * LANES + i;
        const int32_t other = has_value != 0u ? gemm_npu_value(one) : sums[from * LANES + i];
        switch (operation) {
        case GEMM_NPU_ALU_MOVE:
            *own = other;
            break;
        case GEMM_NPU_ALU_ADD:
            *own = wrapped((uint32_t)*own + (uint32_t)other);
            break;
        case GEMM_NPU_ALU_MAX:
            *own = other > *own ? other : *own;
            break;
        case GEMM_NPU_ALU_SHIFT_LEFT:
            *own = wrapped((uint32_t)*own << ((uint32_t)other & 31u));
            break;
        case GEMM_NPU_ALU_SCALE:
            *own = scaled(*own, other, sums[(from + 1u) * LANES + i]);
            break;
        case GEMM_NPU_ALU_CLIP:
            outputs[to * LANES + i] = clipped(one, other);
            break;
        default:
            return 0;
        }
    }
    return 1;
}

static int turn(const uint32_t *one, uint32_t i, uint32_t j)
{
    const uint32_t to_first = gemm_npu_to_base(one) + i * gemm_npu_to_outer(one) + j * gemm_npu_to_inner(one);
    const uint32_t first = gemm_npu_from_base(one) + i * gemm_npu_from_outer(one) + j * gemm_npu_from_inner(one);
    for (uint32_t n = gemm_npu_first(one); n < gemm_npu_first(one) + gemm_npu_count(one); ++n) {
        if (n >= GEMM_NPU_MICROCODE_ENTRIES) {
            return 0;
        }
        const uint32_t *const code = micro_code + n;
        const uint32_t to = to_first + gemm_npu_micro_to(code), from = first + gemm_npu_micro_from(code);
        const uint32_t tile = gemm_npu_tile_base(one) + gemm_npu_micro_tile(code);
        if (gemm_npu_operation(one) == GEMM_NPU_ALU) {
            if (!compute(one, to, from)) {
                return 0;
            }
        } else if (to < GEMM_NPU_ACCUMULATOR_ENTRIES && from < GEMM_NPU_INPUT_ENTRIES &&
                   tile < GEMM_NPU_WEIGHT_ENTRIES) {
            multiply(sums + to * LANES, inputs + from * LANES, weights + tile * TILE_BYTES);
        } else {
            return 0;
        }
    }
    return 1;
}

static int carry_out_one(const uint32_t *one, const struct gemm_npu_job *job)
{
    if (gemm_npu_operation(one) == GEMM_NPU_LOAD) {
        return load(one, job);
    }
    if (gemm_npu_operation(one) == GEMM_NPU_STORE) {
        return store(one, job);
    }
    for (uint32_t i = 0; i < gemm_npu_outer(one); ++i) {
        for (uint32_t j = 0; j < gemm_npu_inner(one); ++j) {
            if (!turn(one, i, j)) {
                return 0;
            }
        }
    }
    return 1;
}

static int32_t queue_of(const uint32_t *one)
{
    const uint32_t operation = gemm_npu_operation(one), memory = gemm_npu_memory(one);
    if (operation == GEMM_NPU_LOAD) {
        return memory == GEMM_NPU_TO_INPUT || memory == GEMM_NPU_TO_WEIGHT ? LOADS : EXECUTES;
    }
    return operation == GEMM_NPU_STORE ? STORES : EXECUTES;
}

/* Tokens on their way: [queue][0 to the queue before, 1 to the queue behind]. */
struct tokens {
    int32_t given[QUEUES][2];
};

static int32_t *way(struct tokens *tokens, int32_t queue, int32_t side)
{
    return queue < 0 || queue >= QUEUES ? NULL : &tokens->given[queue][side];
}

static int take(struct tokens *tokens, int32_t queue, const uint32_t *one)
{
    int32_t *const before = gemm_npu_pop_previous(one) != 0u ? way(tokens, queue - 1, 1) : NULL;
    int32_t *const behind = gemm_npu_pop_next(one) != 0u ? way(tokens, queue + 1, 0) : NULL;
    if ((gemm_npu_pop_previous(one) != 0u && (before == NULL || *before == 0)) ||
        (gemm_npu_pop_next(one) != 0u && (behind == NULL || *behind == 0))) {
        return 0;
    }
    if (before != NULL) {
        --*before;
    }
    if (behind != NULL) {
        --*behind;
    }
    return 1;
}

static int32_t next_of(const struct gemm_npu_job *job, int32_t queue, int32_t from)
{
    while (from < job->instructions && queue_of(job->program + from * GEMM_NPU_WORDS) != queue) {
        ++from;
    }
    return from;
}

/* Everything is done at the end: code that changes inputs meanwhile has wrong results, and is found. */
void gemm_npu_begin(const struct gemm_npu_job *job)
{
    (void)job;
}

struct gemm_npu_stop gemm_npu_end(const struct gemm_npu_job *job)
{
    struct tokens tokens = { { { 0 } } };
    int32_t heads[QUEUES];
    for (int32_t queue = 0; queue < QUEUES; ++queue) {
        heads[queue] = next_of(job, queue, 0);
    }
    for (int32_t queue = 0; queue < QUEUES;) {
        const int32_t head = heads[queue];
        const uint32_t *const one = job->program + head * GEMM_NPU_WORDS;
        if (head == job->instructions || !take(&tokens, queue, one)) {
            ++queue;
            continue;
        }
        if (!carry_out_one(one, job)) {
            return (struct gemm_npu_stop){ GEMM_NPU_FAULT, queue, head };
        }
        tokens.given[queue][0] += (int32_t)gemm_npu_push_previous(one);
        tokens.given[queue][1] += (int32_t)gemm_npu_push_next(one);
        heads[queue] = next_of(job, queue, head + 1);
        queue = 0;
    }
    for (int32_t queue = 0; queue < QUEUES; ++queue) {
        if (heads[queue] < job->instructions) {
            return (struct gemm_npu_stop){ GEMM_NPU_DEADLOCK, queue, heads[queue] };
        }
    }
    return (struct gemm_npu_stop){ GEMM_NPU_OK, -1, -1 };
}
