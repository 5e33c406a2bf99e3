/* Checks on an AVR: memory from one pool, lines over its first UART; sleeping with interrupts off ends it. */
#include "check.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

#define POOL_BYTES 20000u

static uint8_t pool[POOL_BYTES] __attribute__((aligned(16)));
static uint32_t used;

void check_print(const char *text)
{
    UCSR0B = 1 << TXEN0;
    for (; *text != '\0'; text++) {
        while ((UCSR0A & (1 << UDRE0)) == 0) {
        }
        UDR0 = (uint8_t)*text;
    }
}

void *check_allocate(uint32_t bytes)
{
    uint8_t *const memory = pool + used;

    used += (bytes + 15u) & ~15u;
    return used <= POOL_BYTES ? memory : NULL;
}

void check_free_all(void)
{
    used = 0;
}

/* Before the program ends: simavr stops where nothing can wake it. */
void __attribute__((destructor)) sleep_for_ever(void)
{
    while ((UCSR0A & (1 << UDRE0)) == 0) {
    }
    cli();
    sleep_mode();
}
