"""Code before there is a compiler: the bytes of functions, from the kinds of their parts.

What a part takes depends on the core: one with instructions for pairs of numbers has kernels that are mostly
such instructions, another has plain loops. A row of factors for each kind of core was fitted to builds of the
models in benchmarks/results.json at -O2, all but one by gcc 12.2; tests/bench/test_counts.py holds them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby

from aot.target import Feature, Target
from codegen.c.tree import AnyHelper, DeclareVariables, ForLoop, FunctionCall, InstructionCall, TypedName
from codegen.c.tree_walk import Node, walk
from codegen.loops.ir import Instruction, ScalarFunction

_OPERATORS = frozenset("-+*/%&|^~!<>=?")
_ARM = "cortex-m"
_ARMV8_M = "cortex-m3x"
# The C library has strlen and memcpy for Armv7-M in 220 and 308 bytes, for Armv8-M in 92 and 236. With Helium
# loops take as much more as those take less.
_SHORTER_LIBRARY = 200
_INLINED_OPERATORS = 12  # a compiler copies shorter functions into their callers


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
    reals: float  # floats at all: an FPU's instructions, or functions in their place
    functions: float = 0  # more of the latter, which the C library's functions need


_WITH_PAIRS = PartBytes(3.9, 6.9, 3.7, 38.5, 8.6, 12.0, 3.5, 48.3, 27.4, 4.3, 994, 1.0, 0)
_THUMB_2 = PartBytes(3.9, 5.1, 0.0, 29.2, 22.7, 10.4, 5.6, 25.7, 61.4, 8.0, 865, 1.0, 1454)
_WITH_PAIRS_ALONE = replace(_WITH_PAIRS, reals=_THUMB_2.reals)  # without an FPU
_THUMB_1 = PartBytes(3.9, 18.8, 0.0, 12.2, 39.6, 15.1, 2.8, 76.9, 59.9, 4.1, 1280, 1.0, 2403, 2000)
_OTHERS = PartBytes(3.9, 5.7, 0.0, 29.0, 49.1, 12.0, 1.7, 87.8, 57.7, 0.0, 766, 1.2, 2489, 1582)
# Fitted to eight builds by zig.
_WITH_VECTORS = PartBytes(9.1, 30.0, 3.7, 83.3, 9.4, 15.2, 7.4, 102.2, 28.8, 9.6, 748, 1.2, 3811, 2770)


def part_bytes(target: Target) -> PartBytes:
    """The factors of the kind of core that the target has."""
    each = _by_features(target)
    is_short = kind_of_core(target.core) == _ARMV8_M and not target.has(Feature.MVE)
    return replace(each, start=each.start - _SHORTER_LIBRARY) if is_short else each


def _by_features(target: Target) -> PartBytes:
    if target.has(Feature.DSP):
        return _WITH_PAIRS if target.has(Feature.FPU) else _WITH_PAIRS_ALONE
    if target.has(Feature.VECTORS):
        return _WITH_VECTORS
    if target.has(Feature.UNALIGNED):
        return _THUMB_2
    return _THUMB_1 if kind_of_core(target.core) else _OTHERS


def kind_of_core(core: str) -> str:
    """The part of a core's name that decides what code is estimated to take, beside its features."""
    cortex_m3 = _ARMV8_M.removesuffix("x")  # M33 and M35P begin with the name of another kind of core
    if core.startswith(cortex_m3) and core != cortex_m3:
        return _ARMV8_M
    return _ARM if core.startswith(_ARM) else ""


def estimate_bytes(node: Node, each: PartBytes) -> float:
    """The machine code of a kernel's function, without the functions it calls."""
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


def estimate_helper_bytes(helpers: Iterable[AnyHelper], each: PartBytes) -> float:
    """The machine code of functions written by hand: once, except those copied into their callers."""
    counts = (
        _operators(helper.definition.partition("{")[2])
        for helper in helpers
        if not isinstance(helper, Instruction)
    )
    return sum(count for count in counts if count >= _INLINED_OPERATORS) * each.operator


def _operators(text: str) -> int:
    """The operators of C that somebody wrote, one of several characters once."""
    return sum(is_operator for is_operator, _ in groupby(text, _OPERATORS.__contains__))
