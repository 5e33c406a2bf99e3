/* What a run may take: the watchdog's interrupt counts it once a second, and the last one is a fault. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/wdt.h>

#include "solder_deadline.h"
#include "solder_fault.h"
#include "solder_port.h"

#define PERIOD_MS 1000u
#define PERIOD_1S (1 << WDP2 | 1 << WDP1)
#ifdef __AVR_3_BYTE_PC__
#define PC_BYTES 3u
#else
#define PC_BYTES 2u
#endif

uint16_t port_periods_left __attribute__((used));

void port_deadline_passed(const uint8_t *sp) __attribute__((used, noreturn));

int solder_port_deadline(uint32_t milliseconds)
{
    const uint8_t interrupts = SREG;

    cli();
    wdt_disable();
    if (milliseconds != 0) {
        const uint32_t periods = milliseconds / PERIOD_MS + 1u;

        port_periods_left = periods < 0xFFFFu ? (uint16_t)periods : 0xFFFFu;
        wdt_reset();
        WDTCSR = 1 << WDCE | 1 << WDE; /* the next write may change it */
        WDTCSR = 1 << WDE | 1 << WDIE | PERIOD_1S;
    }
    SREG = interrupts;
    return 1;
}

/* Requests the next interrupt: otherwise the watchdog would reset the chip, as it does while interrupts are off.
   Leaves the stack as it was when it struck: the return address is on top. */
ISR(WDT_vect, ISR_NAKED)
{
    __asm__ volatile("push r24\n"
                     "in r24, __SREG__\n"
                     "push r24\n"
                     "push r25\n"
                     "lds r24, port_periods_left\n"
                     "lds r25, port_periods_left + 1\n"
                     "sbiw r24, 1\n"
                     "sts port_periods_left, r24\n"
                     "sts port_periods_left + 1, r25\n"
                     "breq 1f\n"
                     "lds r24, %[control]\n"
                     "ori r24, %[again]\n"
                     "sts %[control], r24\n"
                     "pop r25\n"
                     "pop r24\n"
                     "out __SREG__, r24\n"
                     "pop r24\n"
                     "reti\n"
                     "1: pop r25\n"
                     "pop r24\n"
                     "pop r24\n"
                     "in r24, __SP_L__\n"
                     "in r25, __SP_H__\n"
                     "clr __zero_reg__\n"
                     "jmp port_deadline_passed\n"
                     :
                     : [control] "n"(_SFR_MEM_ADDR(WDTCSR)), [again] "n"(1 << WDIE));
}

/* `sp` points below the address, whose highest byte comes first; the address counts words. */
void port_deadline_passed(const uint8_t *sp)
{
    struct solder_fault fault = {SOLDER_FAULT_WATCHDOG, 0, 0, (uint16_t)(uintptr_t)sp, 0, 0, 0, 0};

    for (uint8_t i = 1; i <= PC_BYTES; i++) {
        fault.pc = fault.pc << 8 | sp[i];
    }
    fault.pc *= 2u;
    solder_fault_keep(&fault);
    solder_port_reset();
    for (;;) {
    }
}
