"""Code bytes and stack of the parts of C: by kind of core, of functions, and of the C library."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import groupby

from aot.target import Feature, Target
from codegen.c.tree import AnyHelper, DeclareVariables, ForLoop, FunctionCall, InstructionCall, TypedName
from codegen.c.tree_walk import Node, walk
from codegen.loops.ir import Instruction, ScalarFunction

# The kinds of cores for estimates, as rows of a table: code size and stack of parts of C.
#
# A core with instructions for pairs of numbers mostly runs these instructions in its kernels; other cores run
# plain loops. The factors of each kind were fitted to builds of the models in benchmarks/results.json with
# -O2, by gcc 12.2 unless stated otherwise. benchmarks/estimates.md compares all estimates with measurements,
# and tests/bench/test_counts.py checks them.


@dataclass(frozen=True, slots=True)
class PartBytes:
    """The machine code, in bytes, of parts of generated C on one kind of core."""

    instruction: float  # per machine instruction of an instruction's call
    variable: float
    named: float  # a parameter, or a constant variable
    loop: float
    scalar_call: float
    operator: float  # in a hand-written function that is too long to be inlined
    row_argument: float  # of calls in a layer that runs row by row
    row_choice: float  # an `if` in such a layer
    row_layer: float
    once_name: float  # a name in a layer that runs once
    start: float  # startup, entry, main program
    library: float  # the C library's float functions, relative to newlib's for Thumb-2
    floats: float  # any use of floats: an FPU's instructions, or functions that replace them
    functions: float = 0  # additional emulation functions that the C library's functions need


@dataclass(frozen=True, slots=True)
class StackBytes:
    """The stack, in bytes, of parts of a run on one kind of core."""

    beside: float  # the caller of the run, including its measurement
    table: float  # a function that interprets a table, without its counters
    layer: float
    layer_by_rows: float
    row_pointer: float  # in an array of a layer
    stacked_argument: float  # beyond those in registers, in a layer's row by row call
    value: float  # live, beyond the free registers
    loop: float
    inner_loop: float  # an additional value, in a loop nested more than two deep
    real: float  # live, up to the number of registers
    soft_reals: float  # functions that replace an FPU
    library: float  # the C library's float functions
    c_instruction: float  # an instruction implemented as a C function and inlined
    function: float  # a function that the kernel calls and that is not inlined
    instruction_function: float  # the same for an instruction
    short_code: float  # -Os spills more
    argument: float  # beyond four, of a layer's single call; RISC-V has registers for eight


@dataclass(frozen=True, slots=True)
class CoreKind:
    """A row of the table, for all cores with the properties that it lists."""

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
    """A long run is interrupted by the timer of its deadline, which pushes registers onto the stack."""

    needs: frozenset[Feature]
    takes_reals: bool  # only if the run computes with floats
    least_work: int  # products and results from which on runs on emulated boards were interrupted
    bytes: int

    def is_of(self, target: Target, has_floats: bool) -> bool:
        return self.needs <= target.features and has_floats >= self.takes_reals


_PAIRS = PartBytes(3.9, 6.9, 3.7, 38.5, 8.6, 9.0, 3.5, 48.3, 27.4, 4.3, 1150, 1.0, 0)
_THUMB_2 = PartBytes(3.9, 5.1, 0.0, 29.2, 22.7, 10.4, 5.6, 25.7, 61.4, 8.0, 865, 1.0, 1454)
_PAIRS_ALONE = replace(_PAIRS, floats=_THUMB_2.floats)  # without an FPU
_HELIUM_START = 956  # of mps3-an547
_THUMB_1 = PartBytes(3.9, 18.8, 0.0, 12.2, 39.6, 14.0, 2.8, 76.9, 59.9, 4.1, 1280, 1.0, 2200, 2000)
_OTHERS = PartBytes(3.9, 5.7, 0.0, 29.0, 49.1, 12.0, 1.7, 87.8, 57.7, 0.0, 766, 1.2, 2489, 1582)
# Fitted to eight builds of int8 models and six of float models by zig.
_RISCV_VECTORS = PartBytes(9.1, 30.0, 3.7, 83.3, 9.4, 11.0, 7.4, 102.2, 28.8, 9.6, 748, 1.2, 1800, 600)

_HELIUM_STACK = StackBytes(
    83, 12.4, 31.7, 22.8, 7.9, 26.1, 5.0, 0.0, 60.8, 7.3, 36.0, 9.1, 23.2, 95.3, 28.9, 32.7, 4.0
)
_PAIRS_STACK = StackBytes(
    83, 26.8, 0.0, 21.2, 6.3, 11.0, 4.8, 18.4, 0.0, 4.6, 58.0, 34.6, 14.9, 0.0, 0.0, 32.7, 4.0
)
_THUMB_2_STACK = StackBytes(
    83, 17.2, 39.6, 0.0, 11.5, 1.1, 2.0, 12.2, 0.0, 1.5, 30.2, 38.0, 0.0, 0.0, 0.0, 16.0, 4.0
)
_THUMB_1_STACK = StackBytes(
    131, 40.7, 21.0, 0.4, 3.1, 11.8, 5.0, 12.3, 0.0, 11.2, 11.0, 48.0, 0.0, 0.0, 0.0, 16.0, 4.0
)
_OTHERS_STACK = StackBytes(
    139, 54.4, 0.0, 25.9, 3.2, 11.6, 4.9, 0.0, 6.9, 8.9, 90.0, 110.0, 0.0, 0.0, 0.0, 16.0, 0.0
)


def _armv8(kind: CoreKind) -> CoreKind:
    """Returns the kind for Armv8-M cores, whose C library is smaller.

    Its strlen and memcpy have 92 and 236 bytes, not 220 and 308. With Helium, loops need as many bytes more.
    """
    parts = replace(kind.parts, start=kind.parts.start - 200)
    return replace(kind, parts=parts, architecture="armv8-m.main")


_WITH_PAIRS_AND_FPU = CoreKind(frozenset({Feature.DSP, Feature.FPU}), _PAIRS, _PAIRS_STACK)
_WITH_PAIRS = CoreKind(frozenset({Feature.DSP}), _PAIRS_ALONE, _PAIRS_STACK)
_WITH_THUMB_2 = CoreKind(frozenset({Feature.UNALIGNED}), _THUMB_2, _THUMB_2_STACK)
_KINDS = (  # the first match counts
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
INTERRUPTS: Mapping[str, tuple[Interrupt, ...]] = {  # of each machine, the first match counts
    "arm": (
        Interrupt(frozenset({Feature.MVE}), False, 300_000, 104),
        Interrupt(frozenset({Feature.FPU}), True, 750_000, 104),
        Interrupt(frozenset(), False, 4_000_000, 32),
    )
}


def core_kind(target: Target) -> CoreKind:
    return next(kind for kind in _KINDS if kind.is_of(target))


def startup_bytes(target: Target) -> int:
    """Returns the bytes of startup, entry and main program of the smallest firmware, without the model."""
    return round(core_kind(target).parts.start)


# Code and stack of the C library's functions that hand-written float functions call.
#
# The bytes are newlib's, as linked by gcc 12.2 one at a time for a Cortex-M4, M55 and M3, including callees.
# `PartBytes.library` scales them for other cores.


class FloatHardware(IntEnum):
    """The float hardware, which selects a column of a table."""

    SINGLE = 0
    DOUBLE = 1  # the C library's double functions are shorter then
    NONE = 2

    @staticmethod
    def of(target: Target) -> FloatHardware:
        return next(floats for needs, floats in _BY_FEATURES if needs <= target.features)


_BY_FEATURES: tuple[tuple[frozenset[Feature], FloatHardware], ...] = (  # the first match counts
    (frozenset({Feature.FPU, Feature.MVE}), FloatHardware.DOUBLE),
    (frozenset({Feature.FPU}), FloatHardware.SINGLE),
    (frozenset(), FloatHardware.NONE),
)
_BYTES = {
    "acosf": (750, 758, 1054),
    "acoshf": (1493, 1517, 2025),
    "asinf": (670, 670, 1006),
    "asinhf": (1448, 1472, 1992),
    "atan2f": (848, 852, 880),
    "atanf": (480, 480, 580),
    "atanhf": (1020, 1045, 1257),
    "ceilf": (152, 8, 144),
    "cosf": (150, 496, 120),
    "coshf": (1600, 1685, 1889),
    "erff": (2548, 2696, 3104),
    "expf": (660, 728, 717),
    "expm1f": (768, 800, 972),
    "floor": (2700, 24, 2000),  # with the double division that it calls
    "floorf": (156, 8, 148),
    "fmodf": (470, 517, 473),
    "log1pf": (700, 736, 944),
    "logf": (650, 676, 810),
    "powf": (2430, 1624, 2805),
    "rintf": (200, 8, 192),
    "sinf": (170, 520, 124),
    "sinhf": (1660, 1741, 1933),
    "sqrtf": (110, 125, 313),
    "tanf": (190, 2690, 90),
    "tanhf": (960, 1000, 1168),
}
ANGLES = frozenset({"cosf", "sinf", "tanf"})
# For range reduction in any of them. A single cosine on an FPU has 4,016; this value fits whole models.
_LARGE_ANGLES_BYTES = (3400, 1356, 4576)
_OF_BITS = frozenset({"ceilf", "floorf", "rintf"})  # computed with integers
# The stack of a function: a share of the typical stack on that kind of core, and additional bytes.
_STACK_SHARES = {**dict.fromkeys(_OF_BITS, 0.0), "expm1f": 0.5, "floor": 0.5, "sqrtf": 0.5}
_MORE_STACK_BYTES = {"floor": 40, "powf": 44}


def library_calls(helpers: Iterable[AnyHelper]) -> frozenset[str]:
    """Returns the functions of the table that the helpers call."""
    return frozenset(name for each in helpers for name in each.library_calls if name in _BYTES)


def library_bytes(called: frozenset[str], floats: FloatHardware) -> int:
    """Returns the code bytes of these functions, including common parts once."""
    return sum(_BYTES[name][floats] for name in called) + _LARGE_ANGLES_BYTES[floats] * bool(called & ANGLES)


def uses_float(called: frozenset[str]) -> bool:
    """Returns True if some of them need float products and sums, which are functions without an FPU."""
    return bool(called - _OF_BITS)


def library_stack_bytes(called: frozenset[str], each: float) -> float:
    """Returns the stack of the deepest of these functions, if most need `each` bytes."""
    found = (_STACK_SHARES.get(name, 1.0) * each + _MORE_STACK_BYTES.get(name, 0) for name in called)
    return max(found, default=0.0)


# Estimates the code bytes of functions from the kinds of their parts.
#
# The size of a part depends on the kind of core (`core_kinds.py`).

_TABLE = re.compile(r"^static const (?:u?int(\d+)_t|float) \w+\[(\d+)\]", re.MULTILINE)
_OPERATORS = frozenset("-+*/%&|^~!<>=?")
_INLINED_OPERATORS = 12  # a compiler inlines shorter functions


def estimate_bytes(node: Node, each: PartBytes) -> float:
    """Returns the code bytes of a kernel's function, without its callees."""
    return sum(_bytes_of(part, each) for part in walk(node))


def _bytes_of(part: Node, each: PartBytes) -> float:
    match part:
        case InstructionCall():
            return part.helper.machine_instructions * each.instruction
        case DeclareVariables():
            return len(part.names) * each.variable
        case TypedName():
            return each.named
        case ForLoop():
            return each.loop
        case FunctionCall() if isinstance(part.helper, ScalarFunction):
            return each.scalar_call
    return 0.0


def estimate_helper_bytes(helpers: Collection[AnyHelper], each: PartBytes) -> float:
    """Returns the code bytes of hand-written functions, each once, except inlined ones; tables included."""
    counts = (
        _operators(_usual(helper.definition).partition("{")[2])
        for helper in helpers
        if not isinstance(helper, Instruction)
    )
    tables = sum(_table_bytes(helper.definition) for helper in helpers)
    return sum(count for count in counts if count >= _INLINED_OPERATORS) * each.operator + tables


def _table_bytes(definition: str) -> int:
    """Returns the bytes of the constant tables in a definition, except inside functions, which are small."""
    found = _TABLE.findall(definition)
    return sum(int(bits or 32) // 8 * int(count) for bits, count in found)


def _usual(definition: str) -> str:
    """Returns C text without the parts for compilers that keep registers to themselves."""
    first, *others = definition.split("#ifdef FEW_REGISTERS")
    kept = (
        part.partition("#endif")[0].partition("#else")[2] + part.partition("#endif")[2] for part in others
    )
    return first + "".join(kept)


def _operators(text: str) -> int:
    """Counts the operators in C text; operators of several characters count once."""
    return sum(is_operator for is_operator, _ in groupby(text, _OPERATORS.__contains__))
