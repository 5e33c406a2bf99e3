/* The loader in a process, with memory that behaves as flash does and power that goes at a chosen byte.

   update_main power OLD NEW     an update interrupted at every byte that is erased or written
   update_main flip OLD NEW      every bit of a cartridge changed
   update_main cut OLD NEW       every length of it
   update_main try FILE...       the status of an update with each, with nothing loaded before
   update_main take OLD FILE...  what is said of each, and which model runs then
   update_main fail OLD NEW      an update in which memory fails to be erased or written, at each call
   update_main gate OLD NEW      requests in states that do not allow them
   update_main back OLD NEW      back to the cartridge before, interrupted at many bytes, and as a whole
   update_main rot OLD BAD       the slot that runs decays while a cartridge is tried that does not pass

   The models are those of firmware.c. With COPIED the weights are copied to RAM. */
#include "firmware.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solder_cartridge.h"
#include "solder_firmware.h"
#include "solder_port.h"

#define CHUNK 100u
#define STATUSES 64

static jmp_buf end_of_power;
static int interrupts; /* whenever memory is written */
static uint8_t *rots;  /* a byte of the slot that runs, when a cartridge is tried */

/* Requests that the state does not allow: each is refused, and no byte changes. */
static void require_refusals(const char *when, int may_begin)
{
    static const uint8_t evil[] = {0xEE, 0xEE, 0xEE, 0xEE};
    static uint8_t kept[2 * SLOT_BYTES];
    const uint32_t slot = solder_cartridge_slot;
    memcpy(kept, solder_slots.base[0], sizeof kept);
    require(solder_cartridge_take(0, evil, sizeof evil) == SOLDER_NO_UPDATE, when, 1);
    require(solder_cartridge_take(0, evil, 0) == SOLDER_NO_UPDATE, when, 2);
    require(solder_cartridge_take(100, evil, sizeof evil) == SOLDER_NO_UPDATE, when, 3);
    require(solder_cartridge_finish() == SOLDER_NO_UPDATE, when, 4);
    require(may_begin || solder_cartridge_begin() == SOLDER_NO_UPDATE, when, 5);
    require(may_begin || solder_cartridge_previous() == SOLDER_NO_UPDATE, when, 5);
    require(memcmp(kept, solder_slots.base[0], sizeof kept) == 0 && solder_cartridge_slot == slot, when, 6);
}

void before_memory(void)
{
    if (interrupts) {
        require_refusals("while memory is written", 0);
    }
}

void after_record(const uint8_t *record)
{
    (void)record;
    if (rots != NULL) {
        *rots ^= 1u;
        rots = NULL;
    }
}

void power_lost(void)
{
    longjmp(end_of_power, 1);
}

struct solder_stack solder_port_stack(void)
{
    const struct solder_stack stack = {NULL, 4096};
    return stack;
}

/* The server is linked and not used. */
uint32_t solder_port_read(uint8_t *buffer, uint32_t capacity)
{
    (void)buffer;
    (void)capacity;
    return 0;
}
void solder_port_write(const uint8_t *bytes, uint32_t count)
{
    (void)bytes;
    (void)count;
}
uint32_t solder_port_ticks(void)
{
    return 0;
}
struct solder_counter solder_port_counter(void)
{
    const struct solder_counter counter = {1000u, 24u};
    return counter;
}
void solder_port_reset(void)
{
    exit(3);
}

struct file {
    uint8_t bytes[SLOT_BYTES];
    uint32_t count;
};

static void read_file(const char *path, struct file *file)
{
    FILE *const stream = fopen(path, "rb");
    require(stream != NULL, path, 0);
    file->count = (uint32_t)fread(file->bytes, 1, sizeof file->bytes, stream);
    fclose(stream);
}

static uint8_t install(const struct file *file, uint32_t count)
{
    uint8_t status = solder_cartridge_begin();
    for (uint32_t at = 0; at < count && status == SOLDER_OK; at += CHUNK) {
        const uint32_t piece = count - at < CHUNK ? count - at : CHUNK;
        status = solder_cartridge_take(at, file->bytes + at, piece);
        status = status != SOLDER_OK ? status : solder_cartridge_take(at, file->bytes + at, piece); /* comes twice */
    }
    return status != SOLDER_OK ? status : solder_cartridge_finish();
}

/* What the model that runs adds; without weights it fails, and adds nothing. */
static int adds(void)
{
    const int found = added();
    require(found >= 0 || (BUILT_IN_ADDS == 0 && solder_cartridge_slot == SOLDER_BUILT_IN), "the model fails", 0);
    return found < 0 ? 0 : found;
}

/* Whether the power lasted for all of it. */
static int lasts(long bytes, void (*what)(const struct file *), const struct file *file)
{
    power = bytes;
    if (setjmp(end_of_power) != 0) {
        power = UNLIMITED;
        return 0;
    }
    what(file);
    power = UNLIMITED;
    return 1;
}

static void update(const struct file *file)
{
    require(install(file, file->count) == SOLDER_OK, "an update is refused", 0);
}

static void boot(const struct file *file)
{
    (void)file;
    solder_cartridge_start();
}

/* Interrupts the update at each byte, and the start after that once more; some model must run then. */
static void lose_power(const struct file *file, int before, int after)
{
    static uint8_t kept[2 * SLOT_BYTES];
    long counts[2] = {0, 0};
    int is_done = 0;
    memcpy(kept, memory, sizeof kept);
    for (long bytes = 0; !is_done; bytes++) {
        memcpy(memory, kept, sizeof kept);
        boot(NULL);
        require(adds() == before, "the model before does not run", bytes);
        is_done = lasts(bytes, update, file);
        (void)lasts(bytes % 19, boot, NULL);
        boot(NULL);
        const int runs = adds();
        require(runs == before || runs == after, "no model runs", bytes);
        require(!is_done || runs == after, "the new model does not run", bytes);
        counts[runs == after]++;
    }
    printf("power lost at %ld places: the old model runs after %ld, the new one after %ld\n", counts[0] + counts[1],
           counts[0], counts[1]);
}

/* Some model runs after each failure, and once more after a start. */
static void fail_at_each_call(const struct file *file)
{
    static uint8_t kept[2 * SLOT_BYTES];
    long count = 0;
    memcpy(kept, memory, sizeof kept);
    for (uint8_t status = SOLDER_CARTRIDGE_STORE; status != SOLDER_OK; count++) {
        memcpy(memory, kept, sizeof kept);
        boot(NULL);
        sound = count;
        status = install(file, file->count);
        require(status == SOLDER_OK || status == SOLDER_CARTRIDGE_STORE, "a failure has another name", count);
        require(adds() == (status == SOLDER_OK ? 2 : 1), "not the model runs that should", count);
        sound = UNLIMITED;
        boot(NULL);
        require(adds() == 1 || adds() == 2, "no model runs", count);
    }
    printf("%ld failures, each told, and a model runs\n", count - 1);
}

static void refuse_all(const struct file *old, struct file *file, int flips)
{
    long counts[STATUSES] = {0};
    const uint32_t slot = solder_cartridge_slot;
    const long most = flips ? 8L * file->count : file->count;
    (void)old;
    for (long n = 0; n < most; n++) {
        const uint8_t bit = (uint8_t)(1u << (n % 8));
        file->bytes[n / 8] ^= flips ? bit : 0;
        const uint8_t status = install(file, flips ? file->count : (uint32_t)n);
        file->bytes[n / 8] ^= flips ? bit : 0;
        require(status != SOLDER_OK, "a bad cartridge is taken", n);
        require(solder_cartridge_slot == slot && adds() == 1, "the old model does not run", n);
        counts[status]++;
    }
    for (int status = 0; status < STATUSES; status++) {
        if (counts[status] != 0) {
            printf("%d: %ld\n", status, counts[status]);
        }
    }
}

/* Before a start, after it, after a good update into each slot and after a bad one nothing but a beginning is allowed. */
static void refuse_outside_updates(struct file *file, struct file *old)
{
    require_refusals("after an update", 1);
    interrupts = 1;
    for (int n = 0; n < 4; n++) {
        require(install(n % 2 == 0 ? file : old, n % 2 == 0 ? file->count : old->count) == SOLDER_OK, "an update is refused", n);
        require(adds() == (n % 2 == 0 ? 2 : 1), "not the new model runs", n);
        require_refusals("after a swap", 1);
        boot(NULL);
        require(adds() == (n % 2 == 0 ? 2 : 1), "not the new model runs after a start", n);
        require_refusals("after a start", 1);
        file->bytes[200] ^= 1u;
        require(install(file, file->count) != SOLDER_OK, "a bad cartridge is taken", n);
        file->bytes[200] ^= 1u;
        require_refusals("after a bad update", 1);
    }
    sound = 0;
    require(solder_cartridge_begin() == SOLDER_CARTRIDGE_STORE, "memory does not fail", 0);
    require_refusals("after a beginning that failed", 1);
    require(solder_cartridge_begin() == SOLDER_OK, "no update begins", 0);
    sound = 0;
    require(solder_cartridge_take(0, file->bytes, 10) == SOLDER_CARTRIDGE_STORE, "memory does not fail", 1);
    require_refusals("after memory failed", 1);
    require(solder_cartridge_begin() == SOLDER_OK, "no update begins", 1);
    require(solder_cartridge_take(1, file->bytes, 10) == SOLDER_WRITE_GAP, "a gap is taken", 0);
    require(solder_cartridge_take(0, file->bytes, 10) == SOLDER_OK, "a gap has ended the update", 0);
    printf("refused\n");
}

static void go_back(const struct file *file)
{
    (void)file;
    (void)solder_cartridge_previous();
}

/* Whenever power goes, one of the two runs; the state before is kept in between. Prints the status, and what runs then,
   after a start, and the status of a second return. */
static void return_to_before(const struct file *file)
{
    static uint8_t kept[2 * SLOT_BYTES];
    require(install(file, file->count) == SOLDER_OK && adds() == 2, "the second cartridge does not run", 0);
    memcpy(kept, memory, sizeof kept);
    for (long bytes = 0; bytes < SLOT_BYTES; bytes += 61) {
        (void)lasts(bytes, go_back, NULL);
        boot(NULL);
        require(adds() == 1 || adds() == 2, "neither runs", bytes);
        memcpy(memory, kept, sizeof kept);
        boot(NULL);
    }
    const uint8_t status = solder_cartridge_previous();
    const int then = adds();
    boot(NULL);
    printf("%d %d %d %d\n", status, then, adds(), solder_cartridge_previous());
}

/* What ran before is checked again before it goes on: what has decayed gives way to what is built in. */
static void fall_back(const struct file *bad)
{
    rots = solder_slots.base[solder_cartridge_slot] + 100;
    require(install(bad, bad->count) == SOLDER_CARTRIDGE_TEST, "a bad cartridge is taken", 0);
    require(solder_cartridge_slot == SOLDER_BUILT_IN && adds() == BUILT_IN_ADDS, "what has decayed runs", 0);
    printf("built in\n");
}

int main(int argc, char **argv)
{
    static struct file old, file;
    require(argc >= 3, "usage", argc);
    make_slots();
#ifdef COPIED
    static uint8_t copy[WEIGHTS_BYTES];
    require(solder_weights_copy_to(copy, sizeof copy - 1u) == 0, "weights have room where there is none", 0);
    require(solder_weights_copy_to(copy, sizeof copy) == 1, "weights have no room where there is some", 0);
#endif
    require_refusals("before the first start", 0);
    boot(NULL);
    require(adds() == BUILT_IN_ADDS, "what is built in does not run", 0);
    require_refusals("after the first start", 1);
    for (int n = 2; n < argc && strcmp(argv[1], "try") == 0; n++) {
        read_file(argv[n], &file);
        printf("%d\n", install(&file, file.count));
    }
    if (strcmp(argv[1], "try") == 0) {
        return 0;
    }
    read_file(argv[2], &old);
    if (strcmp(argv[1], "power") == 0) {
        lose_power(&old, BUILT_IN_ADDS, 1);
    }
    require(install(&old, old.count) == SOLDER_OK && adds() == 1, "the first cartridge does not run", 0);
    for (int n = 3; n < argc; n++) {
        read_file(argv[n], &file);
        if (strcmp(argv[1], "power") == 0) {
            lose_power(&file, 1, 2);
        } else if (strcmp(argv[1], "gate") == 0) {
            refuse_outside_updates(&file, &old);
        } else if (strcmp(argv[1], "back") == 0) {
            return_to_before(&file);
        } else if (strcmp(argv[1], "rot") == 0) {
            fall_back(&file);
        } else if (strcmp(argv[1], "fail") == 0) {
            fail_at_each_call(&file);
        } else if (strcmp(argv[1], "take") == 0) {
            const uint8_t status = install(&file, file.count);
            boot(NULL);
#ifdef COPIED
            require(weights == copy, "weights are not read where they were copied to", n);
#endif
            printf("%d %d\n", status, adds());
        } else {
            refuse_all(&old, &file, strcmp(argv[1], "flip") == 0);
        }
    }
    return 0;
}
