"""MediaPipe's transposed convolution with a bias: each pixel adds the kernel, scaled, to the result."""

import struct

import numpy as np
import pytest
import tflite
from further_layers import (
    BIAS,
    CHANNELS,
    COLOURS,
    SAME,
    VALID,
    Pair,
    kernel_of,
    padding_of,
    size_of,
    transpose_conv_bias,
)
from litert_oracle import run_litert
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.types import Array
from aot.ir.verify import verify


def scattered(x: Array, kernel: Pair, stride: Pair, padding: int) -> Array:
    """The result without a convolution: what hangs over is cut off."""
    image, weights = x.shape[1:3], kernel_of(kernel)
    whole = np.zeros((*(s * (n - 1) + k for n, k, s in zip(image, kernel, stride, strict=True)), CHANNELS))
    for r in range(image[0]):
        for c in range(image[1]):
            place = whole[r * stride[0] :, c * stride[1] :][: kernel[0], : kernel[1]]
            place += np.einsum("ohwi,i->hwo", weights, x[0, r, c])
    rows, columns = size_of((image[0], image[1]), kernel, stride, padding)
    top, left = (padding_of(n, k, s, padding) // 2 for n, k, s in zip(image, kernel, stride, strict=True))
    cut: Array = (whole[top : top + rows, left : left + columns] + BIAS)[None]
    return cut


CASES = [
    ((4, 3), (2, 2), (2, 2), SAME),
    ((4, 3), (2, 2), (2, 2), VALID),
    ((4, 5), (3, 3), (2, 2), SAME),
    ((5, 4), (4, 4), (2, 2), SAME),
    ((3, 4), (3, 2), (1, 2), SAME),
    ((3, 4), (3, 5), (2, 1), VALID),
]


@pytest.mark.parametrize(("image", "kernel", "stride", "padding"), CASES)
def test_it_is_what_its_kernel_adds_up_to(image, kernel, stride, padding):
    graph = read_tflite(transpose_conv_bias(image, kernel, stride, padding), "net.tflite")
    verify(graph)
    x = np.random.default_rng(6).normal(size=(1, *image, COLOURS)).astype(np.float32)
    (made,) = run_graph(graph, {"x": x}).values()
    assert made == pytest.approx(scattered(x, kernel, stride, padding), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("padding", [SAME, VALID])
def test_it_is_litert_s_transposed_convolution_with_a_bias(padding):
    image, kernel, stride = (4, 6), (3, 3), (2, 2)
    size = size_of(image, kernel, stride, padding)
    build = ModelBuilder()
    x = build.input("x", (1, *image, COLOURS), dtype="float32")
    shape = build.constant("shape", np.array((1, *size, CHANNELS), np.int32))
    reads = (shape, build.constant("w", kernel_of(kernel)), x, build.constant("b", BIAS))
    made = FileTensor("y", (1, *size, CHANNELS), "float32")
    fields = {"Padding": (tflite.Padding.SAME, tflite.Padding.VALID)[padding - 1], "StrideH": 2, "StrideW": 2}
    plain = build.finish(build.operator("TRANSPOSE_CONV", 3, reads, [made], "TransposeConvOptions", **fields))
    given = np.random.default_rng(6).normal(size=(1, *image, COLOURS)).astype(np.float32)
    graph = read_tflite(transpose_conv_bias(image, kernel, stride, padding), "net.tflite")
    (ours,) = run_graph(graph, {"x": given}).values()
    assert ours == pytest.approx(run_litert(plain, given[None])[0], rel=1e-5, abs=1e-5)


REFUSED = {
    "options": (
        {"options": b"\1\0\0\0"},
        "its options have 4 bytes, padding and strides need 12",
        "the file looks corrupted: get or convert it again",
    ),
    "padding": (
        {"options": struct.pack("<3i", 7, 2, 2)},
        "padding number 7 is not known",
        "supported: SAME (1), VALID (2)",
    ),
    "stride": (
        {"options": struct.pack("<3i", 1, 0, 2)},
        "stride 2x0: must be at least 1",
        "the file looks corrupted: get or convert it again",
    ),
    "integers": ({"dtype": "int8"}, '"x" is i8, it must be f32', "convert it as TRANSPOSE_CONV"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_such_an_operator_is_reported(name):
    fields, what, hint = REFUSED[name]
    with pytest.raises(ModelError) as caught:
        read_tflite(transpose_conv_bias((4, 4), (2, 2), (2, 2), SAME, **fields), "net.tflite")  # type: ignore[arg-type]
    assert (caught.value.what, caught.value.hint) == (what, hint)
