"""Float values with Python's arithmetic operators."""

from __future__ import annotations

from dataclasses import dataclass

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.operation import OnnxOperator


@dataclass(frozen=True)
class Real:
    """A value of the graph that supports arithmetic operators."""

    node: OnnxOperator
    value: Value

    def _do(self, op_type: str, other: Real | float) -> Real:
        second = other.value if isinstance(other, Real) else self.node.number(other, self.value.element)
        return Real(self.node, self.node.do(op_type, self.value, second))

    def __add__(self, other: Real | float) -> Real:
        return self._do("Add", other)

    def __sub__(self, other: Real | float) -> Real:
        return self._do("Sub", other)

    def __mul__(self, other: Real | float) -> Real:
        return self._do("Mul", other)

    def __truediv__(self, other: Real | float) -> Real:
        return self._do("Div", other)

    def at_least(self, low: float) -> Real:
        return self._do("Max", low)

    def at_most(self, high: float) -> Real:
        return self._do("Min", high)

    def one(self, op_type: str) -> Real:
        return Real(self.node, self.node.do(op_type, self.value))

    def in_turns(self, period: float) -> Real:
        """Returns the remainder of a division by the period, for numbers >= 0."""
        return self - (self * (1 / period)).one("Floor") * period

    def within(self, low: float, high: float) -> Real:
        """Returns 1 inside, 0 outside."""
        above = self._do("GreaterOrEqual", low).value
        below = self._do("LessOrEqual", high).value
        return Real(self.node, cast(self.node, self.node.do("And", above, below), self.value.element))
