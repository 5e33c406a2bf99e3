"""What code is generated for: a core, its features and its memory. Never a board's name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

FIRMWARE_RAM_BYTES = 12 * 1024  # of the fastest RAM: what a firmware's stack and variables take, about


class Optimize(Enum):
    """What to spend for what."""

    SPEED = "speed"
    SIZE = "size"
    RAM = "ram"


class Feature(Enum):
    """Instruction-set extensions that schedules ask for."""

    DSP = "dsp"  # SMLAD, SXTB16: two 16-bit MACs per instruction
    MVE = "mve"  # Helium: sixteen 8-bit MACs per instruction
    FPU = "fpu"  # single precision in hardware
    UNALIGNED = "unaligned"  # word loads at any address


@dataclass(frozen=True, slots=True)
class Region:
    """A piece of the address space: where it is, how big, what it is for."""

    name: str
    origin: int
    bytes: int
    role: str  # "flash" or "ram"
    speed: int = 0  # 0 is the fastest; ties by order


@dataclass(frozen=True, slots=True)
class Target:
    """Plain data about the processor that generated code runs on."""

    core: str  # "cortex-m4", "host", ...
    features: frozenset[Feature] = frozenset()
    regions: tuple[Region, ...] = ()
    pointer_bytes: int = 4

    def has(self, feature: Feature) -> bool:
        return feature in self.features

    def by_speed(self, role: str) -> tuple[Region, ...]:
        """The regions of that role, fastest first."""
        return tuple(sorted((r for r in self.regions if r.role == role), key=lambda r: r.speed))

    @property
    def constant_space(self) -> str:
        """The C address space of constants, where a plain load does not reach the flash: AVR's."""
        return "__flash" if self.core == "avr" else ""

    @property
    def ram_bytes(self) -> int:
        return sum(r.bytes for r in self.regions if r.role == "ram")

    @property
    def flash_bytes(self) -> int:
        return sum(r.bytes for r in self.regions if r.role == "flash")
