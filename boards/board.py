"""A board as plain data: its core, its memories, and how to connect to it."""

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
    """How thoroughly a board's data has been tested."""

    HARDWARE_TESTED = "hardware-tested"  # benchmarks/silicon has a measurement of one
    EMULATED_TESTED = "emulated-tested"  # all tests of this project run on it in an emulator
    BUILD_TESTED = "build-tested"  # firmware is built for it but not run
    DATA_ONLY = "data-only"  # copied from its documents


@dataclass(frozen=True, slots=True)
class Uart:
    """The serial port that the session uses."""

    driver: str  # a file in project_templates/baremetal: uart_<driver>.c
    address: int
    clock_hz: int
    baud: int


@dataclass(frozen=True, slots=True)
class Counter:
    """The counter that measures time on the device."""

    # "register": a free-running register at `address`; "dwt": the core's cycle counter, enabled by the
    # firmware (DWT_CYCCNT at 0xE0001004); "systick": the core's SysTick timer, extended by the firmware;
    # "timer1": an AVR's 16-bit timer 1 at the core's clock, extended likewise; "clock": the host's clock;
    # "still": a clock that stops while code runs, so nothing can be measured
    driver: str
    hz: int
    bits: int
    address: int | None = None
    instruction_ns: int | None = None  # emulators only: time per instruction, a power of two

    def instructions(self, ticks: int) -> int:
        """Returns the number of executed instructions, for counters with a fixed time per instruction."""
        if self.instruction_ns is None:
            raise ValueError("this counter measures time, not instructions")
        return round(ticks * 1_000_000_000 / self.hz / self.instruction_ns)


@dataclass(frozen=True, slots=True)
class Console:
    """The serial port for a person at a terminal, and its physical connection."""

    port: str  # in the chip's spelling
    baud: int
    # "probe": through the debug probe or a USB bridge; "usb": the chip's USB; "pins": needs an adapter
    line: str


@dataclass(frozen=True, slots=True)
class UsbId:
    """A USB id of the board or of its debug probe."""

    vid: int
    pid: int
    role: str  # "probe", "application" or "bootloader"


@dataclass(frozen=True, slots=True)
class RunCurrent:
    """The supply current while the core runs, as the chip's maker states it: for estimates of energy."""

    microamps_per_mhz: float
    volts: float
    conditions: str  # clock, code, regulator, temperature of the statement
    source: str

    def joules(self, cycles: float) -> float:
        """Returns the energy of this many cycles. One microampere per megahertz is 1e-12 coulombs a cycle."""
        return cycles * self.microamps_per_mhz * 1e-12 * self.volts


@dataclass(frozen=True, slots=True)
class Board:
    name: str  # the TOML file's name without its extension
    title: str
    mcu: str
    core: Core
    features: frozenset[Feature]  # features that every such core has, and those of this chip
    clock_hz: int
    regions: tuple[MemoryRegion, ...]
    flash_access: FlashAccess | None  # None: flash wait states are unknown
    status: BoardStatus
    reason: str  # for the status data-only
    sources: tuple[str, ...]  # URLs or titles of the documents used
    own_counter: Counter | None  # None: no known time counter, so nothing can be run
    uart: Uart | None  # for bare metal; None: not supported
    console: Console | None
    usb: tuple[UsbId, ...]
    flash_algorithm: str  # file name in the chip's CMSIS pack
    platforms: Mapping[str, Mapping[str, str]]  # platform -> the board's names there
    runners: Mapping[str, Mapping[str, Any]]  # runner -> its settings, best first
    # accelerator -> default option values on this board
    accelerators: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    second_core: SecondCore | None = None  # if the two can compute a model together
    run_current: RunCurrent | None = None  # None: no source states it, so no energy is estimated
    is_target: bool = False  # made from --target: a core and memories without a board

    @property
    def option(self) -> str:
        """Returns the command-line option that selects it."""
        return f"--target {self.name}" if self.is_target else f"--board {self.name}"

    @property
    def counter(self) -> Counter:
        """Returns the counter that measures time on the device. Raises BoardError if it is unknown."""
        if self.own_counter is None:
            raise BoardError(
                f"{self.name} has no table [counter], which is needed to run firmware",
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
        """Returns the firmware around a model, or None if no platform of the board has been measured."""
        return None if self.is_target else base_firmware(self.name, self.platforms)

    def region(self, role: str) -> MemoryRegion:
        """Returns the fastest region with this role."""
        return min((r for r in self.regions if r.role == role), key=lambda r: r.speed)
