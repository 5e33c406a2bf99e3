"""The interface of an op: attributes, result types, exact results and cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from aot.ir.types import Array, TensorType

Types = Sequence[TensorType | None]
Arrays = Sequence[Array | None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Constraint:
    """One limit of an op. `rule` is both the error message and the row in docs/ops.md.

    `violation(op, inputs, outputs)` returns the fact about this node that violates the rule, or None. The op
    is of the class that lists the constraint.
    """

    rule: str
    violation: Callable[[Any, Types, Sequence[TensorType]], str | None]


@dataclass(frozen=True, slots=True)
class Cost:
    """The work of one run of a node, independent of its kernel."""

    macs: int = 0
    elementwise: int = 0  # results that need separate computation, such as a requantization


class Op(ABC):
    """Base of the canonical ops: frozen dataclasses whose fields are the op's attributes."""

    name: ClassVar[str]
    constraints: ClassVar[tuple[Constraint, ...]] = ()
    # Indices of inputs that are read only at the position of the result (or at the one broadcast there).
    elementwise: ClassVar[tuple[int, ...]] = ()

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Returns (dtype name, shape) of each output: by default one like the first input.

        Quantization is not inferred; the graph contains it.
        """
        x = required(inputs[0])
        return ((x.dtype.value, x.shape),)

    @abstractmethod
    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        """Computes the exact results with NumPy. Kernels must match integer results bit for bit."""

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        """Returns MACs and element-wise results of one run: by default one per element of the output."""
        return Cost(elementwise=outputs[0].elements)


def required(value: T | None) -> T:
    """Returns an input that the op's constraints guarantee to be present."""
    assert value is not None
    return value
