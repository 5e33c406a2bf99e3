/* The port for tests: a host process whose "power" is its environment.

   RESET_AT_BYTE=n      resets when n bytes have been received since power on, once
   KEPT=hex             what SOLDER_NOINIT memory holds after a reset
   BROKEN_RATE=n        does not understand this rate, though it takes it

   A line at a rate that the other end does not have turns bytes into others: each rate has its own key. */
#define _POSIX_C_SOURCE 200809L
#include "solder_port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "solder_fault.h"
#include "solder_lock.h"
#include "solder_rate.h"
#include "solder_server.h"

#define STACK_BYTES 65536u
#ifndef TIMES_FASTER /* than the time passes: what waits by the counter waits less */
#define TIMES_FASTER 1u
#endif

static long reset_at_byte = -1;
static long received;
static uintptr_t stack_top;
static uint8_t rate_key;

/* Zeros look like zeros at any rate. */
static uint8_t shifted(uint8_t byte, uint32_t by)
{
    return byte == 0 ? 0 : (uint8_t)((byte - 1u + by) % 255u + 1u);
}

/* NO_ENTROPY=1: there are no random numbers. */
int solder_port_entropy(uint8_t *bytes, uint32_t count)
{
    FILE *const source = getenv("NO_ENTROPY") == NULL ? fopen("/dev/urandom", "rb") : NULL;
    size_t got = 0;
    if (source != NULL) {
        got = fread(bytes, 1, count, source);
        fclose(source);
    }
    return got != count;
}

uint32_t solder_port_most_rate(void)
{
    return 1000000u;
}

void solder_port_set_rate(uint32_t bits_per_second)
{
    const char *broken = getenv("BROKEN_RATE");
    rate_key = (uint8_t)(bits_per_second / 1000u % 255u);
    if (broken != NULL && (uint32_t)atol(broken) == bits_per_second) {
        rate_key = (uint8_t)((rate_key + 85u) % 255u);
    }
}

uint32_t solder_port_read(uint8_t *buffer, uint32_t capacity)
{
    const size_t wanted = reset_at_byte >= 0 ? 1u : capacity;
    const ssize_t count = read(STDIN_FILENO, buffer, wanted);
    if (count <= 0) {
        return 0;
    }
    for (ssize_t i = 0; i < count; i++) {
        buffer[i] = shifted(buffer[i], 255u - rate_key);
    }
    received += count;
    if (received == reset_at_byte) {
        solder_port_reset();
    }
    return (uint32_t)count;
}

void solder_port_write(const uint8_t *bytes, uint32_t count)
{
    uint8_t coded[64];
    for (uint32_t i = 0; i < count; i++) {
        coded[i] = shifted(bytes[i], rate_key);
    }
    for (uint32_t done = 0; done < count;) {
        const ssize_t sent = write(STDOUT_FILENO, coded + done, count - done);
        if (sent <= 0) {
            _exit(1);
        }
        done += (uint32_t)sent;
    }
}

uint32_t solder_port_ticks(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return TIMES_FASTER * ((uint32_t)now.tv_sec * 1000000u + (uint32_t)(now.tv_nsec / 1000)) & 0xFFFFFFu;
}

uint32_t solder_port_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
}

struct solder_counter solder_port_counter(void)
{
    const struct solder_counter microseconds = {1000000u, 24u};
    return microseconds;
}

struct solder_stack solder_port_stack(void)
{
#ifdef __SANITIZE_ADDRESS__
    const struct solder_stack stack = {NULL, 0};
#else
    const struct solder_stack stack = {(uint32_t *)(stack_top - STACK_BYTES), STACK_BYTES};
#endif
    return stack;
}

void solder_port_reset(void)
{
    char hex[2 * sizeof solder_kept + 1];
    const uint8_t *bytes = (const uint8_t *)&solder_kept;
    for (size_t i = 0; i < sizeof solder_kept; i++) {
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    }
    setenv("KEPT", hex, 1);
    unsetenv("RESET_AT_BYTE");
    execl("/proc/self/exe", "device", (char *)NULL);
    _exit(1);
}

static void restore_kept(const char *hex)
{
    uint8_t *bytes = (uint8_t *)&solder_kept;
    for (size_t i = 0; i < sizeof solder_kept; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        bytes[i] = (uint8_t)byte;
    }
}

int main(void)
{
    const char *kept = getenv("KEPT");
    const char *reset_at = getenv("RESET_AT_BYTE");
    uint32_t here = 0;
    stack_top = (uintptr_t)&here & ~(uintptr_t)3u;
    if (kept != NULL) {
        restore_kept(kept);
    }
    if (reset_at != NULL) {
        reset_at_byte = atol(reset_at);
    }
    solder_server_run();
    return 0;
}
