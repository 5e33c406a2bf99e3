"""Operators written by ONNX Runtime's optimizer and 4-bit quantizer: several of ONNX's in one."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.importers.normalising import standardized
from aot.frontend.onnx.importers.quantised import attributes
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.frontend.onnx.packed_products import INTEGER_PRODUCTS
from aot.ir.types import Array, Quant
from aot.ops.hybrid_dense import HybridDense

FloatArray = npt.NDArray[np.float32]
_LARGEST_BYTE = 127  # of weights in integer products
_ROOT_OF_HALF = 0.5**0.5
_ROOT_OF_TWO_BY_PI = (2 / np.pi) ** 0.5


def _conv(node: OnnxOperator) -> Value:
    """Imports a convolution, optionally with an added image and an activation."""
    kept = attributes(node, "activation", "activation_params")
    made = node.do("Conv", *node.operands[:3], **kept)
    made = node.do("Add", made, node.operand(3)) if node.has(3) else made
    return _activated(node, made, node.floats("activation_params", ()))


def _gemm(node: OnnxOperator) -> Value:
    parameters = [node.real(name) for name in _GEMM_PARAMETERS if node.has_attribute(name)]
    kept = attributes(node, "activation", *_GEMM_PARAMETERS)
    return _activated(node, node.do("Gemm", *node.operands, **kept), tuple(parameters))


_GEMM_PARAMETERS = ("activation_alpha", "activation_beta", "activation_gamma")
# In the order of activation_params.
_PARAMETERS = {"LeakyRelu": ("alpha",), "HardSigmoid": ("alpha", "beta")}


def _activated(node: OnnxOperator, x: Value, parameters: tuple[float, ...]) -> Value:
    name = node.text("activation", "")
    if not name:
        return x
    if name == "Clip":
        return node.do("Clip", x, *(node.number(p, x.element) for p in parameters))
    return node.do(name, x, **dict(zip(_PARAMETERS.get(name, ()), parameters, strict=False)))


def _matmul(node: OnnxOperator) -> Value:
    if node.integer("transBatchA", 0) or node.integer("transBatchB", 0):
        raise node.fail(
            "a product with transposed batch dimensions is not supported", "export the model without it"
        )
    a, b = (
        _turned(node, node.operand(at)) if node.integer(name, 0) else node.operand(at)
        for at, name in enumerate(("transA", "transB"))
    )
    return _times(node, node.do("MatMul", a, b), node.real("alpha", 1.0))


def _turned(node: OnnxOperator, x: Value) -> Value:
    *front, last, least = range(len(x.order))
    return node.do("Transpose", x, perm=[*front, least, last])


def _times(node: OnnxOperator, x: Value, factor: float) -> Value:
    return x if factor == 1 else node.do("Mul", x, node.number(factor, x.element))


def _biased(node: OnnxOperator, x: Value, position: int) -> Value:
    return node.do("Add", x, node.operand(position)) if node.has(position) else x


def _gelu(node: OnnxOperator) -> Value:
    """Imports Gelu with the error function; a bias may come first."""
    x = _biased(node, node.operand(0), 1)
    bent = node.do("Erf", _times(node, x, _ROOT_OF_HALF))
    return node.do("Mul", _times(node, x, 0.5), node.do("Add", bent, node.number(1, x.element)))


def _fast_gelu(node: OnnxOperator) -> Value:
    """Imports FastGelu with the hyperbolic tangent."""
    x = _biased(node, node.operand(0), 1)
    cubed = _times(node, node.do("Mul", x, node.do("Mul", x, x)), 0.044715)
    bent = node.do("Tanh", _times(node, node.do("Add", x, cubed), _ROOT_OF_TWO_BY_PI))
    return node.do("Mul", _times(node, x, 0.5), node.do("Add", bent, node.number(1, x.element)))


def _quick_gelu(node: OnnxOperator) -> Value:
    x = node.operand(0)
    return node.do("Mul", x, node.do("Sigmoid", _times(node, x, node.real("alpha", 1.702))))


def _skip_layer_norm(node: OnnxOperator) -> list[Value]:
    """Normalizes a sum; the sum is the last result. Mean and deviation are for training only."""
    total = _biased(node, node.do("Add", node.operand(0), node.operand(1)), 4)
    axes = (len(total.order) - 1,)
    normal = standardized(node, total, axes, node.real("epsilon", 1e-12)).value
    scaled = node.do("Mul", normal, node.operand(2))
    if any(node.proto.output[1:3]):
        raise node.fail(
            "the outputs mean and deviation exist in training mode only", "export the model for inference"
        )
    made = _biased(node, scaled, 3)
    return [made, made, made, total]


def _dynamic_matmul(node: OnnxOperator) -> Value:
    """Quantizes the first operand by its range."""
    x, scale, zero = node.do_all(3, "DynamicQuantizeLinear", node.operand(0))
    sides = (x, scale, zero), (node.operand(1), node.operand(2), node.optional(3))
    return _biased(node, _product(node, *sides), 4)


def _matmul_to_float(node: OnnxOperator) -> Value:
    sides = [(node.operand(at), node.operand(2 + at), node.optional(4 + at)) for at in (0, 1)]
    return _biased(node, _product(node, *sides), 6)


def _product(
    node: OnnxOperator, a: tuple[Value, Value, Value | None], b: tuple[Value, Value, Value | None]
) -> Value:
    """Multiplies integers, each with a scale and a zero point, as floats."""
    sums = node.do("MatMulInteger", a[0], b[0], a[2], b[2])
    return node.do("Mul", cast(node, sums, TensorProto.FLOAT), node.do("Mul", a[1], b[1]))


def _matmul_n_bits(node: OnnxOperator) -> Value:
    """Multiplies by weights with few bits, in blocks along the sum, each with a scale.

    If the model permits integer products, and an output has one step, the vector is quantized by its range;
    otherwise x is not rounded.
    """
    if node.integer("weight_prepacked", 0):
        raise node.fail(
            "weights packed for a particular processor are not supported",
            "quantize the model without prepacking",
        )
    if node.has(4):
        raise node.fail(
            "weights in another order (g_idx) are not supported",
            "quantize them without reordering (act_order=False)",
        )
    bits, block = node.integer("bits", 4), node.integer("block_size")
    rows, depth = node.integer("N"), node.integer("K")
    blocks = -(-depth // block)
    if bits not in (2, 4, 8) or node.known(1, "weights").size != rows * blocks * block * bits // 8:
        raise node.fail(f"weights of {bits} bits in blocks of {block} do not fit {depth} x {rows}")
    weights = _unpacked(node.known(1, "weights"), bits).reshape(rows, blocks, block)
    scales = node.known(2, "scales").reshape(rows, blocks, 1).astype(np.float32)
    numbers = weights - _zero_points(node, bits, rows, blocks)
    is_known_level = node.integer("accuracy_level", 0) == INTEGER_PRODUCTS
    if is_known_level and blocks == 1 and bits == 8 and np.abs(numbers).max() <= _LARGEST_BYTE:
        return _biased(node, _integer_product(node, numbers[:, 0, :depth], scales.reshape(-1)), 5)
    floats = numbers * scales
    whole = floats.reshape(rows, blocks * block)[:, :depth].T
    made = node.do(
        "MatMul", node.operand(0), node.number(np.ascontiguousarray(whole), node.operand(0).element)
    )
    return _biased(node, made, 5)


def _integer_product(node: OnnxOperator, numbers: FloatArray, scales: FloatArray) -> Value:
    """Multiplies vectors, each quantized by its range, by integers [outputs, depth]."""
    x = node.operand(0)
    shape, (outputs, depth) = node.shape(x), numbers.shape
    quant = Quant(tuple(float(scale) for scale in scales), (0,) * outputs, 0)
    weights = node.draft.constant(numbers.astype(np.int8), f"{node.place.label}/weights", quant)
    rows = node.reshaped(node.plain(x), (prod(shape[:-1]), depth))
    made = node.apply(HybridDense(), rows, weights, None)
    return node.value(node.reshaped(made, (*shape[:-1], outputs)), x.element)


def _zero_points(node: OnnxOperator, bits: int, rows: int, blocks: int) -> FloatArray:
    """Returns zero points, packed by row or stored like the scales; by default the middle."""
    if not node.has(3):
        return np.full((1, 1, 1), 1 << (bits - 1), np.float32)
    stored = node.known(3, "zero points")
    if stored.dtype == np.uint8:
        stored = _unpacked(stored.reshape(rows, -1), bits)[:, :blocks]
    return stored.reshape(rows, blocks, 1).astype(np.float32)


def _unpacked(packed: Array, bits: int) -> FloatArray:
    """Unpacks a byte, lowest bits first."""
    places = np.arange(0, 8, bits)
    parts = (packed.astype(np.int64)[..., np.newaxis] >> places) & ((1 << bits) - 1)
    return parts.reshape(*packed.shape[:-1], -1).astype(np.float32)


FUSED: Mapping[str, Importer] = {
    "BiasGelu": _gelu,
    "DynamicQuantizeMatMul": _dynamic_matmul,
    "FastGelu": _fast_gelu,
    "FusedConv": _conv,
    "FusedGemm": _gemm,
    "FusedMatMul": _matmul,
    "Gelu": _gelu,
    "MatMulIntegerToFloat": _matmul_to_float,
    "MatMulNBits": _matmul_n_bits,
    "QuickGelu": _quick_gelu,
    "SkipLayerNormalization": _skip_layer_norm,
}
