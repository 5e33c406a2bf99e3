"""The kinds of cores that estimates know, as rows of a table: what parts of C take there in code and stack.

A core with instructions for pairs of numbers has kernels that are mostly such instructions, another has plain
loops. The factors of each kind were fitted to builds of the models in benchmarks/results.json at -O2, by gcc
12.2 where nothing else is said; benchmarks/estimates.md has all estimates beside what was measured, and
tests/bench/test_counts.py holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from aot.target import Feature, Target


@dataclass(frozen=True, slots=True)
class PartBytes:
    """The machine code that parts of generated C take on one kind of core."""

    instruction: float  # each machine instruction of an instruction set's call
    variable: float
    named: float  # a parameter, or a variable with the value it keeps
    loop: float
    scalar_call: float
    operator: float  # of a function written by hand that is too long to be copied
    row_argument: float  # of what a layer that runs row by row calls
    row_choice: float  # an `if` in such a layer
    row_layer: float
    once_name: float  # a name in a layer that runs once
    start: float  # startup, the entry, the main program
    library: float  # the C library's functions of floats, against newlib's for Thumb-2
    reals: float  # floats at all: an FPU's instructions, or functions in place of them
    functions: float = 0  # more of the latter, which the C library's functions need


@dataclass(frozen=True, slots=True)
class StackBytes:
    """The stack that parts of a run take on one kind of core."""

    beside: float  # what calls the run, and measures it
    table: float  # a function that walks a table, without its counters
    layer: float
    layer_by_rows: float
    row_pointer: float  # in an array of a layer
    stacked_argument: float  # beyond those in registers, of what a layer calls row by row
    value: float  # in use, beyond the free ones
    loop: float
    inner_loop: float  # beyond two around it, beside that
    real: float  # in use, up to the registers there are
    soft_reals: float  # functions in place of an FPU
    library: float  # the C library's functions of floats
    c_instruction: float  # an instruction that is a function of C and becomes part of the kernel
    function: float  # one that the kernel calls and that stays a function
    instruction_function: float  # the same for an instruction
    short_code: float  # -Os keeps more on the stack
    argument: float  # beyond four, of what a layer calls once: RISC-V has registers for eight


@dataclass(frozen=True, slots=True)
class CoreKind:
    """A row of the table: it is for the cores that have what it names."""

    needs: frozenset[Feature]
    parts: PartBytes
    stack: StackBytes
    machine: str = ""  # as in the core's file; "": any
    architecture: str = ""

    def is_of(self, target: Target) -> bool:
        return (
            self.needs <= target.features
            and self.machine in ("", target.machine)
            and self.architecture in ("", target.architecture)
        )


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A run that takes long is interrupted by the timer of its deadline: registers go onto the stack."""

    needs: frozenset[Feature]
    takes_reals: bool  # only where the run computes with floats
    least_work: int  # products and results from which on emulated boards were seen to be interrupted
    bytes: int

    def is_of(self, target: Target, has_reals: bool) -> bool:
        return self.needs <= target.features and has_reals >= self.takes_reals


_PAIRS = PartBytes(3.9, 6.9, 3.7, 38.5, 8.6, 12.0, 3.5, 48.3, 27.4, 4.3, 1045, 1.0, 0)
_THUMB_2 = PartBytes(3.9, 5.1, 0.0, 29.2, 22.7, 10.4, 5.6, 25.7, 61.4, 8.0, 865, 1.0, 1454)
_PAIRS_ALONE = replace(_PAIRS, reals=_THUMB_2.reals)  # without an FPU
_HELIUM_START = 956  # mps3-an547's
_THUMB_1 = PartBytes(3.9, 18.8, 0.0, 12.2, 39.6, 15.1, 2.8, 76.9, 59.9, 4.1, 1280, 1.0, 2403, 2000)
_OTHERS = PartBytes(3.9, 5.7, 0.0, 29.0, 49.1, 12.0, 1.7, 87.8, 57.7, 0.0, 766, 1.2, 2489, 1582)
# Fitted to eight builds by zig.
_RISCV_VECTORS = PartBytes(9.1, 30.0, 3.7, 83.3, 9.4, 15.2, 7.4, 102.2, 28.8, 9.6, 748, 1.2, 3811, 2770)

_HELIUM_STACK = StackBytes(
    83, 12.4, 31.7, 22.8, 7.9, 26.1, 5.0, 0.0, 60.8, 7.3, 36.0, 9.1, 23.2, 95.3, 28.9, 32.7, 4.0
)
_PAIRS_STACK = StackBytes(
    83, 26.8, 0.0, 21.2, 6.3, 11.0, 4.8, 18.4, 0.0, 4.6, 58.0, 34.6, 14.9, 0.0, 0.0, 32.7, 4.0
)
_THUMB_2_STACK = StackBytes(
    83, 17.2, 39.6, 0.0, 11.5, 1.1, 2.0, 12.2, 0.0, 1.5, 26.2, 38.0, 0.0, 0.0, 0.0, 16.0, 4.0
)
_THUMB_1_STACK = StackBytes(
    131, 40.7, 21.0, 0.4, 3.1, 11.8, 5.0, 12.3, 0.0, 11.2, 11.0, 48.0, 0.0, 0.0, 0.0, 16.0, 4.0
)
_OTHERS_STACK = StackBytes(
    139, 54.4, 0.0, 25.9, 3.2, 11.6, 4.9, 0.0, 6.9, 8.9, 90.0, 110.0, 0.0, 0.0, 0.0, 16.0, 0.0
)


def _armv8(kind: CoreKind) -> CoreKind:
    """The kind on Armv8-M, where strlen and memcpy of the C library take 92 and 236 bytes, not 220 and 308.

    With Helium loops take as much more as those take less.
    """
    parts = replace(kind.parts, start=kind.parts.start - 200)
    return replace(kind, parts=parts, architecture="armv8-m.main")


_WITH_PAIRS_AND_FPU = CoreKind(frozenset({Feature.DSP, Feature.FPU}), _PAIRS, _PAIRS_STACK)
_WITH_PAIRS = CoreKind(frozenset({Feature.DSP}), _PAIRS_ALONE, _PAIRS_STACK)
_WITH_THUMB_2 = CoreKind(frozenset({Feature.UNALIGNED}), _THUMB_2, _THUMB_2_STACK)
_KINDS = (  # the first that fits
    CoreKind(
        frozenset({Feature.MVE, Feature.DSP, Feature.FPU}),
        replace(_PAIRS, start=_HELIUM_START),
        _HELIUM_STACK,
    ),
    CoreKind(
        frozenset({Feature.MVE, Feature.DSP}), replace(_PAIRS_ALONE, start=_HELIUM_START), _HELIUM_STACK
    ),
    *(each for kind in (_WITH_PAIRS_AND_FPU, _WITH_PAIRS, _WITH_THUMB_2) for each in (_armv8(kind), kind)),
    CoreKind(frozenset({Feature.VECTORS}), _RISCV_VECTORS, _OTHERS_STACK),
    CoreKind(frozenset(), _THUMB_1, _THUMB_1_STACK, machine="arm"),
    CoreKind(frozenset(), _OTHERS, _OTHERS_STACK),
)
INTERRUPTS: Mapping[str, tuple[Interrupt, ...]] = {  # of each machine, the first that fits
    "arm": (
        Interrupt(frozenset({Feature.MVE}), False, 300_000, 104),
        Interrupt(frozenset({Feature.FPU}), True, 750_000, 104),
        Interrupt(frozenset(), False, 4_000_000, 32),
    )
}


def core_kind(target: Target) -> CoreKind:
    return next(kind for kind in _KINDS if kind.is_of(target))
