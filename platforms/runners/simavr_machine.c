/* An AVR microcontroller in libsimavr: runs an ELF file, its first UART on stdin and stdout, until the
   program sleeps with interrupts off or the input ends. usage: simavr_machine MCU HZ ELF [LAST_RAM_ADDRESS] */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>

#define INSTRUCTIONS_BETWEEN_POLLS 500

static int uart_takes_bytes = 1;

static void on_output(avr_irq_t *irq, uint32_t value, void *avr)
{
    const uint8_t byte = (uint8_t)value;

    (void)irq;
    (void)avr;
    if (write(STDOUT_FILENO, &byte, 1) != 1) {
        exit(1); /* nobody listens any more */
    }
}

/* The UART's own queue of received bytes is full, or has room again. */
static void on_flow(avr_irq_t *irq, uint32_t value, void *takes_bytes)
{
    (void)irq;
    (void)value;
    uart_takes_bytes = takes_bytes != NULL;
}

/* simavr's own messages go to stderr: stdout is the line. */
static void log_to_stderr(avr_t *avr, const int level, const char *format, va_list arguments)
{
    (void)avr;
    if (level <= LOG_ERROR) {
        vfprintf(stderr, format, arguments);
    }
}

static void connect_uart(avr_t *avr)
{
    uint32_t flags = 0;

    avr_ioctl(avr, AVR_IOCTL_UART_GET_FLAGS('0'), &flags);
    flags &= ~(uint32_t)(AVR_UART_FLAG_STDIO | AVR_UART_FLAG_POLL_SLEEP);
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    avr_irq_t *const irqs = avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), 0);
    avr_irq_register_notify(irqs + UART_IRQ_OUTPUT, on_output, NULL);
    avr_irq_register_notify(irqs + UART_IRQ_OUT_XON, on_flow, avr);
    avr_irq_register_notify(irqs + UART_IRQ_OUT_XOFF, on_flow, NULL);
}

/* Hands on what has come; returns 0 when the input has ended. */
static int take_input(avr_t *avr)
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    avr_irq_t *const uart = avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
    uint8_t byte;

    while (uart_takes_bytes && poll(&input, 1, 0) > 0) {
        if (read(STDIN_FILENO, &byte, 1) != 1) {
            return 0;
        }
        avr_raise_irq(uart, byte);
    }
    return 1;
}

int main(int argc, char **argv)
{
    elf_firmware_t firmware = {0};

    avr_global_logger_set(log_to_stderr);
    avr_t *const avr = argc >= 4 ? avr_make_mcu_by_name(argv[1]) : NULL;
    int state = cpu_Running;

    if (avr == NULL || elf_read_firmware(argv[3], &firmware) != 0) {
        fprintf(stderr, "usage: simavr_machine MCU HZ ELF [LAST_RAM_ADDRESS]\n");
        return 2;
    }
    if (argc > 4) {
        avr->ramend = (uint16_t)strtoul(argv[4], NULL, 0);
    }
    avr_init(avr);
    firmware.frequency = (uint32_t)strtoul(argv[2], NULL, 0);
    avr_load_firmware(avr, &firmware);
    connect_uart(avr);
    while (state != cpu_Done && state != cpu_Crashed && take_input(avr)) {
        for (int i = 0; i < INSTRUCTIONS_BETWEEN_POLLS && state != cpu_Done && state != cpu_Crashed; i++) {
            state = avr_run(avr);
        }
    }
    return state == cpu_Crashed ? 70 : 0;
}
