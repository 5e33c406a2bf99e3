/* Random numbers for an emulated board, which has no generator: the computer's, by semihosting (Arm's "Semihosting for
   AArch32 and AArch64", RISC-V's "Semihosting"). A real board has a generator, for which this file is another. */
#include <stddef.h>

#include "solder_lock.h"

#define SYS_OPEN 0x01u
#define SYS_CLOSE 0x02u
#define SYS_READ 0x06u
#define READ_BINARY 1u

static intptr_t call(uintptr_t operation, const uintptr_t *block)
{
#ifdef __riscv
    register uintptr_t a0 __asm__("a0") = operation;
    register const uintptr_t *a1 __asm__("a1") = block;
    __asm__ volatile(".option push\n"
                     ".option norvc\n"
                     ".balign 16\n" /* on one page: these three are read together */
                     "slli x0, x0, 0x1f\n"
                     "ebreak\n"
                     "srai x0, x0, 7\n"
                     ".option pop\n"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return (intptr_t)a0;
#else
    register uintptr_t r0 __asm__("r0") = operation;
    register const uintptr_t *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xAB\n" : "+r"(r0) : "r"(r1) : "memory");
    return (intptr_t)r0;
#endif
}

int solder_port_entropy(uint8_t *bytes, uint32_t count)
{
    static const char path[] = "/dev/urandom";
    const uintptr_t open[] = {(uintptr_t)path, READ_BINARY, sizeof path - 1u};
    const intptr_t file = call(SYS_OPEN, open);
    if (file == -1) {
        return 1;
    }
    const uintptr_t read[] = {(uintptr_t)file, (uintptr_t)bytes, count};
    const uintptr_t close[] = {(uintptr_t)file};
    const intptr_t missing = call(SYS_READ, read);
    (void)call(SYS_CLOSE, close);
    return missing != 0;
}
