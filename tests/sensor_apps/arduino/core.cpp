/* What the core and the libraries have, and a chip whose counter stands still. */
#include <Arduino.h>
#include <Arduino_LSM9DS1.h>
#include <Arduino_OV767X.h>
#include <PDM.h>

FakeSerial Serial;
FakeMicrophone PDM;
FakeInertial IMU;
FakeCamera Camera;

extern "C" {
#include "port.h"
#include "solder_port.h"

void port_begin(void) {}
uint32_t solder_port_ticks(void) { return 0; }
struct solder_counter solder_port_counter(void) { return {1000000, 32}; }
}

unsigned long millis() { return 0; }

/* A core runs interrupts meanwhile: here the microphone's. */
void yield() {
  PDM.there = (int)fread(PDM.bytes, 1, sizeof PDM.bytes, stdin);
  if (PDM.there == 0) {
    exit(0);
  }
  PDM.came();
}

void setup();

int main() {
  setup();
  return 0;
}
