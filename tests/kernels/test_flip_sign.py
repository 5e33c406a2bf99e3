"""Which conversions between signed and unsigned bytes go by words, and where a table is still needed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from model_checks import OPTIONS, PLAIN, compiled
from op_case import int8, op_case

from aot.ir.types import DType, TensorType
from aot.ops.quantize import Quantize
from aot.target import Target

WORDS, BYTES, TABLE = "words[0] ^= UINT32_C(0x80808080)", "signed_byte(x[", "table[x["
NO_WORDS = Target("cortex-m0plus")


def uint8(scale: float, zero_point: int) -> TensorType:
    return replace(int8(1, 4, 5, 3, scale=scale, zero_point=zero_point), dtype=DType.U8)


@pytest.mark.parametrize(
    ("x", "target", "said"),
    [
        (uint8(0.05, 131), PLAIN, WORDS),
        (uint8(0.05, 131), NO_WORDS, BYTES),
        (uint8(0.05, 130), PLAIN, TABLE),
        (uint8(0.06, 131), PLAIN, TABLE),
    ],
)
def test_bytes_of_the_same_meaning_are_turned_without_a_table(
    x: TensorType, target: Target, said: str
) -> None:
    graph = op_case("case", Quantize(), [x], int8(scale=0.05, zero_point=3)).graph
    text = compiled(graph, target, OPTIONS["speed"], "m").sources["m.c"]
    assert [s for s in (WORDS, TABLE) if s in text] == ([said] if said is not BYTES else [])
    assert said in text
