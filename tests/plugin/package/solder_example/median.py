"""Median: the middle one of three tensors of one type, with its kernel and its ONNX operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Constraint, Cost, Op, Types, required
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.row_nests import every_pixel, pixel_element
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.ir import Binary, Buffer, Proc, Role, Store, at, load


def _one_type(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = [required(x) for x in inputs]
    return None if found == found[:1] * len(found) else ", ".join(map(str, found))


@dataclass(frozen=True, slots=True)
class Median(Op):
    """Inputs: x1, x2, x3 of one shape."""

    name: ClassVar[str] = "median"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(3, 3),
        limits.same_dtype_in(DType.I8),
        Constraint("all inputs must have the same shape and quantisation", _one_type),
    )

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        return ((x.dtype.value, x.shape),)

    def reference(
        self, arrays: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        return (np.sort(np.stack([required(array) for array in arrays]), axis=0)[1],)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=outputs[0].elements)


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    return (None,) * 3


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    rows = [
        Buffer(name, storage_dtype(site.input(i), fmt), fmt.row_elements, Role.ROWS)
        for i, (name, fmt) in enumerate(zip(("x1", "x2", "x3"), inputs, strict=True))
    ]
    y = Buffer("y", storage_dtype(site.outputs[0], output), output.row_elements, Role.OUTPUT)
    a, b, c = (load(row, pixel_element(fmt)) for row, fmt in zip(rows, inputs, strict=True))
    middle = Binary("max", Binary("min", a, b), Binary("min", Binary("max", a, b), c))
    return Kernel(
        strategy="plain",
        why="the only one",
        proc=Proc(
            f"median_{output.channels}_by_{output.width}",
            (*rows, y),
            (every_pixel(output, Store(at(y, pixel_element(output)), middle)),),
        ),
        summary=f"One row of medians: {output.said}.",
        access=(RowAccess(stride=1, first=0, count=1),) * 3,
    )


def _import(node: OnnxOperator) -> Value:
    values = [node.operand(position) for position in range(3)]
    made = node.apply(Median(), *(value.name for value in values))
    return Value(made, values[0].order, values[0].element)


OP = Median
KERNEL = OpKernel((Strategy("plain", _requests, _lower),))
ONNX: Mapping[str, Importer] = {"com.example.Median": _import}
