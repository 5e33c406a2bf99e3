/* Answers the commands of MLPerf Tiny's runner. A command ends in '%', the answer to it in "m-ready". */
#include <string.h>

#include "mlperf_tiny.h"
#include "solder_port.h"

#define MOST_COMMAND 80u
#define MOST_AT_ONCE 64u /* bytes that the port accepts */
#define BYTES_IN_LINE 8u
#define DEFAULT_WARMUPS 10u
#define MOST_NUMBER 99999999u
#define NO_NUMBER 0xFFFFFFFFu

static char command[MOST_COMMAND + 1];
static uint32_t length;        /* of the command so far, also of the part that is not kept */
static uint32_t loaded, total; /* bytes of the sample */

void mlperf_send(const char *text)
{
    uint32_t count = (uint32_t)strlen(text);

    while (count > 0) {
        const uint32_t part = count < MOST_AT_ONCE ? count : MOST_AT_ONCE;

        solder_port_write((const uint8_t *)text, part);
        text += part;
        count -= part;
    }
}

void mlperf_send_number(uint64_t number)
{
    char text[21];
    char *at = &text[sizeof text - 1];

    *at = '\0';
    do {
        *--at = (char)('0' + number % 10u);
        number /= 10u;
    } while (number != 0);
    mlperf_send(at);
}

void mlperf_send_float(float number)
{
    const float most = 4.0e9f;
    const float size = number < 0.0f ? -number : number;
    const uint64_t millionths = (uint64_t)((size < most ? size : most) * 1.0e6f + 0.5f);
    char text[8] = ".000000";

    for (uint32_t i = 6, rest = (uint32_t)(millionths % 1000000u); i > 0; i--, rest /= 10u) {
        text[i] = (char)('0' + rest % 10u);
    }
    mlperf_send(number < 0.0f ? "-" : "");
    mlperf_send_number(millionths / 1000000u);
    mlperf_send(text);
}

static void send_line(const char *before, uint64_t number, const char *after)
{
    mlperf_send(before);
    mlperf_send_number(number);
    mlperf_send(after);
    mlperf_send("\r\n");
}

static int is(const char *word, const char *name)
{
    return strlen(word) == strlen(name) && memcmp(word, name, strlen(name)) == 0;
}

/* Takes the next word of what is left of a command; "" at its end. */
static const char *next_word(char **rest)
{
    char *const word = *rest + (**rest == ' ');
    char *end = word;

    while (*end != ' ' && *end != '\0') {
        end++;
    }
    *rest = end + (*end != '\0');
    *end = '\0';
    return word;
}

static uint32_t number_of(const char *word)
{
    uint32_t number = 0;

    for (const char *at = word; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || number > MOST_NUMBER / 10u) {
            return NO_NUMBER;
        }
        number = number * 10u + (uint32_t)(*at - '0');
    }
    return *word == '\0' ? NO_NUMBER : number;
}

static uint32_t digit_of(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return (uint32_t)(digit - '0');
    }
    if (digit >= 'a' && digit <= 'f') {
        return (uint32_t)(digit - 'a') + 10u;
    }
    return digit >= 'A' && digit <= 'F' ? (uint32_t)(digit - 'A') + 10u : NO_NUMBER;
}

static void begin_load(const char *size)
{
    const uint32_t bytes = number_of(size);

    loaded = 0;
    total = 0;
    if (bytes != mlperf_sample_bytes) {
        send_line("e-[A sample has ", mlperf_sample_bytes, " bytes]");
        return;
    }
    total = bytes;
    send_line("m-[Expecting ", bytes, " bytes]");
}

static void load(const char *digits)
{
    const uint32_t count = (uint32_t)strlen(digits);

    if (count % 2u != 0) {
        mlperf_send("e-[A byte has two hex digits]\r\n");
        return;
    }
    if (count / 2u > total - loaded) {
        send_line("e-[Bytes expected: ", total - loaded, "]");
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (digit_of(digits[i]) == NO_NUMBER) {
            mlperf_send("e-[Not a hex digit]\r\n");
            return;
        }
    }
    for (uint32_t i = 0; i < count; i += 2) {
        mlperf_sample[loaded++] = (uint8_t)(digit_of(digits[i]) * 16u + digit_of(digits[i + 1]));
    }
    if (count != 0 && loaded == total) {
        mlperf_send("m-load-done\r\n");
    }
}

static void print_sample(void)
{
    static const char digits[] = "0123456789abcdef";

    for (uint32_t i = 0; i < loaded; i++) {
        const char text[3] = {digits[mlperf_sample[i] >> 4], digits[mlperf_sample[i] & 15], '\0'};
        const int is_last = (i + 1) % BYTES_IN_LINE == 0 || i + 1 == loaded;

        mlperf_send(i % BYTES_IN_LINE == 0 ? "m-buffer-" : "-");
        mlperf_send(text);
        mlperf_send(is_last ? "\r\n" : "");
    }
}

static void buffer(char **rest)
{
    const char *const word = next_word(rest);

    if (is(word, "load")) {
        begin_load(next_word(rest));
    } else if (is(word, "print")) {
        print_sample();
    } else {
        load(word);
    }
}

static int32_t infer_times(uint32_t times)
{
    int32_t error = 0;

    for (uint32_t i = 0; i < times && error == 0; i++) {
        error = th_infer();
        mlperf_count();
    }
    return error;
}

static void infer(char **rest)
{
    const char *const times = next_word(rest), *const before = next_word(rest);
    const uint32_t iterations = *times == '\0' ? 1u : number_of(times);
    const uint32_t warmups = *before == '\0' ? DEFAULT_WARMUPS : number_of(before);
    int32_t error;

    if (iterations == 0 || iterations == NO_NUMBER || warmups == NO_NUMBER) {
        mlperf_send("e-[infer needs ITERATIONS of at least 1, and WARMUPS]\r\n");
        return;
    }
    if (total == 0 || loaded != total) {
        send_line("e-[Load a sample first; bytes loaded: ", loaded, "]");
        return;
    }
    th_load_tensor();
    send_line("m-warmup-start-", warmups, "");
    error = infer_times(warmups);
    mlperf_send("m-warmup-done\r\n");
    send_line("m-infer-start-", iterations, "");
    th_timestamp();
    error = error != 0 ? error : infer_times(iterations);
    th_timestamp();
    if (error != 0) {
        send_line("e-[The model failed with error ", (uint32_t)error, "]");
        return;
    }
    mlperf_send("m-infer-done\r\n");
    th_results();
}

static void run_command(void)
{
    char *rest = command;
    const char *const word = next_word(&rest);

    if (is(word, "name")) {
        mlperf_send("m-name-dut-[");
        mlperf_send(mlperf_device);
        mlperf_send("]\r\n");
    } else if (is(word, "profile")) {
        mlperf_send("m-profile-[ULPMark for tinyML Firmware V0.0.1]\r\nm-model-[");
        mlperf_send(mlperf_model);
        mlperf_send("]\r\n");
    } else if (is(word, "timestamp")) {
        mlperf_count();
        th_timestamp();
    } else if (is(word, "db")) {
        buffer(&rest);
    } else if (is(word, "infer")) {
        infer(&rest);
    } else if (is(word, "results")) {
        th_results();
    } else if (is(word, "help")) {
        mlperf_send("name, profile, timestamp, db load BYTES, db HEX, db print, infer ITERATIONS WARMUPS, results\r\n");
    } else {
        mlperf_send("e-[Unknown command: ");
        mlperf_send(word);
        mlperf_send("]\r\n");
    }
}

static void take(char letter)
{
    if (letter == '\r' || letter == '\n') {
        return; /* of a person at a terminal */
    }
    if (letter != '%') {
        if (length < MOST_COMMAND) {
            command[length] = letter;
        }
        length += length <= MOST_COMMAND;
        return;
    }
    if (length > MOST_COMMAND) {
        send_line("e-[A command has at most ", MOST_COMMAND, " characters]");
    } else {
        command[length] = '\0';
        run_command();
    }
    length = 0;
    mlperf_send("m-ready\r\n");
}

void mlperf_serve(void)
{
    uint8_t bytes[MOST_AT_ONCE];
    uint32_t count;

#ifdef MLPERF_ENERGY
    mlperf_send("m-timestamp-mode-energy\r\n");
#else
    mlperf_send("m-timestamp-mode-performance\r\n");
#endif
    th_timestamp();
    mlperf_send("m-init-done\r\nm-ready\r\n");
    while ((count = solder_port_read(bytes, sizeof bytes)) > 0) {
        for (uint32_t i = 0; i < count; i++) {
            take((char)bytes[i]);
        }
    }
}
