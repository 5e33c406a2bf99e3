/* What solder calls of CMSIS-NN, declared: types and functions, with names of their own for members and parameters. */
#ifndef ARM_NNFUNCTIONS_H
#define ARM_NNFUNCTIONS_H

#include <stdint.h>

typedef enum { ARM_CMSIS_NN_SUCCESS = 0, ARM_CMSIS_NN_ARG_ERROR = -1 } arm_cmsis_nn_status;

typedef enum { ARM_SIGMOID = 0, ARM_TANH = 1 } arm_nn_activation_type;

typedef struct {
    int32_t w, h;
} cmsis_nn_tile;

typedef struct {
    void *memory;
    int32_t bytes;
} cmsis_nn_context;

typedef struct {
    int32_t n, h, w, c;
} cmsis_nn_dims;

typedef struct {
    int32_t *mult, *shift;
} cmsis_nn_per_channel_quant_params;

typedef struct {
    int32_t *mult, *shift;
    int32_t is_per_channel;
} cmsis_nn_quant_params;

typedef struct {
    int32_t least, most;
} cmsis_nn_activation;

typedef struct {
    int32_t x_offset, y_offset;
    cmsis_nn_tile stride, padding, dilation;
    cmsis_nn_activation clamp;
} cmsis_nn_conv_params;

typedef struct {
    int32_t x_offset, y_offset, multiplier;
    cmsis_nn_tile stride, padding, dilation;
    cmsis_nn_activation clamp;
} cmsis_nn_dw_conv_params;

typedef struct {
    cmsis_nn_tile stride, padding;
    cmsis_nn_activation clamp;
} cmsis_nn_pool_params;

typedef struct {
    int32_t x_offset, w_offset, y_offset;
    cmsis_nn_activation clamp;
} cmsis_nn_fc_params;

arm_cmsis_nn_status arm_convolve_wrapper_s8(
    const cmsis_nn_context *memory,
    const cmsis_nn_conv_params *params,
    const cmsis_nn_per_channel_quant_params *scales,
    const cmsis_nn_dims *x_sizes,
    const int8_t *x,
    const cmsis_nn_dims *w_sizes,
    const int8_t *w,
    const cmsis_nn_dims *bias_sizes,
    const int32_t *bias,
    const cmsis_nn_dims *y_sizes,
    int8_t *y);

arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(
    const cmsis_nn_context *memory,
    const cmsis_nn_dw_conv_params *params,
    const cmsis_nn_per_channel_quant_params *scales,
    const cmsis_nn_dims *x_sizes,
    const int8_t *x,
    const cmsis_nn_dims *w_sizes,
    const int8_t *w,
    const cmsis_nn_dims *bias_sizes,
    const int32_t *bias,
    const cmsis_nn_dims *y_sizes,
    int8_t *y);

arm_cmsis_nn_status arm_fully_connected_wrapper_s8(
    const cmsis_nn_context *memory,
    const cmsis_nn_fc_params *params,
    const cmsis_nn_quant_params *scales,
    const cmsis_nn_dims *x_sizes,
    const int8_t *x,
    const cmsis_nn_dims *w_sizes,
    const int8_t *w,
    const cmsis_nn_dims *bias_sizes,
    const int32_t *bias,
    const cmsis_nn_dims *y_sizes,
    int8_t *y);

arm_cmsis_nn_status arm_avgpool_s8(
    const cmsis_nn_context *memory,
    const cmsis_nn_pool_params *params,
    const cmsis_nn_dims *x_sizes,
    const int8_t *x,
    const cmsis_nn_dims *window,
    const cmsis_nn_dims *y_sizes,
    int8_t *y);

arm_cmsis_nn_status arm_max_pool_s8(
    const cmsis_nn_context *memory,
    const cmsis_nn_pool_params *params,
    const cmsis_nn_dims *x_sizes,
    const int8_t *x,
    const cmsis_nn_dims *window,
    const cmsis_nn_dims *y_sizes,
    int8_t *y);

arm_cmsis_nn_status arm_elementwise_add_s8(
    const int8_t *a,
    const int8_t *b,
    const int32_t a_offset,
    const int32_t a_mult,
    const int32_t a_shift,
    const int32_t b_offset,
    const int32_t b_mult,
    const int32_t b_shift,
    const int32_t left_shift,
    int8_t *y,
    const int32_t y_offset,
    const int32_t y_mult,
    const int32_t y_shift,
    const int32_t least,
    const int32_t most,
    const int32_t elements);

arm_cmsis_nn_status arm_elementwise_mul_s8(
    const int8_t *a,
    const int8_t *b,
    const int32_t a_offset,
    const int32_t b_offset,
    int8_t *y,
    const int32_t y_offset,
    const int32_t y_mult,
    const int32_t y_shift,
    const int32_t least,
    const int32_t most,
    const int32_t elements);

void arm_softmax_s8(
    const int8_t *x,
    const int32_t rows,
    const int32_t length,
    const int32_t mult,
    const int32_t shift,
    const int32_t least_difference,
    int8_t *y);

arm_cmsis_nn_status arm_avgpool_s16(
    const cmsis_nn_context *memory,
    const cmsis_nn_pool_params *params,
    const cmsis_nn_dims *x_sizes,
    const int16_t *x,
    const cmsis_nn_dims *window,
    const cmsis_nn_dims *y_sizes,
    int16_t *y);
arm_cmsis_nn_status arm_max_pool_s16(
    const cmsis_nn_context *memory,
    const cmsis_nn_pool_params *params,
    const cmsis_nn_dims *x_sizes,
    const int16_t *x,
    const cmsis_nn_dims *window,
    const cmsis_nn_dims *y_sizes,
    int16_t *y);
arm_cmsis_nn_status arm_elementwise_add_s16(
    const int16_t *a,
    const int16_t *b,
    const int32_t a_offset,
    const int32_t a_mult,
    const int32_t a_shift,
    const int32_t b_offset,
    const int32_t b_mult,
    const int32_t b_shift,
    const int32_t left_shift,
    int16_t *y,
    const int32_t y_offset,
    const int32_t y_mult,
    const int32_t y_shift,
    const int32_t least,
    const int32_t most,
    const int32_t elements);
void arm_softmax_s8_s16(
    const int8_t *x,
    const int32_t rows,
    const int32_t length,
    const int32_t mult,
    const int32_t shift,
    const int32_t least_difference,
    int16_t *y);
typedef struct {
    const int16_t *exp_lut;
    const int16_t *one_by_one_lut;
} cmsis_nn_softmax_lut_s16;
arm_cmsis_nn_status arm_softmax_s16(
    const int16_t *x,
    const int32_t rows,
    const int32_t length,
    const int32_t mult,
    const int32_t shift,
    const cmsis_nn_softmax_lut_s16 *tables,
    int16_t *y);
arm_cmsis_nn_status arm_elementwise_mul_s16(
    const int16_t *a,
    const int16_t *b,
    const int32_t a_offset,
    const int32_t b_offset,
    int16_t *y,
    const int32_t y_offset,
    const int32_t y_mult,
    const int32_t y_shift,
    const int32_t least,
    const int32_t most,
    const int32_t elements);

arm_cmsis_nn_status arm_nn_activation_s16(
    const int16_t *x, int16_t *y, const int32_t elements, const int32_t left_shift, const arm_nn_activation_type curve);

typedef struct {
    int32_t mult, shift;
} cmsis_nn_per_tensor_quant_params;

typedef struct {
    int32_t rank, x_offset, y_offset;
    cmsis_nn_activation kept_clamp, clamp;
} cmsis_nn_svdf_params;

typedef struct {
    const void *data;
    const int32_t is_short;
} cmsis_nn_bias_data;

arm_cmsis_nn_status arm_convolve_wrapper_s16(
    const cmsis_nn_context *memory,
    const cmsis_nn_conv_params *params,
    const cmsis_nn_per_channel_quant_params *scales,
    const cmsis_nn_dims *x_sizes,
    const int16_t *x,
    const cmsis_nn_dims *w_sizes,
    const int8_t *w,
    const cmsis_nn_dims *bias_sizes,
    const cmsis_nn_bias_data *bias,
    const cmsis_nn_dims *y_sizes,
    int16_t *y);

arm_cmsis_nn_status arm_depthwise_conv_wrapper_s16(
    const cmsis_nn_context *memory,
    const cmsis_nn_dw_conv_params *params,
    const cmsis_nn_per_channel_quant_params *scales,
    const cmsis_nn_dims *x_sizes,
    const int16_t *x,
    const cmsis_nn_dims *w_sizes,
    const int8_t *w,
    const cmsis_nn_dims *bias_sizes,
    const int64_t *bias,
    const cmsis_nn_dims *y_sizes,
    int16_t *y);

arm_cmsis_nn_status arm_fully_connected_s16(
    const cmsis_nn_context *memory,
    const cmsis_nn_fc_params *params,
    const cmsis_nn_per_tensor_quant_params *scale,
    const cmsis_nn_dims *x_sizes,
    const int16_t *x,
    const cmsis_nn_dims *w_sizes,
    const int8_t *w,
    const cmsis_nn_dims *bias_sizes,
    const int64_t *bias,
    const cmsis_nn_dims *y_sizes,
    int16_t *y);

arm_cmsis_nn_status arm_svdf_s8(
    const cmsis_nn_context *sums,
    const cmsis_nn_context *features,
    const cmsis_nn_context *results,
    const cmsis_nn_svdf_params *params,
    const cmsis_nn_per_tensor_quant_params *x_scale,
    const cmsis_nn_per_tensor_quant_params *y_scale,
    const cmsis_nn_dims *x_sizes,
    const int8_t *x,
    const cmsis_nn_dims *memory_sizes,
    int8_t *memory,
    const cmsis_nn_dims *w_sizes,
    const int8_t *w,
    const cmsis_nn_dims *filter_sizes,
    const int8_t *filters,
    const cmsis_nn_dims *bias_sizes,
    const int32_t *bias,
    const cmsis_nn_dims *y_sizes,
    int8_t *y);

arm_cmsis_nn_status arm_svdf_state_s16_s8(
    const cmsis_nn_context *features,
    const cmsis_nn_context *results,
    const cmsis_nn_svdf_params *params,
    const cmsis_nn_per_tensor_quant_params *x_scale,
    const cmsis_nn_per_tensor_quant_params *y_scale,
    const cmsis_nn_dims *x_sizes,
    const int8_t *x,
    const cmsis_nn_dims *memory_sizes,
    int16_t *memory,
    const cmsis_nn_dims *w_sizes,
    const int8_t *w,
    const cmsis_nn_dims *filter_sizes,
    const int16_t *filters,
    const cmsis_nn_dims *bias_sizes,
    const int32_t *bias,
    const cmsis_nn_dims *y_sizes,
    int8_t *y);

#endif
