"""The runners by their names in board files: emulators run firmware, flashers write it to boards."""

from __future__ import annotations

from collections.abc import Mapping

from aot.extensions import RUNNERS as GROUP
from aot.extensions import OpenTable, module_of, module_with

# Each has `SECTION`, `missing()`, `argv(elf, board)` and `open_line(elf, board)`.
_EMULATORS = {
    "exec": "platforms.runners.exec",
    "qemu": "platforms.runners.qemu",
    "qemu-riscv32": "platforms.runners.qemu_riscv32",
    "unicorn": "platforms.runners.unicorn_runner",
    "simavr": "platforms.runners.simavr",
    "native-sim": "platforms.runners.native_sim",
}
# Each has `SECTION`, `missing()` and `flash_commands(elf, board, at)`.
_FLASHERS = {
    "west": "platforms.runners.west",
    "pyocd": "platforms.runners.pyocd",
    "openocd": "platforms.runners.openocd",
    "arduino-cli": "platforms.runners.arduino_cli",
    "avrdude": "platforms.runners.avrdude",
    "esptool": "platforms.runners.esptool",
    "picotool": "platforms.runners.picotool",
    "uf2": "platforms.runners.uf2",
}
EMULATORS: Mapping[str, str] = OpenTable(_EMULATORS, GROUP, module_with("open_line"))
FLASHERS: Mapping[str, str] = OpenTable(_FLASHERS, GROUP, module_with("flash_commands"))
RUNNERS: Mapping[str, str] = OpenTable({**_EMULATORS, **_FLASHERS}, GROUP, module_of)
