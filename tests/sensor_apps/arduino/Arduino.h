/* The words of an Arduino core that sketches here use, on this computer. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define constrain(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))

struct FakeSerial {
  void begin(long) {}
  size_t write(const uint8_t *bytes, size_t count) { return fwrite(bytes, 1, count, stdout); }
  void flush() { fflush(stdout); }
  int available() { return 0; }
  int read() { return -1; }
};

extern FakeSerial Serial;
unsigned long millis();
void yield();

#endif
