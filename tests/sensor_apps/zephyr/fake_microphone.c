/* A microphone that plays recording.c: each read is a block of it, and behind the last there is no more. */
#include <errno.h>
#include <string.h>

#include <zephyr/audio/dmic.h>
#include <zephyr/device.h>
#include <zephyr/kernel.h>

#include "recording.h"

#define DT_DRV_COMPAT solder_fake_microphone

extern struct k_msgq sensor_queue;
static struct pcm_stream_cfg stream;
static uint32_t next;

static int configure(const struct device *device, struct dmic_cfg *config)
{
    ARG_UNUSED(device);
    stream = config->streams[0];
    return stream.pcm_rate == 16000 && stream.pcm_width == 16 ? 0 : -EINVAL;
}

static int trigger(const struct device *device, enum dmic_trigger command)
{
    ARG_UNUSED(device);
    return command == DMIC_TRIGGER_START ? 0 : -EINVAL;
}

static int read(const struct device *device, uint8_t stream_number, void **buffer, size_t *size, int32_t timeout_ms)
{
    ARG_UNUSED(device);
    ARG_UNUSED(stream_number);
    ARG_UNUSED(timeout_ms);
    while (k_msgq_num_free_get(&sensor_queue) == 0) {
        k_sleep(K_MSEC(1)); /* an emulator's time is not a board's: rows come when there is room */
    }
    if (next == recording_rows) {
        return -ENODATA;
    }
    if (k_mem_slab_alloc(stream.mem_slab, buffer, K_NO_WAIT) != 0) {
        return -ENOMEM;
    }
    memcpy(*buffer, recording[next++], stream.block_size);
    *size = stream.block_size;
    return 0;
}

static const struct _dmic_ops operations = {.configure = configure, .trigger = trigger, .read = read};

DEVICE_DT_INST_DEFINE(0, NULL, NULL, NULL, NULL, POST_KERNEL, CONFIG_KERNEL_INIT_PRIORITY_DEVICE, &operations);
