/* Arm's ethos-u-core-driver runs a region's commands. Firmware has started it by ethosu_init(), and the NPU's interrupt
   calls ethosu_irq_handler(). */
#include "ethos_u_invoke.h"
#include "ethosu_driver.h"

#include <stddef.h>

struct ethos_u_stop ethos_u_execute(const struct ethos_u_memory *memory)
{
    uint64_t bases[] = { (uint64_t)(uintptr_t)memory->constants, (uint64_t)(uintptr_t)memory->scratch };
    const size_t sizes[] = { (size_t)memory->constants_bytes, (size_t)memory->scratch_bytes };
    struct ethosu_driver *const driver = ethosu_reserve_driver();
    const int answer = ethosu_invoke_v3(driver, memory->commands, memory->commands_bytes, bases, sizes, 2, 0);
    const struct ethos_u_stop stop = { answer == 0 ? ETHOS_U_ENDED : ETHOS_U_REFUSED, (uint32_t)answer, 0u };
    ethosu_release_driver(driver);
    return stop;
}
