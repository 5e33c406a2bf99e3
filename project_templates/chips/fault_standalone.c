/* Reports a processor fault on the UART and restarts the board, because no debugger may be attached. */
#include "board.h"
#include "solder_port.h"

#define FRAME_WORDS 8u /* r0-r3, r12, lr, pc, psr */
#define FRAME_LR 5u
#define FRAME_PC 6u

void board_fault(const uint32_t *frame) __attribute__((used));
void board_on_fault(uint32_t pc, uint32_t lr);

static void tell(const char *text)
{
    while (*text != '\0') {
        uart_write((const uint8_t *)text++, 1);
    }
}

static void tell_address(uint32_t address)
{
    static const char digits[] = "0123456789abcdef";

    tell("0x");
    for (int32_t shift = 28; shift >= 0; shift -= 4) {
        uart_write((const uint8_t *)&digits[(address >> shift) & 15u], 1);
    }
}

/* Replace it in your own file. 0: not known. The board restarts when it returns. */
__attribute__((weak)) void board_on_fault(uint32_t pc, uint32_t lr)
{
    tell("fault at ");
    tell_address(pc);
    tell(", called from ");
    tell_address(lr);
    tell("\n");
}

void board_fault(const uint32_t *frame)
{
    const int is_whole = frame >= board_stack_low && frame + FRAME_WORDS <= board_stack_high;

    board_on_fault(is_whole ? frame[FRAME_PC] : 0, is_whole ? frame[FRAME_LR] : 0);
    solder_port_reset();
}
