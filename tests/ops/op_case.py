"""One op with its operands as a graph of one node: what references and compiled C are compared on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.op import Op
from aot.ops.rounding import PARITY, RequantRounding


@dataclass(frozen=True)
class OpCase:
    """`graph` has inputs "x0", "x1", ..., one node named after the case, and output "y"."""

    name: str
    graph: Graph

    @property
    def node(self) -> Node:
        return self.graph.nodes[0]

    def inputs(self, seed: int = 0) -> dict[str, Array]:
        """Random values over the whole range, the extremes among them."""
        rng = np.random.default_rng(seed)
        return {name: random_values(rng, self.graph.types[name]) for name in self.graph.inputs}


def random_values(rng: np.random.Generator, tensor: TensorType) -> Array:
    if tensor.dtype is DType.F32:
        return rng.standard_normal(tensor.shape).astype(np.float32)
    if tensor.dtype is DType.BOOL:
        return rng.integers(0, 2, tensor.shape).astype(np.bool_)
    low, high = tensor.dtype.limits
    if tensor.dtype is DType.U64:  # whose largest is beyond the generator's usual type
        values = rng.integers(low, high, tensor.shape, np.uint64, endpoint=True)
    else:
        values = rng.integers(low, high + 1, tensor.shape).astype(tensor.dtype.numpy)
    values.flat[0], values.flat[-1] = low, high
    return values


def int8(*shape: int, scale: float = 0.05, zero_point: int = 0) -> TensorType:
    return TensorType(DType.I8, shape, Quant((float(np.float32(scale)),), (zero_point,)))


def wide(tensor: TensorType) -> TensorType:
    """The same with elements of 16 bits, symmetric, in steps so fine that it reaches as far."""
    assert tensor.quant is not None
    quant = Quant(
        tuple(float(np.float32(s / 256)) for s in tensor.quant.scales), (0,) * len(tensor.quant.scales)
    )
    return TensorType(DType.I16, tensor.shape, quant)


def wide_bias(channels: int) -> Weights:
    """A bias of 64 bits, beyond what 32 hold."""
    narrow = int32_bias(channels).array.astype(np.int64)
    return Weights(TensorType(DType.I64, (channels,)), narrow * 300 + (narrow[:1] % 3) * 2**33)


def float32(*shape: int) -> TensorType:
    return TensorType(DType.F32, shape)


def op_case(
    name: str,
    op: Op,
    inputs: Sequence[TensorType],
    output: TensorType,
    constants: Sequence[Weights | None] = (),
    behind: Sequence[TensorType] = (),
) -> OpCase:
    """`op` reads `inputs`, then `constants`, then the inputs `behind`; the output's shape is inferred."""
    values = {f"x{number}": tensor for number, tensor in enumerate((*inputs, *behind))}
    weights = {f"c{number}": c for number, c in enumerate(constants) if c is not None}
    first, last = [*values][: len(inputs)], [*values][len(inputs) :]
    operands = (*first, *(None if c is None else f"c{n}" for n, c in enumerate(constants)), *last)
    types = {**values, **{c: w.type for c, w in weights.items()}}
    ((dtype, shape),) = op.infer([None if operand is None else types[operand] for operand in operands])
    types["y"] = TensorType(DType(dtype), shape, output.quant)
    node = Node(name, op, operands, ("y",))
    arrays = {c: w.array for c, w in weights.items()}
    return OpCase(name, Graph(name, tuple(values), ("y",), (node,), types, arrays))


def by_powers(case: OpCase, rounding: RequantRounding) -> OpCase:
    """The case with powers of two as scales, so that exact halves are common, and this rounding."""
    types = {name: _power_scales(tensor) for name, tensor in case.graph.types.items()}
    op: Any = case.node.op
    parts = ("conv", "add") if hasattr(op, "conv") else ()
    changed = {part: replace(getattr(op, part), rounding=rounding) for part in parts}
    if parts:
        changed["between"] = _power_scales(TensorType(DType.I8, (), op.between)).quant
    node = replace(case.node, op=replace(op, **(changed or {"rounding": rounding})))
    return OpCase(f"{case.name}_{rounding.value}", replace(case.graph, nodes=(node,), types=types))


def in_powers(cases: Sequence[OpCase], *names: str) -> tuple[OpCase, ...]:
    """These cases with both roundings of exact halves."""
    found = [case for case in cases if case.name in names]
    assert len(found) == len(names)
    return tuple(by_powers(case, rounding) for rounding in PARITY for case in found)


def _power_scales(tensor: TensorType) -> TensorType:
    if tensor.quant is None:
        return tensor
    scales = tuple(2.0 ** round(math.log2(scale)) for scale in tensor.quant.scales)
    return replace(tensor, quant=replace(tensor.quant, scales=scales))


@dataclass(frozen=True)
class Weights:
    """A constant operand."""

    type: TensorType
    array: Array


def int8_weights(*shape: int, axis: int | None = None, seed: int = 1) -> Weights:
    """int8 weights whose dot products with int8 inputs of scale 0.05 have a spread of about 1."""
    rng = np.random.default_rng(seed)
    count = 1 if axis is None else shape[axis]
    reach = 0.05 * 74 * 73 * np.sqrt(np.prod(shape) / (1 if axis is None else count))
    scales = tuple(float(np.float32(scale)) for scale in rng.uniform(0.7, 1.4, count) / reach)
    tensor = TensorType(DType.I8, shape, Quant(scales, (0,) * count, axis))
    return Weights(tensor, rng.integers(-127, 128, shape).astype(np.int8))


def int32_bias(channels: int, seed: int = 2, largest: int = 5000) -> Weights:
    rng = np.random.default_rng(seed)
    values = rng.integers(-largest, largest + 1, channels).astype(np.int32)
    return Weights(TensorType(DType.I32, (channels,)), values)


def wide_weights(*shape: int) -> Weights:
    """Weights of nine bits, as unsigned ones are when they are counted from their zero point."""
    rng = np.random.default_rng(6)
    scale = float(np.float32(1 / (0.05 * 74 * 147 * np.sqrt(np.prod(shape[1:])))))
    tensor = TensorType(DType.I16, shape, Quant((scale,), (0,)))
    return Weights(tensor, rng.integers(-255, 256, shape).astype(np.int16))


def full_weights(*shape: int) -> Weights:
    """Weights of sixteen bits: a few products with inputs of as many leave the 32 bits of a sum."""
    tensor = TensorType(DType.I16, shape, Quant((2.0**-20,), (0,)))
    return Weights(tensor, np.random.default_rng(7).integers(-(2**15), 2**15, shape).astype(np.int16))


def float32_weights(*shape: int, seed: int = 3) -> Weights:
    rng = np.random.default_rng(seed)
    return Weights(float32(*shape), (rng.standard_normal(shape) / np.sqrt(np.prod(shape))).astype(np.float32))


def int16(*shape: int, scale: float = 0.0005) -> TensorType:
    return TensorType(DType.I16, shape, Quant((float(np.float32(scale)),), (0,)))


def plain(dtype: DType, *shape: int) -> TensorType:
    """Numbers that stand for themselves."""
    return TensorType(dtype, shape)


def constant_of(array: Array, quant: Quant | None = None) -> Weights:
    dtype = next(d for d in DType if d.numpy == array.dtype)
    return Weights(TensorType(dtype, array.shape, quant), array)
