/* A DMA engine: it copies from slow memory while the core goes on. Two transfers may be under way. */
#ifndef CHOCOLATE_DMA_H
#define CHOCOLATE_DMA_H

#include <stdint.h>

/* Lines of the data cache: buffers begin at one and fill it, so that nothing else shares their lines. */
#define CHOCOLATE_LINE_BYTES 32

/* Begins a copy. Until it has been waited for, `to` is the engine's, and `from` must not change. */
void chocolate_dma_begin(void *to, const void *from, uint32_t bytes);

/* Returns when the copy to that place is done, and those that were begun before it. */
void chocolate_dma_wait(const void *to);

#endif
