/* Convolutions, depthwise convolutions and pools. */
#include "ethos_u_device.h"

/* The window that walks over an input: kernel, strides, padding, and how the input is enlarged before. */
struct window {
    int32_t height, width; /* with dilation */
    int32_t dilation_y, dilation_x, stride_y, stride_x;
    int32_t top, left;
    int32_t rows, columns; /* of the enlarged input: behind them is padding */
    int32_t upscale; /* 0: none, 1: each pixel twice, 2: zeros between pixels */
    int32_t ofm_rows, ofm_columns, ofm_depth;
};

static struct window window_of(struct ethos_u_device *device)
{
    const int32_t stride = ethos_u_short(device, KERNEL_STRIDE);
    struct window window;
    window.height = ethos_u_short(device, KERNEL_HEIGHT_M1) + 1;
    window.width = ethos_u_short(device, KERNEL_WIDTH_M1) + 1;
    window.dilation_x = (stride >> 3 & 1) + 1;
    window.dilation_y = (stride >> 4 & 1) + 1;
    window.stride_x = (stride & 1) + (stride >> 6 & 7) * 2 + 1;
    window.stride_y = (stride >> 1 & 1) + (stride >> 9 & 7) * 2 + 1;
    window.top = ethos_u_short(device, IFM_PAD_TOP);
    window.left = ethos_u_short(device, IFM_PAD_LEFT);
    window.upscale = ethos_u_short(device, IFM_UPSCALE) & 3;
    window.ofm_rows = ethos_u_short(device, OFM_HEIGHT_M1) + 1;
    window.ofm_columns = ethos_u_short(device, OFM_WIDTH_M1) + 1;
    window.ofm_depth = ethos_u_short(device, OFM_DEPTH_M1) + 1;
    window.rows = (window.ofm_rows - 1) * window.stride_y + window.height - window.top
        - ethos_u_short(device, IFM_PAD_BOTTOM);
    window.columns = (window.ofm_columns - 1) * window.stride_x + window.width - window.left
        - ethos_u_short(device, IFM_PAD_RIGHT);
    if (window.upscale > 2) {
        ethos_u_fail(device, ETHOS_U_BAD_REGISTER);
    }
    return window;
}

/* Finds the input pixel under a tap; false where padding or an inserted zero is. */
static int is_pixel(const struct window *window, int32_t *y, int32_t *x)
{
    if (*y < 0 || *y >= window->rows || *x < 0 || *x >= window->columns) {
        return 0;
    }
    if (window->upscale == 2 && (*y | *x) & 1) {
        return 0;
    }
    if (window->upscale != 0) {
        *y /= 2;
        *x /= 2;
    }
    return 1;
}

/* ---- Convolutions ---------------------------------------------------------------------------------------- */

struct convolution {
    struct ethos_u_map ifm, ofm;
    struct window window;
    struct ethos_u_filter filter;
    const uint8_t *scales; /* ten bytes for each channel */
    int64_t sums[ETHOS_U_MOST_BLOCK_DEPTH];
    int32_t first, count; /* channels that are computed at once */
};

enum { SCALE_BYTES = 10 };

static struct ethos_u_filter filter_of(
    struct ethos_u_device *device, const struct window *window, const struct ethos_u_map *ifm, int is_depthwise)
{
    const int32_t stride = ethos_u_short(device, KERNEL_STRIDE);
    struct ethos_u_filter filter = { 0 };
    filter.dilation_y = window->dilation_y;
    filter.dilation_x = window->dilation_x;
    filter.height = (window->height - 1) / window->dilation_y + 1;
    filter.width = (window->width - 1) / window->dilation_x + 1;
    filter.depth = is_depthwise ? 1 : ethos_u_short(device, IFM_DEPTH_M1) + 1;
    filter.channels = window->ofm_depth;
    filter.block_depth = ethos_u_short(device, OFM_BLK_DEPTH_M1) + 1;
    filter.is_depthwise = (uint8_t)is_depthwise;
    filter.is_part_kernel_first = !is_depthwise && (stride >> 2 & 1);
    filter.ifm_bits = (uint8_t)(8 * ifm->bytes);
    if (filter.block_depth > ETHOS_U_MOST_BLOCK_DEPTH || ifm->bytes > 2 || filter.height > 64 || filter.width > 64) {
        ethos_u_fail(device, ETHOS_U_BAD_REGISTER);
    }
    return filter;
}

/* Adds the products of one input pixel to the sums of all channels. */
static void add_pixel(
    struct ethos_u_device *device, struct convolution *conv, int32_t y, int32_t x, const int16_t *weights)
{
    if (conv->filter.is_depthwise) {
        for (int32_t o = 0; o < conv->count; ++o) {
            const int32_t value = ethos_u_load(device, &conv->ifm, y, x, conv->first + o) - conv->ifm.zero_point;
            conv->sums[o] += (int64_t)value * weights[o];
        }
        return;
    }
    for (int32_t z = 0; z < conv->filter.depth; ++z, weights += conv->count) {
        const int32_t value = ethos_u_load(device, &conv->ifm, y, x, z) - conv->ifm.zero_point;
        for (int32_t o = 0; o < conv->count; ++o) {
            conv->sums[o] += (int64_t)value * weights[o];
        }
    }
}

static void sum_window(struct ethos_u_device *device, struct convolution *conv, int32_t row, int32_t column)
{
    const struct window *const window = &conv->window;
    const struct ethos_u_filter *const filter = &conv->filter;
    const int16_t *weights = device->job->weights;
    for (int32_t o = 0; o < conv->count; ++o) {
        conv->sums[o] = 0;
    }
    for (int32_t ky = 0; ky < filter->height; ++ky) {
        for (int32_t kx = 0; kx < filter->width; ++kx, weights += (int64_t)filter->depth * conv->count) {
            int32_t y = row * window->stride_y - window->top + ky * window->dilation_y;
            int32_t x = column * window->stride_x - window->left + kx * window->dilation_x;
            if (is_pixel(window, &y, &x)) {
                add_pixel(device, conv, y, x, weights);
            }
        }
    }
}

/* Bias of 40 bits, factor of 32, shift of 6. */
static int64_t bias_and_scale(const uint8_t *entry, struct ethos_u_scale *scale)
{
    uint64_t bias = 0;
    for (uint32_t i = 0; i < 5; ++i) {
        bias |= (uint64_t)entry[i] << 8 * i;
    }
    scale->factor = (uint32_t)entry[5] | (uint32_t)entry[6] << 8 | (uint32_t)entry[7] << 16 | (uint32_t)entry[8] << 24;
    scale->shift = entry[9] & 0x3F;
    return bias < (uint64_t)1 << 39 ? (int64_t)bias : (int64_t)bias - ((int64_t)1 << 40);
}

static void store_pixel(struct ethos_u_device *device, const struct convolution *conv, int32_t row, int32_t column)
{
    struct ethos_u_scale scale = ethos_u_ofm_scale(device);
    const struct ethos_u_scale global = scale;
    const int is_global = ethos_u_is_scaled_globally(device);
    for (int32_t o = 0; o < conv->count; ++o) {
        const int32_t channel = conv->first + o;
        const int64_t bias = bias_and_scale(conv->scales + SCALE_BYTES * channel, &scale);
        const int64_t value = ethos_u_scaled(conv->sums[o] + bias, is_global ? &global : &scale);
        ethos_u_store(device, &conv->ofm, row, column, channel, ethos_u_activated(device, &conv->ofm, value));
    }
}

static void convolve_channels(struct ethos_u_device *device, struct convolution *conv)
{
    const uint64_t taps = (uint64_t)conv->filter.height * (uint64_t)conv->filter.width * (uint64_t)conv->filter.depth;
    for (int32_t row = 0; row < conv->window.ofm_rows; ++row) {
        for (int32_t column = 0; column < conv->window.ofm_columns; ++column) {
            if (!ethos_u_step(device, taps)) {
                return;
            }
            sum_window(device, conv, row, column);
            store_pixel(device, conv, row, column);
        }
    }
}

/* Channels whose weights have room together. */
static int32_t channels_at_once(struct ethos_u_device *device, const struct ethos_u_filter *filter)
{
    const uint64_t each = (uint64_t)filter->height * (uint64_t)filter->width * (uint64_t)filter->depth;
    const uint64_t most = device->job->weights_count / each;
    if (most == 0) {
        ethos_u_fail(device, ETHOS_U_NO_ROOM_FOR_WEIGHTS);
    }
    return most < ETHOS_U_MOST_BLOCK_DEPTH ? (int32_t)most : ETHOS_U_MOST_BLOCK_DEPTH;
}

void ethos_u_convolution(struct ethos_u_device *device, int is_depthwise)
{
    struct convolution conv;
    conv.ifm = ethos_u_ifm(device);
    conv.ofm = ethos_u_ofm(device);
    conv.window = window_of(device);
    conv.filter = filter_of(device, &conv.window, &conv.ifm, is_depthwise);
    const int32_t channels = conv.filter.channels, most = channels_at_once(device, &conv.filter);
    const uint64_t scale_bytes = (uint64_t)SCALE_BYTES * (uint64_t)channels;
    conv.scales
        = ethos_u_read(device, ethos_u_short(device, SCALE_REGION), ethos_u_long(device, SCALE_BASE), scale_bytes);
    if (ethos_u_short(device, PARALLEL_MODE) != 0) {
        ethos_u_fail(device, ETHOS_U_NOT_MODELLED);
    }
    for (conv.first = 0; conv.first < channels && device->status == ETHOS_U_OK; conv.first += conv.count) {
        conv.count = channels - conv.first < most ? channels - conv.first : most;
        ethos_u_decode(device, &conv.filter, conv.first, conv.count);
        if (device->status == ETHOS_U_OK) {
            convolve_channels(device, &conv);
        }
    }
}

/* ---- Pools ----------------------------------------------------------------------------------------------- */

enum { POOL_MAX = 0, POOL_AVERAGE = 1, POOL_SUM_OF_DEPTH = 2 };

struct pool {
    struct ethos_u_map ifm, ofm;
    struct window window;
    int32_t mode;
    struct ethos_u_scale scale;
    int is_scaled; /* by the register; else the device divides by the number of pixels */
};

/* Where there is padding the device counts pixels itself. The reciprocals that it multiplies by are a little too
 * large, so that halves go away from zero whatever the mode of rounding.
 */
static int64_t mean(int64_t sum, int64_t count)
{
    if (count == 0) {
        return 0;
    }
    return (sum < 0 ? sum - count / 2 : sum + count / 2) / count;
}

static int has_padding(const struct ethos_u_device *device)
{
    return ethos_u_short(device, IFM_PAD_TOP) || ethos_u_short(device, IFM_PAD_LEFT)
        || ethos_u_short(device, IFM_PAD_BOTTOM) || ethos_u_short(device, IFM_PAD_RIGHT);
}

static int64_t pooled(const struct pool *pool, int64_t sum, int64_t most, int32_t count)
{
    if (pool->mode == POOL_MAX) {
        return count > 0 ? most : 0;
    }
    if (pool->is_scaled) {
        return ethos_u_scaled(sum, &pool->scale);
    }
    return pool->mode == POOL_AVERAGE ? mean(sum, count) : sum;
}

static void pool_pixel(struct ethos_u_device *device, const struct pool *pool, int32_t row, int32_t column, int32_t c)
{
    const struct window *const window = &pool->window;
    int64_t sum = 0, most = INT64_MIN;
    int32_t count = 0;
    for (int32_t ky = 0; ky < window->height; ky += window->dilation_y) {
        for (int32_t kx = 0; kx < window->width; kx += window->dilation_x) {
            int32_t y = row * window->stride_y - window->top + ky;
            int32_t x = column * window->stride_x - window->left + kx;
            if (is_pixel(window, &y, &x)) {
                const int64_t value = (int64_t)ethos_u_load(device, &pool->ifm, y, x, c) - pool->ifm.zero_point;
                sum += value;
                most = value > most ? value : most;
                ++count;
            }
        }
    }
    const int32_t result = ethos_u_activated(device, &pool->ofm, pooled(pool, sum, most, count));
    ethos_u_store(device, &pool->ofm, row, column, c, result);
}

static void sum_of_depth(struct ethos_u_device *device, const struct pool *pool, int32_t row, int32_t column)
{
    const int32_t depth = ethos_u_short(device, IFM_DEPTH_M1) + 1;
    int64_t sum = 0;
    for (int32_t c = 0; c < depth; ++c) {
        sum += (int64_t)ethos_u_load(device, &pool->ifm, row, column, c) - pool->ifm.zero_point;
    }
    const int32_t result = ethos_u_activated(device, &pool->ofm, pooled(pool, sum, sum, depth));
    ethos_u_store(device, &pool->ofm, row, column, 0, result);
}

static void pool_column(struct ethos_u_device *device, const struct pool *pool, int32_t row, int32_t column)
{
    if (pool->mode == POOL_SUM_OF_DEPTH) {
        sum_of_depth(device, pool, row, column);
        return;
    }
    for (int32_t c = 0; c < pool->window.ofm_depth && device->status == ETHOS_U_OK; ++c) {
        pool_pixel(device, pool, row, column, c);
    }
}

void ethos_u_pool(struct ethos_u_device *device, int32_t mode)
{
    struct pool pool;
    pool.ifm = ethos_u_ifm(device);
    pool.ofm = ethos_u_ofm(device);
    pool.window = window_of(device);
    pool.mode = mode;
    pool.scale = ethos_u_ofm_scale(device);
    pool.is_scaled = ethos_u_is_scaled_globally(device) && !(mode == POOL_AVERAGE && has_padding(device));
    if (mode == POOL_AVERAGE && !pool.is_scaled && ethos_u_is_scaled_globally(device)
        && (pool.scale.factor != 1 || pool.scale.shift != 0)) {
        ethos_u_fail(device, ETHOS_U_NOT_MODELLED); /* a mean of its own that is scaled as well */
    }
    if (mode < POOL_MAX || mode > POOL_SUM_OF_DEPTH || pool.window.height > 256) {
        ethos_u_fail(device, ETHOS_U_BAD_REGISTER);
    }
    const uint64_t steps = mode == POOL_SUM_OF_DEPTH
        ? (uint64_t)ethos_u_short(device, IFM_DEPTH_M1) + 1
        : (uint64_t)pool.window.height * (uint64_t)pool.window.width * (uint64_t)pool.window.ofm_depth;
    for (int32_t row = 0; row < pool.window.ofm_rows; ++row) {
        for (int32_t column = 0; column < pool.window.ofm_columns; ++column) {
            if (!ethos_u_step(device, steps)) {
                return;
            }
            pool_column(device, &pool, row, column);
        }
    }
}
