"""The device of an accelerator in the memory map of an emulated board.

Firmware that uses such a device has a constant `solder_device_NAME` (with _ for -), whose first 32-bit
element is the address of the registers. Emulators read it from the ELF file and map the device there. The
following elements are parameters of the device, such as its size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import CDLL
from dataclasses import dataclass

from codegen.kernels.kernel import CFile

SYMBOL = "solder_device_"


@dataclass(frozen=True, slots=True)
class OutsideMemory:
    """The memory of the board, as the device accesses it."""

    read: Callable[[int, int], bytes]  # (address, bytes)
    write: Callable[[int, bytes], None]
    bytes_from: Callable[[int], int]  # from an address to the end of its memory; 0 outside of memory


@dataclass(frozen=True, slots=True)
class EmulatedBoard:
    """The board of a device, as the device sees it."""

    memory: OutsideMemory
    words: tuple[int, ...]  # elements of the firmware's constant after the address
    loaded: Callable[[Sequence[CFile]], CDLL]  # compiles C for the host


@dataclass(frozen=True, slots=True)
class Registers:
    """32-bit registers, by their offset in bytes."""

    read: Callable[[int], int]
    write: Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class EmulatedDevice:
    """Creates a device for a board; `bytes` is the size of its registers in the memory map."""

    bytes: int
    made: Callable[[EmulatedBoard], Registers]
