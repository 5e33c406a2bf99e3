#ifndef TINY_WEIGHTS_H
#define TINY_WEIGHTS_H
#include <stdint.h>
extern const int8_t tiny_add[4];
#endif
