"""Finds the operators of a file, which of them are supported, and their operator sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import onnx
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from aot.errors import UnsupportedError
from aot.frontend.onnx.errors import reason_of
from aot.frontend.onnx.importers import ADDED, OF_DOMAIN
from aot.frontend.onnx.operation import Importer

# Functions: operators that ONNX or the file defines by simpler ones.


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


# Finds the importer of an operator, built in or from an extension.


def find_importer(domain: str, operator: str) -> Importer | None:
    return OF_DOMAIN.get(domain, {}).get(operator) or ADDED.get(f"{domain}.{operator}")


OLDEST = 7
Functions = Mapping[tuple[str, str], FunctionProto]
STANDARD = ("", "ai.onnx")
_WITH_BODIES = (*STANDARD, "ai.onnx.preview")  # domains whose operators ONNX defines by others


def versions_of(model: ModelProto, file_name: str) -> dict[str, int]:
    """Returns the version of each domain that the file uses; "" is the standard one."""
    versions = {("" if s.domain in STANDARD else s.domain): int(s.version) for s in model.opset_import}
    newest = onnx.defs.onnx_opset_version()
    version = versions.setdefault("", newest)
    is_old_but_same = 1 <= version < OLDEST and all(_is_unchanged(n, version) for n in nodes_of(model.graph))
    if not OLDEST <= version <= newest and not is_old_but_same:
        raise UnsupportedError(
            f"the model uses operator set {version}; supported: {OLDEST} to {newest}",
            file_name,
            "convert it: onnx.version_converter.convert_version(model, 17)",
        )
    return versions


def _is_unchanged(node: NodeProto, version: int) -> bool:
    """Returns whether the operator of an old set equals the operator of the oldest supported set."""
    try:
        then, now = (onnx.defs.get_schema(node.op_type, v, "") for v in (version, OLDEST))
    except (onnx.defs.SchemaError, TypeError):
        return False
    return node.domain in STANDARD and then.since_version == now.since_version


def is_supported(node: NodeProto, versions: Mapping[str, int]) -> bool:
    if find_importer(node.domain, node.op_type) is not None:
        return True
    if reason_of(name_of(node)).why:  # ONNX may define it by operators that are unsupported, too
        return False
    domain = "" if node.domain in STANDARD else node.domain
    known = domain in versions and node.domain in _WITH_BODIES
    return known and body_of(node, versions[domain], None) is not None


def unsupported_within(
    node: NodeProto, label: str, versions: Mapping[str, int], functions: Functions
) -> Iterator[tuple[str, str]]:
    """Yields unsupported operators in a node, its bodies and the file's functions, with the node's name."""
    function = functions.get((node.domain, node.op_type))
    if function is not None:
        others = {key: f for key, f in functions.items() if f is not function}  # none calls itself
        yield from _unsupported_among(function.node, label, versions, others)
    elif not is_supported(node, versions):
        yield name_of(node), label
    for graph in bodies_of(node):
        yield from _unsupported_among(graph.node, label, versions, functions)


def _unsupported_among(
    nodes: Sequence[NodeProto], outer: str, versions: Mapping[str, int], functions: Functions
) -> Iterator[tuple[str, str]]:
    for index, node in enumerate(nodes):
        yield from unsupported_within(node, f"{outer}/{label_of(node, index)}", versions, functions)


def name_of(node: NodeProto) -> str:
    return str(node.op_type) if node.domain in STANDARD else f"{node.domain}.{node.op_type}"


def nodes_of(graph: GraphProto) -> Iterator[NodeProto]:
    """Yields every node, including those of branches and loops."""
    for node in graph.node:
        yield node
        for body in bodies_of(node):
            yield from nodes_of(body)


def bodies_of(node: NodeProto) -> Iterator[GraphProto]:
    """Yields the graphs of a node: branches, a loop's body."""
    for attribute in node.attribute:
        yield from (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs)


def label_of(node: NodeProto, index: int) -> str:
    return node.name or next((name for name in node.output if name), f"{node.op_type}_{index}")
