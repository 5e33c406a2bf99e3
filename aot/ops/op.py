"""The interface of an op: its attributes, its result types, its exact meaning and its cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from aot.ir.types import Array, TensorType

Types = Sequence[TensorType | None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Constraint:
    """One limit of an op. `rule` is both the message to the user and the row in docs/ops.md.

    `violation(op, inputs, outputs)` gives the fact about this node that breaks the rule, or None.
    """

    rule: str
    violation: Callable[[Op, Types, Sequence[TensorType]], str | None]


@dataclass(frozen=True, slots=True)
class Cost:
    """The work of one inference of a node, whichever kernel does it."""

    macs: int = 0
    elementwise: int = 0  # results that need a computation of their own, such as a requantization


class Op(ABC):
    """Base of the canonical ops: frozen dataclasses whose fields are the op's attributes."""

    name: ClassVar[str]
    constraints: ClassVar[tuple[Constraint, ...]] = ()
    # Inputs of which a result needs just the element at its own place (or the one that is repeated there).
    elementwise: ClassVar[tuple[int, ...]] = ()

    @abstractmethod
    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """(dtype name, shape) of each output. Quantization is not inferred: the graph states it."""

    @abstractmethod
    def reference(
        self, arrays: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        """The exact meaning, in NumPy: for integers bit for bit what every kernel must give."""

    @abstractmethod
    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        """MACs and element-wise results of one run."""


def required(value: T | None) -> T:
    """An input that the op's constraints promise to be there."""
    assert value is not None
    return value
