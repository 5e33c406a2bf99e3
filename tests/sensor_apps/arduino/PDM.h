/* A microphone that plays standard input, and ends the program with it. */
#ifndef PDM_H
#define PDM_H

#include <Arduino.h>

struct FakeMicrophone {
  void (*came)();
  uint8_t bytes[96];
  int there;

  void onReceive(void (*function)()) { came = function; }
  int begin(int channels, int rate) { return channels == 1 && rate == 16000; }
  int available() { return there; }
  int read(void *buffer, int count) {
    for (int i = 0; i < count; i++) {
      ((uint8_t *)buffer)[i] = bytes[i];
    }
    for (int i = count; i < there; i++) {
      bytes[i - count] = bytes[i];
    }
    there -= count;
    return count;
  }
};

extern FakeMicrophone PDM;

#endif
