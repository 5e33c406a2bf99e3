"""Files that are wrong in one place each: the message says what, where, and never is a traceback."""

from __future__ import annotations

import inspect
import random
import re
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from tflite_builder import ModelBuilder
from tiny_models import TINY, random_weights

from aot.errors import ModelError
from aot.frontend.load import parse_model
from aot.frontend.tflite.flatbuffer import Layout
from aot.frontend.tflite.importers import IMPORTERS
from aot.frontend.tflite.layout import OPTIONS
from aot.frontend.tflite.write_file import FileTensor, ModelSpec, OperatorSpec, write_tflite
from aot.ir.verify import verify
from aot.passes.pipeline import run_meaning

CORRUPTED = "the file looks corrupted: get or convert it again"
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


AT_CONV = '  at CONV_2D #0 "conv2d_0" (net.tflite)'
AT_WEIGHTS = '  tensor 1 "conv2d_0/weights" (net.tflite)'
STATIC = "\n  hint: models need static shapes: convert with a fixed input shape"

BROKEN: dict[str, tuple[Callable[[], bytes], str]] = {
    "negative dimension": (
        lambda: tensor(0, shape=(1, -4, 4, 1)),
        'error: dimension -4 in shape [1, -4, 4, 1]: each must be at least 1\n  tensor 0 "image" (net.tflite)'
        + STATIC,
    ),
    "overflowing dimensions": (
        lambda: tensor(0, shape=(2**30, 2**30, 4, 1)),
        "error: shape [1073741824, 1073741824, 4, 1] takes more than 268,435,456 bytes\n"
        f'  tensor 0 "image" (net.tflite)\n  hint: {CORRUPTED}',
    ),
    "too many dimensions": (
        lambda: tensor(0, shape=(1,) * 9),
        f'error: it has 9 dimensions, the limit is 8\n  tensor 0 "image" (net.tflite)\n  hint: {CORRUPTED}',
    ),
    "declared shape is not the computed one": (
        lambda: tensor(3, shape=(1, 5, 4, 2)),
        f"error: it computes i8[1, 4, 4, 2], the file declares i8[1, 5, 4, 2]\n{AT_CONV}" + STATIC,
    ),
    "element type": (
        lambda: tensor(0, dtype="float64"),
        "error: element type FLOAT64 is not supported\n"
        '  tensor 0 "image" (net.tflite)\n'
        "  hint: supported: BOOL, FLOAT16, FLOAT32, INT16, INT32, INT4, INT64, INT8, UINT32, UINT64, UINT8",
    ),
    "scale": (
        lambda: tensor(0, scales=(float("nan"),)),
        "error: quantization scale nan: each must be positive\n"
        f'  tensor 0 "image" (net.tflite)\n  hint: {CORRUPTED}',
    ),
    "zero point": (
        lambda: tensor(0, zero_points=(300,)),
        "error: a quantization zero point is outside i8: (300,)\n"
        f'  tensor 0 "image" (net.tflite)\n  hint: {CORRUPTED}',
    ),
    "number of zero points": (
        lambda: tensor(1, zero_points=(0,)),
        f"error: quantization has 2 scales but 1 zero points\n{AT_WEIGHTS}\n  hint: {CORRUPTED}",
    ),
    "axis": (
        lambda: tensor(1, axis=7),
        "error: 2 quantization scales do not fit dimension 7 of shape [2, 3, 3, 1]\n"
        f"{AT_WEIGHTS}\n  hint: {CORRUPTED}",
    ),
    "too little data": (
        lambda: tensor(1, data=np.zeros(5, np.int8)),
        "error: its buffer 1 has 5 bytes, shape [2, 3, 3, 1] of i8 needs 18\n"
        f"{AT_WEIGHTS}\n  hint: {CORRUPTED}",
    ),
    "no data": (
        lambda: tensor(1, data=None),
        f'error: its weights "conv2d_0/weights" must be constant\n{AT_CONV}\n'
        "  hint: convert the model with frozen weights",
    ),
    "tensor index": (
        lambda: operator(0, inputs=(0, 99, 2)),
        f"error: tensor 99 does not exist, the file has 5\n  net.tflite\n  hint: {CORRUPTED}",
    ),
    "negative tensor index": (
        lambda: operator(0, inputs=(0, -7, 2)),
        f"error: tensor -7 does not exist, the file has 5\n  net.tflite\n  hint: {CORRUPTED}",
    ),
    "absent weights": (
        lambda: operator(0, inputs=(0, -1, 2)),
        f"error: its input 1 (weights) is missing\n{AT_CONV}",
    ),
    "no output": (
        lambda: operator(0, outputs=()),
        f"error: node 0 (CONV_2D) has no output\n  net.tflite\n  hint: {CORRUPTED}",
    ),
    "two outputs": (lambda: operator(0, outputs=(3, 2)), f"error: it has 2 outputs, not 1\n{AT_CONV}"),
    "reads itself": (
        lambda: operator(0, inputs=(3, 1, 2)),
        'error: it reads "conv2d_0", which no earlier operator, input or constant provides\n'
        f"{AT_CONV}\n  hint: operators must be stored in the order in which they run",
    ),
    "reads what comes later": (
        lambda: operator(0, inputs=(4, 1, 2)),
        'error: it reads "softmax_1", which no earlier operator, input or constant provides\n'
        f"{AT_CONV}\n  hint: operators must be stored in the order in which they run",
    ),
    "writes an input": (
        lambda: operator(1, outputs=(0,)),
        'error: it writes "image", which is already an input, a constant or a result\n'
        '  at SOFTMAX #1 "image" (net.tflite)',
    ),
    "zero stride": (
        lambda: fields(0, StrideH=0),
        f"error: stride 0x1: must be at least 1\n{AT_CONV}\n  hint: {CORRUPTED}",
    ),
    "negative dilation": (
        lambda: fields(0, DilationWFactor=-2),
        f"error: dilation 1x-2: must be at least 1\n{AT_CONV}\n  hint: {CORRUPTED}",
    ),
    "padding": (
        lambda: fields(0, Padding=9),
        f"error: padding number 9 is not known\n{AT_CONV}\n  hint: supported: SAME, VALID",
    ),
    "activation": (
        lambda: fields(0, FusedActivationFunction=4),
        f"error: fused activation TANH is not supported\n{AT_CONV}\n"
        "  hint: supported: NONE, RELU, RELU_N1_TO_1, RELU6",
    ),
    "beta": (
        lambda: fields(1, Beta=float("inf")),
        'error: beta inf must be positive\n  at SOFTMAX #1 "softmax_1" (net.tflite)\n'
        "  hint: get or convert the file again",
    ),
    "a limit of the op": (
        lambda: tensor(1, scales=(0.1,), zero_points=(3,)),
        "error: i8 and i16 weights must have zero point 0 and one scale, or one scale for each output "
        f"channel: zero point 3\n{AT_CONV}\n  hint: deploy docs ops lists what each operator supports",
    ),
    "length of the bias": (
        lambda: tensor(2, shape=(3,), data=np.zeros(3, np.int32), scales=(), zero_points=()),
        'error: its bias "conv2d_0/bias" has 3 elements, there are 2 output channels\n' + AT_CONV,
    ),
    "no inputs": (
        lambda: write_tflite(replace(small(), inputs=())),
        "error: the model has no inputs\n  net.tflite\n  hint: export it with inputs and outputs",
    ),
    "an input twice": (
        lambda: write_tflite(replace(small(), inputs=(0, 0))),
        "error: the model's inputs contain a tensor twice, or an absent one\n  net.tflite\n  hint: "
        f"{CORRUPTED}",
    ),
    "an output that nobody computes": (
        lambda: write_tflite(replace(small(), operators=small().operators[:1])),
        'error: the model\'s output "softmax_1" is not computed by any operator\n'
        f"  net.tflite\n  hint: {CORRUPTED}",
    ),
    "a constant input": (
        lambda: write_tflite(replace(small(), inputs=(0, 1))),
        f'error: the model\'s input "conv2d_0/weights" is a constant\n  net.tflite\n  hint: {CORRUPTED}',
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_reported_with_what_and_where(name: str) -> None:
    build, text = BROKEN[name]
    assert message(build()) == text


def test_the_small_model_itself_is_read() -> None:
    verify(parse_model(write_tflite(small()), "net.tflite"))


def test_all_unsupported_operators_are_named_at_once() -> None:
    spec = small()
    x = spec.operators[1].outputs[0]
    unknown = tuple(OperatorSpec(code, 1, (x,), (x,)) for code in ("RFFT2D", "LSTM", "RFFT2D"))
    assert message(write_tflite(replace(spec, operators=spec.operators + unknown))) == (
        "error: TFLite operators LSTM, RFFT2D are not supported\n"
        "  net.tflite\n"
        '  LSTM: node 3 "softmax_1"\n'
        '  RFFT2D: node 2 "softmax_1", node 4 "softmax_1"\n'
        f"  hint: see the {len(IMPORTERS)} supported operators: deploy ops   (deploy docs ops)"
    )


def test_one_unsupported_operator_in_many_places_is_listed_shortly() -> None:
    spec = small()
    unknown = (OperatorSpec("RFFT2D", 1, (4,), (4,)),) * 6
    text = message(write_tflite(replace(spec, operators=unknown)))
    assert text.startswith("error: TFLite operator RFFT2D is not supported\n")
    assert (
        'RFFT2D: node 0 "softmax_1", node 1 "softmax_1", node 2 "softmax_1", node 3 "softmax_1" and 2 more'
        in text
    )


def test_a_wild_root_offset_is_out_of_the_file() -> None:
    assert message(struct.pack("<I4s", 0xFFFFFFF0, b"TFL3")) == (
        "error: the TFLite file is truncated or corrupted: "
        "Model would be at bytes 4294967280 to 4294967284, the file has 8\n"
        "  net.tflite\n"
        "  hint: get or convert the file again; compare its size with the original's"
    )


@pytest.mark.parametrize("length", [8, 9, 12, 30, 100, -200, -40, -1])
def test_a_truncated_file_is_called_so(length: int) -> None:
    text = message(write_tflite(small())[:length])
    assert text.startswith("error: the TFLite file is truncated or corrupted: ")


def test_a_huge_count_does_not_start_a_huge_loop() -> None:
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


def test_a_small_file_that_points_at_one_table_too_often_is_refused() -> None:
    """Sixty thousand buffers, all of them one."""
    count = 60_000
    head = struct.pack("<I4s", 24, b"TFL3")
    vtable = struct.pack("<7H", 14, 8, 0, 0, 0, 0, 4).ljust(16, b"\0")  # only field 4, the buffers
    root = struct.pack("<iI", 16, 4) + struct.pack("<I", count)
    elements = b"".join(struct.pack("<I", 4 * (count - n) + 4) for n in range(count))
    assert "more than 50,000 tables" in message(head + vtable + root + elements + table())


@pytest.mark.slow
def test_files_with_random_damage_end_in_a_model_or_a_message() -> None:
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


def test_tensor_specs_can_be_broken_by_index() -> None:
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
def test_no_attribute_is_read_that_was_not_checked(layout: Layout) -> None:
    found = numbers_of(layout)
    assert {n: name for n, name in found.items() if n not in layout.fields} == {}
    assert found or layout.name == "VarHandleOptions", "it has texts alone"
