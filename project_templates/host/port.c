/* The device runtime's port to a process: stdin and stdout are the line, the system's clock is the counter. */
#define _POSIX_C_SOURCE 200112L
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "solder_port.h"

#define NANOSECONDS 1000000000u

uint32_t solder_port_read(uint8_t *buffer, uint32_t capacity)
{
    ssize_t count;

    do {
        count = read(STDIN_FILENO, buffer, capacity);
    } while (count < 0 && errno == EINTR);
    return count > 0 ? (uint32_t)count : 0;
}

void solder_port_write(const uint8_t *bytes, uint32_t count)
{
    while (count > 0) {
        const ssize_t sent = write(STDOUT_FILENO, bytes, count);

        if (sent < 0 && errno != EINTR) {
            _exit(1); /* the host is gone */
        }
        if (sent > 0) {
            bytes += sent;
            count -= (uint32_t)sent;
        }
    }
}

uint32_t solder_port_ticks(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec);
}

uint32_t solder_port_milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u);
}

struct solder_counter solder_port_counter(void)
{
    const struct solder_counter counter = {NANOSECONDS, 32};
    return counter;
}

struct solder_stack solder_port_stack(void)
{
    const struct solder_stack unknown = {0, 0}; /* the system's, and it grows */
    return unknown;
}
