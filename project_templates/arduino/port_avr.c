/* An AVR's part of the port: timer 1 counts its cycles, the watchdog restarts it. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/wdt.h>

#include "port.h"
#include "solder_port.h"

extern uint8_t __heap_start; /* the end of the variables; nothing here allocates */

#define CYCLES_PER_MS (F_CPU / 1000u)

static volatile uint32_t overflows; /* of 65,536 cycles */

/* After a reset by the watchdog it would go on running, at its shortest time. */
void port_after_reset(void) __attribute__((naked, used, section(".init3")));
void port_after_reset(void)
{
    MCUSR = 0;
    wdt_disable();
}

void port_begin(void)
{
    TIMSK0 = 0; /* millis() is not needed here, and its interrupt would be measured with the model */
    TCCR1A = 0;
    TCCR1B = 1 << CS10;
    TIMSK1 = 1 << TOIE1;
}

ISR(TIMER1_OVF_vect)
{
    overflows++;
}

uint32_t solder_port_ticks(void)
{
    const uint8_t interrupts = SREG;
    uint16_t low;
    uint32_t high;

    cli();
    low = TCNT1;
    high = overflows;
    if ((TIFR1 & (1 << TOV1)) != 0 && low < 0x8000u) {
        high++; /* it has just overflowed, and the interrupt waits */
    }
    SREG = interrupts;
    return high << 16 | low;
}

uint32_t solder_port_milliseconds(void)
{
    const uint8_t interrupts = SREG;
    uint32_t high;

    cli();
    high = overflows;
    SREG = interrupts;
    return (high / CYCLES_PER_MS << 16) + (high % CYCLES_PER_MS << 16) / CYCLES_PER_MS;
}

struct solder_counter solder_port_counter(void)
{
    const struct solder_counter counter = {F_CPU, 32};
    return counter;
}

struct solder_stack solder_port_stack(void)
{
    const struct solder_stack stack = {
        (uint32_t *)&__heap_start, RAMEND + 1u - (uint16_t)(uintptr_t)&__heap_start};
    return stack;
}

void solder_port_reset(void)
{
    wdt_enable(WDTO_15MS);
    for (;;) {
    }
}
