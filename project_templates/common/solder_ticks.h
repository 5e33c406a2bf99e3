/* The time that has passed by the counter. */
#ifndef SOLDER_TICKS_H
#define SOLDER_TICKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ticks from `since` to now, if less than one period. */
uint32_t solder_ticks_since(uint32_t since);

/* Returns after that many ticks (a period or more, too), or at once if the counter stands still while code runs. */
void solder_wait(uint32_t ticks);

/* `ticks` since solder_ticks_begin() with the periods that they lack. */
void solder_ticks_begin(void);
uint64_t solder_whole_ticks(uint64_t ticks);

#ifdef __cplusplus
}
#endif

#endif
