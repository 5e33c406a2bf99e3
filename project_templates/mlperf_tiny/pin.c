/* The pin that tells an energy monitor when runs begin and end: yours to fill in, for your board. */
#include "mlperf_tiny.h"

#ifdef MLPERF_ENERGY
#error "set the pin of your board in mlperf_pin, then remove this line"
#endif

void mlperf_pin(int is_high)
{
    (void)is_high;
}
