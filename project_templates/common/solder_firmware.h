/* What the generated models.c supplies: the models, the arena they share, and the build's identity. */
#ifndef SOLDER_FIRMWARE_H
#define SOLDER_FIRMWARE_H

#include "solder_model.h"

extern const struct solder_model *const solder_models[];
extern const uint32_t solder_model_count;
extern uint8_t solder_arena[]; /* aligned for every model; as large as the largest */
extern const uint32_t solder_arena_bytes;
extern const char solder_build_id[]; /* names this build on the line; at most 40 characters are shown */

#endif
