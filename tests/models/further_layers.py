"""Models of one layer in forms that no public case has."""

import struct
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import tflite
from numpy.typing import NDArray
from tflite_builder import ModelBuilder

from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.ir.graph import Graph
from aot.ir.types import Array

Pair = tuple[int, int]
ROWS, DEPTH, UNITS = 3, 6, 4
CHANNELS, COLOURS = 3, 2
SAME, VALID = 1, 2
BIAS = np.array([0.5, -2, 3], np.float32)


def computed_weights(dtype: str, bias: Array | None = None, activation: str = "NONE", rank: int = 2) -> bytes:
    """One input, which is the rows and, moved to another shape, the weights."""
    build = ModelBuilder()
    quant: tuple[tuple[float, ...], tuple[int, ...]] = ((), ()) if dtype == "float32" else ((0.05,), (3,))
    whole = build.input("x", (ROWS + UNITS, DEPTH), 0.05, 3, dtype)
    parts = [
        build.operator(
            "SLICE",
            2,
            (
                whole,
                build.constant(f"{name}/begin", np.array([first, 0], np.int32)),
                build.constant(f"{name}/size", np.array([count, DEPTH], np.int32)),
            ),
            [FileTensor(name, (count, DEPTH), dtype, *quant)],
        )
        for name, first, count in (("rows", 0, ROWS), ("weights", ROWS, UNITS))
    ]
    made = ((), ()) if dtype == "float32" else ((0.04,), (-5,))
    shape = (ROWS, UNITS) if rank == 2 else (1, ROWS, UNITS)
    given = None if bias is None else build.constant("bias", bias, () if dtype == "float32" else (0.0025,))
    return build.finish(
        build.operator(
            "FULLY_CONNECTED",
            9,
            (*parts, given),
            [FileTensor("y", shape, dtype, *made)],
            "FullyConnectedOptions",
            FusedActivationFunction=getattr(tflite.ActivationFunctionType, activation),
            KeepNumDims=rank == 3,
        )
    )


def padding_of(size: int, kernel: int, step: int, padding: int) -> int:
    return max(kernel - (size - 1) % step - 1, 0) if padding == SAME else 0


def size_of(image: Pair, kernel: Pair, stride: Pair, padding: int) -> Pair:
    """The rows and columns of the result."""
    rows, columns = (
        s * (n - 1) + k - padding_of(n, k, s, padding) for n, k, s in zip(image, kernel, stride, strict=True)
    )
    return rows, columns


def kernel_of(kernel: Pair) -> NDArray[np.float32]:
    return np.random.default_rng(5).normal(size=(CHANNELS, *kernel, COLOURS)).astype(np.float32)


def transpose_conv_bias(
    image: Pair,
    kernel: Pair,
    stride: Pair,
    padding: int,
    options: bytes | None = None,
    dtype: str = "float32",
) -> bytes:
    build = ModelBuilder()
    x = build.input("x", (1, *image, COLOURS), dtype=dtype)
    reads = (x, build.constant("w", kernel_of(kernel)), build.constant("b", BIAS))
    made = FileTensor("y", (1, *size_of(image, kernel, stride, padding), CHANNELS), "float32")
    y = build.operator("CUSTOM Convolution2DTransposeBias", 1, reads, [made])
    stored = struct.pack("<3i", padding, stride[1], stride[0]) if options is None else options
    build.operators[-1] = replace(build.operators[-1], custom=stored)
    return build.finish(y)


def further_models() -> Iterator[Graph]:
    """One of each form."""
    yield read_tflite(computed_weights("float32", np.ones(UNITS, np.float32), "RELU"), "net.tflite")
    yield read_tflite(computed_weights("int8", None, "RELU"), "net.tflite")
    yield read_tflite(transpose_conv_bias((4, 4), (2, 2), (2, 2), SAME), "net.tflite")
