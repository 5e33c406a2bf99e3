"""A convolution fused with the following addition: the result of the convolution alone is not stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops import constraints as limits
from aot.ops.binary import Add
from aot.ops.conv2d import Conv2d
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required


def _count(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    is_right = len(inputs) == 4 and all(inputs[i] is not None for i in (0, 1, 3))
    return None if is_right else f"it has {len(inputs)}"


def _of_convolution(op: Conv2dAdd, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    facts = limits.violations(op.conv, inputs[:3], (op.made(outputs[0]),))
    return facts[0] if facts else None


def _of_sum(op: Conv2dAdd, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    facts = limits.violations(op.add, (op.made(outputs[0]), inputs[3]), outputs)
    return facts[0] if facts else None


def _shape(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    row, out = required(inputs[3]), outputs[0]
    if (row.dtype, row.shape) == (out.dtype, out.shape):
        return None
    return f"they are {row.dtype.value}{list(row.shape)} and {out.dtype.value}{list(out.shape)}"


@dataclass(frozen=True, slots=True)
class Conv2dAdd(Op):
    """Inputs: those of the convolution (b may be None), and an image to add to its result."""

    name: ClassVar[str] = "conv2d+add"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        Constraint("there must be 4 inputs, of which b may be absent, and one output", _count),
        limits.same_dtype_in(DType.I8),
        Constraint("the added image and the output must have the same type and shape", _shape),
        Constraint("the limits of conv2d apply to the convolution", _of_convolution),
        Constraint("the limits of add apply to the sum", _of_sum),
    )
    conv: Conv2d
    between: Quant  # quantization of the convolution's result
    add: Add

    def made(self, out: TensorType) -> TensorType:
        """Returns the type of the convolution's result, given the type of the sum."""
        return TensorType(out.dtype, out.shape, None if out.dtype is DType.F32 else self.between)

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return self.conv.infer(inputs[:3])

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        made = self.made(outputs[0])
        (result,) = self.conv.reference(arrays[:3], inputs[:3], (made,))
        return self.add.reference((result, arrays[3]), (made, inputs[3]), outputs)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        made = self.made(outputs[0])
        conv = self.conv.cost(inputs[:3], (made,))
        add = self.add.cost((made, inputs[3]), outputs)
        return Cost(conv.macs + add.macs, conv.elementwise + add.elementwise)
