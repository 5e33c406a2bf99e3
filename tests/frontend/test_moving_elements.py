"""TFLite operators that only move elements equal NumPy or LiteRT, in the cheapest form there is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from litert_oracle import run_litert
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.ir.verify import verify

IMAGE = (1, 3, 4, 2)
QUANT = ((0.5,), (3,))


@dataclass(frozen=True)
class Case:
    """One operator of `code` on int8 inputs of those shapes; "x" in `reads` is the next of them."""

    code: str
    shapes: tuple[tuple[int, ...], ...]
    reads: tuple[Any, ...]  # "x", or a constant's integers
    wanted: Callable[..., Array | tuple[Array, ...]]
    ops: tuple[str, ...]  # that it becomes
    options: str = ""
    fields: Mapping[str, float] = field(default_factory=dict)


def one(code: str, shape: tuple[int, ...], *reads: object, ops: str, wanted: Callable[..., object]) -> Case:
    return Case(code, (shape,), reads, wanted, tuple(ops.split()), "")  # type: ignore[arg-type]


SLICED = {"BeginMask": 0, "EndMask": 0, "ShrinkAxisMask": 0}
CASES = {
    "slice_rows": one(
        "SLICE", IMAGE, "x", [0, 1, 0, 0], [1, 2, -1, -1], ops="rearrange", wanted=lambda x: x[:, 1:]
    ),
    "slice_all": one("SLICE", IMAGE, "x", [0, 0, 0, 0], [-1, -1, -1, -1], ops="reshape", wanted=lambda x: x),
    "slice_vectors": one(
        "SLICE", (3, 5), "x", [1, 2], [2, 2], ops="reshape rearrange reshape", wanted=lambda x: x[1:, 2:4]
    ),
    "strided": Case(
        "STRIDED_SLICE", (IMAGE,), ("x", [0, 0, 3, 0], [1, 3, -5, 2], [1, 2, -1, 1]),
        lambda x: x[:, ::2, ::-1], ("rearrange",), "StridedSliceOptions", SLICED,
    ),
    "strided_open": Case(
        "STRIDED_SLICE", (IMAGE,), ("x", [7, 1, 7, 1], [7, 3, 7, 2], [1, 1, 1, 1]),
        lambda x: x[:, 1:3, :, 1:], ("rearrange",), "StridedSliceOptions",
        {**SLICED, "BeginMask": 5, "EndMask": 5},
    ),
    "strided_shrink": Case(
        "STRIDED_SLICE", ((2, 3),), ("x", [-1, 0], [0, 3], [1, 1]),
        lambda x: x[-1], ("reshape", "rearrange", "reshape"), "StridedSliceOptions",
        {**SLICED, "ShrinkAxisMask": 1},
    ),
    "strided_by_sizes": Case(
        "STRIDED_SLICE", (IMAGE,), ("x", [0, 1, -3, 7], [1, 2, 2, 1], [1, 1, 1, 1]),
        lambda x: x[:, 1:3, 1:3], ("rearrange",), "StridedSliceOptions",
        {**SLICED, "BeginMask": 8, "EndMask": 8, "Offset": 1},
    ),
    "transpose_view": one(
        "TRANSPOSE", (1, 3, 1, 4), "x", [0, 2, 1, 3], ops="reshape", wanted=lambda x: x.transpose(0, 2, 1, 3)
    ),
    "transpose_in_rows": one(
        "TRANSPOSE", IMAGE, "x", [0, 1, 3, 2], ops="rearrange", wanted=lambda x: x.transpose(0, 1, 3, 2)
    ),
    "transpose_planes": one(
        "TRANSPOSE", IMAGE, "x", [0, 2, 3, 1],
        ops="reshape rearrange reshape", wanted=lambda x: x.transpose(0, 2, 3, 1),
    ),
    "split_channels": one(
        "SPLIT", IMAGE, [3], "x", ops="rearrange rearrange", wanted=lambda x: np.split(x, 2, axis=3)
    ),
    "split_unequal": one(
        "SPLIT_V", IMAGE, "x", [1, 3], [2],
        ops="rearrange rearrange", wanted=lambda x: (x[:, :, :1], x[:, :, 1:]),
    ),
    "unpack": Case(
        "UNPACK", ((2, 3),), ("x",), lambda x: (x[0], x[1]),
        ("reshape", "rearrange", "reshape") * 2, "UnpackOptions", {"Num": 2},
    ),
    "concatenate_channels": Case(
        "CONCATENATION", (IMAGE, (1, 3, 4, 1)), ("x", "x"), lambda *x: np.concatenate(x, 3),
        ("concat",), "ConcatenationOptions", {"Axis": -1},
    ),
    "concatenate_rows": Case(
        "CONCATENATION", (IMAGE, (1, 2, 4, 2)), ("x", "x"), lambda *x: np.concatenate(x, 1),
        ("reshape", "reshape", "concat", "reshape"), "ConcatenationOptions", {"Axis": 1},
    ),
    "pack": Case(
        "PACK", ((2, 3), (2, 3)), ("x", "x"), lambda *x: np.stack(x, 1),
        ("reshape", "reshape", "reshape", "reshape", "concat", "reshape"),
        "PackOptions", {"Axis": 1, "ValuesCount": 2},
    ),
    "pad_image": one(
        "PAD", IMAGE, "x", [[0, 0], [1, 2], [0, 3], [0, 0]], ops="pad",
        wanted=lambda x: np.pad(x, ((0, 0), (1, 2), (0, 3), (0, 0)), constant_values=3),
    ),
    "pad_channels_and_rows": one(
        "PAD", IMAGE, "x", [[0, 0], [1, 0], [0, 0], [0, 2]], ops="reshape pad reshape reshape pad reshape",
        wanted=lambda x: np.pad(x, ((0, 0), (1, 0), (0, 0), (0, 2)), constant_values=3),
    ),
    "repeat": one(
        "BROADCAST_TO", (3, 1), "x", [2, 3, 4], ops="reshape rearrange reshape",
        wanted=lambda x: np.broadcast_to(x, (2, 3, 4)),
    ),
}  # fmt: skip


def build(case: Case) -> tuple[Graph, list[Array], list[Array]]:
    """The file's graph, inputs and wanted results."""
    rng = np.random.default_rng(8)
    inputs = [rng.integers(-128, 128, shape).astype(np.int8) for shape in case.shapes]
    made = case.wanted(*inputs)
    wanted = list(made) if isinstance(made, list | tuple) else [made]
    model = ModelBuilder()
    names = iter([model.input(f"x{i}", shape, 0.5, 3) for i, shape in enumerate(case.shapes)])
    reads = [
        next(names) if r == "x" else model.constant(f"c{i}", np.array(r, np.int32))
        for i, r in enumerate(case.reads)
    ]
    outputs = [FileTensor(f"y{i}", y.shape, "int8", *QUANT) for i, y in enumerate(wanted)]
    model.operator(case.code, 2, reads, outputs, case.options, **case.fields)
    graph = read_tflite(model.finish(*(o.name for o in outputs)), "net.tflite", "tflm")
    return graph, inputs, wanted  # type: ignore[return-value]


@pytest.mark.parametrize("name", CASES)
def test_elements_move_as_numpy_moves_them(name):
    graph, inputs, wanted = build(CASES[name])
    verify(graph)
    made = run_graph(graph, dict(zip(graph.inputs, inputs, strict=True)))
    assert [made[y].tolist() for y in graph.outputs] == [w.tolist() for w in wanted]


@pytest.mark.parametrize("name", CASES)
def test_an_operator_becomes_as_few_ops_as_it_needs(name):
    graph, _, _ = build(CASES[name])
    assert tuple(node.op.name for node in graph.nodes) == CASES[name].ops


REFUSED = {
    "axis": (
        Case("CONCATENATION", (IMAGE,), ("x",), lambda x: x, (), "ConcatenationOptions", {"Axis": 4}),
        "axis 4 does not exist in 4 dimensions",
    ),
    "activation": (
        Case(
            "CONCATENATION", (IMAGE,), ("x",), lambda x: x, (),
            "ConcatenationOptions", {"Axis": 3, "FusedActivationFunction": 1},
        ),
        "a fused activation is not supported",
    ),
    "order": (one("TRANSPOSE", (2, 3), "x", [0, 0], ops="", wanted=lambda x: x), "order [0, 0] does not fit"),
    "padding": (
        one("PAD", (2, 3), "x", [1, 1], ops="", wanted=lambda x: x),
        "padding [1, 1] does not fit shape [2, 3]",
    ),
    "negative padding": (
        one("PAD", (2, 3), "x", [[0, 0], [0, -1]], ops="", wanted=lambda x: x[:, :2]),
        "padding [0, 0, 0, -1] does not fit shape [2, 3]",
    ),
    "beyond": (
        one("SLICE", (3, 5), "x", [2, 4], [2, 2], ops="", wanted=lambda x: x[:2, :2]),
        "elements from [2, 4], [2, 2] of them, are outside [3, 5]",
    ),
    "no step": (
        Case(
            "STRIDED_SLICE", ((4,),), ("x", [0], [4], [0]), lambda x: x, (), "StridedSliceOptions", SLICED
        ),
        "bounds [0], [4], [0] do not fit shape [4]",
    ),
    "ellipsis": (
        Case(
            "STRIDED_SLICE", ((4,),), ("x", [0], [4], [1]), lambda x: x, (),
            "StridedSliceOptions", {"EllipsisMask": 1},
        ),
        "an ellipsis or a new axis is not supported",
    ),
    "another size": (
        one("SLICE", (3, 5), "x", [0, 0], [2, 2], ops="", wanted=lambda x: x[:2, :3]),
        "it makes shape [2, 2], the file declares [2, 3]",
    ),
    "not to be repeated": (
        one("BROADCAST_TO", (3,), "x", [4], ops="", wanted=lambda x: np.zeros(4, np.int8)),
        "shape [3] cannot be repeated to [4]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_with_numbers(name):
    case, text = REFUSED[name]
    with pytest.raises(ModelError) as caught:
        build(case)
    assert text in str(caught.value)


def test_a_list_of_no_rows_says_what_works():
    """Keras' recurrent layers begin with one, which a concatenation takes and nothing else."""
    build = ModelBuilder()
    x = build.input("x", (4, 1, 7), dtype="float32")
    bounds = [build.constant(name, np.array(n, np.int32)) for name, n in (("b", [0] * 3), ("s", [0, 1, 7]))]
    rows = build.operator("SLICE", 1, (x, *bounds), [FileTensor("rows", (1, 1, 7), "float32")])
    texts = [refusal(build.finish(rows))]
    build.operator("RELU", 1, (rows,), [FileTensor("made", (1, 1, 7), "float32")])
    joined = [FileTensor("joined", (1, 1, 7), "float32")]
    texts.append(
        refusal(
            build.finish(
                build.operator("CONCATENATION", 1, (rows, rows), joined, "ConcatenationOptions", Axis=0)
            )
        )
    )
    assert 'the model\'s output "rows" is an empty list' in texts[0]
    assert 'it reads "rows", an empty list' in texts[1]
    assert "none of its parts has rows" in texts[1]
    hint = "convert it with Input(batch_shape=(1, STEPS, FEATURES)) and unroll=True, or export it to ONNX"
    assert all(hint in text for text in texts)


def refusal(data: bytes) -> str:
    with pytest.raises(ModelError) as caught:
        read_tflite(data, "net.tflite")
    return str(caught.value)


def reversing(shape: tuple[int, ...], time: int, batch: int, lengths: list[int] | None) -> bytes:
    build = ModelBuilder()
    x = build.input("x", shape, dtype="float32")
    if lengths is None:
        given = build.input("lengths", (shape[batch],), dtype="int32")
    else:
        given = build.constant("lengths", np.array(lengths, np.int32))
    y = FileTensor("y", shape, "float32")
    fields = {"SeqDim": time, "BatchDim": batch}
    return build.finish(
        build.operator("REVERSE_SEQUENCE", 1, (x, given), [y], "ReverseSequenceOptions", **fields)
    )


@pytest.mark.parametrize(
    ("shape", "time", "batch", "lengths"),
    [
        ((1, 5, 3), 1, 0, [5]),
        ((1, 5, 3), 1, 0, [3]),
        ((3, 4, 2), 1, 0, [1, 4, 2]),
        ((4, 3, 2), 0, 1, [4, 4, 4]),
        ((4, 3, 2), 0, 1, [3, 2, 4]),
        ((2, 3, 4, 2), 2, 1, [1, 4, 3]),
        ((2, 3, 4, 2), 3, 0, [2, 1]),
    ],
)
def test_it_gives_what_litert_gives(shape, time, batch, lengths):
    data = reversing(shape, time, batch, lengths)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    (wanted,) = run_litert(data, x[None])
    (made,) = run_graph(read_tflite(data, "net.tflite"), {"x": x}).values()
    assert made.tolist() == wanted.tolist()


def test_sequences_longer_than_the_tensor_are_reported():
    with pytest.raises(ModelError) as caught:
        read_tflite(reversing((2, 3, 1), 1, 0, [2, 4]), "net.tflite")
    assert caught.value.what == "lengths [2, 4] do not fit dimensions 0 and 1 of shape [2, 3, 1]"


def test_lengths_that_only_the_run_knows_are_refused():
    with pytest.raises(ModelError) as caught:
        read_tflite(reversing((2, 3, 1), 1, 0, None), "net.tflite")
    assert caught.value.what == 'its lengths of the sequences "lengths" must be constant'
