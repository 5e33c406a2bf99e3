/* The line's rate, changed at the host's request. Built if the platform defines SOLDER_RATE and supplies the two
   functions below; elsewhere the request is refused by name.

   Both ends start at the rate of the board's file. After a change the device goes back to it when the first thing it
   hears is no frame, or later when eight frames in a row are damaged; the host does the same when it gets no answer. */
#ifndef SOLDER_RATE_H
#define SOLDER_RATE_H

#include <stdint.h>

#include "solder_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The highest rate that the port supports, in bits per second. */
uint32_t solder_port_most_rate(void);

/* Takes that rate; 0: the one to start with. What was sent before has left. */
void solder_port_set_rate(uint32_t bits_per_second);

/* The request. */
uint8_t solder_rate_change(const uint8_t *payload, uint32_t count, struct solder_reply *reply);

/* A frame has come. */
void solder_rate_heard(int is_good);

#ifdef __cplusplus
}
#endif

#endif
