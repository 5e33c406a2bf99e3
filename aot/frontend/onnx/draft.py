"""Builds the graph while an ONNX file is read: computes nodes over constants, and infers types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Generic, TypeVar

import numpy as np

from aot.errors import ModelError
from aot.frontend.builder import MAX_TENSOR_BYTES, SEE_OPS, GraphBuilder, Names, rearrangement, too_large
from aot.ir.graph import Graph
from aot.ir.types import Array, DType, Quant, TensorType, dense_strides
from aot.ops.op import Op
from aot.ops.rearrange import Loops, Rearrange
from aot.ops.reshape import Reshape

# The integers that float constants were in the file, with scales and zero points.


@dataclass(frozen=True)
class Stored:
    """Three arrays of one shape: float = scale * (integer - zero point), element by element."""

    integers: Array
    scales: Array
    zero_points: Array

    def moved(self, move: Callable[[Array], Array]) -> Stored:
        """Returns the same integers with the elements rearranged."""
        return Stored(move(self.integers), move(self.scales), move(self.zero_points))

    def symmetric(self, axis: int) -> tuple[TensorType, Array] | None:
        """Returns weights minus their zero points, with one scale or one per index of an axis; or None."""
        scales = along(self.scales, axis)
        if scales is None or not self.integers.size:
            return None
        centred = self.integers.astype(np.int64) - self.zero_points.astype(np.int64)
        dtype = next((d for d in (DType.I8, DType.I16) if _fits(centred, d)), None)
        if dtype is None:
            return None
        data = np.ascontiguousarray(centred.astype(dtype.numpy))
        return TensorType(dtype, data.shape, _quant(scales, axis)), data

    def alike(self) -> tuple[TensorType, Array] | None:
        """Returns 8-bit activations with one scale and one zero point for all; or None."""
        scales, zeros = np.unique(self.scales), np.unique(self.zero_points)
        if scales.size != 1 or zeros.size != 1:
            return None
        is_unsigned = int(self.integers.max(initial=0)) > DType.I8.limits[1]
        below = 128 if is_unsigned else 0
        data = self.integers.astype(np.int64) - below
        zeros = zeros.astype(np.int64) - below
        if not _fits(data, DType.I8) or not _fits(zeros, DType.I8):
            return None
        quant = Quant((float(scales[0]),), (int(zeros[0]),))
        return TensorType(DType.I8, data.shape, quant), data.astype(np.int8)


def along(numbers: Array, axis: int) -> Array | None:
    """Returns the numbers for each index of the axis, if nothing else changes them."""
    lines = np.moveaxis(numbers, axis, 0).reshape(numbers.shape[axis], -1)
    first = lines[:, 0]
    return first if bool((lines == first[:, np.newaxis]).all()) else None


def _quant(scales: Array, axis: int) -> Quant:
    found = tuple(float(s) for s in scales)
    if len(set(found)) == 1:
        return Quant(found[:1], (0,))
    return Quant(found, (0,) * len(found), axis)


def _fits(numbers: Array, dtype: DType) -> bool:
    low, high = dtype.limits
    return bool(numbers.min() >= low and numbers.max() <= high)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Rows along a stored dimension: `owner` counts how many, the first ones, are valid."""

    axis: int
    owner: str  # the result in the file that the rows belong to


@dataclass
class Counts(Generic[T]):
    """Counted rows by the value's name; `counts` maps each owner to the value with its count."""

    rows: dict[str, CountedRows] = field(default_factory=dict)
    counts: dict[str, T] = field(default_factory=dict)
    sizes: set[str] = field(default_factory=set)  # constants that hold the maximal number of rows

    zeros: set[str] = field(default_factory=set)  # values whose filler is 0

    def begin(self, name: str, owner: str, count: T) -> None:
        """Registers an owner's rows: they are the first dimension, and filler is 0."""
        self.add(name, 0, owner, count)
        self.zeros.add(name)

    def add(self, name: str, axis: int, owner: str, count: T) -> None:
        self.rows[name] = CountedRows(axis, owner)
        self.counts[owner] = count

    def owners(self, names: Sequence[str]) -> list[str]:
        """Returns the owners whose count applies to these values, each once."""
        return list(dict.fromkeys(self.rows[name].owner for name in names if name in self.rows))


MAX_NODES = 20_000  # including unrolled loops
Order = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    """A value of the file: its name in the graph, and the stored order of its dimensions.

    Stored dimension i is the file's dimension order[i]. A transposition changes only the order. Elements
    move only if an op needs another order, which never happens inside a chain of convolutions.
    """

    name: str
    order: Order
    element: int  # ONNX's element type


@dataclass(frozen=True)
class TensorSequence:
    """A sequence of the file: a list of existing values, with no counterpart in the graph."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class AbsentValue:
    """An absent optional value of the file."""


Item = Value | TensorSequence | AbsentValue


@dataclass(frozen=True)
class NodePlace:
    """The position of a node in the file, for errors and origins."""

    label: str
    origin: str
    file_name: str

    def fail(self, what: str, hint: str = "") -> ModelError:
        inner = "" if f'"{self.label}"' in self.origin else f', in "{self.label}"'
        return ModelError(what, f"at {self.origin}{inner} ({self.file_name})", hint)


@dataclass(kw_only=True)
class OnnxDraft(GraphBuilder):
    """The graph read so far. Elements move only if an op needs it."""

    integers: dict[str, Stored] = field(default_factory=dict)  # of constants that were integers
    counts: Counts[Value] = field(default_factory=Counts)
    unrolled: dict[str, str] = field(default_factory=dict)  # loop of the file -> why it is not one layer
    _moved: dict[tuple[str, Order, Order], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers: dict[str, int] = {}
        self.value_names, self.node_names = Names(numbers), Names(numbers)

    def checkpoint(self) -> Callable[[], None]:
        """Returns a function that removes everything that was added after this call."""
        nodes, names = self.nodes.copy(), (self.value_names, self.node_names)
        tables: list[Any] = [
            self.types,
            self.constants,
            self.integers,
            self._moved,
            *vars(self.counts).values(),
        ]
        tables += [table for each in names for table in vars(each).values()]
        kept = [table.copy() for table in tables]

        def undo() -> None:
            self.nodes = nodes
            for table, before in zip(tables, kept, strict=True):
                table.clear()
                table.update(before)

        return undo

    def add_input(self, name: str, tensor: TensorType) -> None:
        self._add(name, tensor)

    def _add(self, name: str, tensor: TensorType) -> None:
        """Adds a value with exactly that name."""
        self.types[name] = tensor
        self.value_names.take(name)

    def constant(self, array: Array, name_hint: str, quant: Quant | None = None) -> str:
        name = self.value_names.unique(name_hint)
        self.types[name] = TensorType(DType(_DTYPE_OF[array.dtype.name]), array.shape, quant)
        self.constants[name] = array
        return name

    def apply(
        self, place: NodePlace, op: Op, inputs: Sequence[str | None], quant: Quant | None = None
    ) -> str:
        """Checks the op's constraints, adds it, and returns the name of its result."""
        types = self.types_of(inputs)
        ((dtype, shape),) = op.infer(types)
        result = TensorType(DType(dtype), shape, quant)
        if result.bytes > MAX_TENSOR_BYTES:
            raise place.fail(too_large("its result", result))
        if 0 in shape:  # whatever it is computed from
            return self.constant(np.zeros(shape, result.dtype.numpy), place.label, quant)
        violation = self.violation(op, inputs, result)
        if violation is not None:
            raise place.fail(violation, SEE_OPS)
        if self.are_known(inputs):
            (array,) = self.computed(op, inputs, (result,))
            made = self.constant(np.ascontiguousarray(array).reshape(shape), place.label, quant)
            if isinstance(op, Rearrange | Reshape) and inputs[0] in self.integers:
                self.integers[made] = self.integers[inputs[0]].moved(
                    lambda a: op.reference([a], types, (result,))[0].reshape(shape)
                )
            return made
        name = self.value_names.unique(place.label)
        self.types[name] = result
        if len(self.nodes) >= MAX_NODES:
            raise place.fail(f"the model has more than {MAX_NODES:,} operations, including unrolled loops")
        self.append(place.label, op, inputs, name, place.origin)
        return name

    def reshaped(self, place: NodePlace, name: str, shape: Sequence[int]) -> str:
        """Returns the same elements in another shape, without a copy."""
        tensor, shape = self.types[name], tuple(shape)
        if tensor.shape == shape:
            return name
        if prod(shape) != tensor.elements:
            raise place.fail(f"shape {list(tensor.shape)} cannot become {list(shape)}")
        return self.apply(place, Reshape(shape), (name,), tensor.quant)

    def with_quant(self, place: NodePlace, name: str, quant: Quant) -> str:
        """Returns the same integers with another quantization."""
        tensor = self.types[name]
        return name if tensor.quant == quant else self.apply(place, Reshape(tensor.shape), (name,), quant)

    def picked(self, place: NodePlace, name: str, loops: Loops, shape: Sequence[int]) -> str:
        """Returns the elements that the loops select from a tensor, in this shape."""
        tensor = self.types[name]
        if 0 in shape:
            return self.constant(np.zeros(shape, tensor.dtype.numpy), place.label, tensor.quant)
        step = rearrangement(tensor, loops, tuple(shape))
        if step is None:
            return self.reshaped(place, name, shape)
        source = self.reshaped(place, name, step.source)
        return self.reshaped(place, self.apply(place, step.op, (source,), tensor.quant), shape)

    def stored(self, place: NodePlace, value: Value, order: Order | None = None) -> str:
        """Returns the value's name with its dimensions in this order, by default the file's."""
        order = tuple(range(len(value.order))) if order is None else order
        if order == value.order:
            return value.name
        key = value.name, value.order, order
        if key not in self._moved:
            self._moved[key] = self._transposed(place, value, order)
        return self._moved[key]

    def is_stored(self, value: Value, order: Order) -> bool:
        """Returns whether the value can be read in this order without moving elements."""
        return order == value.order or (value.name, value.order, order) in self._moved

    def _transposed(self, place: NodePlace, value: Value, order: Order) -> str:
        shape = self.types[value.name].shape
        strides = dense_strides(shape)
        axes = [value.order.index(dimension) for dimension in order]
        loops = Loops(tuple(shape[a] for a in axes), tuple(strides[a] for a in axes))
        return self.picked(place, value.name, loops, loops.sizes)

    def shape(self, value: Value) -> tuple[int, ...]:
        """Returns the shape in the file's order."""
        stored = self.types[value.name].shape
        return tuple(stored[value.order.index(dimension)] for dimension in range(len(stored)))

    def array(self, value: Value) -> Array | None:
        """Returns the elements of a constant in the file's order, or None."""
        data = self.constants.get(value.name)
        if data is None:
            return None
        turned: Array = data.transpose([value.order.index(d) for d in range(len(value.order))])
        return turned

    def moved(self, value: Value, move: Callable[[Array], Array], name_hint: str) -> str:
        """Returns a constant rearranged by `move`, which receives the elements in the file's order."""

        def whole(array: Array) -> Array:
            in_order = array.transpose([value.order.index(d) for d in range(len(value.order))])
            return np.ascontiguousarray(move(in_order))

        name = self.constant(whole(self.constants[value.name]), name_hint)
        if value.name in self.integers:
            self.integers[name] = self.integers[value.name].moved(whole)
        return name

    def graph(self, name: str, inputs: Sequence[str], outputs: Mapping[str, str]) -> Graph:
        """Returns the graph; `outputs` maps each output's name to its value."""
        made = dict(outputs)
        for wanted in outputs:
            if made[wanted] != wanted and wanted in self.types:
                free = self.value_names.unique(wanted)
                self._rename(wanted, free)
                made = {name: free if value == wanted else value for name, value in made.items()}
            self._name_output(wanted, made[wanted], inputs, made)
        whole = Graph(
            name,
            tuple(inputs),
            tuple(outputs),
            tuple(self.nodes),
            self.types,
            self.constants,
            unrolled=self.unrolled,
        )
        return whole.with_nodes(whole.nodes)

    def _name_output(self, wanted: str, made: str, inputs: Sequence[str], outputs: Mapping[str, str]) -> None:
        if made == wanted:
            return
        if made in self.constants:
            self._add(wanted, self.types[made])
            self.constants[wanted] = self.constants[made]
        elif made in inputs or made in outputs or sum(m == made for m in outputs.values()) > 1:
            self._add(wanted, self.types[made])
            self.append(wanted, Reshape(self.types[wanted].shape), (made,), wanted)
        else:
            self._rename(made, wanted)

    def _rename(self, old: str, new: str) -> None:
        self._add(new, self.types.pop(old))
        self.value_names.free(old)
        if old in self.constants:
            self.constants[new] = self.constants.pop(old)
        if old in self.integers:
            self.integers[new] = self.integers.pop(old)
        self.nodes = [
            replace(
                node,
                inputs=tuple(new if v == old else v for v in node.inputs),
                outputs=tuple(new if v == old else v for v in node.outputs),
            )
            for node in self.nodes
        ]


_DTYPE_OF = {dtype.numpy.name: dtype.value for dtype in DType}
