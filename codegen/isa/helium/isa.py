"""Helium, Arm's 16-byte vectors on Cortex-M55 and M85; and what its lanes compute for elements of rows."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.isa.helium import INCLUDES, NEEDS
from codegen.isa.helium.strategies import STRATEGIES
from codegen.isa.isa import Isa, listed_strategies
from codegen.lang.instruction import instruction
from codegen.loops.ir import Instruction
from codegen.loops.tensorize import Lanes

_VECTOR = "local(i8[16], vector_type='int8x16_t')"
_NEEDS = tuple(sorted(NEEDS))


def _of_vector(name: str, more: str, statement: str, call: str) -> Instruction:
    return instruction(
        f"def {name}({more}acc: {_VECTOR}):\n    for i in range(16):\n        {statement}",
        call,
        includes=INCLUDES,
        needs=_NEEDS,
    )


def _of_two(name: str, op: str, function: str) -> Instruction:
    return instruction(
        f"def {name}_vectors(y: output(i8[16]), a: input(i8[16]), b: input(i8[16])):\n"
        f"    for i in range(16):\n        y[i] = a[i] {op} b[i]",
        f"vstrbq_s8({{y}}, {function}(vldrbq_s8({{a}}), vldrbq_s8({{b}})));",
        includes=INCLUDES,
        needs=_NEEDS,
    )


_TWO = (
    ("sum_of", "+", "vaddq_s8"),
    ("difference_of", "-", "vsubq_s8"),
    ("product_of", "*", "vmulq_s8"),
    ("bits_of_both", "&", "vandq_s8"),
    ("bits_of_either", "|", "vorrq_s8"),
    ("bits_of_one", "^", "veorq_s8"),
)
LANES = Lanes(
    "helium",
    16,
    DType.I8,
    (
        _of_vector("least_vector", "", "acc[i] = -128", "{acc} = vdupq_n_s8(-128);"),
        _of_vector("most_vector", "", "acc[i] = 127", "{acc} = vdupq_n_s8(127);"),
        _of_vector(
            "greater_vector",
            "x: input(i8[16]), ",
            "acc[i] = max(acc[i], x[i])",
            "{acc} = vmaxq_s8({acc}, vldrbq_s8({x}));",
        ),
        _of_vector(
            "lesser_vector",
            "x: input(i8[16]), ",
            "acc[i] = min(acc[i], x[i])",
            "{acc} = vminq_s8({acc}, vldrbq_s8({x}));",
        ),
        *(_of_two(name, op, call) for name, op, call in _TWO),
        _of_vector("store_vector", "y: output(i8[16]), ", "y[i] = acc[i]", "vstrbq_s8({y}, {acc});"),
    ),
)


_SAVED_BYTES = 64  # d8 to d15, saved by functions that use vectors

ISA = Isa(
    "helium",
    NEEDS,
    listed_strategies("codegen.isa.helium.strategies", STRATEGIES),
    headers=INCLUDES,
    lanes=LANES,
    saved_bytes=_SAVED_BYTES,
)
