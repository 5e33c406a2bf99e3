/* Time as a program sees it. */
#ifndef MILLISECONDS_H
#define MILLISECONDS_H

#include <stdint.h>

/* Counted from the first call, in steps of ten; wraps after 49 days. */
uint32_t board_milliseconds(void);

#endif
