"""A chain of nodes that grows from a new input: each reads what the one before it made."""

from __future__ import annotations

from aot.frontend.builder import GraphBuilder
from aot.ir.graph import Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.op import Op
from aot.ops.reshape import Reshape


class FrontNodes:
    """The nodes and constants in front of a model; `value` is the last that was made."""

    def __init__(self, builder: GraphBuilder, origin: str, value: str) -> None:
        self._builder, self._origin, self.value = builder, origin, value

    def branch(self, value: str) -> FrontNodes:
        """Another chain, which begins with a value of this one."""
        return FrontNodes(self._builder, self._origin, value)

    @property
    def type(self) -> TensorType:
        return self._builder.types[self.value]

    def then(
        self,
        label: str,
        op: Op,
        *operands: str | Array | None,
        quant: Quant | None = None,
        to: DType | None = None,
    ) -> str:
        """Adds a node of the last value and these operands; its result is the last value now."""
        names = [self.value, *(self._operand(label, each) for each in operands)]
        ((dtype, shape),) = op.infer(self._builder.types_of(names))
        result = self._builder.value_names.unique(f"front/{label}")
        kind = TensorType(to or DType(dtype), shape, quant)
        broken = self._builder.violation(op, names, kind)
        assert broken is None, f"{label}: {broken}"
        self._builder.types[result] = kind
        name = self._builder.node_names.unique(f"front/{label}")
        self._builder.nodes.append(Node(name, op, tuple(names), (result,), self._origin))
        self.value = result
        return result

    def view(self, label: str, *shape: int) -> None:
        """The same elements in another shape."""
        if self.type.shape != shape:
            self.then(label, Reshape(shape), quant=self.type.quant)

    def _operand(self, label: str, given: str | Array | None) -> str | None:
        if given is None or isinstance(given, str):
            return given
        name = self._builder.value_names.unique(f"front/{label}/with")
        dtype = next(d for d in DType if d.numpy == given.dtype)
        self._builder.types[name] = TensorType(dtype, given.shape)
        self._builder.constants[name] = given
        return name
