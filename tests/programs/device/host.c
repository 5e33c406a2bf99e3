/* Checks on this computer: each block of memory of its own, so that the sanitizer sees its ends. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

static void *taken[64];
static uint32_t taken_count;

void check_print(const char *text)
{
    fputs(text, stdout);
    fflush(stdout); /* what was printed last names the check that ended the program */
}

void *check_allocate(uint32_t bytes)
{
    return taken[taken_count++] = malloc(bytes);
}

void check_free_all(void)
{
    while (taken_count > 0) {
        free(taken[--taken_count]);
    }
}
