"""Functions: operators that ONNX or the file defines by simpler ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx
from onnx import FunctionProto, NodeProto


@dataclass(frozen=True)
class FunctionBody:
    """The nodes of a function, attributes filled in; `version` is its standard operator set, if declared."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[NodeProto, ...]
    version: int | None

    @staticmethod
    def of(function: FunctionProto, caller: NodeProto) -> FunctionBody:
        given = {a.name: a for a in function.attribute_proto} | {a.name: a for a in caller.attribute}
        version = next((s.version for s in function.opset_import if s.domain in ("", "ai.onnx")), None)
        nodes = tuple(_filled(node, given) for node in function.node)
        return FunctionBody(tuple(function.input), tuple(function.output), nodes, version)


def _filled(node: NodeProto, given: dict[str, onnx.AttributeProto]) -> NodeProto:
    """Returns the node with the caller's attributes in place of references; missing ones are left out."""
    filled = NodeProto()
    filled.CopyFrom(node)
    del filled.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            inner = filled.attribute.add()
            inner.CopyFrom(attribute)
            if inner.HasField("g"):
                for number, deep in enumerate(attribute.g.node):
                    inner.g.node[number].CopyFrom(_filled(deep, given))
        elif attribute.ref_attr_name in given:
            inner = filled.attribute.add()
            inner.CopyFrom(given[attribute.ref_attr_name])
            inner.name = attribute.name
    return filled


def body_of(node: NodeProto, version: int, types: Sequence[onnx.TypeProto] | None) -> FunctionBody | None:
    """Returns ONNX's definition of an operator by others; without types, an empty one if it exists."""
    try:
        schema = onnx.defs.get_schema(node.op_type, version, "" if node.domain == "ai.onnx" else node.domain)
    except (onnx.defs.SchemaError, TypeError):  # raised for a name that is not text
        return None
    if not (schema.has_function or schema.has_context_dependent_function):
        return None
    if types is None:
        return FunctionBody((), (), (), None)
    function = FunctionProto()
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= version] or list(
            schema.function_opset_versions
        )
        function.ParseFromString(schema.get_function_with_opset_version(max(versions)))
    else:
        versions = [v for v in schema.context_dependent_function_opset_versions if v <= version] or list(
            schema.context_dependent_function_opset_versions
        )
        text = schema.get_context_dependent_function_with_opset_version(
            max(versions), node.SerializeToString(), [t.SerializeToString() for t in types]
        )
        function.ParseFromString(text)
    return FunctionBody.of(function, _with_defaults(node, schema))


def _with_defaults(node: NodeProto, schema: onnx.defs.OpSchema) -> NodeProto:
    """Returns the node with the default values of absent attributes."""
    whole = NodeProto()
    whole.CopyFrom(node)
    present = {a.name for a in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in present and attribute.default_value.name:
            whole.attribute.add().CopyFrom(attribute.default_value)
    return whole
