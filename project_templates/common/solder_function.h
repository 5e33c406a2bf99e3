/* C functions that are called by name: over the line from Python, and by other C code.

       static int32_t blink(int32_t times, const uint8_t pattern[16]) { ... }
       SOLDER_FUNCTION(blink, i32(i32, u8[16]));

   at file scope makes `blink` known. The compiler holds the signature against the function. Its types are i8, u8, i16,
   i32, u32, i64, u64, f32 and bool, as scalars or as arrays of a fixed length; a function may also take (void) or return
   void; it has at most eight arguments. Two functions with the same name do not link. */
#ifndef SOLDER_FUNCTION_H
#define SOLDER_FUNCTION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SOLDER_FUNCTIONS
#error "this firmware is made without calls by name: add -DSOLDER_FUNCTIONS to flags/compile"
#endif
#ifdef __AVR__
#error "constants lie in a memory of their own on AVR, where functions cannot be found by name"
#endif

#define SOLDER_MOST_ARGUMENTS 8u

struct solder_function {
    const char *text; /* name, space, signature: "blink i32(i32, u8[16])" */
    /* Stores at `result`, if the function gives any; `arguments` point to each scalar and to each array's first. */
    void (*call)(void *result, void *const *arguments);
};

/* The function with that name and signature (NULL: whatever its signature is), or NULL. Spaces do not count. */
const struct solder_function *solder_find_function(const char *name, const char *signature);

/* The same by number, from 0; NULL: there are no more. */
const struct solder_function *solder_numbered_function(uint32_t number);

/* From a function that is called over the line: it has failed for this reason, which the caller receives. The text must
   stay valid. */
void solder_fail(const char *reason);

/* The types by their names in signatures. */
typedef int8_t solder_i8;
typedef uint8_t solder_u8;
typedef int16_t solder_i16;
typedef int32_t solder_i32;
typedef uint32_t solder_u32;
typedef int64_t solder_i64;
typedef uint64_t solder_u64;
typedef float solder_f32;
#ifdef __cplusplus
typedef bool solder_bool;
#else
typedef _Bool solder_bool;
typedef _Bool solder__Bool; /* if `bool` is a macro */
#endif

#define SOLDER_FUNCTION(name, signature)                                                                            \
    static void solder_call_##name(void *result, void *const *arguments)                                            \
    {                                                                                                               \
        (void)result;                                                                                               \
        (void)arguments;                                                                                            \
        SOLDER_CALL(name, SOLDER_SIGNATURE_##signature);                                                            \
    }                                                                                                               \
    extern const struct solder_function solder_function_##name; /* not static: so that no two have one name */      \
    const struct solder_function solder_function_##name = {#name " " #signature, solder_call_##name};               \
    static const struct solder_function *const solder_known_##name                                                  \
        __attribute__((section("solder_functions"), used)) = &solder_function_##name

/* `parts` are what becomes of the result, and the arguments. */
#define SOLDER_CALL(name, parts) SOLDER_CALL_WITH(name, parts)
#define SOLDER_CALL_WITH(name, result, ...) result name(__VA_ARGS__)

#define SOLDER_SIGNATURE_i8(...) *(int8_t *)result =, SOLDER_ARGUMENTS(__VA_ARGS__)
#define SOLDER_SIGNATURE_u8(...) *(uint8_t *)result =, SOLDER_ARGUMENTS(__VA_ARGS__)
#define SOLDER_SIGNATURE_i16(...) *(int16_t *)result =, SOLDER_ARGUMENTS(__VA_ARGS__)
#define SOLDER_SIGNATURE_i32(...) *(int32_t *)result =, SOLDER_ARGUMENTS(__VA_ARGS__)
#define SOLDER_SIGNATURE_u32(...) *(uint32_t *)result =, SOLDER_ARGUMENTS(__VA_ARGS__)
#define SOLDER_SIGNATURE_i64(...) *(int64_t *)result =, SOLDER_ARGUMENTS(__VA_ARGS__)
#define SOLDER_SIGNATURE_u64(...) *(uint64_t *)result =, SOLDER_ARGUMENTS(__VA_ARGS__)
#define SOLDER_SIGNATURE_f32(...) *(float *)result =, SOLDER_ARGUMENTS(__VA_ARGS__)
#define SOLDER_SIGNATURE_bool(...) *(_Bool *)result =, SOLDER_ARGUMENTS(__VA_ARGS__)
#define SOLDER_SIGNATURE_void(...) (void), SOLDER_ARGUMENTS(__VA_ARGS__)

/* A scalar's value, or an array, which becomes a pointer. */
#define SOLDER_ARGUMENT(number, type) *(__typeof__(solder_##type) *)arguments[number]

#define SOLDER_ARGUMENTS(...) SOLDER_JOIN(SOLDER_ARGUMENTS_, SOLDER_COUNT(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0))(__VA_ARGS__)
#define SOLDER_COUNT(a, b, c, d, e, f, g, h, count, ...) count
#define SOLDER_JOIN(a, b) SOLDER_JOINED(a, b)
#define SOLDER_JOINED(a, b) a##b

/* (void) and () are one argument to the preprocessor, and none to the function. */
#define SOLDER_ARGUMENTS_1(a) SOLDER_JOIN(SOLDER_ONE_IF_, SOLDER_SECOND(SOLDER_NONE_##a, 1, 0))(a)
#define SOLDER_SECOND(...) SOLDER_SECOND_OF(__VA_ARGS__)
#define SOLDER_SECOND_OF(a, b, ...) b
#define SOLDER_NONE_void 0, 0
#define SOLDER_NONE_ 0, 0
#define SOLDER_ONE_IF_0(a)
#define SOLDER_ONE_IF_1(a) SOLDER_ARGUMENT(0, a)
#define SOLDER_ARGUMENTS_2(a, b) SOLDER_ARGUMENT(0, a), SOLDER_ARGUMENT(1, b)
#define SOLDER_ARGUMENTS_3(a, b, c) SOLDER_ARGUMENTS_2(a, b), SOLDER_ARGUMENT(2, c)
#define SOLDER_ARGUMENTS_4(a, b, c, d) SOLDER_ARGUMENTS_3(a, b, c), SOLDER_ARGUMENT(3, d)
#define SOLDER_ARGUMENTS_5(a, b, c, d, e) SOLDER_ARGUMENTS_4(a, b, c, d), SOLDER_ARGUMENT(4, e)
#define SOLDER_ARGUMENTS_6(a, b, c, d, e, f) SOLDER_ARGUMENTS_5(a, b, c, d, e), SOLDER_ARGUMENT(5, f)
#define SOLDER_ARGUMENTS_7(a, b, c, d, e, f, g) SOLDER_ARGUMENTS_6(a, b, c, d, e, f), SOLDER_ARGUMENT(6, g)
#define SOLDER_ARGUMENTS_8(a, b, c, d, e, f, g, h) SOLDER_ARGUMENTS_7(a, b, c, d, e, f, g), SOLDER_ARGUMENT(7, h)

#ifdef __cplusplus
}
#endif

#endif
