/* What the RP2350's boot ROM looks for in the first 4 KiB of flash: a block that says "a program for an Arm core, secure"
   (RP2350 datasheet, 5.9.5). */
#include <stdint.h>

static const uint32_t image[5] __attribute__((used, section(".image"))) = {
    0xFFFFDED3u, /* a block begins */
    0x10210142u, /* one word: the kind of image */
    0x000001FFu, /* the last item; what comes before it is one word */
    0x00000000u, /* and no other block */
    0xAB123579u,
};
