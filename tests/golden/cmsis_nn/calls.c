/* Layer 0: conv2d 9x8x3 -> 5x8x6, CONV_2D #0 "conv2d_0"
   cmsis-nn: arm_convolve_wrapper_s8 of CMSIS-NN V.1.2.3. */
static LAYER void layer_0(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_conv2d_0(run, row);
    int32_t *const scratch = (int32_t *)(void *)(run->arena + 456u);
    static const struct cmsis_nn_conv2d_shape shape = {
        .x_rows = 9,
        .x_columns = 8,
        .depth = 3,
        .y_rows = 5,
        .y_columns = 8,
        .channels = 6,
        .w_rows = 3,
        .w_columns = 3,
        .stride_rows = 2,
        .stride_columns = 1,
        .dilation_rows = 1,
        .dilation_columns = 1,
        .top = 1,
        .left = 1,
        .x_zero = -5,
        .y_zero = -20,
        .y_least = -20,
        .y_most = 127,
        .scratch_bytes = 112,
    };
    cmsis_nn_conv2d(
        row_of_image(run, row),
        y,
        net_layer0_w,
        net_layer0_bias,
        net_layer0_mult,
        net_layer0_shift,
        scratch,
        &shape);
    LAYER_WROTE(0, y, 240);
}
/* Layer 1: depthwise_conv2d 5x8x6 -> 5x8x6, DEPTHWISE_CONV_2D #1 "depthwise_1"
   cmsis-nn: arm_depthwise_conv_wrapper_s8 of CMSIS-NN V.1.2.3. */
static LAYER void layer_1(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_depthwise_1(run, row);
    int32_t *const scratch = (int32_t *)(void *)(run->arena + 480u);
    static const struct cmsis_nn_depthwise_shape shape = {
        .x_rows = 5,
        .x_columns = 8,
        .depth = 6,
        .y_rows = 5,
        .y_columns = 8,
        .channels = 6,
        .w_rows = 3,
        .w_columns = 3,
        .stride_rows = 1,
        .stride_columns = 1,
        .dilation_rows = 1,
        .dilation_columns = 1,
        .top = 1,
        .left = 1,
        .x_zero = -20,
        .y_zero = 7,
        .y_least = -128,
        .y_most = 127,
        .scratch_bytes = 108,
    };
    cmsis_nn_depthwise(
        row_of_conv2d_0(run, row),
        y,
        net_layer1_w,
        net_layer1_bias,
        net_layer1_mult,
        net_layer1_shift,
        scratch,
        &shape);
    LAYER_WROTE(1, y, 240);
}
/* Layer 2: max_pool2d 5x8x6 -> 5x8x6, MAX_POOL_2D #2 "max_pool_2"
   cmsis-nn: arm_max_pool_s8 of CMSIS-NN V.1.2.3. */
static LAYER void layer_2(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_max_pool_2(run, row);
    int32_t *const scratch = (int32_t *)(void *)(run->arena + 720u);
    static const struct cmsis_nn_max_pool_shape shape = {
        .x_rows = 5,
        .x_columns = 8,
        .depth = 6,
        .y_rows = 5,
        .y_columns = 8,
        .w_rows = 3,
        .w_columns = 3,
        .stride_rows = 1,
        .stride_columns = 1,
        .top = 1,
        .left = 1,
        .y_least = -128,
        .y_most = 127,
        .scratch_bytes = 24,
    };
    cmsis_nn_max_pool(row_of_conv2d_0(run, row), y, scratch, &shape);
    LAYER_WROTE(2, y, 240);
}
/* Layer 3: add 5x8x6 -> 5x8x6, ADD #3 "add_3"
   cmsis-nn: arm_elementwise_add_s8 of CMSIS-NN V.1.2.3. */
static LAYER void layer_3(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_add_3(run, row);
    static const struct cmsis_nn_add_shape shape = {
        .elements = 240,
        .left_shift = 20,
        .a_mult = 1610612736,
        .a_shift = -1,
        .b_mult = 1073741824,
        .b_shift = 0,
        .y_mult = 1717986854,
        .y_shift = -19,
        .y_least = -11,
        .y_most = 127,
        .a_zero = 7,
        .b_zero = -20,
        .y_zero = -11,
    };
    cmsis_nn_add(row_of_depthwise_1(run, row), row_of_max_pool_2(run, row), y, &shape);
    LAYER_WROTE(3, y, 240);
}
/* Layer 4: mul 5x8x6 -> 5x8x6, MUL #4 "product"
   cmsis-nn: arm_elementwise_mul_s8 of CMSIS-NN V.1.2.3. */
static LAYER void layer_4(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_product(run, row);
    static const struct cmsis_nn_mul_shape shape = {
        .elements = 240,
        .y_mult = 1288490208,
        .y_shift = -3,
        .y_least = -128,
        .y_most = 127,
        .a_zero = -11,
        .b_zero = 7,
        .y_zero = 3,
    };
    cmsis_nn_mul(row_of_add_3(run, row), row_of_depthwise_1(run, row), y, &shape);
    LAYER_WROTE(4, y, 240);
}
/* Layer 5: average_pool2d 5x8x6 -> 2x2x6, AVERAGE_POOL_2D #5 "average_pool_5"
   cmsis-nn: arm_avgpool_s8 of CMSIS-NN V.1.2.3. */
static LAYER void layer_5(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_average_pool_5(run, row);
    int32_t *const scratch = (int32_t *)(void *)(run->arena + 24u);
    static const struct cmsis_nn_average_pool_shape shape = {
        .x_rows = 5,
        .x_columns = 8,
        .depth = 6,
        .y_rows = 2,
        .y_columns = 2,
        .w_rows = 2,
        .w_columns = 3,
        .stride_rows = 2,
        .stride_columns = 3,
        .top = 0,
        .left = 0,
        .y_least = -128,
        .y_most = 127,
        .scratch_bytes = 24,
    };
    cmsis_nn_average_pool(row_of_product(run, row), y, scratch, &shape);
    LAYER_WROTE(5, y, 24);
}
/* Layer 6: dense 2x2x6 -> 1x1x5, FULLY_CONNECTED #7 "dense_7"
   cmsis-nn: arm_fully_connected_wrapper_s8 of CMSIS-NN V.1.2.3. */
static LAYER void layer_6(const struct run *run, uint32_t row)
{
    int8_t *const y = row_of_dense_7(run);
    static const struct cmsis_nn_dense_shape shape = {
        .rows = 1,
        .depth = 24,
        .channels = 5,
        .x_zero = 3,
        .y_zero = 0,
        .y_least = -128,
        .y_most = 127,
        .has_scales = 0,
    };
    cmsis_nn_dense(
        row_of_average_pool_5(run, 0) + row * 24u,
        y,
        net_layer6_w,
        net_layer6_bias,
        net_layer6_mult,
        net_layer6_shift,
        &shape);
    LAYER_WROTE(6, y, 5);
}
/* Layer 7: softmax 1x1x5 -> 1x1x5, SOFTMAX #8 "softmax_8"
   cmsis-nn: arm_softmax_s8 of CMSIS-NN V.1.2.3. */
static LAYER void layer_7(const struct run *run)
{
    int8_t *const y = row_of_softmax_8(run);
    static const struct cmsis_nn_softmax_shape shape = {
        .rows = 1,
        .length = 5,
        .mult = 1717986944,
        .left_shift = 22,
        .least_difference = -496,
    };
    cmsis_nn_softmax(row_of_dense_7(run), y, &shape);
    LAYER_WROTE(7, y, 5);
}