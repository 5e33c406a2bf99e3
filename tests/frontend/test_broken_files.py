"""Files that are wrong in one place or a few bytes: the message says what and where, never a traceback."""

import inspect
import random
import re
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from error_facts import require_facts
from tflite_builder import ModelBuilder
from tiny_models import TINY, random_weights

from aot.errors import ModelError
from aot.frontend.load import parse_model
from aot.frontend.tflite.flatbuffer import OPTIONS, Layout
from aot.frontend.tflite.importers import IMPORTERS
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor, ModelSpec, OperatorSpec, write_tflite
from aot.ir.verify import verify
from aot.passes.pipeline import run_meaning
from aot.wording import printable

LONGEST_S = 5.0


def message(data: bytes) -> str:
    start = time.perf_counter()
    with pytest.raises(ModelError) as caught:
        parse_model(data, "net.tflite")
    assert time.perf_counter() - start < LONGEST_S
    return str(caught.value)


def small() -> ModelSpec:
    """input -> CONV_2D -> SOFTMAX; tensors: 0 image, 1 weights, 2 bias, 3 conv2d_0, 4 softmax_1."""
    build = ModelBuilder("small")
    x = build.input("image", (1, 4, 4, 1))
    w, b, s = random_weights(1, (2, 3, 3, 1))
    x = build.conv2d(x, w, b, weight_scales=s, scale=0.1)
    return build.spec(build.softmax(x))


def tensor(index: int, **changes: object) -> bytes:
    spec = small()
    tensors = list(spec.tensors)
    tensors[index] = replace(tensors[index], **changes)  # type: ignore[arg-type]
    return write_tflite(replace(spec, tensors=tuple(tensors)))


def operator(index: int, **changes: object) -> bytes:
    spec = small()
    operators = list(spec.operators)
    operators[index] = replace(operators[index], **changes)  # type: ignore[arg-type]
    return write_tflite(replace(spec, operators=tuple(operators)))


def fields(index: int, **changes: float) -> bytes:
    return operator(index, fields={**small().operators[index].fields, **changes})


AT_CONV = ' CONV_2D #0 "conv2d_0" (net.tflite)'
AT_WEIGHTS = ' tensor 1 "conv2d_0/weights" (net.tflite)'
CORRUPTED = " corrupted: get or convert"

# A broken file, and the facts of its error: numbers, names, the place and the words of its hint.
BROKEN: dict[str, tuple[Callable[[], bytes], str]] = {
    "negative dimension": (lambda: tensor(0, shape=(1, -4, 4, 1)), '-4 [1, -4, 4, 1] 0 "image" static shape'),
    "overflowing dimensions": (
        lambda: tensor(0, shape=(2**30, 2**30, 4, 1)),
        '[1073741824, 1073741824, 4, 1] 268,435,456 "image"' + CORRUPTED,
    ),
    "too many dimensions": (lambda: tensor(0, shape=(1,) * 9), '9 dimensions, 8 "image"' + CORRUPTED),
    "declared shape is not the computed one": (
        lambda: tensor(3, shape=(1, 5, 4, 2)),
        "computes i8[1, 4, 4, 2], declares i8[1, 5, 4, 2] static" + AT_CONV,
    ),
    "element type": (lambda: tensor(0, dtype="float64"), 'FLOAT64 "image" BOOL, FLOAT16, INT4, UINT8'),
    "scale": (lambda: tensor(0, scales=(float("nan"),)), 'scale nan: positive "image"' + CORRUPTED),
    "zero point": (lambda: tensor(0, zero_points=(300,)), 'zero point i8: (300,) "image"' + CORRUPTED),
    "number of zero points": (
        lambda: tensor(1, zero_points=(0,)),
        "2 scales 1 zero points" + AT_WEIGHTS + CORRUPTED,
    ),
    "axis": (lambda: tensor(1, axis=7), "2 scales dimension 7 [2, 3, 3, 1]" + AT_WEIGHTS + CORRUPTED),
    "too little data": (
        lambda: tensor(1, data=np.zeros(5, np.int8)),
        "buffer 1 5 bytes, [2, 3, 3, 1] i8 18" + AT_WEIGHTS + CORRUPTED,
    ),
    "no data": (lambda: tensor(1, data=None), '"conv2d_0/weights" constant frozen' + AT_CONV),
    "tensor index": (lambda: operator(0, inputs=(0, 99, 2)), "99 5 net.tflite" + CORRUPTED),
    "negative tensor index": (lambda: operator(0, inputs=(0, -7, 2)), "-7 5 net.tflite" + CORRUPTED),
    "absent weights": (lambda: operator(0, inputs=(0, -1, 2)), "input 1 (weights) missing" + AT_CONV),
    "no output": (lambda: operator(0, outputs=()), "node 0 (CONV_2D) no output" + CORRUPTED),
    "two outputs": (lambda: operator(0, outputs=(3, 2)), "2 outputs, not 1" + AT_CONV),
    "reads itself": (lambda: operator(0, inputs=(3, 1, 2)), 'reads "conv2d_0",' + AT_CONV + " no earlier"),
    "reads what comes later": (lambda: operator(0, inputs=(4, 1, 2)), 'reads "softmax_1",' + AT_CONV),
    "writes an input": (lambda: operator(1, outputs=(0,)), 'writes "image", already SOFTMAX #1 "image"'),
    "zero stride": (lambda: fields(0, StrideH=0), "stride 0x1: 1" + AT_CONV + CORRUPTED),
    "negative dilation": (lambda: fields(0, DilationWFactor=-2), "dilation 1x-2: 1" + AT_CONV + CORRUPTED),
    "padding": (lambda: fields(0, Padding=9), "padding 9 SAME, VALID" + AT_CONV),
    "activation": (
        lambda: fields(0, FusedActivationFunction=4),
        "activation TANH NONE, RELU, RELU_N1_TO_1, RELU6" + AT_CONV,
    ),
    "beta": (lambda: fields(1, Beta=float("inf")), 'beta inf positive SOFTMAX #1 "softmax_1" convert'),
    "a limit of the op": (
        lambda: tensor(1, scales=(0.1,), zero_points=(3,)),
        "weights zero point 0 channel: point 3 deploy docs ops" + AT_CONV,
    ),
    "length of the bias": (
        lambda: tensor(2, shape=(3,), data=np.zeros(3, np.int32), scales=(), zero_points=()),
        '"conv2d_0/bias" 3 elements, 2 output channels' + AT_CONV,
    ),
    "no inputs": (lambda: write_tflite(replace(small(), inputs=())), "no inputs net.tflite export"),
    "an input twice": (lambda: write_tflite(replace(small(), inputs=(0, 0))), "inputs twice" + CORRUPTED),
    "an output that nobody computes": (
        lambda: write_tflite(replace(small(), operators=small().operators[:1])),
        'output "softmax_1" not computed' + CORRUPTED,
    ),
    "a constant input": (
        lambda: write_tflite(replace(small(), inputs=(0, 1))),
        'input "conv2d_0/weights" constant' + CORRUPTED,
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_reported_with_what_and_where(name):
    build, facts = BROKEN[name]
    require_facts(message(build()), facts)


def test_the_small_model_itself_is_read():
    verify(parse_model(write_tflite(small()), "net.tflite"))


def test_all_unsupported_operators_are_named_at_once():
    spec = small()
    x = spec.operators[1].outputs[0]
    unknown = tuple(
        OperatorSpec(code, 1, (x,), (x,)) for code in ("RANDOM_UNIFORM", "LSH_PROJECTION", "RANDOM_UNIFORM")
    )
    require_facts(
        message(write_tflite(replace(spec, operators=spec.operators + unknown))),
        'LSH_PROJECTION, RANDOM_UNIFORM LSH_PROJECTION: 3 "softmax_1" RANDOM_UNIFORM: 2 "softmax_1", '
        f"4 {len(IMPORTERS)} deploy ops",
    )


def test_one_unsupported_operator_in_many_places_is_listed_shortly():
    spec = small()
    unknown = (OperatorSpec("RANDOM_UNIFORM", 1, (4,), (4,)),) * 6
    require_facts(
        message(write_tflite(replace(spec, operators=unknown))), "RANDOM_UNIFORM node 0 node 3 and 2 more"
    )


def test_a_wild_root_offset_is_out_of_the_file():
    require_facts(
        message(struct.pack("<I4s", 0xFFFFFFF0, b"TFL3")), "truncated Model 4294967280 4294967284, 8"
    )


@pytest.mark.parametrize("length", [8, 9, 12, 30, 100, -200, -40, -1])
def test_a_truncated_file_is_called_so(length):
    text = message(write_tflite(small())[:length])
    assert text.startswith("error: the TFLite file is truncated or corrupted: ")


def test_a_huge_count_does_not_start_a_huge_loop():
    data = bytearray(write_tflite(small()))
    shape = struct.pack("<5i", 4, 1, 4, 4, 1)
    place = data.index(shape)
    data[place : place + 4] = b"\xff\xff\xff\xff"
    assert "would be at bytes" in message(bytes(data))


def table(*offsets: int) -> bytes:
    """A vtable and its table of 32-bit fields, one for each offset; the table starts behind the vtable."""
    vtable_bytes = 4 + 2 * len(offsets)
    vtable_bytes += -vtable_bytes % 4
    slots = [4 + 4 * number for number in range(len(offsets))]
    vtable = struct.pack(f"<HH{len(slots)}H", 4 + 2 * len(slots), 4 + 4 * len(slots), *slots)
    return vtable.ljust(vtable_bytes, b"\0") + struct.pack(f"<i{len(offsets)}I", vtable_bytes, *offsets)


def test_a_small_file_that_points_at_one_table_too_often_is_refused():
    """Sixty thousand buffers, all of them one."""
    count = 60_000
    head = struct.pack("<I4s", 24, b"TFL3")
    vtable = struct.pack("<7H", 14, 8, 0, 0, 0, 0, 4).ljust(16, b"\0")  # only field 4, the buffers
    root = struct.pack("<iI", 16, 4) + struct.pack("<I", count)
    elements = b"".join(struct.pack("<I", 4 * (count - n) + 4) for n in range(count))
    assert "more than 50,000 tables" in message(head + vtable + root + elements + table())


@pytest.mark.slow
def test_files_with_random_damage_end_in_a_model_or_a_message():
    """Nothing but ModelError may come out, and what is read goes through all passes."""
    rng = random.Random(1)
    models = [TINY[name]() for name in sorted(TINY)]
    refused = 0
    for _ in range(2000):
        data = damaged(rng, rng.choice(models))
        try:
            run_meaning(parse_model(data, "net.tflite"))
        except ModelError:
            refused += 1
    assert refused > 500


def damaged(rng: random.Random, data: bytes) -> bytes:
    mutable = bytearray(data)
    kind = rng.randrange(4)
    place = rng.randrange(len(data) - 4)
    if kind == 0:
        mutable[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        mutable[place] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
    elif kind == 2:
        mutable[place & ~3 : (place & ~3) + 4] = rng.choice((b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f"))
    else:
        del mutable[place:]
    return bytes(mutable)


def test_tensor_specs_can_be_broken_by_index():
    """The cases above count on these places."""
    names = [t.name for t in small().tensors]
    assert names == ["image", "conv2d_0/weights", "conv2d_0/bias", "conv2d_0", "softmax_1"]
    assert isinstance(small().tensors[0], FileTensor)


def numbers_of(layout: Layout) -> dict[int, str]:
    """The numbers in a table of the schema, by field: the accessors that the tflite package has for them."""
    table = getattr(import_module(f"tflite.{layout.name}"), layout.name)
    found = {}
    for name, accessor in inspect.getmembers(table, inspect.isfunction):
        source = inspect.getsource(accessor)
        field = re.search(r"_tab\.Offset\((\d+)\)", source)
        if field and "_tab.Get(" in source and not source.count("Vector"):
            found[(int(field[1]) - 4) // 2] = name
    return found


@pytest.mark.parametrize("layout", OPTIONS, ids=lambda layout: layout.name)
def test_no_attribute_is_read_that_was_not_checked(layout):
    found = numbers_of(layout)
    assert {n: name for n, name in found.items() if n not in layout.fields} == {}
    assert found or layout.name == "VarHandleOptions", "it has texts alone"


MUTATIONS = 400
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF)


def gathering() -> bytes:
    build = ModelBuilder()
    x = build.input("x", (4, 5), dtype="float32")
    indices = build.constant("indices", np.array([3, 0, 2], np.int32))
    return build.finish(
        build.operator(
            "GATHER", 1, (x, indices), [FileTensor("y", (3, 5), "float32")], "GatherOptions", Axis=0
        )
    )


def blocks() -> bytes:
    build = ModelBuilder()
    x = build.input("x", (4, 2, 2, 1), dtype="float32")
    sizes = build.constant("sizes", np.array([2, 2], np.int32))
    crops = build.constant("crops", np.array([[0, 1], [1, 0]], np.int32))
    result = [FileTensor("y", (1, 3, 3, 1), "float32")]
    return build.finish(build.operator("BATCH_TO_SPACE_ND", 1, (x, sizes, crops), result))


def reduction() -> bytes:
    build = ModelBuilder()
    x, axes = build.input("x", (2, 3, 4), 0.5), build.constant("axes", np.array([0, 2], np.int32))
    result = [FileTensor("y", (3,), "int8", (0.5,), (0,))]
    return build.finish(build.operator("MEAN", 1, (x, axes), result, "ReducerOptions", KeepDims=False))


@pytest.mark.parametrize("make", [gathering, blocks, reduction])
def test_wrong_bytes_end_in_a_graph_or_in_an_error(make):
    whole = make()
    rng = np.random.default_rng(7)
    for _ in range(MUTATIONS):
        data = bytearray(whole)
        for place in rng.integers(8, len(data), rng.integers(1, 4)):
            data[place] = rng.choice(EXTREMES) if rng.random() < 0.5 else rng.integers(256)
        kept = bytes(data[: rng.integers(8, len(data))]) if rng.random() < 0.1 else bytes(data)
        with suppress(ModelError):
            run_meaning(read_tflite(kept, "mutated.tflite"))


def test_names_cannot_command_a_terminal():
    assert printable("conv\x1b[31m\n1 é") == "conv\\x1b[31m\\n1 é"
