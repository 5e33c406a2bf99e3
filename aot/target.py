"""The target of code: a core, its features and its memory. Never a board's name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

FIRMWARE_RAM_BYTES = 12 * 1024  # of the fastest RAM: what a firmware's stack and variables take, about


class Optimize(Enum):
    """The resource that the compiler saves first."""

    SPEED = "speed"
    SIZE = "size"
    RAM = "ram"


class Feature(str):
    """Something a core can do that schedules ask for: its name in board files, as a compiler knows it.

    `says` is the feature's name for a compiler, `macro` what the compiler then defines, `machine` the kind
    of processors that can have it, where it is one. Any part of the compiler may have features of its own;
    two of one name are the same.
    """

    says: str
    macro: str
    machine: str

    def __new__(cls, name: str, says: str = "", macro: str = "", machine: str = "") -> Feature:
        made = super().__new__(cls, name)
        made.says, made.macro, made.machine = says, macro, machine
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
    """A piece of the address space: where it is, how big, what it is for."""

    name: str
    origin: int
    bytes: int
    role: str  # "flash" or "ram"
    speed: int = 0  # 0 is the fastest; ties by order


@dataclass(frozen=True, slots=True)
class BaseFirmware:
    """The bytes that firmware takes before it has a model: server, C library, drivers, its own stack."""

    platform: str
    ram_bytes: int  # variables
    stack_bytes: int  # above what a model's run needs
    flash_bytes: int


@dataclass(frozen=True, slots=True)
class FlashReads:
    """The way data is read from flash: by lines, through a cache, and how long the core waits for one."""

    line_bytes: int
    wait_cycles: int  # for a line that the cache does not hold; 0: flash never waits
    sets: int = 1  # of the cache
    ways: int = 1  # lines of a set; without a cache, the one that was read last


@dataclass(frozen=True, slots=True)
class Target:
    """Plain data about the processor that generated code runs on."""

    core: str  # "cortex-m4", "host", ...
    features: frozenset[Feature] = frozenset()
    regions: tuple[MemoryRegion, ...] = ()
    pointer_bytes: int = 4
    registers: int = 0  # general ones that hold values in loops; 0: few
    constant_space: str = ""  # the C address space of constants where a plain load does not reach the flash
    code_cache_bytes: int = 0  # of the cache before a flash that waits; 0: loops of any length run alike
    pairs_instructions: bool = False  # any two begin in a cycle that need not the same part of the core
    flash_reads: FlashReads | None = None  # of constants; None: nobody says
    machine: str = ""  # "arm", "riscv", ...; "": nobody says
    architecture: str = ""  # as the C library is built for: "armv7e-m", ...; "": nobody says

    def has(self, feature: Feature) -> bool:
        return feature in self.features

    def can_never_have(self, feature: Feature) -> bool:
        """True of what only processors of another kind have."""
        return bool(self.machine and feature.machine) and feature.machine != self.machine

    def by_speed(self, role: str) -> tuple[MemoryRegion, ...]:
        """The regions of that role, fastest first."""
        return tuple(sorted((r for r in self.regions if r.role == role), key=lambda r: r.speed))

    @property
    def ram_bytes(self) -> int:
        return sum(r.bytes for r in self.regions if r.role == "ram")

    @property
    def flash_bytes(self) -> int:
        return sum(r.bytes for r in self.regions if r.role == "flash")
