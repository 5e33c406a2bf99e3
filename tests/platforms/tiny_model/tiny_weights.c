#include "tiny_weights.h"

const int8_t tiny_add[4] = {1, 1, 1, 1};
