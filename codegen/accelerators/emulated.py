"""The part of an accelerator that an emulated board has in its memory map.

Firmware that drives such a device has a constant `solder_device_NAME` (with _ for -) whose first word is the
address of the registers: emulators read it from the ELF file and put the accelerator's device there. Words
behind it say what the device wants to know, such as its size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import CDLL
from dataclasses import dataclass

from codegen.kernels.c_function import CFile

SYMBOL = "solder_device_"


@dataclass(frozen=True, slots=True)
class OutsideMemory:
    """The memory of the board, as the device reads and writes it."""

    read: Callable[[int, int], bytes]  # address, bytes
    write: Callable[[int, bytes], None]
    bytes_from: Callable[[int], int]  # from an address to the end of its memory; 0 where there is none


@dataclass(frozen=True, slots=True)
class EmulatedBoard:
    """The board that a device is part of, as the device is given it."""

    memory: OutsideMemory
    words: tuple[int, ...]  # of the firmware's constant, behind the address
    loaded: Callable[[Sequence[CFile]], CDLL]  # compiles C for this computer


@dataclass(frozen=True, slots=True)
class Registers:
    """Words of 32 bits, by their offset in bytes."""

    read: Callable[[int], int]
    write: Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class EmulatedDevice:
    """Makes a device for a board; `bytes` is what its registers take of the memory map."""

    bytes: int
    made: Callable[[EmulatedBoard], Registers]
