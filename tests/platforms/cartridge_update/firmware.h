/* Firmware with slots for cartridges in a process: memory that behaves as flash does, and power that goes.

   Models add a number to their input: the one that is built in 9, the cartridges others. With SOLDER_WEIGHTS they are
   weights of the built-in one, which adds nothing and fails until it has some. With SOLDER_TABLES they are tables, for
   which there is a kernel that adds. A program around it says how large its slots are: SLOT_BYTES. */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stdint.h>

#ifndef SLOT_BYTES
#define SLOT_BYTES 8192u
#endif
#define UNLIMITED (-1L)
#define BUILT_IN_VERSION 1u
#ifdef SOLDER_WEIGHTS
#define BUILT_IN_ADDS 0
#define WEIGHTS_BYTES 40u /* of which the first four are added */
extern const uint8_t *weights;
#else
#define BUILT_IN_ADDS 9
#endif

extern const struct solder_model built_in;
extern uint8_t *memory; /* both slots */
extern long power;      /* bytes until it goes: power_lost() is called then */
extern long sound;      /* calls until memory fails, once */

void make_slots(void);
/* What the model that runs adds; -1: it fails. */
int added(void);

/* By the program: does not return. */
void power_lost(void);
/* By the program, around each call that erases or writes: `record` is NULL, or the record that was written. */
void before_memory(void);
void after_record(const uint8_t *record);

void require(int holds, const char *what, long where);

#endif
