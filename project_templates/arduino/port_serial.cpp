/* The device runtime's line on an Arduino: the port that sketches call Serial. */
#include <Arduino.h>

extern "C" {
#include "solder_port.h"
}

#ifndef __AVR__ /* which has switched it off */
uint32_t solder_port_milliseconds(void)
{
    return millis();
}
#endif

uint32_t solder_port_read(uint8_t *buffer, uint32_t capacity)
{
    uint32_t count = 0;

    while (Serial.available() == 0) {
#ifdef ESP32
        delay(1); /* its watchdog wants the idle task to run */
#else
        yield(); /* some cores run their USB there */
#endif
    }
    while (count < capacity && Serial.available() > 0) {
        buffer[count++] = (uint8_t)Serial.read();
    }
    return count;
}

void solder_port_write(const uint8_t *bytes, uint32_t count)
{
    Serial.write(bytes, count);
    Serial.flush();
}
