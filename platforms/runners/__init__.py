"""The runners: name in a board's file -> module. Emulators start firmware, flashers write it to boards."""

# Each has `missing()`, `argv(elf, board)` and `open_line(elf, board)`.
EMULATORS = {
    "exec": "platforms.runners.exec",
    "qemu": "platforms.runners.qemu",
    "qemu-riscv32": "platforms.runners.qemu_riscv32",
    "unicorn": "platforms.runners.unicorn_runner",
    "simavr": "platforms.runners.simavr",
    "native-sim": "platforms.runners.native_sim",
}
# Each has `missing()` and `flash_commands(elf, board, at)`.
FLASHERS = {
    "west": "platforms.runners.west",
    "pyocd": "platforms.runners.pyocd",
    "openocd": "platforms.runners.openocd",
    "arduino-cli": "platforms.runners.arduino_cli",
    "avrdude": "platforms.runners.avrdude",
    "esptool": "platforms.runners.esptool",
    "picotool": "platforms.runners.picotool",
    "uf2": "platforms.runners.uf2",
}
RUNNERS = EMULATORS | FLASHERS
