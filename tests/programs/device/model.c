/* Runs a compiled model on its samples, each time in arenas full of garbage, and compares every byte of its outputs. */
#include "check.h"

#include <string.h>

#define MOST_TENSORS 32u
#define MOST_ARENAS 8u

static void *inputs[MOST_TENSORS], *outputs[MOST_TENSORS];
static uint8_t *arenas[MOST_ARENAS];

static const uint8_t *of_sample(const struct check_tensor *tensor, uint32_t sample)
{
    return (const uint8_t *)tensor->samples + sample * tensor->bytes;
}

static void take_arenas(const struct check_model *model)
{
    for (uint32_t i = 0; i < model->arena_count; i++) {
        arenas[i] = check_memory(model->arena_bytes[i]);
    }
}

/* 0, or the number of the first byte that differs, in the first such tensor. */
static uint32_t compare(const struct check_tensor *tensors, uint32_t count, void *const *made, uint32_t sample)
{
    uint32_t wrong = 0;

    for (uint32_t i = 0; i < count && wrong == 0; i++) {
        const uint8_t *const bytes = made ? made[i] : arenas[tensors[i].arena] + tensors[i].offset;
        wrong = check_bytes(bytes, of_sample(&tensors[i], sample), tensors[i].bytes);
    }
    return wrong;
}

/* Inputs and outputs in memory of their own; the inputs must be as before. */
static uint32_t run_outside(const struct check_model *model, uint32_t sample)
{
    uint32_t wrong;

    for (uint32_t i = 0; i < model->input_count; i++) {
        inputs[i] = check_memory(model->inputs[i].bytes);
        memcpy(inputs[i], of_sample(&model->inputs[i], sample), model->inputs[i].bytes);
    }
    for (uint32_t i = 0; i < model->output_count; i++) {
        outputs[i] = check_memory(model->outputs[i].bytes);
    }
    take_arenas(model);
    wrong = (uint32_t)model->outside(inputs, outputs, arenas);
    wrong = wrong ? wrong : compare(model->outputs, model->output_count, outputs, sample);
    return wrong ? wrong : compare(model->inputs, model->input_count, inputs, sample);
}

/* Inputs and outputs at their places in the arenas, which are taken before. */
static uint32_t run_inside(const struct check_model *model, uint32_t sample)
{
    uint32_t wrong;

    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct check_tensor *const input = &model->inputs[i];
        memcpy(arenas[input->arena] + input->offset, of_sample(input, sample), input->bytes);
    }
    wrong = (uint32_t)model->inside(arenas);
    return wrong ? wrong : compare(model->outputs, model->output_count, NULL, sample);
}

uint32_t check_each_sample(const struct check_model *model)
{
    for (uint32_t sample = 0; sample < model->sample_count; sample++) {
        uint32_t wrong = run_outside(model, sample);
        if (wrong == 0) {
            take_arenas(model);
            wrong = run_inside(model, sample);
        }
        if (wrong != 0) {
            return sample * 1000000u + wrong;
        }
    }
    return 0;
}

uint32_t check_series(const struct check_model *model)
{
    take_arenas(model);
    for (uint32_t turn = 0; turn < 2u * model->sample_count; turn++) {
        const uint32_t sample = turn % model->sample_count;
        if (sample == 0 && model->reset(arenas) != 0) {
            return turn + 1u;
        }
        const uint32_t wrong = run_inside(model, sample);
        if (wrong != 0) {
            return turn * 1000000u + wrong;
        }
    }
    return 0;
}
