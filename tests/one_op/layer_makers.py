"""Draws layers with weights, pools, reductions and products."""

from math import prod

import numpy as np
import tflite
from drawing import Draw, Maker, Shape, like, moved
from tflite_builder import window_size

from aot.frontend.tflite.write_file import FileTensor


def conv(draw: Draw) -> bytes:
    dtype = "int8" if draw.is_unsigned else draw.one_of("int8", "int8", "int16", "float32")
    kernel, stride = draw.shape(2, 4), draw.shape(2, 3)
    dilation = draw.shape(2, 2) if draw.chance(0.3) else (1, 1)
    group = draw.one_of(1, 1, 1, 2, 3)
    depth, channels = group * draw.upto(4), group * draw.upto(4)
    image = (draw.upto(2), draw.upto(9, 1), draw.upto(9, 1), depth)
    padding = draw.one_of("SAME", "SAME", "VALID")
    if padding == "VALID":
        image = (
            image[0],
            *(max(n, (k - 1) * d + 1) for n, k, d in zip(image[1:3], kernel, dilation, strict=True)),
            depth,
        )
    x = draw.given(draw.spec("x", image, dtype))
    weights = (channels, *kernel, depth // group)
    parts = _weights(draw, x, weights, 0, may_be_narrow=True)
    size = [window_size(*args, padding) for args in zip(image[1:3], kernel, stride, dilation, strict=True)]
    out = draw.spec("y", (image[0], *size, channels), dtype)
    return draw.op(
        "CONV_2D", 5, (x, *parts), [out], "Conv2DOptions",
        Padding=getattr(tflite.Padding, padding), StrideH=stride[0], StrideW=stride[1],
        DilationHFactor=dilation[0], DilationWFactor=dilation[1], FusedActivationFunction=draw.activation(),
        QuantizedBiasType=_bias_type(draw),
    )  # fmt: skip


def depthwise(draw: Draw) -> bytes:
    dtype = "int8" if draw.is_unsigned else draw.one_of("int8", "int8", "int16", "float32")
    kernel, stride = draw.shape(2, 4), (draw.upto(3),) * 2
    dilation = draw.shape(2, 2) if draw.chance(0.3) else (1, 1)
    depth, multiplier = draw.upto(6), draw.one_of(1, 1, 2, 3)
    image = (draw.upto(2), draw.upto(9), draw.upto(9), depth)
    padding = draw.one_of("SAME", "SAME", "VALID")
    if padding == "VALID":
        image = (  # type: ignore[assignment]
            image[0],
            *(max(n, (k - 1) * d + 1) for n, k, d in zip(image[1:3], kernel, dilation, strict=True)),
            depth,
        )
    x = draw.given(draw.spec("x", image, dtype))
    parts = _weights(draw, x, (1, *kernel, depth * multiplier), 3)
    size = [window_size(*args, padding) for args in zip(image[1:3], kernel, stride, dilation, strict=True)]
    out = draw.spec("y", (image[0], *size, depth * multiplier), dtype)
    return draw.op(
        "DEPTHWISE_CONV_2D", 4, (x, *parts), [out], "DepthwiseConv2DOptions",
        Padding=getattr(tflite.Padding, padding), StrideH=stride[0], StrideW=stride[1],
        DilationHFactor=dilation[0], DilationWFactor=dilation[1], DepthMultiplier=multiplier,
        FusedActivationFunction=draw.activation(),
    )  # fmt: skip


def _weights(draw: Draw, x: str, shape: Shape, axis: int, may_be_narrow: bool = False) -> tuple:  # type: ignore[type-arg]
    source = draw.build.tensors[x]
    has_bias = draw.chance(0.8)
    if source.dtype == "float32":
        w = draw.known("w", draw.rng.normal(0, 1, shape), "float32")
        return w, draw.known("b", draw.rng.normal(0, 1, shape[axis]), "float32") if has_bias else None
    per_channel = draw.chance(0.7) and not draw.is_unsigned  # those have one scale
    scales = [draw.scale() / 4 for _ in range(shape[axis] if per_channel else 1)]
    w = _stored_weights(draw, shape, scales, axis)
    if not has_bias:
        return w, None
    dtype = "int32" if source.dtype == "int8" or (may_be_narrow and draw.chance(0.3)) else "int64"
    bias = draw.rng.integers(-20000, 20000, shape[axis]).astype(dtype)
    steps = [float(np.float32(s * source.scales[0])) for s in draw.build.tensors[w].scales]
    return w, draw.build.constant("b", bias, steps)


def _stored_weights(draw: Draw, shape: Shape, scales: list[float], axis: int) -> str:
    if draw.weight_bits == 8:
        return draw.build.constant("w", draw.rng.integers(-127, 128, shape).astype(np.int8), scales, axis)
    halves = draw.rng.integers(-7, 8, prod(shape)) & 15
    even = np.append(halves, 0)[: -(-halves.size // 2) * 2].astype(np.uint8)
    packed, steps = even[::2] | even[1::2] << 4, tuple(float(np.float32(s * 16)) for s in scales)
    zeros = (0,) * len(steps)
    return draw.build._add(FileTensor("w", shape, "int4", steps, zeros, axis, packed))


def _bias_type(draw: Draw) -> int:
    """What the options say of the bias: its type, or that of the one that is not there."""
    stored = draw.build.tensors.get("b")
    if stored is None or stored.dtype == "float32":
        return draw.one_of(0, tflite.TensorType.INT32, tflite.TensorType.INT64)
    return int(getattr(tflite.TensorType, stored.dtype.upper()))


def dense(draw: Draw) -> bytes:
    dtype = "int8" if draw.is_unsigned else draw.one_of("int8", "int8", "int16", "float32")
    before, depth, units = draw.shape(draw.upto(3)), draw.upto(20), draw.upto(8)
    x = draw.given(draw.spec("x", (*before, depth), dtype))
    parts = _weights(draw, x, (units, depth), 0, may_be_narrow=True)
    keep = draw.chance()
    out = draw.spec("y", (*before, units) if keep else (prod(before), units), dtype)
    return draw.op(
        "FULLY_CONNECTED", 5, (x, *parts), [out], "FullyConnectedOptions",
        FusedActivationFunction=draw.activation(), KeepNumDims=keep, QuantizedBiasType=_bias_type(draw),
    )  # fmt: skip


def transpose_conv(draw: Draw) -> bytes:
    dtype = "int8" if draw.is_unsigned else draw.one_of("int8", "int16", "float32")
    kernel, stride = draw.shape(2, 4), draw.shape(2, 3)
    n, height, width = draw.upto(2), draw.upto(5), draw.upto(5)
    depth, channels = draw.upto(4), draw.upto(4)
    padding = draw.one_of("SAME", "VALID")
    if padding == "SAME":
        size = (height * stride[0], width * stride[1])
    else:
        size = tuple((i - 1) * s + max(k, s) for i, s, k in zip((height, width), stride, kernel, strict=True))  # type: ignore[assignment]
    x = draw.spec("x", (n, height, width, depth), dtype)
    wanted = draw.known("shape", (n, *size, channels))
    name = draw.given(x)
    w, b = _weights(draw, name, (channels, *kernel, depth), 0, may_be_narrow=True)
    out = draw.spec("y", (n, *size, channels), dtype)
    inputs = (wanted, w, name) if b is None else (wanted, w, name, b)
    return draw.op(
        "TRANSPOSE_CONV", 4, inputs, [out], "TransposeConvOptions",
        Padding=getattr(tflite.Padding, padding), StrideH=stride[0], StrideW=stride[1],
        FusedActivationFunction=draw.activation(), QuantizedBiasType=_bias_type(draw),
    )  # fmt: skip


def pool(code: str) -> Maker:
    def make(draw: Draw) -> bytes:
        dtype = "float32" if code == "L2_POOL_2D" else draw.one_of("int8", "int16", "float32")
        kernel, stride = draw.shape(2, 4), draw.shape(2, 3)
        padding = draw.one_of("SAME", "VALID")
        image = (draw.upto(2), *(draw.upto(8, k) for k in kernel), draw.upto(5))
        x = draw.given(draw.spec("x", image, dtype))
        size = [window_size(n, k, s, 1, padding) for n, k, s in zip(image[1:3], kernel, stride, strict=True)]
        out = like(draw.build.tensors[x], (image[0], *size, image[3]))
        return draw.op(
            code, 3, (x,), [out], "Pool2DOptions",
            Padding=getattr(tflite.Padding, padding), StrideH=stride[0], StrideW=stride[1],
            FilterHeight=kernel[0], FilterWidth=kernel[1], FusedActivationFunction=draw.activation(),
        )  # fmt: skip

    return make


def reduction(code: str, *dtypes: str) -> Maker:
    def make(draw: Draw) -> bytes:
        dtype = draw.one_of(*dtypes)
        spec = draw.spec("x", draw.shape(draw.upto(4)), dtype)
        rank = len(spec.shape)
        axes = [a for a in range(rank) if draw.chance()] or [draw.upto(rank, 1) - 1]
        stored = [a - rank if draw.chance(0.3) else a for a in axes]
        keep = draw.chance()
        shape = tuple(1 if a in axes else d for a, d in enumerate(spec.shape) if keep or a not in axes)
        kept = code in ("REDUCE_MAX", "REDUCE_MIN") or draw.chance(0.3)
        out = like(spec, shape) if kept else draw.spec("y", shape, dtype)
        x, places = draw.given(spec), draw.known("axes", stored)
        return draw.op(code, 2, (x, places), [out], "ReducerOptions", KeepDims=keep)

    return make


def places(code: str) -> Maker:
    def make(draw: Draw) -> bytes:
        spec = moved(draw, 4, "int8", "float32", "int32", "uint8")
        axis = draw.upto(len(spec.shape)) - 1
        stored = axis - len(spec.shape) if draw.chance(0.3) else axis
        shape = spec.shape[:axis] + spec.shape[axis + 1 :]
        result = draw.one_of("int32", "int64")
        kind = {"int32": tflite.TensorType.INT32, "int64": tflite.TensorType.INT64}[result]
        x, where = draw.given(spec), draw.known("axis", stored)
        options = "ArgMaxOptions" if code == "ARG_MAX" else "ArgMinOptions"
        return draw.op(code, 2, (x, where), [FileTensor("y", shape, result)], options, OutputType=kind)

    return make


def cumsum(draw: Draw) -> bytes:
    spec = moved(draw, 4, "int8", "float32", "int32")
    axis = draw.upto(len(spec.shape)) - 1
    x, a = draw.given(spec), draw.known("axis", axis - len(spec.shape) if draw.chance(0.3) else axis)
    out = like(spec, spec.shape) if draw.chance() else draw.spec("y", spec.shape, spec.dtype)
    return draw.op(
        "CUMSUM", 1, (x, a), [out], "CumsumOptions", Exclusive=draw.chance(), Reverse=draw.chance()
    )


def batch_matmul(draw: Draw) -> bytes:
    dtype = draw.one_of("int8", "int8", "int16", "float32")
    before = draw.shape(draw.upto(2, 0), 3)
    m, k, n = draw.upto(5), draw.upto(8), draw.upto(5)
    ax, ay = draw.chance(), draw.chance()
    first = draw.spec("x1", (*before, k, m) if ax else (*before, m, k), dtype)
    other = tuple(1 if draw.chance(0.3) else d for d in before)
    second = draw.spec("x2", (*other, n, k) if ay else (*other, k, n), dtype)
    x1, x2 = draw.given(first), draw.operand(second)
    out = draw.spec("y", (*before, m, n), dtype)
    return draw.op("BATCH_MATMUL", 4, (x1, x2), [out], "BatchMatMulOptions", AdjX=ax, AdjY=ay)


def resize(code: str) -> Maker:
    def make(draw: Draw) -> bytes:
        dtype = draw.one_of("int8", "int16", "float32")  # fmt: skip
        spec = draw.spec("x", (draw.upto(2), draw.upto(6), draw.upto(6), draw.upto(4)), dtype)
        size = draw.shape(2, 9)
        x, s = draw.given(spec), draw.known("size", size)
        align, half = draw.one_of((False, False), (True, False), (False, True))
        out = like(spec, (spec.shape[0], *size, spec.shape[3]))
        options = "ResizeBilinearOptions" if code == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
        return draw.op(code, 4, (x, s), [out], options, AlignCorners=align, HalfPixelCenters=half)

    return make


def conv_3d(draw: Draw) -> bytes:
    """Volumes of some slices; filters are floats, and in most models known."""
    kernel, stride = draw.shape(3, 3), draw.shape(3, 2)
    padding, channels, made = draw.one_of("SAME", "VALID"), draw.upto(3), draw.upto(3)
    volume = (1, *(draw.upto(6, k) for k in kernel), channels)
    x = draw.given(draw.spec("x", volume, "float32"))
    size = [window_size(n, k, s, 1, padding) for n, k, s in zip(volume[1:4], kernel, stride, strict=True)]
    w = draw.known("w", draw.rng.normal(size=(*kernel, channels, made)), "float32")
    inputs = [x, w, *([draw.known("b", draw.rng.normal(size=made), "float32")] if draw.chance() else [])]
    out = like(draw.build.tensors[x], (1, *size, made))
    return draw.op(
        "CONV_3D", 1, inputs, [out], "Conv3DOptions",
        Padding=getattr(tflite.Padding, padding), StrideD=stride[0], StrideH=stride[1], StrideW=stride[2],
        FusedActivationFunction=draw.activation(),
    )  # fmt: skip


def local_response(draw: Draw) -> bytes:
    spec = draw.spec("x", draw.shape(4, 4), "float32")
    return draw.op(
        "LOCAL_RESPONSE_NORMALIZATION", 1, (draw.given(spec),), [like(spec, spec.shape)],
        "LocalResponseNormalizationOptions",
        Radius=draw.upto(3, 0), Bias=1.5, Alpha=draw.rng.uniform(0.1, 1), Beta=draw.one_of(0.5, 0.75),
    )  # fmt: skip


def conv_3d_transpose(draw: Draw) -> bytes:
    kernel, stride = draw.shape(3, 3), draw.shape(3, 2)
    padding, channels, made = draw.one_of("SAME", "VALID"), draw.upto(3), draw.upto(3)
    volume = (1, *draw.shape(3, 4), channels)
    size = [
        n * s if padding == "SAME" else (n - 1) * s + max(k, s)
        for n, k, s in zip(volume[1:4], kernel, stride, strict=True)
    ]
    wanted = draw.known("shape", (1, *size, made))
    w = draw.known("w", draw.rng.normal(size=(*kernel, made, channels)), "float32")
    x = draw.given(draw.spec("x", volume, "float32"))
    inputs = [
        wanted,
        w,
        x,
        *([draw.known("b", draw.rng.normal(size=made), "float32")] if draw.chance() else []),
    ]
    return draw.op(
        "CONV_3D_TRANSPOSE", 1, inputs, [like(draw.build.tensors[x], (1, *size, made))], "Conv3DOptions",
        Padding=getattr(tflite.Padding, padding), StrideD=stride[0], StrideH=stride[1], StrideW=stride[2],
        FusedActivationFunction=draw.activation(),
    )  # fmt: skip


def reduce_window(draw: Draw) -> bytes:
    """Windows of any dimensions, with steps between their elements."""
    by = draw.one_of("ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY")
    dtype = "bool" if by in ("ALL", "ANY") else draw.one_of("float32", "int32", "int8", "int16", "int64")
    rank = draw.upto(4)
    window, strides = draw.shape(rank, 3), draw.shape(rank, 2)
    steps = tuple(draw.one_of(1, 1, 2) for _ in range(rank))
    reach = [(n - 1) * step + 1 for n, step in zip(window, steps, strict=True)]
    shape = tuple(draw.upto(2, 0) + n for n in reach)
    made = tuple((n - r) // s + 1 for n, r, s in zip(shape, reach, strides, strict=True))
    x = draw.given(FileTensor("x", shape, dtype))
    neutral = {"ADD": 0, "MUL": 1, "MINIMUM": 127, "MAXIMUM": -128, "ALL": 1, "ANY": 0}[by]
    value = draw.one_of(neutral, 1) if dtype in ("float32", "int32") else neutral
    inputs = [x, draw.known("first", value, dtype)]
    named = {"window": window, "strides": strides, "steps": steps}
    inputs += [draw.known(name, values, "int64") for name, values in named.items()]
    return draw.op(
        "REDUCE_WINDOW", 1, inputs, [FileTensor("y", made, dtype)], "ReduceWindowOptions",
        ReduceFunction=getattr(tflite.ReduceWindowFunction, by),
    )  # fmt: skip


def spectrum(code: str) -> Maker:
    """A transform of frames, or of images, whose complex values the operator makes floats."""

    def make(draw: Draw) -> bytes:
        length = (1 if draw.chance() else 2 ** draw.upto(3, 0), 2 ** draw.upto(5))
        shape = tuple(n + draw.one_of(0, 0, 1, -1) for n in length)
        shape = (*draw.shape(draw.upto(2, 0), 3), *(max(1, n) for n in shape))
        made = (*shape[:-2], length[0], length[1] // 2 + 1)
        x, n = draw.given(FileTensor("x", shape, "float32")), draw.known("length", length)
        build = draw.build
        z = build.operator("RFFT2D", 1, (x, n), [FileTensor("z", made, "complex64")], "Rfft2dOptions")
        if draw.chance() and length[0] == 1:
            made = (*made[:-2], made[-1])
            z = build.operator(
                "SQUEEZE", 1, (z,), [FileTensor("frames", made, "complex64")], "SqueezeOptions"
            )
        return draw.op(code, 1, (z,), [FileTensor("y", made, "float32")])

    return make
