/* A camera that plays pictures of standard input, and ends the program with them. */
#ifndef OV767X_H
#define OV767X_H

#include <Arduino.h>

enum { VGA, CIF, QVGA, QCIF, QQVGA };
enum { GRAYSCALE, RGB565 };

struct FakeCamera {
  size_t bytes;

  int begin(int size, int form, int frames_a_second) {
    bytes = 160 * 120 * (form == RGB565 ? 2 : 1);
    return size == QQVGA && frames_a_second == 1;
  }
  void readFrame(void *buffer) {
    if (fread(buffer, 1, bytes, stdin) != bytes) {
      exit(0);
    }
  }
};

extern FakeCamera Camera;

#endif
