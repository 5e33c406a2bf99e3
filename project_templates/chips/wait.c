/* Waits for a bit of the hardware's, and not for ever: a crystal may be missing. */
#include "board.h"

#define MOST_POLLS 50000u /* some milliseconds; what is waited for takes less than one, a crystal two */

int board_becomes(const volatile uint32_t *place, uint32_t mask, uint32_t wanted)
{
    for (uint32_t polls = 0; polls < MOST_POLLS; polls++) {
        if ((*place & mask) == wanted) {
            return 1;
        }
    }
    return 0;
}
