/* An inertial sensor that plays recording.c: each fetch is a row of it, and behind the last it fails. */
#include <errno.h>

#include <zephyr/device.h>
#include <zephyr/drivers/sensor.h>
#include <zephyr/kernel.h>

#include "recording.h"

#define DT_DRV_COMPAT solder_fake_inertial

extern struct k_msgq sensor_queue;
static uint32_t next;

static int fetch(const struct device *device, enum sensor_channel channel)
{
    ARG_UNUSED(device);
    ARG_UNUSED(channel);
    while (k_msgq_num_free_get(&sensor_queue) == 0) {
        k_sleep(K_MSEC(1));
    }
    return next++ < recording_rows ? 0 : -ENODATA;
}

static int get(const struct device *device, enum sensor_channel channel, struct sensor_value *value)
{
    ARG_UNUSED(device);
    return sensor_value_from_float(value, recording[next - 1][channel - SENSOR_CHAN_ACCEL_X]);
}

static const struct sensor_driver_api operations = {.sample_fetch = fetch, .channel_get = get};

DEVICE_DT_INST_DEFINE(0, NULL, NULL, NULL, NULL, POST_KERNEL, CONFIG_KERNEL_INIT_PRIORITY_DEVICE, &operations);
