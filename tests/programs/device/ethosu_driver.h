/* What Arm's driver for Ethos-U declares, as far as regions need it; npu_driver.c has it run jobs on the model. */
#ifndef ETHOSU_DRIVER_H
#define ETHOSU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

struct ethosu_driver;

struct ethosu_driver *ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver *driver);
int ethosu_invoke_v3(
    struct ethosu_driver *driver,
    const void *custom_data,
    const int custom_data_size,
    uint64_t *const base_addr,
    const size_t *base_addr_size,
    const int num_base_addr,
    void *user_arg);

#endif
