"""Tables, slices, gathers as TFLite files: the same in LiteRT and when read again, by which operators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from litert_oracle import random_inputs, run_litert
from op_case import OpCase, Weights, int8, op_case

from aot.errors import ModelError
from aot.frontend.load import parse_model
from aot.frontend.tflite.write import write_model
from aot.interpret import run_graph
from aot.ir.types import DType, TensorType
from aot.ops.gather import Gather
from aot.ops.lookup import Lookup
from aot.ops.op import Op
from aot.ops.quantize import Quantize
from aot.ops.rearrange import Rearrange
from aot.ops.table import table_of
from aot.ops.unary import HardSwish, Logistic, Tanh
from aot.passes.pipeline import run_meaning

X = int8(1, 4, 6, 8)
FINE = int8(scale=1 / 256, zero_point=-128)
CODES_OF_TABLE = ("CAST", "ADD", "GATHER")


def table(entries: np.ndarray, out: TensorType) -> OpCase:
    stored = Weights(TensorType(DType.I8, (256,), out.quant), entries.astype(np.int8))
    return op_case("table", Lookup(), [X], out, [stored])


def function(op: Op, out: TensorType) -> OpCase:
    """The table of a function."""
    entries = table_of(op, (None,), (X,), (TensorType(DType.I8, X.shape, out.quant),))
    assert entries is not None
    return table(entries, out)


def picked(shape: tuple[int, ...], *loops: tuple[int, int], offset: int = 0) -> OpCase:
    """Loops are (size, stride)."""
    sizes, strides = (tuple(each) for each in zip(*loops, strict=True))
    return op_case("picked", Rearrange(shape, sizes, strides, offset), [X], X)


def gathered(axis: int, *places: int) -> OpCase:
    stored = Weights(TensorType(DType.I32, (len(places),)), np.array(places, np.int32))
    return op_case("gathered", Gather(axis), [X], X, [stored])


CASES = {
    "any table": (table(np.random.default_rng(2).integers(-128, 128, 256), FINE), CODES_OF_TABLE),
    "a sigmoid": (function(Logistic(), FINE), ("LOGISTIC",)),
    "a hyperbolic tangent": (function(Tanh(), int8(scale=1 / 128)), ("TANH",)),
    "a hard swish": (function(HardSwish(), int8(scale=0.03, zero_point=-9)), ("HARD_SWISH",)),
    "other steps": (function(Quantize(DType.I8), int8(scale=0.07, zero_point=5)), ("QUANTIZE",)),
    "some channels": (
        picked((1, 4, 6, 3), (24, 8), (3, 1), offset=4),
        ("RESHAPE", "SLICE", "RESHAPE"),
    ),
    "a window of rows and columns": (
        picked((1, 2, 3, 8), (2, 48), (24, 1), offset=48 + 16),
        ("RESHAPE", "SLICE", "RESHAPE"),
    ),
    "one channel of each pixel": (picked((1, 4, 6, 1), (24, 8), offset=7), ("RESHAPE", "SLICE", "RESHAPE")),
    "some channels as planes": (
        picked((1, 3, 4, 6), (3, 1), (24, 8), offset=2),
        ("RESHAPE", "SLICE", "TRANSPOSE", "RESHAPE"),
    ),
    "planes": (picked((1, 8, 4, 6), (8, 1), (24, 8)), ("RESHAPE", "TRANSPOSE", "RESHAPE")),
    "every second column": (
        picked((1, 4, 3, 8), (12, 16), (8, 1), offset=8),
        ("RESHAPE", "SLICE", "RESHAPE"),
    ),
    "every third element": (picked((1, 4, 4, 4), (64, 3)), ("RESHAPE", "SLICE", "RESHAPE")),
    "backwards": (picked((1, 4, 6, 8), (24, -8), (8, 1), offset=184), ("RESHAPE", "GATHER")),
    "repeated": (picked((2, 4, 6, 8), (2, 0), (192, 1)), ("RESHAPE", "GATHER")),
    "columns in another order, some beyond the end": (gathered(2, 5, 0, 0, 9, -3), ("GATHER",)),
}


@pytest.mark.parametrize("name", CASES)
def test_picks_are_the_same_in_litert_and_read_again(name: str, require_package: Callable[..., None]) -> None:
    require_package("ai_edge_litert")
    case, codes = CASES[name]
    data = write_model(case.graph, "picks.tflite")
    again = parse_model(data, "picks.tflite")
    assert tuple(origin.split(" ")[0] for origin in dict.fromkeys(n.origin for n in again.nodes)) == codes
    inputs = random_inputs(data, 3, seed=4)
    wanted = [run_graph(case.graph, {"x0": x})["y"] for x in inputs]
    assert np.array_equal(np.stack(wanted), run_litert(data, inputs))
    assert np.array_equal(np.stack(wanted), [run_graph(again, {"x0": x})["y"] for x in inputs])


def test_a_table_read_again_is_a_lookup() -> None:
    case, _ = CASES["any table"]
    graph = run_meaning(parse_model(write_model(case.graph, "picks.tflite"), "picks.tflite")).graph
    assert [type(node.op) for node in graph.nodes] == [Lookup]


def test_places_that_come_with_the_run_are_refused() -> None:
    case = op_case("given", Gather(1), [X, TensorType(DType.I32, (2,))], X)
    with pytest.raises(ModelError) as refusal:
        write_model(case.graph, "picks.tflite")
    assert refusal.value.where == 'picks.tflite\ngather "given": its indices are known only at run time'
