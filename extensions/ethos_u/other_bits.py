"""Nodes for which the device's result differs from the reference: a table of reasons, by op.

The entries were found by running Vela's output on the model of the device; see docs/ethos-u.md for figures.
All other ops that Vela supports gave identical bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import DType
from aot.ops.binary import BinaryOp, Mul
from aot.ops.binary_rescale import mul_multiplier
from aot.ops.requant import multiply_by_quantized_multiplier
from aot.ops.rounding import RequantRounding

Reason = Callable[[Graph, Node], str]


def other_bits(graph: Graph, node: Node) -> str:
    """Returns the reason for a difference, or an empty string."""
    reason = _BY_OP.get(node.op.name)
    return _rounding(graph, node) or (reason(graph, node) if reason is not None else "")


def _rounding(graph: Graph, node: Node) -> str:
    """Checks rounding: the device rounds int8 sums twice, and 16-bit sums with a 16-bit multiplier once."""
    rounding = getattr(node.op, "rounding", None)
    is_wide = graph.types[node.reads[0]].dtype is DType.I16
    is_reduced = is_wide and not isinstance(node.op, BinaryOp)
    device = RequantRounding.REDUCED if is_reduced else RequantRounding.DOUBLE
    if rounding is not None and rounding is not device:
        return f"the device rounds these sums as with --rounding tflm ({device.value}), not {rounding.value}"
    if getattr(node.op, "scales_in_single", False) and not isinstance(node.op, Mul):
        return "Vela multiplies its scales in double precision"
    return ""


def _is_wide(graph: Graph, node: Node) -> bool:
    return graph.types[node.outputs[0]].dtype is DType.I16


def _product(graph: Graph, node: Node) -> str:
    """Checks products. Vela computes the multiplier in single precision; for int8, all products are tried."""
    first, second, out = (graph.types[name] for name in (*node.reads, *node.outputs))
    ours = mul_multiplier(first, second, out, node.op_as(Mul).scales_in_single)
    its = mul_multiplier(first, second, out, scales_in_single=True)
    if ours == its or (out.dtype is DType.I8 and _are_equal_for_bytes(ours, its)):
        return ""
    return "Vela computes its multiplier in single precision, and some results would differ"


def _are_equal_for_bytes(ours: tuple[int, int], its: tuple[int, int]) -> bool:
    products = np.arange(-(255**2), 255**2 + 1)
    first, second = (multiply_by_quantized_multiplier(products, *multiplier) for multiplier in (ours, its))
    return np.array_equal(first, second)


def _mean(_graph: Graph, _node: Node) -> str:
    return "the device rounds halves of a mean in the other direction"


def _only_bytes(because: str) -> Reason:
    return lambda graph, node: because if _is_wide(graph, node) else ""


_CURVE = "the 16-bit curve of the device is not documented"
_BY_OP: Mapping[str, Reason] = MappingProxyType(
    {
        "mul": _product,
        "mean": _mean,
        "hard_swish": _only_bytes("Vela supports it for 8 bits only"),
        "leaky_relu": _only_bytes("Vela multiplies 16 bits by a slope of single precision"),
        "logistic": _only_bytes(_CURVE),
        "tanh": _only_bytes(_CURVE),
    }
)
