/* The way from a region to the device, and to a trap where the device gives no results. */
#include "ethos_u_invoke.h"

struct ethos_u_stop ethos_u_stopped;

void ethos_u_copy(void *target, const void *source, int32_t size)
{
    int8_t *const to = target;
    const int8_t *const from = source;
    for (int32_t i = 0; i < size; ++i) {
        to[i] = from[i];
    }
}

/* Each cause traps in a function of its own, since the report of a fault names the function. */
#if defined(__GNUC__)
#define STOP(name, cause)                           \
    static __attribute__((noinline)) void name(void) \
    {                                               \
        ethos_u_stopped.end = (cause);              \
        __builtin_trap();                           \
    }
#else
#define STOP(name, cause)              \
    static void name(void)             \
    {                                  \
        ethos_u_stopped.end = (cause); \
        for (;;) {                     \
        }                              \
    }
#endif

STOP(ethos_u_has_no_commands, ETHOS_U_NO_COMMANDS)
STOP(ethos_u_is_another_npu, ETHOS_U_OTHER_NPU)
STOP(ethos_u_does_not_reset, ETHOS_U_NO_RESET)
STOP(ethos_u_never_finishes, ETHOS_U_LATE)
STOP(ethos_u_has_a_bus_error, ETHOS_U_BUS_ERROR)
STOP(ethos_u_refuses_a_command, ETHOS_U_COMMAND_ERROR)
STOP(ethos_u_has_a_watchdog_fault, ETHOS_U_WATCHDOG_FAULT)
STOP(ethos_u_has_an_ecc_fault, ETHOS_U_ECC_FAULT)
STOP(ethos_u_stopped_early, ETHOS_U_STOPPED_EARLY)
STOP(ethos_u_refused, ETHOS_U_REFUSED)

void ethos_u_invoke(const struct ethos_u_memory *memory)
{
    ethos_u_stopped = ethos_u_execute(memory);
    switch (ethos_u_stopped.end) {
    case ETHOS_U_ENDED:
        break;
    case ETHOS_U_NO_COMMANDS:
        ethos_u_has_no_commands();
        break;
    case ETHOS_U_OTHER_NPU:
        ethos_u_is_another_npu();
        break;
    case ETHOS_U_NO_RESET:
        ethos_u_does_not_reset();
        break;
    case ETHOS_U_LATE:
        ethos_u_never_finishes();
        break;
    case ETHOS_U_BUS_ERROR:
        ethos_u_has_a_bus_error();
        break;
    case ETHOS_U_COMMAND_ERROR:
        ethos_u_refuses_a_command();
        break;
    case ETHOS_U_WATCHDOG_FAULT:
        ethos_u_has_a_watchdog_fault();
        break;
    case ETHOS_U_ECC_FAULT:
        ethos_u_has_an_ecc_fault();
        break;
    case ETHOS_U_STOPPED_EARLY:
        ethos_u_stopped_early();
        break;
    default:
        ethos_u_refused();
        break;
    }
}
