/* What survives a reset: how often the device booted, and the last fault with its registers.

   A platform's fault handler fills a struct solder_fault, calls solder_fault_keep and then solder_port_reset();
   the next hello reports it. Needs no working stack beyond the handler's own. */
#ifndef SOLDER_FAULT_H
#define SOLDER_FAULT_H

#include <stdint.h>

#include "solder_protocol.h" /* enum solder_fault_cause */

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that the startup code neither zeroes nor loads; the linker script places .noinit. */
#ifndef SOLDER_NOINIT
#define SOLDER_NOINIT __attribute__((section(".noinit")))
#endif

struct solder_fault {
    uint32_t cause; /* SOLDER_FAULT_* */
    uint32_t pc;
    uint32_t lr;
    uint32_t sp;
    uint32_t psr;
    uint32_t cfsr;    /* Cortex-M: configurable fault status; elsewhere the cause register, or 0 */
    uint32_t hfsr;    /* Cortex-M: hard fault status, else 0 */
    uint32_t address; /* the address that faulted; 0 if not known */
};

struct solder_kept {
    uint32_t magic;
    uint32_t nonce;      /* of this boot */
    uint32_t boots;      /* 1 after power on */
    uint32_t fault_boot; /* the value of `boots` when the fault struck; 0: no fault since power on */
    struct solder_fault fault;
};
extern struct solder_kept solder_kept;

/* From a fault handler: remembers `fault` over the reset that must follow. */
void solder_fault_keep(const struct solder_fault *fault);

/* Once, early after each start: counts the boot, or starts counting after power on.
   Returns a number that differs from one boot to the next. */
uint32_t solder_fault_boot(uint32_t ticks);

#ifdef __cplusplus
}
#endif

#endif
