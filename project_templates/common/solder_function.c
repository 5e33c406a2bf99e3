/* Finds registered functions: the linker puts the pointers to them one after the other. */
#include <stddef.h>

#ifdef SOLDER_FUNCTIONS

#include "solder_function.h"

typedef const struct solder_function *known;
extern const known __start_solder_functions[] __attribute__((weak)); /* absent if nothing is registered */
extern const known __stop_solder_functions[] __attribute__((weak));

const struct solder_function *solder_numbered_function(uint32_t number)
{
    const known *const low = __start_solder_functions;
    const known *const high = __stop_solder_functions;
    return number < (size_t)(high - low) ? low[number] : NULL;
}

static const char *without_spaces(const char *text)
{
    while (*text == ' ') {
        text++;
    }
    return text;
}

static int is_same_signature(const char *a, const char *b)
{
    for (;;) {
        a = without_spaces(a);
        b = without_spaces(b);
        if (*a != *b) {
            return 0;
        }
        if (*a == '\0') {
            return 1;
        }
        a++;
        b++;
    }
}

static int is_wanted(const char *text, const char *name, const char *signature)
{
    while (*name != '\0' && *text == *name) {
        text++;
        name++;
    }
    return *name == '\0' && *text == ' ' && (signature == NULL || is_same_signature(text, signature));
}

const struct solder_function *solder_find_function(const char *name, const char *signature)
{
    const struct solder_function *found;
    uint32_t number = 0;
    do {
        found = solder_numbered_function(number++);
    } while (found != NULL && !is_wanted(found->text, name, signature));
    return found;
}

#endif
