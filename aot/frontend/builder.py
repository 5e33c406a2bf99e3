"""Builds a graph while a file of any format is read: unique names, checked nodes, known results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from aot.ir.graph import Node
from aot.ir.types import Array, TensorType
from aot.ops.constraints import violations
from aot.ops.op import Op, Types

MAX_TENSOR_BYTES = 2**28  # far beyond any microcontroller, but still quick to process
INDEX_HINT = "other runtimes reject this file, too: correct the indices, and export it again"
SEE_OPS = "deploy docs ops lists what each operator supports"


def too_large(what: str, tensor: TensorType) -> str:
    size = f"has {tensor.bytes:,} bytes, the limit is {MAX_TENSOR_BYTES:,}"
    return f"{what} of shape {list(tensor.shape)} {size}"


def index_outside(indices: Array, first: int, size: int) -> str:
    """Names the first index that is out of range for a dimension; "" if all are in range.

    At run time, indices are clamped. An invalid index in the file is a mistake that every runtime rejects.
    """
    missing = [number for number in np.unique(indices).tolist() if not first <= number < size]
    have = f"a dimension of {size} has {first} to {size - 1}"
    return f"index {missing[0]} does not exist: {have}" if missing else ""


class Names:
    """Names in use. Instances may share `numbers`, the counters that make a repeated name hint unique."""

    def __init__(self, numbers: dict[str, int] | None = None) -> None:
        self._taken: set[str] = set()
        self._numbers = {} if numbers is None else numbers  # name_hint -> the last number used with it

    def unique(self, name_hint: str) -> str:
        """Returns the hint, or the hint with the first free number, and reserves it."""
        name = name_hint
        while name in self._taken:
            self._numbers[name_hint] = self._numbers.get(name_hint, 1) + 1
            name = f"{name_hint}#{self._numbers[name_hint]}"
        self._taken.add(name)
        return name

    def take(self, name: str) -> None:
        self._taken.add(name)

    def free(self, name: str) -> None:
        self._taken.discard(name)


@dataclass(kw_only=True)
class GraphBuilder:
    """The graph read so far. The reader of each format adds what its files need."""

    rounding: str  # a mode of aot.ops.rounding, which importers pass to ops
    types: dict[str, TensorType] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    value_names: Names = field(default_factory=Names)
    node_names: Names = field(default_factory=Names)

    def types_of(self, names: Iterable[str | None]) -> Types:
        """Returns their types; None for an absent optional operand."""
        return [None if name is None else self.types[name] for name in names]

    def violation(self, op: Op, inputs: Sequence[str | None], result: TensorType) -> str | None:
        """Returns the first of the op's rules that these operands and this result violate."""
        return next(iter(violations(op, self.types_of(inputs), (result,))), None)

    def are_known(self, names: Iterable[str | None]) -> bool:
        """Returns whether all present operands are constants."""
        return all(name is None or name in self.constants for name in names)

    def computed(
        self,
        op: Op,
        inputs: Sequence[str | None],
        results: Sequence[TensorType],
        known: Mapping[str, Array] | None = None,
    ) -> tuple[Array, ...]:
        """Returns the op's results for known operands, by default constants."""
        known = self.constants if known is None else known
        arrays = [None if name is None else known[name] for name in inputs]
        with np.errstate(all="ignore"):  # infinities and NaN in a file belong to the file
            return op.reference(arrays, self.types_of(inputs), results)

    def append(self, label: str, op: Op, inputs: Sequence[str | None], output: str, origin: str = "") -> None:
        """Appends a node with a unique name, without checks."""
        self.nodes.append(Node(self.node_names.unique(label), op, tuple(inputs), (output,), origin))
