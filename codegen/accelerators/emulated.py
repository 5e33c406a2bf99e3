"""The part of an accelerator that an emulated board has in its memory map.

Firmware that drives such a device has a constant `solder_device_NAME` (with _ for -) whose value is the
address of the registers: emulators read it from the ELF file and put the accelerator's device there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SYMBOL = "solder_device_"


@dataclass(frozen=True, slots=True)
class OutsideMemory:
    """The memory of the board, as the device reads and writes it."""

    read: Callable[[int, int], bytes]  # address, bytes
    write: Callable[[int, bytes], None]


@dataclass(frozen=True, slots=True)
class Registers:
    """Words of 32 bits, by their offset in bytes."""

    read: Callable[[int], int]
    write: Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class EmulatedDevice:
    """Makes a device for a board; `bytes` is what its registers take of the memory map."""

    bytes: int
    made: Callable[[OutsideMemory], Registers]
