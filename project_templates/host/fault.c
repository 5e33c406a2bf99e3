/* A crash of the process restarts it, and the new one knows what happened to the old one.

   What firmware keeps in memory over a reset is handed on in an environment variable: exec leaves nothing else. */
#define _GNU_SOURCE /* the registers in ucontext.h */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "host.h"
#include "solder_deadline.h"
#include "solder_fault.h"
#include "solder_port.h"

#define VARIABLE "SOLDER_KEPT="
#define PREFIX (sizeof VARIABLE - 1u)
#define ENVIRONMENT 512
#define STACK_END_BYTES (1u << 20)

extern char **environ;

static const char *program;
static uintptr_t stack_top;
static char kept[PREFIX + 2u * sizeof solder_kept + 1u];
static uint8_t signal_stack[16384];

struct cause {
    int signal;
    uint32_t fault;
};
static const struct cause causes[] = {
    {SIGSEGV, SOLDER_FAULT_MEMORY},
    {SIGBUS, SOLDER_FAULT_BUS},
    {SIGILL, SOLDER_FAULT_USAGE},
    {SIGFPE, SOLDER_FAULT_USAGE},
    {SIGABRT, SOLDER_FAULT_ABORT},
    {SIGALRM, SOLDER_FAULT_WATCHDOG},
};
#define CAUSES (sizeof causes / sizeof causes[0])

static void pack_kept(void)
{
    const uint8_t *bytes = (const uint8_t *)&solder_kept;

    memcpy(kept, VARIABLE, PREFIX);
    for (size_t i = 0; i < sizeof solder_kept; i++) {
        kept[PREFIX + 2u * i] = (char)('a' + (bytes[i] >> 4));
        kept[PREFIX + 2u * i + 1u] = (char)('a' + (bytes[i] & 15));
    }
}

static void unpack_kept(const char *text)
{
    uint8_t *bytes = (uint8_t *)&solder_kept;

    if (text == NULL || strlen(text) != 2u * sizeof solder_kept) {
        return;
    }
    for (size_t i = 0; i < sizeof solder_kept; i++) {
        bytes[i] = (uint8_t)((text[2u * i] - 'a') << 4 | (text[2u * i + 1u] - 'a'));
    }
}

/* Runs in signal handlers too: nothing here but what POSIX allows there. */
void solder_port_reset(void)
{
    static char *environment[ENVIRONMENT + 2];
    char *const argv[] = {(char *)(uintptr_t)program, NULL};
    size_t count = 0;
    sigset_t none;

    (void)solder_port_deadline(0); /* exec hands on a timer that runs */
    pack_kept();
    for (char **entry = environ; *entry != NULL && count < ENVIRONMENT; entry++) {
        if (strncmp(*entry, VARIABLE, PREFIX) != 0) {
            environment[count++] = *entry;
        }
    }
    environment[count] = kept;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); /* exec would keep this signal blocked */
    execve(program, argv, environment);
    _exit(70);
}

/* A stack overflow is an access near the end that the system allows the stack. */
static int is_at_stack_end(uintptr_t address)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_STACK, &limit) == 0 && address < stack_top &&
           stack_top - address > limit.rlim_cur - STACK_END_BYTES &&
           stack_top - address < limit.rlim_cur + STACK_END_BYTES;
}

/* Where it struck, as an address in the program's file; 0 on machines this does not know. */
static uint32_t program_counter(const void *context)
{
#ifdef __linux__
    extern const char __executable_start[];
    const ucontext_t *at = context;
#if defined __x86_64__
    return (uint32_t)((uintptr_t)at->uc_mcontext.gregs[REG_RIP] - (uintptr_t)__executable_start);
#elif defined __aarch64__
    return (uint32_t)((uintptr_t)at->uc_mcontext.pc - (uintptr_t)__executable_start);
#endif
#endif
    (void)context;
    return 0;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct solder_fault fault = {SOLDER_FAULT_HARD, 0, 0, 0, 0, 0, 0, 0};

    if (number == SIGALRM && !host_deadline_passed()) {
        return;
    }
    fault.pc = program_counter(context);
    for (size_t i = 0; i < CAUSES; i++) {
        if (causes[i].signal == number) {
            fault.cause = causes[i].fault;
        }
    }
    if (number == SIGSEGV && is_at_stack_end((uintptr_t)info->si_addr)) {
        fault.cause = SOLDER_FAULT_STACK;
    }
    fault.address = (uint32_t)(uintptr_t)info->si_addr;
    solder_fault_keep(&fault);
    solder_port_reset();
}

void host_init(const char *path)
{
    const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

    program = path;
    stack_top = (uintptr_t)&stack;
    unpack_kept(getenv("SOLDER_KEPT"));
    sigaltstack(&stack, NULL); /* the fault may be that the stack is full */
    action.sa_sigaction = on_signal;
    for (size_t i = 0; i < CAUSES; i++) {
        sigaction(causes[i].signal, &action, NULL);
    }
}
