/* Requests about registered functions: which there are, and calls of them. */
#ifndef SOLDER_CALL_H
#define SOLDER_CALL_H

#include <stdint.h>

#include "solder_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A function's name and signature. */
uint8_t solder_call_describe(const uint8_t *payload, uint32_t count, struct solder_reply *reply);

/* A call, which may take `deadline_ms`. The payload is: the function's number in 16 bits, the number of arguments in
   16 bits, for each argument its type in 8 bits, its kind in 8, two of nothing, and in 32 its count (of an array that
   follows) or handle (of one in free RAM); then scalars and arrays, each from a multiple of 8 bytes on. */
uint8_t solder_call_by_number(const uint8_t *payload, uint32_t count, struct solder_reply *reply, uint32_t deadline_ms);

#ifdef __cplusplus
}
#endif

#endif
