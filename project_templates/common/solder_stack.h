/* How much stack is used: by all, and by runs of models. */
#ifndef SOLDER_STACK_H
#define SOLDER_STACK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* At start and before runs: marks the free stack. */
void solder_stack_paint(void);
/* After runs whose stack began at `top`. Using all of it is an overflow, and the device restarts. */
void solder_stack_after_runs(const volatile void *top);

/* Bytes of stack ever used, by all, as seen when this is called and after runs; and the most that runs used by
   themselves. 0: not known. */
uint32_t solder_stack_used(void);
uint32_t solder_stack_used_by_runs(void);

#ifdef __cplusplus
}
#endif

#endif
