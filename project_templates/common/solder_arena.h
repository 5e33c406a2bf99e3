/* Whose data the shared arenas hold, so that a run never starts from inputs it does not have
   and outputs that do not exist are never read. */
#ifndef SOLDER_ARENA_H
#define SOLDER_ARENA_H

#include "solder_firmware.h"
#include "solder_protocol.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of all arenas together. */
uint32_t solder_arena_total(const uint32_t *sizes, uint32_t count);

#ifdef SOLDER_CARTRIDGES
/* Whether there are arenas of these sizes, at multiples of the alignment, a power of two. */
int solder_arena_has_room(const uint32_t *sizes, uint32_t count, uint32_t alignment);
#endif

/* The model with this number, or NULL. */
const struct solder_model *solder_find_model(uint32_t number);

/* Writes a part of an input: from its first byte on, without gaps; going back to write a part again is fine. */
enum solder_status solder_arena_write(uint32_t model, uint32_t input, uint32_t offset, const uint8_t *bytes,
                                      uint32_t count);

#ifdef SOLDER_INPUT_ADDRESS
/* Returns the address of an input and marks it as written: an emulator writes it next. */
enum solder_status solder_arena_input_address(uint32_t model, uint32_t input, const uint8_t **bytes);
#endif

/* Finds a part of an output of the last run. */
enum solder_status solder_arena_read(uint32_t model, uint32_t output, uint32_t offset, uint32_t count,
                                     const uint8_t **bytes);

#ifdef SOLDER_STATES
#define SOLDER_SAVED_HEADER_BYTES 32u /* the head of the states and their checksum */

/* Finds bytes of the model's states, as if they were one after the other: all that follow the offset in one place. */
enum solder_status solder_arena_read_state(uint32_t model, uint32_t offset, const uint8_t **bytes, uint32_t *count);

/* Replaces the states. The header must be the model's; then come their bytes, from the first on, without gaps; at the
   end all must have come, with the header's checksum. Until then, and if anything else is done with an arena, there is
   no state: the next run starts from the model's initial one. */
enum solder_status solder_arena_begin_restore(uint32_t model, const uint8_t *header);
enum solder_status solder_arena_restore(uint32_t model, uint32_t offset, const uint8_t *bytes, uint32_t count);
enum solder_status solder_arena_finish_restore(uint32_t model);
#endif

/* Before a run whose outputs count: all inputs must have been written. A run spends them: their memory is reused. */
enum solder_status solder_arena_begin_run(uint32_t model);
/* Before a run that is only measured: inputs may hold anything. */
enum solder_status solder_arena_begin_trial(uint32_t model);
/* After a run that went well: outputs may be read, and the state carries over to the next run. */
void solder_arena_finish_run(void);
/* No model's data: the next write or trial starts from the model's initial state. */
void solder_arena_forget(void);

#ifdef __cplusplus
}
#endif

#endif
