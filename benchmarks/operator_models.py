"""Models of one operator each, of sizes that networks have: what operators are compared by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from aot.frontend.tflite.write_file import FileTensor, ModelSpec, OperatorSpec, write_tflite
from aot.ir.types import Array

Shape = tuple[int, ...]
SAME = 0  # Padding.SAME
SCALE, ZERO_POINT = 0.05, 3  # of int8 data


@dataclass(frozen=True, slots=True)
class OneOperator:
    """`data` of the run first, then `constants`, as the operator takes them unless `order` says otherwise."""

    code: str
    dtype: str
    data: tuple[Shape, ...]
    results: tuple[Shape, ...]
    constants: tuple[FileTensor, ...] = ()
    options: str = ""
    fields: Mapping[str, float | str] = field(default_factory=dict)
    version: int = 2
    order: tuple[int, ...] = ()
    says: str = ""

    @property
    def label(self) -> str:
        shapes = " and ".join("x".join(map(str, shape)) for shape in self.data)
        words = (self.code.lower(), self.says, self.dtype, shapes)
        return ", ".join(word for word in words if word)

    def file(self) -> bytes:
        data = [_tensor(f"x{n}", shape, self.dtype) for n, shape in enumerate(self.data)]
        results = [_tensor(f"y{n}", shape, self.dtype) for n, shape in enumerate(self.results)]
        tensors, reads = (*data, *self.constants, *results), len(data) + len(self.constants)
        writes = tuple(range(reads, len(tensors)))
        operator = OperatorSpec(
            self.code, self.version, self.order or tuple(range(reads)), writes, self.options, self.fields
        )
        return write_tflite(ModelSpec("one", tensors, (operator,), tuple(range(len(data))), writes))


def _tensor(name: str, shape: Shape, dtype: str) -> FileTensor:
    quant = ((SCALE,), (ZERO_POINT,)) if dtype == "int8" else ()
    return FileTensor(name, shape, dtype, *quant)


def _integers(*values: int, shape: Shape = ()) -> FileTensor:
    return _constant("numbers", np.asarray(values, np.int32).reshape(shape or (-1,)))


def _constant(name: str, array: Array, scales: tuple[float, ...] = (), axis: int = 0) -> FileTensor:
    return FileTensor(name, array.shape, array.dtype.name, scales, (0,) * len(scales), axis, array)


def _weights(dtype: str, shape: Shape, axis: int) -> tuple[FileTensor, FileTensor]:
    rng, channels = np.random.default_rng(1), shape[axis]
    if dtype == "float32":
        made, bias = rng.normal(0, 0.1, shape).astype(np.float32), np.ones(channels, np.float32)
        return _constant("w", made), _constant("b", bias)
    scales = tuple(float(s) for s in rng.uniform(0.001, 0.002, channels).astype(np.float32))
    sums = tuple(float(np.float32(scale * SCALE)) for scale in scales)
    made = rng.integers(-127, 128, shape).astype(np.int8)
    bias = rng.integers(-500, 500, channels).astype(np.int32)
    return _constant("w", made, scales, axis), _constant("b", bias, sums)


def conv(dtype: str, image: Shape, kernel: Shape) -> OneOperator:
    """`kernel`: channels out, height, width, channels in of a group."""
    result = (*image[:3], kernel[0])
    fields = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1, "Padding": SAME}
    groups = image[3] // kernel[3]
    says = f"{kernel[1]}x{kernel[2]} to {kernel[0]}" + (f" in {groups} groups" if groups > 1 else "")
    weights = _weights(dtype, kernel, 0)
    return OneOperator("CONV_2D", dtype, (image,), (result,), weights, "Conv2DOptions", fields, 3, (), says)


def depthwise(dtype: str, image: Shape, size: int, multiplier: int) -> OneOperator:
    result = (*image[:3], image[3] * multiplier)
    fields = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1, "Padding": SAME}
    weights, says = _weights(dtype, (1, size, size, result[3]), 3), f"{size}x{size}, multiplier {multiplier}"
    options = fields | {"DepthMultiplier": multiplier}
    return OneOperator(
        "DEPTHWISE_CONV_2D",
        dtype,
        (image,),
        (result,),
        weights,
        "DepthwiseConv2DOptions",
        options,
        3,
        (),
        says,
    )


def _transpose_conv(dtype: str, image: Shape, channels: int, size: int) -> OneOperator:
    result = (1, image[1] * 2, image[2] * 2, channels)
    w, _ = _weights(dtype, (channels, size, size, image[3]), 0)
    fields = {"StrideH": 2, "StrideW": 2, "Padding": SAME}
    constants = (_integers(*result), w)
    says = f"{size}x{size} to {channels}, stride 2"
    return OneOperator(
        "TRANSPOSE_CONV",
        dtype,
        (image,),
        (result,),
        constants,
        "TransposeConvOptions",
        fields,
        3,
        (1, 2, 0),
        says,
    )


def two(code: str, dtype: str, shape: Shape, options: str) -> OneOperator:
    return OneOperator(code, dtype, (shape, shape), (shape,), (), options)


def _both(make: Callable[[str], OneOperator]) -> tuple[OneOperator, OneOperator]:
    return make("int8"), make("float32")


def _slope(dtype: str) -> FileTensor:
    """The slopes of PRELU, one for each channel."""
    slopes = np.linspace(0.1, 0.4, 16)
    if dtype == "float32":
        return _constant("slopes", slopes.astype(np.float32).reshape(1, 1, 16))
    return _constant("slopes", np.round(slopes / 0.01).astype(np.int8).reshape(1, 1, 16), (0.01,))


IMAGE = (1, 24, 24, 16)
OPERATORS = (
    *_both(lambda d: two("ADD", d, IMAGE, "AddOptions")),
    *_both(lambda d: two("SUB", d, IMAGE, "SubOptions")),
    *_both(lambda d: two("MUL", d, IMAGE, "MulOptions")),
    two("DIV", "float32", IMAGE, "DivOptions"),
    *_both(
        lambda d: OneOperator(
            "BATCH_MATMUL", d, ((2, 32, 24), (2, 24, 32)), ((2, 32, 32),), (), "BatchMatMulOptions"
        )
    ),
    *_both(
        lambda d: OneOperator(
            "PAD", d, (IMAGE,), ((1, 26, 26, 16),), (_integers(0, 0, 1, 1, 1, 1, 0, 0, shape=(4, 2)),)
        )
    ),
    *_both(
        lambda d: OneOperator(
            "SPLIT",
            d,
            (IMAGE,),
            ((1, 24, 24, 8),) * 2,
            (_integers(3),),
            "SplitOptions",
            {"NumSplits": 2},
            2,
            (1, 0),
        )
    ),
    *_both(
        lambda d: OneOperator(
            "PACK", d, ((24, 64), (24, 64)), ((24, 2, 64),), (), "PackOptions", {"ValuesCount": 2, "Axis": 1}
        )
    ),
    *_both(
        lambda d: OneOperator(
            "SPACE_TO_DEPTH", d, (IMAGE,), ((1, 12, 12, 64),), (), "SpaceToDepthOptions", {"BlockSize": 2}
        )
    ),
    *_both(
        lambda d: OneOperator(
            "DEPTH_TO_SPACE", d, (IMAGE,), ((1, 48, 48, 4),), (), "DepthToSpaceOptions", {"BlockSize": 2}
        )
    ),
    *_both(
        lambda d: OneOperator("TRANSPOSE", d, ((1, 24, 32, 8),), ((1, 32, 8, 24),), (_integers(0, 2, 3, 1),))
    ),
    *_both(
        lambda d: OneOperator(
            "GATHER", d, ((64, 40),), ((5, 40),), (_integers(3, 9, 60, 0, 33),), "GatherOptions", {"Axis": 0}
        )
    ),
    *_both(
        lambda d: OneOperator(
            "MEAN", d, (IMAGE,), ((1, 16),), (_integers(1, 2),), "ReducerOptions", says="of pixels"
        )
    ),
    *_both(
        lambda d: OneOperator("LEAKY_RELU", d, (IMAGE,), (IMAGE,), (), "LeakyReluOptions", {"Alpha": 0.1})
    ),
    *_both(lambda d: OneOperator("HARD_SWISH", d, (IMAGE,), (IMAGE,), version=1)),
    *_both(lambda d: OneOperator("PRELU", d, (IMAGE,), (IMAGE,), (_slope(d),), version=1)),
    *_both(
        lambda d: OneOperator(
            "RESIZE_BILINEAR", d, (IMAGE,), ((1, 48, 48, 16),), (_integers(48, 48),), "ResizeBilinearOptions"
        )
    ),
    *_both(
        lambda d: OneOperator(
            "RESIZE_NEAREST_NEIGHBOR",
            d,
            (IMAGE,),
            ((1, 48, 48, 16),),
            (_integers(48, 48),),
            "ResizeNearestNeighborOptions",
        )
    ),
    *_both(lambda d: conv(d, IMAGE, (16, 3, 1, 16))),
    *_both(lambda d: conv(d, IMAGE, (16, 1, 3, 16))),
    *_both(lambda d: conv(d, IMAGE, (16, 2, 2, 16))),
    *_both(lambda d: conv(d, IMAGE, (16, 3, 3, 4))),
    *_both(lambda d: depthwise(d, IMAGE, 3, 2)),
    *_both(lambda d: depthwise(d, IMAGE, 5, 1)),
    *_both(lambda d: _transpose_conv(d, (1, 12, 12, 16), 8, 3)),
)
