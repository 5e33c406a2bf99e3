/* What the generated models.c supplies: the models, the memory they share, and the build's identity. */
#ifndef SOLDER_FIRMWARE_H
#define SOLDER_FIRMWARE_H

#include "solder_model.h"

#ifdef SOLDER_CARTRIDGES
extern const struct solder_model *solder_models[]; /* the first is replaced by cartridges */
#else
extern const struct solder_model *const solder_models[];
#endif
extern const uint32_t solder_model_count;
/* The memory they work in: in each region as much as the model that needs most of it, aligned for every model. */
extern uint8_t *solder_arenas[];
extern const uint32_t solder_arena_sizes[];
extern const uint32_t solder_arena_count;
extern const char solder_build_id[]; /* names this build on the line; at most 40 characters are shown */

#endif
