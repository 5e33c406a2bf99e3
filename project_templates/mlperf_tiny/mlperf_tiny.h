/* The device side of the MLPerf Tiny benchmark: commands.c answers the runner, main.c knows the model. */
#ifndef MLPERF_TINY_H
#define MLPERF_TINY_H

#include <stdint.h>

/* What the runner loads: one sample, in the format of the benchmark's data set. */
extern uint8_t *const mlperf_sample;
extern const uint32_t mlperf_sample_bytes;
extern const char mlperf_model[];  /* the benchmark, such as "kws01" */
extern const char mlperf_device[]; /* the board */

/* The benchmark's device API. th_infer returns 0, or the model's error. */
void th_load_tensor(void);
int32_t th_infer(void);
void th_results(void);
void th_timestamp(void);

/* Answers commands until the line ends. */
void mlperf_serve(void);
void mlperf_send(const char *text);
void mlperf_send_number(uint64_t number);
void mlperf_send_float(float number); /* with 6 decimals */

/* Counts the time. Call it at least once in each period of the board's counter while time is measured. */
void mlperf_count(void);

/* Sets the pin that the energy monitor watches: see pin.c. */
void mlperf_pin(int is_high);

#endif
