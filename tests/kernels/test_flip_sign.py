"""Which conversions between signed and unsigned bytes go by words, and where a table is still needed."""

from dataclasses import replace

import numpy as np
import pytest
from c_checks import failures_on_host
from model_checks import DSP, OPTIONS, PLAIN, compiled, model_check
from op_case import int8, op_case

from aot.ir.text import parse_graph
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
def test_bytes_of_the_same_meaning_are_turned_without_a_table(x, target, said):
    graph = op_case("case", Quantize(), [x], int8(scale=0.05, zero_point=3)).graph
    text = compiled(graph, target, OPTIONS["speed"], "m").sources["m.c"]
    assert [s for s in (WORDS, TABLE) if s in text] == ([said] if said is not BYTES else [])
    assert said in text


OF_TWO_SIZES = """\
graph "g"
input "x": u8[1,4,5,3] {0.5, 131}
input "z": u8[1,6,7,4] {0.5, 131}
"in" = quantize() "x" -> "a": i8[1,4,5,3] {0.5, 3}
"also_in" = quantize() "z" -> "b": i8[1,6,7,4] {0.5, 3}
"p" = max_pool2d(size=[2, 2], stride=[1, 1]) "a" -> "c": i8[1,3,4,3] {0.5, 3}
"q" = max_pool2d(size=[2, 2], stride=[1, 1]) "b" -> "d": i8[1,5,6,4] {0.5, 3}
"out" = quantize(to=u8) "c" -> "y": u8[1,3,4,3] {0.5, 131}
"also_out" = quantize(to=u8) "d" -> "w": u8[1,5,6,4] {0.5, 131}
output "y"
output "w"
"""


@pytest.mark.cc
def test_rows_of_several_lengths_are_turned_whether_or_not_they_share_code(tmp_path):
    graph, rng = parse_graph(OF_TWO_SIZES), np.random.default_rng(0)
    sample = {name: rng.integers(0, 256, graph.types[name].shape).astype(np.uint8) for name in graph.inputs}
    checks = [
        model_check(f"{target.core}.{goal}", f"k{i}{goal}", graph, target, OPTIONS[goal], [sample])
        for i, target in enumerate((PLAIN, DSP, NO_WORDS))
        for goal in ("size", "speed", "whole_tensors")
    ]
    assert failures_on_host(checks, tmp_path / "checks") == {}
