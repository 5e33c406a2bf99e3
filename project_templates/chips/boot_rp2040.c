/* The first 256 bytes of an RP2040's flash: its boot ROM copies them to RAM and runs them if their checksum is right. They
   set up the slowest flash read mode, which every flash chip supports, and start the program after them (RP2040
   datasheet, 2.8.1.3 and 4.10). A half-word is an instruction, as its comment says. */
#include <stdint.h>

static const struct {
    uint16_t code[24];
    uint32_t words[5];
    uint32_t rest[46];
    uint32_t checksum; /* CRC-32 of the bytes before it, polynomial 0x04C11DB7, from all ones, the highest bit first */
} boot __attribute__((used, section(".boot"))) = {
    {
        0x480Bu,          /* ldr r0, ssi */
        0x2100u,          /* movs r1, #0 */
        0x6081u,          /* str r1, [r0, #8] -- the controller is off while it is changed */
        0x2104u,          /* movs r1, #4 */
        0x6141u,          /* str r1, [r0, #20] -- a quarter of the core's clock */
        0x490Au,          /* ldr r1, words */
        0x6001u,          /* str r1, [r0] -- 32 bits at a time, after a command and an address */
        0x2100u,          /* movs r1, #0 */
        0x6041u,          /* str r1, [r0, #4] -- and one word of them */
        0x4909u,          /* ldr r1, read */
        0x30F4u,          /* adds r0, #244 */
        0x6001u,          /* str r1, [r0] -- the command 03: read, 24 bits of address */
        0x38F4u,          /* subs r0, #244 */
        0x2101u,          /* movs r1, #1 */
        0x6081u,          /* str r1, [r0, #8] -- on */
        0x4807u,          /* ldr r0, program */
        0x4907u,          /* ldr r1, vtor */
        0x6008u,          /* str r0, [r1] -- the program's vectors */
        0x6801u,          /* ldr r1, [r0] */
        0xF381u, 0x8808u, /* msr msp, r1 -- its stack */
        0x6841u,          /* ldr r1, [r0, #4] */
        0x4708u,          /* bx r1 -- and its start */
        0x0000u,          /* movs r0, r0 -- aligns the words */
    },
    {
        0x18000000u, /* ssi: the controller of the flash */
        0x001F0300u, /* words */
        0x03000218u, /* read */
        0x10000100u, /* program */
        0xE000ED08u, /* vtor */
    },
    {0},
    0x5CF99C60u,
};
