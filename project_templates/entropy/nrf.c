/* Random numbers of the generator of nRF51 and nRF52, which is made of thermal noise: with correction of its bias. */
#include "solder_lock.h"

#define RNG(offset) (*(volatile uint32_t *)(0x4000D000u + (offset)))
#define TASKS_START 0x000u
#define TASKS_STOP 0x004u
#define EVENTS_VALRDY 0x100u
#define CONFIG 0x504u
#define VALUE 0x508u
#define CORRECTS_BIAS 1u
#define MOST_LOOKS 10000000u /* a byte takes a tenth of a millisecond, in an emulator on a busy computer longer */

int solder_port_entropy(uint8_t *bytes, uint32_t count)
{
    uint32_t got = 0;
    RNG(CONFIG) = CORRECTS_BIAS;
    RNG(EVENTS_VALRDY) = 0;
    RNG(TASKS_START) = 1;
    for (uint32_t looks = 0; looks < MOST_LOOKS && got < count; looks++) {
        if (RNG(EVENTS_VALRDY) != 0) {
            RNG(EVENTS_VALRDY) = 0;
            bytes[got] = (uint8_t)RNG(VALUE);
            got++;
        }
    }
    RNG(TASKS_STOP) = 1;
    return got != count;
}
