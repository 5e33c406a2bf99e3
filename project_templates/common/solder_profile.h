/* What each layer of one run costs and computes; needs a model built with SOLDER_LAYER_HOOK. */
#ifndef SOLDER_PROFILE_H
#define SOLDER_PROFILE_H

#include <stdint.h>

#include "solder_firmware.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef SOLDER_LAYER_HOOK
#define SOLDER_CAN_PROFILE 1
#else
#define SOLDER_CAN_PROFILE 0
#endif
#define SOLDER_PROFILE_ENTRY_BYTES 12u /* ticks in 64 bits, CRC-32 of all rows the layer wrote, in order */

/* Runs the model once and fills `entries` for `count` layers from `first` on (bytes, little endian).
   Returns the model's code. */
int32_t solder_profile_run(const struct solder_model *model, uint32_t first, uint32_t count, uint8_t *entries,
                           uint32_t deadline_ms);

#ifdef __cplusplus
}
#endif

#endif
