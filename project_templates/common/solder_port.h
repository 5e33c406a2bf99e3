/* What a platform supplies to the device runtime: seven functions, called from one thread only.

   main() does what the hardware needs and then calls solder_server_run() (solder_server.h), which returns
   only when solder_port_read reports the end of input (a host process whose stdin closed).
   The generated models.c supplies the rest: see solder_firmware.h. Fault handlers: see solder_fault.h. */
#ifndef SOLDER_PORT_H
#define SOLDER_PORT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Waits until at least one byte has come (sleeping or polling, as the platform likes) and returns how many
   bytes were stored, at most `capacity`; 0 means end of input and ends the server.
   The host sends one frame and then waits for the reply, so a UART may be polled without an interrupt:
   the runtime needs well under one byte time at 115200 baud between two calls. */
uint32_t solder_port_read(uint8_t *buffer, uint32_t capacity);

/* Sends all `count` bytes, at most 64 at a time. Returns when the hardware has them, not when a queue has:
   an interrupt that sends later would disturb the measurement that follows. */
void solder_port_write(const uint8_t *bytes, uint32_t count);

/* A free-running counter, counting up, wrapping to 0 after `bits` bits. */
uint32_t solder_port_ticks(void);

struct solder_counter {
    uint32_t hz;   /* ticks in a second */
    uint32_t bits; /* width, 1 to 32 */
};
struct solder_counter solder_port_counter(void);

/* A slow clock, at least while a deadline is set (solder_deadline.h): it shows how often the counter wrapped, so it
   must be true to a quarter of the counter's period. */
uint32_t solder_port_milliseconds(void);

/* The stack the server and the models run on; bytes = 0 if not known (then it is not measured). */
struct solder_stack {
    uint32_t *low; /* the lowest address, word aligned; the stack grows down to it */
    uint32_t bytes;
};
struct solder_stack solder_port_stack(void);

/* Restarts the device as after power on, except that memory in SOLDER_NOINIT keeps its content.
   Does not return. A host process restarts its own program with the same stdin and stdout. */
void solder_port_reset(void);

#ifdef __cplusplus
}
#endif

#endif
