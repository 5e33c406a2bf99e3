"""Converts sequence and optional inputs to tensors; the user gives the length of each sequence."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import onnx
from onnx import ModelProto, NodeProto, ValueInfoProto

from aot.errors import ModelError

Shapes = Mapping[str, tuple[int, ...]]
_MOST_TENSORS = 4096  # in one sequence


def with_tensor_inputs(
    model: ModelProto, shapes: Shapes, values: Collection[str], file_name: str
) -> tuple[ModelProto, Shapes]:
    """Replaces a sequence by as many inputs as its given length; keeps an optional input if it is given.

    The returned shapes belong to inputs of the returned model.
    """
    if all(info.type.HasField("tensor_type") for info in model.graph.input):
        return model, shapes
    opened = _Opened(dict(shapes), frozenset(values), file_name)
    inputs = [found for info in model.graph.input for found in opened.inputs_of(info)]
    whole = ModelProto()
    whole.CopyFrom(model)
    del whole.graph.input[:]
    whole.graph.input.extend(inputs)
    whole.graph.node.extend(opened.nodes)
    return whole, opened.shapes


@dataclass
class _Opened:
    shapes: dict[str, tuple[int, ...]]  # without the lengths
    values: frozenset[str]
    file_name: str
    nodes: list[NodeProto] = field(default_factory=list)

    def inputs_of(self, info: ValueInfoProto) -> Iterator[ValueInfoProto]:
        kind, name = info.type.WhichOneof("value"), info.name
        if kind == "optional_type":
            if name in self.shapes or name in self.values:
                yield from self.inputs_of(_named(name, info.type.optional_type.elem_type))
            else:
                self.nodes.append(onnx.helper.make_node("Optional", [], [name]))
        elif kind == "sequence_type" and name in self.shapes:
            elements = [f"{name}_{number}" for number in range(self._length(name))]
            operator = "SequenceConstruct" if elements else "SequenceEmpty"
            self.nodes.append(onnx.helper.make_node(operator, elements, [name]))
            for element in elements:
                yield from self.inputs_of(_named(element, info.type.sequence_type.elem_type))
        else:
            yield info

    def _length(self, name: str) -> int:
        given = self.shapes.pop(name)
        if len(given) != 1 or given[0] > _MOST_TENSORS:
            raise ModelError(
                f'the shape {list(given)} for "{name}" is not the length of a sequence, '
                f"up to {_MOST_TENSORS:,} tensors are supported",
                self.file_name,
                f"set its number of tensors:  --shape {name}=3",
            )
        return given[0]


def _named(name: str, kind: onnx.TypeProto) -> ValueInfoProto:
    return onnx.helper.make_value_info(name, kind)
