"""Draws operators that work element by element."""

from dataclasses import replace

import numpy as np
from drawing import MOVED, QUANTISED, Draw, Maker, Shape, like, repeatable

from aot.frontend.tflite.write_file import FileTensor


def _pair(draw: Draw, dtype: str, quantised: bool = True) -> tuple[str, str, Shape]:
    whole = draw.shape(draw.upto(5))
    first, second = whole, repeatable(draw, whole)
    if draw.chance(0.2):
        first = tuple(1 if draw.chance(0.3) else d for d in whole)
    if draw.chance():
        first, second = second, first
    names = [draw.spec(n, s, dtype, quantised) for n, s in (("x1", first), ("x2", second))]
    constant = draw.chance(0.3)
    x1 = draw.given(names[0])
    x2 = draw.operand(names[1], 1.0) if constant else draw.given(names[1])
    return x1, x2, np.broadcast_shapes(first, second)


def arithmetic(code: str, options: str, *dtypes: str) -> Maker:
    def make(draw: Draw) -> bytes:
        dtype = draw.one_of(*dtypes)
        x1, x2, whole = _pair(draw, dtype)
        out = draw.spec("y", whole, dtype)
        return draw.op(code, 3, (x1, x2), [out], options, FusedActivationFunction=draw.activation())

    return make


def combined(code: str, options: str, *dtypes: str, result: str = "") -> Maker:
    def make(draw: Draw) -> bytes:
        dtype = draw.one_of(*dtypes)
        x1, x2, whole = _pair(draw, dtype)
        spec = draw.build.tensors[x1]
        if not result and dtype in QUANTISED:
            draw.build.tensors[x2] = replace(
                draw.build.tensors[x2], scales=spec.scales, zero_points=spec.zero_points
            )
        out = FileTensor("y", whole, result) if result else replace(spec, name="y", shape=whole, data=None)
        return draw.op(code, 2, (x1, x2), [out], options)

    return make


def plain_pair(code: str, options: str, *dtypes: str, result: str = "") -> Maker:
    def make(draw: Draw) -> bytes:
        dtype = draw.one_of(*dtypes)
        x1, x2, whole = _pair(draw, dtype, quantised=False)
        return draw.op(code, 2, (x1, x2), [FileTensor("y", whole, result or dtype)], options)

    return make


def arctangent(draw: Draw) -> bytes:
    """Of two operands of one shape: LiteRT repeats none of them."""
    spec = FileTensor("x1", draw.shape(draw.upto(4)), "float32")
    inputs = draw.given(spec), draw.given(like(spec, spec.shape, "x2"))
    return draw.op("ATAN2", 1, inputs, [like(spec, spec.shape)])


def unary(code: str, options: str, *dtypes: str, quantised: bool = True) -> Maker:
    def make(draw: Draw) -> bytes:
        dtype = draw.one_of(*dtypes)
        x = draw.given(draw.spec("x", draw.shape(draw.upto(5)), dtype, quantised))
        spec = draw.build.tensors[x]
        out = draw.spec("y", spec.shape, dtype, quantised)
        if code in ("LOGISTIC", "TANH", "SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION") and dtype != "float32":
            wide = 32768 if dtype == "int16" else 0
            steps, zero = {
                "LOGISTIC": (wide or 256, 0 if wide else -128),
                "SOFTMAX": (wide or 256, 0 if wide else -128),
                "TANH": (wide or 128, 0),
                "LOG_SOFTMAX": (16, 127),
                "L2_NORMALIZATION": (128, 0),
            }[code]
            out = replace(out, scales=(1 / steps,), zero_points=(zero,))
        if code in ("NEG", "RELU_KEPT") and dtype == "int8":
            out = replace(out, scales=spec.scales, zero_points=spec.zero_points)
        fields = {"SoftmaxOptions": {"Beta": draw.one_of(1.0, 1.0, 0.5, 2.0)}}.get(options, {})
        if options == "LeakyReluOptions":
            fields = {"Alpha": draw.one_of(0.1, 0.3, -0.5, 1.5, 0.0)}
        if options == "GeluOptions":
            fields = {"Approximate": draw.chance()}
        return draw.op(code, 2, (x,), [out], options, **fields)

    return make


def select(code: str) -> Maker:
    def make(draw: Draw) -> bytes:
        dtype = draw.one_of("int8", "int16", "float32", "int32")
        x1, x2, whole = _pair(draw, dtype)
        spec = draw.build.tensors[x1]
        draw.build.tensors[x2] = replace(
            draw.build.tensors[x2], scales=spec.scales, zero_points=spec.zero_points
        )
        chosen = draw.given(FileTensor("c", repeatable(draw, whole), "bool"))
        out = replace(spec, name="y", shape=whole, data=None)
        return draw.op(code, 1, (chosen, x1, x2), [out], "SelectV2Options")

    return make


def add_n(draw: Draw) -> bytes:
    spec = draw.spec("x", draw.shape(draw.upto(4)), draw.one_of("int8", "float32", "int32"))
    names = [draw.given(replace(spec, name=f"x{i}")) for i in range(draw.upto(4, 2))]
    out = like(spec, spec.shape) if draw.chance() else draw.spec("y", spec.shape, spec.dtype)
    return draw.op("ADD_N", 1, names, [out], "AddNOptions")


def prelu(draw: Draw) -> bytes:
    dtype = draw.one_of("int8", "float32")
    shape = draw.shape(draw.one_of(2, 3, 4))
    x = draw.given(draw.spec("x", shape, dtype))
    slope = draw.spec("a", (*(1 for _ in shape[1:-1]), shape[-1]), dtype)
    a = draw.build._add(replace(slope, data=draw.values(slope)))
    return draw.op("PRELU", 1, (x, a), [draw.spec("y", shape, dtype)])


def quantize(draw: Draw) -> bytes:
    source, result = draw.one_of(
        ("float32", "int8"), ("float32", "int16"), ("int8", "int8"), ("int16", "int16"), ("int8", "int16"),
        ("int16", "int8"), ("int16", "int32"), ("int8", "int32"), ("uint8", "int8"), ("int8", "uint8"),
        ("int32", "int8"), ("int32", "int16"),
    )  # fmt: skip
    spec = _any_quantised(draw, "x", draw.shape(draw.upto(4)), source)
    x = draw.given(spec)
    return draw.op("QUANTIZE", 2, (x,), [_any_quantised(draw, "y", spec.shape, result)], "QuantizeOptions")


def _any_quantised(draw: Draw, name: str, shape: Shape, dtype: str) -> FileTensor:
    if dtype == "float32":
        return FileTensor(name, shape, dtype)
    zero = {"int8": draw.upto(127, -128), "uint8": draw.upto(255, 0)}.get(dtype, 0)
    return FileTensor(name, shape, dtype, (draw.scale(),), (zero,))


def dequantize(draw: Draw) -> bytes:
    dtype = draw.one_of("int8", "int16", "uint8")
    spec = _any_quantised(draw, "x", draw.shape(draw.upto(4)), dtype)
    x = draw.given(spec)
    return draw.op("DEQUANTIZE", 3, (x,), [FileTensor("y", spec.shape, "float32")], "DequantizeOptions")


def cast(draw: Draw) -> bytes:
    source, result = draw.one_of(*MOVED), draw.one_of(*MOVED)
    shape = draw.shape(draw.upto(4))
    x = draw.given(FileTensor("x", shape, source))
    return draw.op("CAST", 1, (x,), [FileTensor("y", shape, result)])
