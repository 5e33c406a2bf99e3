/* conv2d 9x8x3 -> 5x8x6, CONV_2D "conv2d_0"
   cmsis-nn: arm_convolve_wrapper_s8 of CMSIS-NN V.1.2.3. */
static LAYER void conv2d_0(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_conv2d_0(run, row);
    int32_t *const scratch = (int32_t *)(void *)(run->arena + AT_CONV2D_0_SCRATCH);
    static const struct cmsis_nn_conv2d_shape shape = {
        .x_rows = 9, .x_columns = 8, .depth = 3, .y_rows = 5, .y_columns = 8, .channels = 6,
        .w_rows = 3, .w_columns = 3, .stride_rows = 2, .stride_columns = 1, .dilation_rows = 1,
        .dilation_columns = 1, .top = 1, .left = 1, .x_zero = -5, .y_zero = -20, .y_least = -20,
        .y_most = 127, .scratch_bytes = 112
    };
    cmsis_nn_conv2d(
        row_of_image(run, row), y, net_conv2d_0_w, net_conv2d_0_bias, net_conv2d_0_mult,
        net_conv2d_0_shift, scratch, &shape);
    layer_wrote(LAYER_CONV2D_0, y, 240);
}
/* depthwise_conv2d 5x8x6 -> 5x8x6, DEPTHWISE_CONV_2D "depthwise_1"
   cmsis-nn: arm_depthwise_conv_wrapper_s8 of CMSIS-NN V.1.2.3. */
static LAYER void depthwise_1(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_depthwise_1(run, row);
    int32_t *const scratch = (int32_t *)(void *)(run->arena + AT_DEPTHWISE_1_SCRATCH);
    static const struct cmsis_nn_depthwise_shape shape = {
        .x_rows = 5, .x_columns = 8, .depth = 6, .y_rows = 5, .y_columns = 8, .channels = 6,
        .w_rows = 3, .w_columns = 3, .stride_rows = 1, .stride_columns = 1, .dilation_rows = 1,
        .dilation_columns = 1, .top = 1, .left = 1, .x_zero = -20, .y_zero = 7, .y_least = -128,
        .y_most = 127, .scratch_bytes = 108
    };
    cmsis_nn_depthwise(
        row_of_conv2d_0(run, row), y, net_depthwise_1_w, net_depthwise_1_bias,
        net_depthwise_1_mult, net_depthwise_1_shift, scratch, &shape);
    layer_wrote(LAYER_DEPTHWISE_1, y, 240);
}
/* max_pool2d 5x8x6 -> 5x8x6, MAX_POOL_2D "max_pool_2"
   cmsis-nn: arm_max_pool_s8 of CMSIS-NN V.1.2.3. */
static LAYER void max_pool_2(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_max_pool_2(run, row);
    int32_t *const scratch = (int32_t *)(void *)(run->arena + AT_MAX_POOL_2_SCRATCH);
    static const struct cmsis_nn_max_pool_shape shape = {
        .x_rows = 5, .x_columns = 8, .depth = 6, .y_rows = 5, .y_columns = 8, .w_rows = 3,
        .w_columns = 3, .stride_rows = 1, .stride_columns = 1, .top = 1, .left = 1, .y_least = -128,
        .y_most = 127, .scratch_bytes = 24
    };
    cmsis_nn_max_pool(row_of_conv2d_0(run, row), y, scratch, &shape);
    layer_wrote(LAYER_MAX_POOL_2, y, 240);
}
/* add 5x8x6 -> 5x8x6, ADD "add_3"
   cmsis-nn: arm_elementwise_add_s8 of CMSIS-NN V.1.2.3. */
static LAYER void add_3(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_add_3(run, row);
    static const struct cmsis_nn_add_shape shape = {
        .elements = 240, .left_shift = 20, .a_mult = 1610612736, .a_shift = -1, .b_mult = 1073741824,
        .b_shift = 0, .y_mult = 1717986854, .y_shift = -19, .y_least = -11, .y_most = 127,
        .a_zero = 7, .b_zero = -20, .y_zero = -11
    };
    cmsis_nn_add(row_of_depthwise_1(run, row), row_of_max_pool_2(run, row), y, &shape);
    layer_wrote(LAYER_ADD_3, y, 240);
}
/* mul 5x8x6 -> 5x8x6, MUL "product"
   cmsis-nn: arm_elementwise_mul_s8 of CMSIS-NN V.1.2.3. */
static LAYER void mul_product(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_product(run, row);
    static const struct cmsis_nn_mul_shape shape = {
        .elements = 240, .y_mult = 1288490208, .y_shift = -3, .y_least = -128, .y_most = 127,
        .a_zero = -11, .b_zero = 7, .y_zero = 3
    };
    cmsis_nn_mul(row_of_add_3(run, row), row_of_depthwise_1(run, row), y, &shape);
    layer_wrote(LAYER_PRODUCT, y, 240);
}
/* average_pool2d 5x8x6 -> 2x2x6, AVERAGE_POOL_2D "average_pool_5"
   cmsis-nn: arm_avgpool_s8 of CMSIS-NN V.1.2.3. */
static LAYER void average_pool_5(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_average_pool_5(run, row);
    int32_t *const scratch = (int32_t *)(void *)(run->arena + AT_AVERAGE_POOL_5_SCRATCH);
    static const struct cmsis_nn_average_pool_shape shape = {
        .x_rows = 5, .x_columns = 8, .depth = 6, .y_rows = 2, .y_columns = 2, .w_rows = 2,
        .w_columns = 3, .stride_rows = 2, .stride_columns = 3, .top = 0, .left = 0, .y_least = -128,
        .y_most = 127, .scratch_bytes = 24
    };
    cmsis_nn_average_pool(row_of_product(run, row), y, scratch, &shape);
    layer_wrote(LAYER_AVERAGE_POOL_5, y, 24);
}
/* dense 2x2x6 -> 1x1x5, FULLY_CONNECTED "dense_7"
   cmsis-nn: arm_fully_connected_wrapper_s8 of CMSIS-NN V.1.2.3. */
static LAYER void dense_7(const struct run *run, uint32_t row)
{
    int8_t *const y = (int8_t *)(void *)(run->arena + AT_DENSE_7);
    static const struct cmsis_nn_dense_shape shape = {
        .rows = 1, .depth = 24, .channels = 5, .x_zero = 3, .y_zero = 0, .y_least = -128,
        .y_most = 127, .has_scales = 0
    };
    cmsis_nn_dense(
        row_of_average_pool_5(run, 0) + row * 24u, y, net_dense_7_w, net_dense_7_bias,
        net_dense_7_mult, net_dense_7_shift, &shape);
    layer_wrote(LAYER_DENSE_7, y, 5);
}
/* softmax 1x1x5 -> 1x1x5, SOFTMAX "softmax_8"
   cmsis-nn: arm_softmax_s8 of CMSIS-NN V.1.2.3. */
static LAYER void softmax_8(const struct run *run)
{
    int8_t *const y = run->out->softmax_8;
    static const struct cmsis_nn_softmax_shape shape = {
        .rows = 1, .length = 5, .mult = 1717986944, .left_shift = 22, .least_difference = -496
    };
    cmsis_nn_softmax((int8_t *)(void *)(run->arena + AT_DENSE_7), y, &shape);
    layer_wrote(LAYER_SOFTMAX_8, y, 5);
}