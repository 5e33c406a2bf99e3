"""All that is wrong with a model is said at once: operators nobody supports, and limits that others break."""

from __future__ import annotations

import pytest
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor


def model(*codes: str) -> bytes:
    """A chain on int8; what stands alone reads the model's input."""
    build = ModelBuilder()
    x = build.input("x", (1, 4, 4, 2), 0.5)
    results = []
    for number, code in enumerate(codes):
        made = FileTensor(f"layer{number}/out", (1, 4, 4, 2), "int8", (0.5,), (3,))
        options = "Pool2DOptions" if code == "L2_POOL_2D" else ""
        fields = {"StrideH": 1, "StrideW": 1, "FilterHeight": 1, "FilterWidth": 1} if options else {}
        results.append(build.operator(code, 1, (x,), [made], options, **fields))
    return build.finish(*results)


def refusal(data: bytes) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read_tflite(data, "net.tflite")
    return caught.value


def test_broken_limits_are_named_together() -> None:
    error = refusal(model("L2_POOL_2D", "RELU", "NEG", "LOGISTIC"))
    assert error.what == "3 operators cannot be compiled"
    assert error.where.splitlines() == [
        "net.tflite",
        'at L2_POOL_2D #0 "layer0/out" (net.tflite): it is supported for f32 only, not for i8',
        "  convert this part of the model as float",
        'at NEG #2 "layer2/out" (net.tflite): stored i8 values can be negated only if input '
        "and output have the same scale and zero point 0",
        "  convert the model again with a symmetric scale, or this part as float",
        'at LOGISTIC #3 "layer3/out" (net.tflite): an i8 output must have scale 1/256 and zero point -128: '
        "it has scale 0.5, zero point 3",
        "  deploy docs ops lists what each operator supports",
    ]


def test_unsupported_operators_and_broken_limits_are_named_together() -> None:
    error = refusal(model("RFFT2D", "NEG"))
    assert error.what == "TFLite operator RFFT2D is not supported"
    assert [line.split(":")[0] for line in error.where.splitlines()[:3]] == [
        "net.tflite",
        "RFFT2D",
        'at NEG #1 "layer1/out" (net.tflite)',
    ]


def test_what_only_follows_from_a_refusal_is_not_told() -> None:
    build = ModelBuilder()
    x = build.input("x", (1, 4), 0.5)
    y = build.operator("NEG", 1, (x,), [FileTensor("y", (1, 4), "int8", (0.5,), (3,))])
    z = build.operator("LOGISTIC", 1, (y,), [FileTensor("z", (1, 4), "int8", (0.5,), (3,))])
    assert refusal(build.finish(z)).where == 'at NEG #0 "y" (net.tflite)'


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("edgetpu-custom-op", "compiled for an Edge TPU, give the file of the same name without _edgetpu"),
        ("ethos-u", "commands for an Ethos-U, give the model that Vela compiled and --accelerator ethos-u"),
        ("FlexErf", "a TensorFlow kernel, convert the model without SELECT_TF_OPS"),
        (
            "FlexTensorListReserve",
            "a Keras recurrent layer without a fixed batch,  convert it with Input(batch_shape="
            "(1, STEPS, FEATURES)) and unroll=True, or export it to ONNX",
        ),
    ],
)
def test_an_operator_of_another_compiler_says_which_file_to_give(code: str, why: str) -> None:
    error = refusal(model(f"CUSTOM {code}"))
    assert error.where.splitlines()[1] == f'CUSTOM {code}, {why}: node 0 "layer0/out"'
