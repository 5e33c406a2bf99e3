"""Arm's DSP extension: two 16-bit products per instruction, and rounding high products.

Four bytes of a register: maxima and minima by SSUB8 and SEL; sums, differences and bit operations. Scalar
functions by SMMULR, SMMLAR and SSAT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from aot.ir.types import DType
from aot.ops.resize import FRACTION_BITS
from codegen.isa.dsp.needs import ANY_WORDS, NEEDS
from codegen.isa.dsp.strategies import STRATEGIES
from codegen.isa.isa import Isa, listed_strategies
from codegen.isa.plain.scalar_math import CLAMP, PORTABLE, FunctionLines, ScalarMath, SumLine, rounded
from codegen.kernels.kernel import Kernel
from codegen.lang.instruction import instruction
from codegen.loops.ir import (
    Buffer,
    BufferPlace,
    Instruction,
    Invoke,
    Proc,
    Role,
    ScalarFunction,
    map_places,
    walk,
)
from codegen.loops.tensorize import Lanes

_NEEDS = tuple(sorted(ANY_WORDS))
_BYTES = "local(i8[4], vector_type='uint32_t')"
_WORD_OF = ScalarFunction(
    "word_of_bytes",
    DType.U32,
    """\
/* The four bytes from p on, as a word. */
static inline uint32_t word_of_bytes(const int8_t *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}
""",
    lambda *_bytes: 0,  # called by definitions only
    includes=("string.h",),
)
_EXTREME = """\
/* The {says} of each byte of two words: SSUB8 notes where the first is not less, SEL chooses. */
static inline uint32_t {name}_bytes(uint32_t a, uint32_t b)
{{
    uint32_t result;
    __asm__("ssub8 %0, %1, %2\\n\\tsel %0, {chosen}" : "=&r"(result) : "r"(a), "r"(b) : "cc");
    return result;
}}
"""
_SUM = """\
/* {opcode} of four bytes of two words: each stays in its own byte. */
static inline void {name}_bytes(int8_t *y, const int8_t *a, const int8_t *b)
{{
    uint32_t result;
    __asm__("{opcode} %0, %1, %2" : "=r"(result) : "r"(word_of_bytes(a)), "r"(word_of_bytes(b)) : "cc");
    memcpy(y, &result, 4);
}}
"""


def _begun(name: str, value: int) -> Instruction:
    byte = value & 0xFF
    return instruction(
        f"def {name}(acc: {_BYTES}):\n    for i in range(4):\n        acc[i] = {value}",
        f"{{acc}} = UINT32_C(0x{byte:02x}{byte:02x}{byte:02x}{byte:02x});",
        needs=_NEEDS,
    )


def _grown(name: str, op: str, chosen: str, says: str) -> Instruction:
    made = instruction(
        f"def {name}_bytes(acc: {_BYTES}, x: input(i8[4])):\n"
        f"    for i in range(4):\n        acc[i] = {op}(acc[i], x[i])",
        f"{{acc}} = {name}_bytes({{acc}}, word_of_bytes({{x}}));",
        _EXTREME.format(name=name, chosen=chosen, says=says),
        needs=_NEEDS,
    )
    return replace(made, calls=(_WORD_OF,))


def _of_two(name: str, op: str, opcode: str) -> Instruction:
    made = instruction(
        f"def {name}_bytes(y: output(i8[4]), a: input(i8[4]), b: input(i8[4])):\n"
        f"    for i in range(4):\n        y[i] = a[i] {op} b[i]",
        f"{name}_bytes({{y}}, {{a}}, {{b}});",
        _SUM.format(name=name, opcode=opcode),
        includes=("string.h",),
        needs=_NEEDS,
    )
    return replace(made, calls=(_WORD_OF,))


_STORE = instruction(
    f"def store_bytes(y: output(i8[4]), acc: {_BYTES}):\n    for i in range(4):\n        y[i] = acc[i]",
    "memcpy({y}, &{acc}, 4);",
    includes=("string.h",),
    needs=_NEEDS,
)
LANES = Lanes(
    "dsp",
    4,
    DType.I8,
    (
        _begun("least_bytes", -128),
        _begun("most_bytes", 127),
        _grown("greater", "max", "%1, %2", "greater"),
        _grown("lesser", "min", "%2, %1", "lesser"),
        _STORE,
        _of_two("sum_of", "+", "sadd8"),
        _of_two("difference_of", "-", "ssub8"),
        _of_two("bits_of_both", "&", "and"),
        _of_two("bits_of_either", "|", "orr"),
        _of_two("bits_of_one", "^", "eor"),
    ),
)


def _instruction(
    name: str,
    parameters: str,
    asm: str,
    compute: Callable[..., int],
    comment: str = "",
    result: str = "result",
) -> ScalarFunction:
    """Returns a function of one instruction, given as the operands of an assembly statement."""
    head = f"/* {comment} */\n" if comment else ""
    definition = f"""\
{head}static inline int32_t {name}({parameters})
{{
    int32_t {result};
    __asm__({asm});
    return {result};
}}
"""
    return ScalarFunction(name, DType.I32, definition, compute, needs=NEEDS)


SATURATE = _instruction(
    "saturate_to_int8",
    "int32_t v",
    '"ssat %0, #8, %1" : "=r"(result) : "r"(v)',
    lambda v: min(max(v, -128), 127),
)


@cache
def _shifted_and_saturated(shift: int) -> ScalarFunction:
    return _instruction(
        f"saturate_to_int8_shift_{shift}",
        "int32_t v",
        f'"ssat %0, #8, %1, asr #{shift}" : "=r"(result) : "r"(v)',
        lambda v: min(max(v >> shift, -128), 127),
    )


def _line(line: SumLine, low: int, high: int) -> FunctionLines:
    """Returns the line with its start split into parts, which compilers prefer as immediates."""
    lines = (
        "int32_t v;",
        f'__asm__("mla %0, %1, %2, %3" : "=r"(v) : "r"(a), "r"({line.first}), "r"({line.start}));',
        f'__asm__("mla %0, %1, %2, %0" : "+r"(v) : "r"(b), "r"({line.second}));',
    )
    if (low, high) != DType.I8.limits:
        return FunctionLines((*lines, f"return clamp(v >> {line.shift}, {low}, {high});"), (CLAMP,), NEEDS)
    saturated = f'__asm__("ssat %0, #8, %0, asr #{line.shift}" : "+r"(v));'
    return FunctionLines((*lines, saturated, "return v;"), (), NEEDS)


_HIGH_MUL = _instruction(
    PORTABLE.high_mul.name,
    "int32_t a, int32_t b",
    '"smmulr %0, %1, %2" : "=r"(result) : "r"(a * 2), "r"(b)',
    PORTABLE.high_mul.compute,
    "round(a * b / 2^31), half up; |a| < 2^30.",
)
_HIGH_MUL_ADD = _instruction(
    PORTABLE.high_mul_add.name,
    "int32_t a, int32_t b, int32_t c",
    '"smmlar %0, %1, %2, %3" : "=r"(result) : "r"(a * 2), "r"(b), "r"(c)',
    PORTABLE.high_mul_add.compute,
    "round(a * b / 2^31) + c, half up; |a| < 2^30.",
)
_HIGH_WORD_ADD = _instruction(
    PORTABLE.high_word_add.name,
    "int32_t a, int32_t b, int32_t c",
    '"smmlar %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(c)',
    lambda a, b, c: (a * b + (1 << 31) >> 32) + c,
    "The high word of a * b + 2^31, plus c.",
)
_ROUNDED_SHARE = _instruction(
    PORTABLE.rounded_share.name,
    "int32_t a",
    f'"smmulr %0, %1, %2" : "=r"(share) : "r"(a + (a >> 31)), "r"({1 << 32 - 2 * FRACTION_BITS})',
    rounded,
    f"a / {1 << 2 * FRACTION_BITS}, half away from zero: SMMULR rounds up, a sign is -1.",
    "share",
)


def with_dsp(math: ScalarMath) -> ScalarMath:
    """Returns the functions, with the extension's instructions where available."""
    return replace(
        math,
        high_mul=_HIGH_MUL,
        high_mul_add=_HIGH_MUL_ADD,
        high_word_add=_HIGH_WORD_ADD,
        high_word_half=1 << 31,
        rounded_share=_ROUNDED_SHARE,
        line=_line,
        saturate=SATURATE,
        shifted_and_saturated=_shifted_and_saturated,
    )


_START, _SCALE, _BOTH = "bias", "mult", "scaling"


def with_joined_tables(kernel: Kernel) -> Kernel:
    """Returns the kernel with a channel's start and scale in one table, if its loops load them one by one.

    A core with few registers then needs one pointer instead of two, and both numbers share a line of flash.
    """
    tables = {param.name: param for param in kernel.proc.params if param.name in (_START, _SCALE)}
    if len(tables) < 2 or len(kernel.procs) > 1 or kernel.calls is not None or kernel.row_tables:
        return kernel
    start, scale = tables[_START], tables[_SCALE]
    if not start.dtype is scale.dtype is DType.I32 or start.elements != scale.elements:
        return kernel
    if any(place.buffer.name in tables for place in _windows(kernel.proc)):
        return kernel
    both = Buffer(_BOTH, DType.I32, 2 * start.elements, Role.CONSTANT)

    def joined(place: BufferPlace) -> BufferPlace:
        if place.buffer.name not in tables:
            return place
        return replace(place, buffer=both, index=place.index * 2 + (0 if place.buffer.name == _START else 1))

    params = tuple(both if p.name == _START else p for p in kernel.proc.params if p.name != _SCALE)
    body = tuple(map_places(stmt, joined) for stmt in kernel.proc.body)
    numbers = np.stack((kernel.constants[_START], kernel.constants[_SCALE]), axis=1).reshape(-1)
    constants = {
        _BOTH if name == _START else name: data for name, data in kernel.constants.items() if name != _SCALE
    }
    return replace(
        kernel,
        proc=replace(kernel.proc, params=params, body=body),
        constants={**constants, _BOTH: numbers},
    )


def _windows(proc: Proc) -> Iterator[BufferPlace]:
    """Yields the operands of instructions."""
    for stmt in walk(proc.body):
        if isinstance(stmt, Invoke):
            yield from stmt.windows


ISA = Isa(
    "dsp",
    NEEDS,
    listed_strategies("codegen.isa.dsp.strategies", STRATEGIES),
    math=with_dsp,
    rewrite=lambda kernel, _target: with_joined_tables(kernel),
    lanes=LANES,
)
