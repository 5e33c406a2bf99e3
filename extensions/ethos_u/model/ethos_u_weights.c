/* The order of weights in a stream: that in which the device needs them. */
#include "ethos_u_device.h"
#include "ethos_u_stream.h"

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t rounded_up(int32_t value, int32_t step)
{
    return (value + step - 1) / step * step;
}

/* Where the weights that are decoded belong. */
struct reader {
    struct ethos_u_device *device;
    const struct ethos_u_filter *filter;
    struct ethos_u_stream stream;
    int32_t first, count; /* channels that are kept */
};

/* One weight of the stream; those of padding and of other channels are dropped. */
static void place_weight(struct reader *reader, int32_t y, int32_t x, int32_t z, int32_t channel)
{
    const struct ethos_u_filter *const filter = reader->filter;
    const int32_t weight = ethos_u_next_weight(&reader->stream);
    const int32_t place = channel - reader->first;
    if (y < filter->height && x < filter->width && z < filter->depth && place >= 0 && place < reader->count
        && channel < filter->channels) {
        const int32_t row = (y * filter->width + x) * filter->depth + z;
        reader->device->job->weights[(int64_t)row * reader->count + place] = (int16_t)weight;
    }
}

/* A part of the filter that the device walks at once: of at most 8 x 8 taps, and a block of inputs and channels. */
struct part {
    int32_t y, x, height, width;
    int32_t z, depth;
    int32_t channel, channels;
};

static void read_element(struct reader *reader, const struct part *part, int32_t element, int32_t z, int32_t channel)
{
    const int32_t ofm_depth = (int32_t)reader->device->ofm_ublock_depth;
    const int32_t ifm_depth = reader->filter->is_depthwise ? 1 : (int32_t)reader->device->ifm_ublock_depth;
    const int32_t row = element / part->width;
    const int32_t y = row < part->height ? part->y + row : reader->filter->height; /* padding */
    const int32_t x = part->x + element % part->width;
    for (int32_t o = 0; o < ofm_depth; ++o) {
        for (int32_t i = 0; i < ifm_depth; ++i) {
            place_weight(reader, y, x, part->z + z + i, part->channel + channel + o);
        }
    }
}

static int32_t elements_of(const struct ethos_u_filter *filter, const struct part *part)
{
    const int32_t elements = part->height * part->width;
    if (filter->is_part_kernel_first) {
        return rounded_up(elements, filter->ifm_bits == 16 ? 2 : 4);
    }
    return filter->is_depthwise ? rounded_up(elements, 4) : elements;
}

static void read_part(struct reader *reader, const struct part *part)
{
    const int32_t ofm_step = (int32_t)reader->device->ofm_ublock_depth;
    const int32_t ifm_step = (int32_t)reader->device->ifm_ublock_depth;
    const int32_t elements = elements_of(reader->filter, part);
    const int32_t outer = reader->filter->is_part_kernel_first ? part->depth : 1;
    const int32_t inner = reader->filter->is_part_kernel_first ? 1 : part->depth;
    for (int32_t outer_z = 0; outer_z < outer; outer_z += ifm_step) {
        for (int32_t channel = 0; channel < part->channels; channel += ofm_step) {
            if (reader->stream.is_corrupted || !ethos_u_step(reader->device, (uint64_t)elements)) {
                return;
            }
            for (int32_t element = 0; element < elements; ++element) {
                for (int32_t inner_z = 0; inner_z < inner; inner_z += ifm_step) {
                    read_element(reader, part, element, outer_z + inner_z, channel);
                }
            }
        }
    }
}

static void read_taps(struct reader *reader, struct part *part)
{
    const struct ethos_u_filter *const filter = reader->filter;
    const int32_t most_height = 8 / filter->dilation_y, most_width = 8 / filter->dilation_x;
    for (part->y = 0; part->y < filter->height; part->y += most_height) {
        part->height = least(filter->height - part->y, most_height);
        for (part->x = 0; part->x < filter->width; part->x += most_width) {
            part->width = least(filter->width - part->x, most_width);
            read_part(reader, part);
        }
    }
}

static void read_all(struct reader *reader)
{
    const struct ethos_u_filter *const filter = reader->filter;
    const int32_t depth = filter->is_depthwise ? 1 : filter->depth;
    const int32_t block = filter->is_part_kernel_first || filter->ifm_bits == 16 ? 16 : 32;
    struct part part = { 0 };
    for (part.channel = 0; part.channel < filter->channels; part.channel += filter->block_depth) {
        part.channels = least(filter->block_depth, filter->channels - part.channel);
        for (part.z = 0; part.z < depth && !reader->stream.is_corrupted; part.z += block) {
            part.depth = filter->is_part_kernel_first ? least(block, depth - part.z) : block;
            if (filter->is_depthwise) {
                part.depth = (int32_t)reader->device->ifm_ublock_depth;
            }
            read_taps(reader, &part);
        }
    }
}

void ethos_u_decode(struct ethos_u_device *device, const struct ethos_u_filter *filter, int32_t first, int32_t count)
{
    const uint64_t size = ethos_u_long(device, WEIGHT_LENGTH) & 0xFFFFFFFF;
    const uint8_t *const bytes
        = ethos_u_read(device, ethos_u_short(device, WEIGHT_REGION), ethos_u_long(device, WEIGHT_BASE), size);
    struct reader reader = { 0 };
    if (!bytes) {
        return;
    }
    reader.device = device;
    reader.filter = filter;
    reader.first = first;
    reader.count = count;
    reader.stream.bits.bytes = bytes;
    reader.stream.bits.end = 8 * size;
    read_all(&reader);
    if (reader.stream.is_corrupted) {
        ethos_u_fail(device, ETHOS_U_BAD_WEIGHTS);
    }
}
