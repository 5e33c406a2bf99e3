/* Writes records as lines of text with a checksum. */
#include "log.h"

#include <string.h>

#include "solder_port.h"

#define CRC_START 0xFFFFu
#define CRC_POLYNOMIAL 0x1021u
#define MOST_AT_ONCE 64u /* bytes that the port accepts */
#define MOST_THOUSANDTHS 999999999.0f

static const char digits[] = "0123456789ABCDEF";
static uint16_t crc;

static void send(const char *text, uint32_t count)
{
    while (count > 0) {
        const uint32_t part = count < MOST_AT_ONCE ? count : MOST_AT_ONCE;

        solder_port_write((const uint8_t *)text, part);
        text += part;
        count -= part;
    }
}

static void send_counted(const char *text, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        crc = (uint16_t)(crc ^ ((uint8_t)text[i] << 8));
        for (uint32_t bit = 0; bit < 8; bit++) {
            crc = (uint16_t)((crc & 0x8000u) != 0 ? ((uint32_t)crc << 1) ^ CRC_POLYNOMIAL : (uint32_t)crc << 1);
        }
    }
    send(text, count);
}

void log_begin(const char *record)
{
    crc = CRC_START;
    send("$", 1);
    send_counted(record, (uint32_t)strlen(record));
}

void log_text(const char *text)
{
    send_counted(",", 1);
    send_counted(text, (uint32_t)strlen(text));
}

void log_number(uint32_t number)
{
    char text[11];
    char *at = &text[sizeof text - 1];

    *at = '\0';
    do {
        *--at = (char)('0' + number % 10u);
        number /= 10u;
    } while (number != 0);
    log_text(at);
}

void log_thousandths(float number)
{
    const float thousandths = number * 1000.0f;

    if (thousandths >= 0.0f && thousandths < MOST_THOUSANDTHS) {
        log_number((uint32_t)thousandths);
    } else {
        log_number(thousandths < 0.0f ? 0u : (uint32_t)MOST_THOUSANDTHS);
    }
}

void log_bytes(const void *bytes, uint32_t count)
{
    const uint8_t *const each = bytes;

    send_counted(",", 1);
    for (uint32_t i = 0; i < count; i++) {
        const char pair[] = {digits[each[i] >> 4], digits[each[i] & 15u]};

        send_counted(pair, sizeof pair);
    }
}

void log_end(void)
{
    const char end[] = {'*', digits[crc >> 12], digits[(crc >> 8) & 15u], digits[(crc >> 4) & 15u],
                        digits[crc & 15u], '\n'};

    send(end, sizeof end);
}
