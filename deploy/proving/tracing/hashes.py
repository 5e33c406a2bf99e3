"""SHA-256 hashes of the grounds on which evidence rests, for the whole model and each layer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from aot.ir.graph import Graph, Node
from aot.ir.region import DeviceRegion
from aot.ir.text import print_graph, print_node, type_text
from aot.ir.types import Array
from artifact.artifact import Artifact
from codegen.model import LayerInfo
from codegen.version import VERSION
from deploy.proving.c_functions import CFunctions, constants_of, functions_of, sha256_of, without_constants
from deploy.proving.chapter import Cell, Table
from deploy.proving.subject import Subject
from deploy.proving.tracing.ground import Ground

# Constants of the graph's operators: their hashes, and the corresponding constants in the C.

_CONSTANT_COLUMNS = (
    "operator",
    "in the model file",
    "constant",
    "element type and shape",
    "bytes",
    "SHA-256",
    "in the C",
)


def constants_of_node(node: Node, graph: Graph) -> dict[str, Array]:
    """Returns the node's constants by name in the graph, including those of a region's nodes."""
    found = {
        name: graph.constants[name] for name in node.inputs if name is not None and name in graph.constants
    }
    if isinstance(node.op, DeviceRegion):
        found |= node.op.graph.constants
    return found


def operands_table(
    graph: Graph, computed_by: Mapping[str, str], constants_of_layers: Mapping[str, Sequence[str]]
) -> Table:
    """Returns a row for each constant of an operator, and for each initial state."""
    return Table(
        "Constants of the operators",
        _CONSTANT_COLUMNS,
        tuple(_constant_rows(graph, computed_by, constants_of_layers)),
    )


def _constant_rows(
    graph: Graph, computed_by: Mapping[str, str], constants_of_layers: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Cell, ...]]:
    for node in graph.nodes:
        packed = ", ".join(constants_of_layers.get(computed_by.get(node.name, ""), ())) or "no constant"
        for name, data in constants_of_node(node, graph).items():
            yield node.name, node.origin, name, _kind(data, graph, name), data.nbytes, sha256_of(data), packed
    for state in graph.states:
        data = state.initial
        kind = _kind(data, graph, state.name)
        yield "", "", state.name, kind, data.nbytes, sha256_of(data), "what the state begins with"


def _kind(data: Array, graph: Graph, name: str) -> str:
    """Returns the type without scales, which are part of the graph's text."""
    known = graph.types.get(name)
    words = f"{data.dtype.name}[{','.join(map(str, data.shape))}]" if known is None else type_text(known)
    return words.partition(" ")[0]


# The files of the trace, from the model's file to the C, with hashes.

_FILE_COLUMNS = ("file", "is", "SHA-256")


def files_table(artifact: Artifact) -> Table:
    return Table("Files", _FILE_COLUMNS, tuple(_file_rows(artifact)))


def _file_rows(artifact: Artifact) -> Iterator[tuple[str, str, str]]:
    facts = artifact.facts
    yield facts.source_name, "the model", facts.model_hash
    yield f"{artifact.name}.graph", "the graph of the archive", _file_hash(artifact.graph_text.encode())
    for what, texts in (("generated source", artifact.sources), ("generated header", artifact.headers)):
        for name, text in texts.items():
            yield name, what, _file_hash(text.encode())


def _file_hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


_TABLES = "_weights.c"  # only constants, to which no coding standard applies
_HASH_BYTES = 8  # of the model file's hash in the C, which only identifies it
Hashes = Mapping[Ground, str]


@dataclass(frozen=True)
class LayerGrounds:
    """A layer, identified by its content, because indices change when layers are added or removed."""

    index: int
    op: str
    name: str
    value: str  # the value whose rows it writes
    hashes: Hashes

    def as_json(self) -> dict[str, Any]:
        known = {"layer": self.index, "op": self.op, "name": self.name, "value": self.value}
        return {**known, "grounds": _listed(self.hashes)}


@dataclass(frozen=True)
class Grounds:
    whole: Hashes
    layers: tuple[LayerGrounds, ...]

    def as_json(self) -> dict[str, Any]:
        return {"grounds": _listed(self.whole), "layers": [each.as_json() for each in self.layers]}


def grounds_of(subject: Subject) -> Grounds:
    artifact, facts = subject.artifact, subject.artifact.facts
    graph, texts = artifact.graph, _texts(artifact)
    constants = _constants(texts)
    project = {} if subject.project is None else subject.project.files
    whole = {
        Ground.MODEL_FILE: facts.model_hash,
        Ground.OPERATORS: _hash([print_graph(graph, inline_elements=0)]),
        Ground.WEIGHTS: _hash(_weights(graph)),
        Ground.CODE: _hash(f"{name} {without_constants(text)}" for name, text in texts.items()),
        Ground.CONSTANTS: _hash(f"{name} {each}" for name, each in constants.items()),
        Ground.TEXT: _hash(f"{name} {text}" for name, text in texts.items() if not name.endswith(_TABLES)),
        Ground.RUNTIME: _hash(f"{name} {data.hex()}" for name, data in sorted(artifact.runtime.items())),
        Ground.TARGET: _hash([_in_order(facts.target), *facts.c_flags]),
        Ground.BOARD: _hash([_in_order(subject.board)]),
        Ground.PROJECT: _hash(f"{name} {text}" for name, text in sorted(project.items())),
        Ground.SOLDER: _hash([VERSION]),
    }
    functions = functions_of(texts[f"{artifact.name}.c"])
    nodes = {node.name: node for node in graph.nodes}
    layers = (_layer(layer, functions, constants, graph, nodes.get(layer.name)) for layer in facts.layers)
    return Grounds(whole, tuple(layers))


def _layer(
    layer: LayerInfo, functions: CFunctions, constants: Mapping[str, str], graph: Graph, node: Node | None
) -> LayerGrounds:
    """Returns a layer's hashes: its functions with all callees, and the constants they use."""
    below = functions.below(layer.function)
    words = functions.words(below)
    hashes = {
        Ground.OPERATORS: _hash([] if node is None else [print_node(node, graph, 0), *_types(node, graph)]),
        Ground.WEIGHTS: _hash([] if node is None else _weights_of(node, graph)),
        Ground.CODE: _hash(functions.texts[name] for name in sorted(below)),
        Ground.CONSTANTS: _hash(f"{name} {each}" for name, each in constants.items() if name in words),
    }
    return LayerGrounds(layer.index, layer.op, layer.name, layer.value, hashes)


def _texts(artifact: Artifact) -> dict[str, str]:
    """Returns the C without the model file's hash, which is a separate ground."""
    digest = artifact.facts.model_hash[: 2 * _HASH_BYTES]
    bytes_of_it = ", ".join(f"0x{each:02x}" for each in bytes.fromhex(digest))
    files = {**artifact.sources, **artifact.headers}
    return {name: text.replace(digest, "").replace(bytes_of_it, "") for name, text in sorted(files.items())}


def _constants(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: each.sha256 for text in texts.values() for name, each in constants_of(text).items()}


def _weights(graph: Graph) -> list[str]:
    found = [each for node in graph.nodes for each in _weights_of(node, graph)]
    return [*found, *(f"{state.name} {sha256_of(state.initial)}" for state in graph.states)]


def _weights_of(node: Node, graph: Graph) -> list[str]:
    return [f"{name} {sha256_of(data)}" for name, data in constants_of_node(node, graph).items()]


def _types(node: Node, graph: Graph) -> list[str]:
    """Returns the types of the node's inputs, including scales of weights."""
    return ["none" if each is None else type_text(each) for each in graph.input_types(node)]


def _in_order(value: Any) -> str:
    """Formats data deterministically, because the order of sets is arbitrary."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Path):
        return value.name
    if is_dataclass(value):
        return _in_order({each.name: getattr(value, each.name) for each in fields(value)})
    if isinstance(value, Mapping):
        return "{" + ", ".join(sorted(f"{_in_order(k)}: {_in_order(v)}" for k, v in value.items())) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(_in_order, value))) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_in_order, value)) + "]"
    return repr(value)


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _listed(hashes: Hashes) -> list[dict[str, str]]:
    return [{"ground": ground.value, "sha256": digest} for ground, digest in hashes.items()]
