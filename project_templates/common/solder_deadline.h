/* What runs may take. A platform with a timer to spare supplies this function; elsewhere nothing watches, and hello
   says so. */
#ifndef SOLDER_DEADLINE_H
#define SOLDER_DEADLINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Unless called again within so many milliseconds, the device stops with SOLDER_FAULT_WATCHDOG; 0: no deadline.
   Returns whether it will. */
int solder_port_deadline(uint32_t milliseconds);

#ifdef __cplusplus
}
#endif

#endif
