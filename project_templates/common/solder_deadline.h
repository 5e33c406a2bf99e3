/* The deadline of a run. A platform with a spare timer supplies this function; otherwise there is no deadline, and
   hello reports that. */
#ifndef SOLDER_DEADLINE_H
#define SOLDER_DEADLINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Unless called again within that many milliseconds, the device stops with SOLDER_FAULT_WATCHDOG; 0: no deadline.
   Returns whether it will. */
int solder_port_deadline(uint32_t milliseconds);

#ifdef __cplusplus
}
#endif

#endif
