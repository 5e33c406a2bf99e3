/* Two slots for cartridges in a file next to the program, which keeps them between starts. */
#define _DEFAULT_SOURCE
#include "cartridge_slots.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "solder_cartridge.h"

#define BYTES SOLDER_CARTRIDGE_SLOT_BYTES

struct solder_slots solder_slots;

/* New bytes of a file are zeros, in which there is no cartridge. */
void host_open_slots(const char *program)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.slots", program);
    const int file = open(path, O_RDWR | O_CREAT, 0600);
    uint8_t *memory = MAP_FAILED;

    if (file >= 0 && ftruncate(file, 2 * (off_t)BYTES) == 0) {
        memory = mmap(NULL, 2u * (size_t)BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, file, 0);
    }
    if (memory == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    solder_slots.base[0] = memory;
    solder_slots.base[1] = memory + BYTES;
    solder_slots.bytes = BYTES;
}

int solder_port_erase(uint32_t slot)
{
    memset(solder_slots.base[slot], 0xFF, BYTES);
    return 0;
}

int solder_port_program(uint8_t *to, const uint8_t *bytes, uint32_t count)
{
    memcpy(to, bytes, count);
    return 0;
}

void solder_port_sync_code(const uint8_t *code, uint32_t bytes)
{
    char *const low = (char *)(uintptr_t)code;
    __builtin___clear_cache(low, low + bytes);
}
