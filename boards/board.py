"""A board as plain data: its core, its memories, and the ways to reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from aot.errors import BoardError
from aot.target import BaseFirmware, Feature, MemoryRegion, Target
from boards.base_firmware import base_firmware
from boards.cores import Core
from boards.flash_access import FlashAccess
from boards.second_core import SecondCore


class BoardStatus(Enum):
    """The degree to which a board's data has been tested."""

    EMULATED_TESTED = "emulated-tested"  # every test of this project runs on it in an emulator
    BUILD_TESTED = "build-tested"  # firmware is built for it, not run
    DATA_ONLY = "data-only"  # read from its documents


@dataclass(frozen=True, slots=True)
class Uart:
    """The serial port that the session runs over."""

    driver: str  # the file in project_templates/baremetal: uart_<driver>.c
    address: int
    clock_hz: int
    baud: int


@dataclass(frozen=True, slots=True)
class Counter:
    """The counter that measures time on the device."""

    # "register": a free-running register at `address`; "dwt": the core's own cycle counter, which must be
    # switched on (DWT_CYCCNT at 0xE0001004); "systick": the core's SysTick timer, which the firmware must
    # extend; "timer1": an AVR's 16-bit timer 1 at the core's clock, likewise; "clock": the host's clock;
    # "still": a clock that stands still while code runs, so that nothing can be measured
    driver: str
    hz: int
    bits: int
    address: int | None = None
    instruction_ns: int | None = None  # emulators: time one instruction takes, a power of two

    def instructions(self, ticks: int) -> int:
        """Executed instructions in `ticks`, where one instruction has a fixed time."""
        if self.instruction_ns is None:
            raise ValueError("this counter measures time, not instructions")
        return round(ticks * 1_000_000_000 / self.hz / self.instruction_ns)


@dataclass(frozen=True, slots=True)
class Console:
    """The serial port that a person sees, and the connection that it goes through."""

    port: str  # the chip's name for it
    baud: int
    # "probe": through the debug probe or a chip like it; "usb": the chip's own USB; "pins": needs an adapter
    line: str


@dataclass(frozen=True, slots=True)
class UsbId:
    """The USB ids of the board or of its debug probe."""

    vid: int
    pid: int
    role: str  # "probe", "application" or "bootloader"


@dataclass(frozen=True, slots=True)
class Board:
    name: str  # the TOML file's name without its ending
    title: str
    mcu: str
    core: Core
    features: frozenset[Feature]  # those that the core always has, and those that this chip chose
    clock_hz: int
    regions: tuple[MemoryRegion, ...]
    flash_access: FlashAccess | None  # None: nothing is known of how flash waits
    status: BoardStatus
    reason: str  # why it is data-only
    sources: tuple[str, ...]  # where the facts are from
    own_counter: Counter | None  # None: nothing is known to count time, and nothing can be run
    uart: Uart | None  # what bare metal drives; None: it does not
    console: Console | None
    usb: tuple[UsbId, ...]
    flash_algorithm: str  # its file in the chip's CMSIS pack
    platforms: Mapping[str, Mapping[str, str]]  # platform -> the board's names there
    runners: Mapping[str, Mapping[str, Any]]  # runner -> its settings, best first
    # accelerator -> values of its options, where it is asked for on this board and they are not given
    accelerators: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    second_core: SecondCore | None = None  # that computes models with the first where it can
    is_target: bool = False  # no board, but a core and memories that a user has named: `name` says which

    @property
    def option(self) -> str:
        """The words of the command line that name it."""
        return f"--target {self.name}" if self.is_target else f"--board {self.name}"

    @property
    def counter(self) -> Counter:
        """The counter that measures time on the device. Raises BoardError where none is known."""
        if self.own_counter is None:
            raise BoardError(
                f"{self.name} has no table [counter]: firmware cannot be run there",
                hint="deploy docs adding-a-board lists every key",
            )
        return self.own_counter

    @property
    def target(self) -> Target:
        access = self.flash_access
        cache_bytes = access.code_cache_bytes(self.clock_hz) if access else 0
        reads = access.data_reads(self.clock_hz) if access else None
        return self.core.target(self.features, self.regions, cache_bytes, reads)

    @property
    def base_firmware(self) -> BaseFirmware | None:
        """The firmware around a model; None where no platform of the board has been measured."""
        return None if self.is_target else base_firmware(self.name, self.platforms)

    def region(self, role: str) -> MemoryRegion:
        """The fastest region of that role."""
        return min((r for r in self.regions if r.role == role), key=lambda r: r.speed)
