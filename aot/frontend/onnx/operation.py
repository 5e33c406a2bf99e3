"""A node of the file as its importer sees it: operands, attributes, and functions to build results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto

from aot.errors import ModelError
from aot.frontend.builder import INDEX_HINT, index_outside
from aot.frontend.onnx.draft import AbsentValue, Item, NodePlace, OnnxDraft, Order, TensorSequence, Value
from aot.frontend.onnx.elements import array_of, element_name, stored_type
from aot.frontend.onnx.errors import NeedsValueError
from aot.ir.types import Array, DType, dense_strides
from aot.ops.op import Op
from aot.ops.rearrange import Loops

_AGAIN = "get or export the file again"


# Runs other nodes on behalf of one: expansions, and unrolled bodies.
RunNode = Callable[[NodeProto, Sequence[Item | None], NodePlace], tuple[Item | None, ...]]
RunGraph = Callable[[onnx.GraphProto, Sequence[Item], NodePlace], tuple[Item, ...]]
# Returns what a function returns. If that is a text, or it cannot read a node, returns the reason and removes
# what it has added.
Attempt = Callable[[Callable[[], Any]], Any]


@dataclass(frozen=True)
class OnnxOperator:
    """A node with its operands; `version` is its operator set."""

    proto: NodeProto
    version: int
    operands: tuple[Item | None, ...]
    draft: OnnxDraft
    place: NodePlace
    run: RunNode
    run_graph: RunGraph
    attempt: Attempt
    names_read: frozenset[str]  # by nodes of the file, or as outputs

    def fail(self, what: str, hint: str = "") -> ModelError:
        return self.place.fail(what, hint)

    def has(self, position: int) -> bool:
        item = self.operands[position] if position < len(self.operands) else None
        return item is not None and not isinstance(item, AbsentValue)

    def operand(self, position: int) -> Value:
        return self.tensor_of(self.item(position))

    def sequence(self, position: int) -> TensorSequence:
        item = self.item(position)
        if not isinstance(item, TensorSequence):
            what = "a tensor" if isinstance(item, Value) else "absent"
            raise self.fail(f"input {position} is {what}, but a sequence is needed", _AGAIN)
        return item

    def item(self, position: int) -> Item:
        """Returns a tensor, a sequence of tensors, or an absent optional value."""
        item = self.operands[position] if position < len(self.operands) else None
        if item is None:
            raise self.fail(f"input {position} is missing", _AGAIN)
        return item

    def tensor_of(self, item: Item) -> Value:
        if not isinstance(item, Value):
            what = "a sequence" if isinstance(item, TensorSequence) else "an absent value"
            raise self.fail(f"it reads {what}, but a tensor is needed", "export the model with tensors only")
        return item

    def optional(self, position: int) -> Value | None:
        return self.operand(position) if self.has(position) else None

    @property
    def result_count(self) -> int:
        return len(self.proto.output)

    def is_read(self, position: int) -> bool:
        """Returns whether the result at that position is read."""
        return position < self.result_count and self.proto.output[position] in self.names_read

    def shape(self, value: Value) -> tuple[int, ...]:
        return self.draft.shape(value)

    def dtype(self, value: Value) -> DType:
        return self.draft.types[value.name].dtype

    # Attributes

    def has_attribute(self, name: str) -> bool:
        return any(a.name == name for a in self.proto.attribute)

    def integer(self, name: str, default: int | None = None) -> int:
        return int(self._attribute(name, onnx.AttributeProto.INT, default, "an integer"))

    def real(self, name: str, default: float | None = None) -> float:
        return float(self._attribute(name, onnx.AttributeProto.FLOAT, default, "a number"))

    def text(self, name: str, default: str | None = None) -> str:
        value = self._attribute(name, onnx.AttributeProto.STRING, default, "a text")
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def integers(self, name: str, default: Sequence[int] | None = None) -> tuple[int, ...]:
        return tuple(self._attribute(name, onnx.AttributeProto.INTS, default, "a list of integers"))

    def floats(self, name: str, default: Sequence[float] | None = None) -> tuple[float, ...]:
        return tuple(self._attribute(name, onnx.AttributeProto.FLOATS, default, "a list of numbers"))

    def graph(self, name: str) -> onnx.GraphProto:
        found: onnx.GraphProto = self._attribute(name, onnx.AttributeProto.GRAPH, None, "a graph")
        return found

    def tensor(self, name: str) -> TensorProto:
        found: TensorProto = self._attribute(name, onnx.AttributeProto.TENSOR, None, "a tensor")
        return found

    def _attribute(self, name: str, kind: int, default: object, what: str) -> Any:
        for attribute in self.proto.attribute:
            if attribute.name == name:
                if attribute.type != kind:
                    raise self.fail(f"its attribute {name} must be {what}", _AGAIN)
                return onnx.helper.get_attribute_value(attribute)
        if default is None:
            raise self.fail(f"it has no attribute {name}", _AGAIN)
        return default

    # Constant operands

    def known(self, position: int, what: str) -> Array:
        """Returns the elements of an operand that must be known at compile time."""
        return self.known_value(self.operand(position), what)

    def known_value(self, value: Value, what: str) -> Array:
        array = self.draft.array(value)
        if array is not None:
            return array
        sources = self._sources(value)
        options = " ".join(f"--value {name}=..." for name in sources)
        fixed = "it" if sources == [value.name] else "the inputs that it depends on"
        hint = f"fix {fixed}: {options}" if sources else "export the model without it"
        error = self.fail(f'its {what} "{value.name}" must be known when the model is compiled', hint)
        raise NeedsValueError(error, sources[0] if sources else None, options)

    def _sources(self, value: Value) -> list[str]:
        """Returns the inputs of the model that it is computed from."""
        wanted = {value.name}
        made: set[str] = set()
        for node in reversed(self.draft.nodes):
            if wanted & set(node.outputs):
                wanted.update(node.reads)
                made.update(node.outputs)
        return sorted(wanted - made - self.draft.constants.keys())

    def known_integers(self, position: int, what: str) -> tuple[int, ...]:
        return tuple(int(v) for v in self.known(position, what).reshape(-1))

    def known_scalar(self, position: int, what: str) -> float:
        array = self.known(position, what)
        if array.size != 1:
            raise self.fail(f"its {what} must be one number, it has shape {list(array.shape)}")
        return float(array.reshape(-1)[0])

    def axes(self, position: int, name: str = "axes") -> tuple[int, ...] | None:
        """Returns the axes from the attribute (older operator sets) or the operand; None without either."""
        if self.has(position):
            return self.known_integers(position, name)
        return self.integers(name) if self.has_attribute(name) else None

    def axis(self, number: int, rank: int) -> int:
        if not -rank <= number < rank:
            raise self.fail(f"axis {number} is not one of {rank}")
        return number % rank

    def require_inside(self, indices: Array | None, first: int, size: int) -> None:
        """Raises ModelError if known indices are out of range, from `first` to the size of a dimension."""
        fault = "" if indices is None else index_outside(indices, first, size)
        if fault:
            raise self.fail(fault, INDEX_HINT)

    # Results

    def value(self, name: str, element: int, order: Order | None = None) -> Value:
        rank = self.draft.types[name].rank
        return Value(name, tuple(range(rank)) if order is None else order, element)

    def plain(self, value: Value) -> str:
        """Returns its name with its dimensions in the file's order."""
        return self.draft.stored(self.place, value)

    def apply(self, op: Op, *inputs: str | None) -> str:
        return self.draft.apply(self.place, op, inputs)

    def reshaped(self, name: str, shape: Sequence[int]) -> str:
        return self.draft.reshaped(self.place, name, shape)

    def picked(self, name: str, loops: Loops, shape: Sequence[int]) -> str:
        return self.draft.picked(self.place, name, loops, shape)

    def sliced(self, name: str, axis: int, chosen: range) -> str:
        """Returns a range of one dimension, which may run backwards or repeat (step 0)."""
        shape = self.draft.types[name].shape
        strides = list(dense_strides(shape))
        offset = chosen.start * strides[axis]
        strides[axis] *= chosen.step
        sizes = (*shape[:axis], len(chosen), *shape[axis + 1 :])
        return self.picked(name, Loops(sizes, tuple(strides), offset), sizes)

    def repeated(self, name: str, shape: Sequence[int]) -> str:
        """Broadcasts dimensions of 1 to a shape."""
        own, shape = self.draft.types[name].shape, tuple(shape)
        ranked = (1,) * (len(shape) - len(own)) + own
        if len(ranked) != len(shape) or any(a not in (1, b) for a, b in zip(ranked, shape, strict=True)):
            raise self.fail(f"shape {list(own)} cannot be repeated to {list(shape)}")
        strides = dense_strides(ranked)
        steps = tuple(0 if a == 1 else s for a, s in zip(ranked, strides, strict=True))
        return self.picked(name, Loops(shape, steps), shape)

    def number(self, value: float | int | Sequence[int] | Array, element: int) -> Value:
        """Returns a constant of an ONNX element type."""
        array = np.asarray(value).astype(stored_type(element, self.place.file_name).numpy)
        return self.value(self.draft.constant(array, f"{self.place.label}/constant"), element)

    def do(self, op_type: str, *operands: Item | None, **attributes: object) -> Value:
        """Returns the first result of another operator, run as if it were in the file."""
        return self.do_all(1, op_type, *operands, **attributes)[0]

    def do_all(
        self, count: int, op_type: str, *operands: Item | None, **attributes: object
    ) -> Sequence[Value]:
        """Returns the first `count` results, all of which must be present."""
        names = [f"made{number}" for number in range(count)]
        node = onnx.helper.make_node(op_type, [""] * len(operands), names, **attributes)
        made = [value for value in self.run(node, operands, self.place)[:count] if isinstance(value, Value)]
        if len(made) < count:
            raise self.fail(f"{op_type} returns nothing", _AGAIN)
        return made

    def constant_from(self, tensor: TensorProto) -> Value:
        array = array_of(tensor, f"at {self.place.origin} ({self.place.file_name})")
        return self.value(self.draft.constant(array, self.place.label), tensor.data_type)

    def element_name(self, value: Value) -> str:
        return element_name(value.element)


Results = Item | Sequence[Item | None]
# None: this form of the operator is read by ONNX's definition of it as a function.
Importer = Callable[[OnnxOperator], Results | None]
