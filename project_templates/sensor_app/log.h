/* The program's log: one line for each record, such as $RUN,7,200,yes,998,...*5C1F. `deploy monitor --decode` reads it.
   The digits after the star are the CRC-16 (CCITT, from 0xFFFF) of the text between dollar and star. */
#ifndef LOG_H
#define LOG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void log_begin(const char *record);
void log_text(const char *text);
void log_number(uint32_t number);
void log_bytes(const void *bytes, uint32_t count); /* as hexadecimal digits */
void log_thousandths(float number); /* rounded down; NaN and numbers that are too large become the limit */
void log_end(void);

#ifdef __cplusplus
}
#endif

#endif
