/* A full stack cannot hold the registers of the fault that it causes, but its calls are still on it. */
#ifndef LAST_CALL_H
#define LAST_CALL_H

#include <stdint.h>

/* The innermost return address on the stack from `low` to `high`, in a program whose code is between the two other
   addresses; 0 if there is none. */
uint32_t last_call(const uint32_t *low, const uint32_t *high, uint32_t code_low, uint32_t code_high);

#endif
