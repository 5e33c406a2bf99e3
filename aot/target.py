"""The target of generated code: a core, its features and its memories. Never a board's name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

FIRMWARE_RAM_BYTES = 12 * 1024  # estimate for stack and variables of the firmware, in the fastest RAM


class Optimize(Enum):
    """The resource to save first."""

    SPEED = "speed"
    SIZE = "size"
    RAM = "ram"


class Feature(str):
    """A feature of a core that schedules can require, named as in board files.

    `says` describes the feature to users, `macro` is the macro that compilers define for it, `machine` the
    only processor family that can have it, if any. Any part of the compiler may define features; equal names
    are equal features.
    """

    description: str
    macro: str
    machine: str

    def __new__(cls, name: str, description: str = "", macro: str = "", machine: str = "") -> Feature:
        made = super().__new__(cls, name)
        made.description, made.macro, made.machine = description, macro, machine
        return made

    DSP: ClassVar[Feature]
    MVE: ClassVar[Feature]
    FPU: ClassVar[Feature]
    UNALIGNED: ClassVar[Feature]
    VECTORS: ClassVar[Feature]


# SMLAD, SXTB16: two 16-bit MACs per instruction.
Feature.DSP = Feature("dsp", "Arm's DSP instructions (SMLAD, SSAT, ...)", "__ARM_FEATURE_DSP", "arm")
# Sixteen 8-bit MACs per instruction.
Feature.MVE = Feature("mve", "Helium (Arm's MVE for integers)", "__ARM_FEATURE_MVE", "arm")
Feature.FPU = Feature("fpu", "an FPU for single precision", "__ARM_FP")
Feature.UNALIGNED = Feature("unaligned", "word loads at any address", "__ARM_FEATURE_UNALIGNED")
# Lanes of 8, 16 and 32 bits in registers of 128 bits or more.
Feature.VECTORS = Feature(
    "zve32x", "RISC-V's vectors of integers (Zve32x, Zvl128b)", "__riscv_vector", "riscv"
)
FEATURES = (Feature.DSP, Feature.MVE, Feature.FPU, Feature.UNALIGNED, Feature.VECTORS)


@dataclass(frozen=True, slots=True)
class MemoryRegion:
    """A part of the address space: address, size and purpose."""

    name: str
    origin: int
    bytes: int
    role: str  # "flash" or "ram"
    speed: int = 0  # 0 is the fastest; ties by order


@dataclass(frozen=True, slots=True)
class BaseFirmware:
    """Bytes that firmware needs without a model: server, C library, drivers and stack."""

    platform: str
    ram_bytes: int  # variables
    stack_bytes: int  # in addition to the stack of a model's run
    flash_bytes: int


@dataclass(frozen=True, slots=True)
class FlashReads:
    """How data is read from flash: line by line, through a cache, with a number of wait cycles."""

    line_bytes: int
    wait_cycles: int  # per line that is not cached; 0: no waits
    sets: int = 1  # of the cache
    ways: int = 1  # lines per set; a flash without a cache keeps the last line


@dataclass(frozen=True, slots=True)
class Target:
    """Data about the processor that runs the generated code."""

    core: str  # "cortex-m4", "host", ...
    features: frozenset[Feature] = frozenset()
    regions: tuple[MemoryRegion, ...] = ()
    pointer_bytes: int = 4
    registers: int = 0  # general registers that hold values in loops; 0: few
    constant_space: str = ""  # C address space of constants, if plain loads cannot read flash
    code_cache_bytes: int = 0  # of the cache in front of slow flash; 0: the length of a loop does not matter
    # dual issue: any two instructions start together if they use different units
    pairs_instructions: bool = False
    adds_apart: bool = False  # a float product and a sum take less time than one fused instruction
    flash_reads: FlashReads | None = None  # of constants; None: unknown
    machine: str = ""  # "arm", "riscv", ...; "": unknown
    architecture: str = ""  # that the C library is built for: "armv7e-m", ...; "": unknown

    def has(self, feature: Feature) -> bool:
        return feature in self.features

    def can_never_have(self, feature: Feature) -> bool:
        """Returns whether only processors of another family have the feature."""
        return bool(self.machine and feature.machine) and feature.machine != self.machine

    def by_speed(self, role: str) -> tuple[MemoryRegion, ...]:
        """Returns the regions of that role, fastest first."""
        return tuple(sorted((r for r in self.regions if r.role == role), key=lambda r: r.speed))

    @property
    def ram_bytes(self) -> int:
        return sum(r.bytes for r in self.regions if r.role == "ram")

    @property
    def flash_bytes(self) -> int:
        return sum(r.bytes for r in self.regions if r.role == "flash")
