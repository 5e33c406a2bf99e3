"""Elements moved into a result of another scale or zero point: LiteRT's bits, or a refusal."""

import numpy as np
import pytest
from error_facts import refused
from litert_oracle import run_litert_once
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.load import parse_model
from aot.frontend.tflite.importers.rearranging import rescaling_table
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.types import Array, Quant

FROM, TO = (0.05, 3), (0.1, 10)
PLAIN = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"  # kernels of LiteRT that rescale parts
RANGE = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}
# code, version, shape of x, further constant operands, shape of the result, options, their fields
MOVES = {
    "BATCH_TO_SPACE_ND": (2, (4, 1, 1, 3), ([2, 2], [[0, 0], [0, 0]]), (1, 2, 2, 3), "", {}),
    "MIRROR_PAD": (
        2,
        (1, 2, 2, 3),
        ([[0, 0], [1, 1], [0, 0], [0, 0]],),
        (1, 4, 2, 3),
        "MirrorPadOptions",
        {},
    ),
    "PACK": (2, (2, 3), (), (1, 2, 3), "PackOptions", {"ValuesCount": 1}),
    "PAD": (2, (1, 2, 2, 3), ([[0, 0], [1, 2], [1, 0], [0, 0]],), (1, 5, 3, 3), "PadOptions", {}),
    "SPACE_TO_BATCH_ND": (2, (1, 1, 2, 3), ([2, 2], [[1, 0], [0, 0]]), (4, 1, 1, 3), "", {}),
    "UNPACK": (2, (1, 2, 3), (), (2, 3), "UnpackOptions", {"Num": 1}),
}


def moved(code: str, dtype: str, zero_points: tuple[int, int] = (FROM[1], TO[1])) -> bytes:
    version, shape, constants, result, options, fields = MOVES[code]
    build = ModelBuilder()
    x = build.input("x", shape, FROM[0], zero_points[0], dtype)
    reads = [build.constant(f"c{i}", np.array(c, np.int32)) for i, c in enumerate(constants)]
    out = FileTensor("y", result, dtype, (TO[0],), (zero_points[1],))
    return build.finish(build.operator(code, version, (x, *reads), [out], options, **fields))


def joined(dtype: str, *parts: tuple[float, int], whole: tuple[float, int] = TO) -> bytes:
    build = ModelBuilder()
    names = [build.input(f"x{i}", (256,), scale, zero, dtype) for i, (scale, zero) in enumerate(parts)]
    out = FileTensor("y", (256 * len(parts),), dtype, (whole[0],), (whole[1],))
    version = 3 if dtype == "int16" else 2
    return build.finish(build.operator("CONCATENATION", version, names, [out], "ConcatenationOptions"))


def run(data: bytes, *arrays: Array) -> Array:
    graph = parse_model(data, "model.tflite", "tflm")
    return next(iter(run_graph(graph, dict(zip(graph.inputs, arrays, strict=True))).values()))


def test_unsigned_parts_are_rescaled_as_litert_rescales_them():
    rng, each = np.random.default_rng(5), np.arange(256, dtype=np.uint8)
    for _ in range(60):
        scales = (2.0 ** rng.uniform(-9, 3, 3)).astype(np.float32).tolist()
        zeros = [int(z) for z in rng.choice([0, 1, 127, 128, 254, 255, *rng.integers(0, 256, 4)], 3)]
        whole = scales[2], zeros[2]
        data = joined("uint8", (scales[0], zeros[0]), (scales[1], zeros[1]), whole, whole=whole)
        np.testing.assert_array_equal(
            run(data, each, each, each), run_litert_once(data, each, each, each, kernels=PLAIN)
        )


def test_halves_are_rounded_away_from_zero_and_what_does_not_fit_is_the_nearest_that_does():
    table = rescaling_table(Quant((0.5,), (-126,)), Quant((1.0,), (-125,)))  # signed: 2 and 3 in the file
    # (x - 2) / 2 + 3: -1 and -0.5 go down to 2, 0.5 goes up to 4.
    assert (table[:6].astype(int) + 128).tolist() == [2, 2, 3, 4, 4, 5]
    wide = rescaling_table(Quant((4.0,), (0,)), Quant((1.0,), (0,)))
    assert (wide[[0, 96, 128, 159, 160, 255]].astype(int)).tolist() == [-128, -128, 0, 124, 127, 127]


def test_parts_of_the_scale_of_the_whole_are_copied():
    graph = parse_model(joined("uint8", TO, TO), "model.tflite", "tflm")
    assert "lookup" not in [node.op.name for node in graph.nodes]


def test_sixteen_bits_are_copied_as_both_references_do():
    data = joined("int16", (0.05, 0), (0.1, 0), whole=(0.1, 0))
    x = np.random.default_rng(0).integers(-32768, 32768, (2, 256)).astype(np.int16)
    np.testing.assert_array_equal(run(data, *x), run_litert_once(data, *x, kernels=PLAIN))


def test_signed_parts_of_another_scale_are_refused_as_both_references_refuse_them():
    refused(
        lambda: parse_model(joined("int8", FROM, TO), "model.tflite", "tflm"),
        '"x0" 0.05 3 "y" 0.1 10 LiteRT TFLite Micro i8 scale zero point CONCATENATION #0 model.tflite '
        "convert model",
        ModelError,
    )


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        ("PACK", "uint8"),
        ("UNPACK", "uint8"),
        ("MIRROR_PAD", "uint8"),
        ("MIRROR_PAD", "int16"),
        ("BATCH_TO_SPACE_ND", "uint8"),
        ("BATCH_TO_SPACE_ND", "int16"),
        ("SPACE_TO_BATCH_ND", "uint8"),
        ("SPACE_TO_BATCH_ND", "int16"),
    ],
)
def test_what_neither_reference_runs_is_refused(code, dtype):
    zeros = (0, 0) if dtype == "int16" else (FROM[1], TO[1])
    with pytest.raises(ModelError, match="neither LiteRT nor TFLite Micro converts"):
        parse_model(moved(code, dtype, zeros), "model.tflite", "tflm")


@pytest.mark.parametrize("code", ["PACK", "UNPACK", "MIRROR_PAD", "BATCH_TO_SPACE_ND"])
def test_signed_bytes_are_copied_as_tflite_micro_copies_them(code):
    data = moved(code, "int8")
    x = np.arange(-60, -60 + int(np.prod(MOVES[code][1])), dtype=np.int8).reshape(MOVES[code][1])
    assert set(np.unique(run(data, x))) == set(np.unique(x))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_padding_is_the_zero_of_the_result(dtype):
    data = moved("PAD", dtype)
    x = np.random.default_rng(0).integers(*RANGE[dtype], MOVES["PAD"][1]).astype(dtype)
    made = run(data, x)
    assert made[0, 0, 0, 0] == TO[1]
    np.testing.assert_array_equal(made, run_litert_once(data, x, kernels=PLAIN))


def test_blocks_are_filled_up_with_the_zero_of_the_result():
    x = np.full(MOVES["SPACE_TO_BATCH_ND"][1], 77, np.int8)
    assert set(np.unique(run(moved("SPACE_TO_BATCH_ND", "int8"), x))) == {TO[1], 77}


def test_a_padding_value_of_another_scale_is_refused():
    build = ModelBuilder()
    x = build.input("x", (1, 2, 2, 3), *FROM)
    pads = build.constant("pads", np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
    value = build.constant("value", np.array([7], np.int8), [FROM[0]], zero_points=[FROM[1]])
    out = FileTensor("y", (1, 4, 4, 3), "int8", (TO[0],), (TO[1],))
    data = build.finish(build.operator("PADV2", 2, (x, pads, value), [out], "PadV2Options"))
    with pytest.raises(ModelError, match=r'"value" has scale 0\.05 and zero point 3 and "y"'):
        parse_model(data, "model.tflite", "tflm")
