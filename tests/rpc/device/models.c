/* Models small enough to be checked in the head, and one that misbehaves when told to. */
#include <stddef.h>
#include <string.h>

#include "solder_fault.h"
#include "solder_firmware.h"
#include "solder_port.h"
#include "solder_protocol.h"
#include "solder_session.h"

static uint8_t *arena_of(void *arenas)
{
    return *(uint8_t *const *)arenas;
}

/* plus_one: y = x + 1. The output lies where the input was. */
static int32_t run_plus_one(void *arenas)
{
    int8_t *x = (int8_t *)arena_of(arenas);
    for (int i = 0; i < 4; i++) {
        x[i] = (int8_t)(x[i] + 1);
    }
    return 0;
}

/* What plus_one counts: the ticks of its last run, in the last bytes. */
static uint8_t counters[SOLDER_OBSERVED_BYTES] = {1};

static void count_ticks(uint32_t ticks)
{
    counters[1]++;
    memcpy(&counters[SOLDER_OBSERVED_BYTES - sizeof ticks], &ticks, sizeof ticks);
}

static const uint32_t four[] = {4};
static const struct solder_tensor plus_one_in[] = {{"x", four, 1, SOLDER_I8, 0, 0, 4}};
static const struct solder_tensor plus_one_out[] = {{"y", four, 1, SOLDER_I8, 0, 0, 4}};
static const uint32_t plus_one_bytes[] = {4};
static const struct solder_model plus_one = {
    "plus_one", {1, 2, 3, 4, 5, 6, 7, 8}, 1, plus_one_bytes, 1, 1, 0, plus_one_in, plus_one_out, run_plus_one, NULL,
    counters, count_ticks, NULL};

/* running_sum: sum += a + b, elementwise over 1200 bytes; a second execution of one request would show. Each layer
   (add, then sum) reports ten rows. */
#define WIDTH 1200u
#define ROW (WIDTH / 10u)
static int32_t run_sum(void *arenas)
{
    uint8_t *a = arena_of(arenas);
    uint8_t *b = a + WIDTH;
    uint8_t *sum = b + WIDTH;
    uint8_t *out = sum + WIDTH;
    for (uint32_t row = 0; row < WIDTH; row += ROW) {
        for (uint32_t i = row; i < row + ROW; i++) {
            b[i] = (uint8_t)(a[i] + b[i]);
        }
        if (solder_on_layer != NULL) {
            solder_on_layer(0, b + row, ROW);
        }
        for (uint32_t i = row; i < row + ROW; i++) {
            sum[i] = (uint8_t)(sum[i] + b[i]);
            out[i] = sum[i];
        }
        if (solder_on_layer != NULL) {
            solder_on_layer(1, out + row, ROW);
        }
    }
    memset(a, 0xEE, 2 * WIDTH); /* inputs do not survive a run */
    return 0;
}

static void clear_sum(void *arenas)
{
    memset(arena_of(arenas) + 2 * WIDTH, 0, WIDTH);
}

/* In two parts, as those of two layers. */
static const struct solder_state sum_places[] = {{0, 2 * WIDTH, 500}, {0, 2 * WIDTH + 500, WIDTH - 500}};
static const struct solder_states sum_states = {
    {'S', 'O', 'L', 'D', 'E', 'R', 'S', '1', 9, 9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0xD0, 4, 0, 0}, 2, sum_places};

static const uint32_t wide[] = {10, 120};
static const struct solder_tensor sum_in[] = {{"a", wide, 2, SOLDER_U8, 0, 0, WIDTH},
                                              {"b", wide, 2, SOLDER_U8, 0, WIDTH, WIDTH}};
static const struct solder_tensor sum_out[] = {{"sum", wide, 2, SOLDER_U8, 0, 3 * WIDTH, WIDTH}};
static const uint32_t running_sum_bytes[] = {4 * WIDTH};
static const struct solder_model running_sum = {
    "running_sum", {9, 9, 9, 9, 9, 9, 9, 9}, 1, running_sum_bytes, 2, 1, 2, sum_in, sum_out, run_sum, clear_sum,
    NULL, NULL, &sum_states};

/* moody: does what its input byte says. */
static int32_t deep(uint32_t levels)
{
    volatile uint8_t frame[1024];
    memset((void *)frame, (int)levels, sizeof frame);
    return levels == 0 ? 0 : deep(levels - 1) + (frame[0] == levels ? 0 : 1);
}

static void crash(void)
{
    const struct solder_fault fault = {SOLDER_FAULT_HARD, 0x1234, 0x5678, 0x2000FF00, 0, 0x00000100, 0, 0xDEADBEEF};
    solder_fault_keep(&fault);
    solder_port_reset();
}

static int32_t run_moody(void *arenas)
{
    switch (*arena_of(arenas)) {
    case 1:
        solder_log("feeling fine");
        return 0;
    case 2:
        return -42;
    case 3:
        crash();
        return 0;
    case 4:
        solder_port_reset();
        return 0;
    case 5:
        return deep(15);
    default:
        return 0;
    }
}

static const uint32_t one[] = {1};
static const struct solder_tensor moody_in[] = {{"mood", one, 1, SOLDER_U8, 0, 0, 1}};
static const uint32_t moody_bytes[] = {1};
static const struct solder_model moody = {
    "moody", {7, 7, 7, 7, 7, 7, 7, 7}, 1, moody_bytes, 1, 1, 0, moody_in, moody_in, run_moody, NULL,
    NULL, NULL, NULL};

/* many_layers: more layers than one profile reply has room for; layer i writes the byte i. */
#define LAYERS 75u
static int32_t run_many_layers(void *arenas)
{
    uint8_t *const memory = arena_of(arenas);
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        *memory = (uint8_t)layer;
        if (solder_on_layer != NULL) {
            solder_on_layer(layer, memory, 1);
        }
    }
    return 0;
}

static int32_t run_echo(void *arenas)
{
    (void)arenas;
    return 0;
}

static const uint32_t many_layers_bytes[] = {1};
static const struct solder_model many_layers = {
    "many_layers", {6, 6, 6, 6, 6, 6, 6, 6}, 1, many_layers_bytes, 1, 1, LAYERS, moody_in, moody_in, run_many_layers, NULL,
    NULL, NULL, NULL};

static const uint32_t too_large_bytes[] = {1000000};
static const struct solder_model too_large = {
    "too_large", {5, 5, 5, 5, 5, 5, 5, 5}, 1, too_large_bytes, 1, 1, 0, moody_in, moody_in, run_moody, NULL,
    NULL, NULL, NULL};

/* echo: 4096 bytes, unchanged. */
static const uint32_t pages[] = {4096};
static const struct solder_tensor echo_in[] = {{"page", pages, 1, SOLDER_U8, 0, 0, 4096}};
static const uint32_t echo_bytes[] = {4096};
static const struct solder_model echo = {
    "echo", {4, 4, 4, 4, 4, 4, 4, 4}, 1, echo_bytes, 1, 1, 0, echo_in, echo_in, run_echo, NULL,
    NULL, NULL, NULL};

const struct solder_model *
#ifndef SOLDER_CARTRIDGES
    const
#endif
        solder_models[] = {&plus_one,    &running_sum, &moody,
                                                    &many_layers, &too_large,   &echo};
const uint32_t solder_model_count = 6;
static uint8_t arena[4 * WIDTH];
uint8_t *solder_arenas[] = {arena};
const uint32_t solder_arena_sizes[] = {sizeof arena};
const uint32_t solder_arena_count = 1;
const char solder_build_id[] = "test device 1";
