"""The chapter on traceability: from functions and constants of the C to layers and operators, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from artifact.artifact import Artifact
from codegen.c.names import ENTRIES
from codegen.lower.tensors import is_join, is_view
from codegen.model import COPIES, LayerInfo
from deploy.proving.c_functions import CConstant, CFunctions, constants_of, functions_of
from deploy.proving.chapter import Finding, Standing, Table
from deploy.proving.subject import Subject
from deploy.proving.tracing.hashes import files_table, operands_table
from deploy.proving.tracing.requirements import files_without, requirements_table

_INTERFACE = "the interface"  # owner of the functions that call layers
_NO_CODE = "no code"
_METHOD = (
    "Functions and constants are read from the C that is printed, not from the compiler's memory. A "
    "function belongs to a layer if the layer's function calls it, directly or through others; a constant "
    "belongs to a layer if one of these functions names it.",
    "The SHA-256 of a constant is that of its bytes in the memory of a little-endian core: for C, of the "
    "numbers that are printed; for an operator, of what the graph of the archive holds. A kernel may want "
    "them in another order, or folded with others, so these differ where the layer's kernel packs them.",
    "The operators are those of the graph that the layers compute, after all passes. One without code gives "
    "the same bytes another shape, or joins rows that the layers before it write behind one another.",
    "The runtime beside the model is the same for all models: each of its files of C serves a numbered "
    "requirement, and each requirement has tests, which belong to the source tree and are not run here.",
)


@dataclass(frozen=True)
class _Trace:
    layers: Sequence[LayerInfo]
    functions: CFunctions
    constants: Mapping[str, CConstant]
    files: Mapping[str, str]  # constant -> the file that defines it
    below: Mapping[int, frozenset[str]]  # layer -> functions
    interface: frozenset[str]  # functions that callers use, with all their callees

    def owners(self, function: str) -> list[str]:
        owners = [f"layer {number}" for number, names in self.below.items() if function in names]
        return owners or ([_INTERFACE] if function in self.interface else [])

    def reading_layers(self, constant: str) -> list[LayerInfo]:
        below = {number: self.functions.words(names) for number, names in self.below.items()}
        return [layer for layer in self.layers if constant in below[layer.index]]

    def readers(self, constant: str) -> list[str]:
        readers = [_describe(layer) for layer in self.reading_layers(constant)]
        return readers or ([_INTERFACE] if constant in self.functions.words(self.interface) else [])

    def read_by(self, layer: LayerInfo) -> list[str]:
        """Returns the constants that the layer's functions use."""
        words = self.functions.words(self.below[layer.index])
        return [name for name in self.constants if name in words]


def examine_traceability(subject: Subject) -> Finding:
    """Traces in both directions. Anything without an owner fails, with its name."""
    artifact = subject.artifact
    trace = _trace(artifact)
    failures = [f"layer {n} has no function" for n, names in trace.below.items() if not names]
    unowned = [name for name in trace.functions.names if not trace.owners(name)]
    unread = [name for name in trace.constants if not trace.readers(name)]
    failures += [f"function {name} belongs to no layer" for name in unowned]
    failures += [f"constant {name} belongs to no layer" for name in unread]
    held, said = sum(each.bytes for each in trace.constants.values()), artifact.facts.constants_bytes
    if held != said:
        failures.append(f"the C has {held:,} bytes of constants, and {said:,} by the facts of the archive")
    failures += _lost_operators(artifact)
    failures += [f"no requirement asks for {name} of the runtime" for name in files_without(artifact)]
    summary = (
        f"{len(trace.functions.names)} functions and {len(trace.constants)} constants belong to "
        f"{len(trace.layers)} layers or to the functions that callers use; "
        f"all {len(artifact.graph.nodes)} operators of the graph are computed or need no code"
    )
    constants_of_layers = {_describe(layer): trace.read_by(layer) for layer in trace.layers}
    tables = (
        _layers(trace),
        _operators(artifact),
        _functions(trace),
        _constants(trace),
        operands_table(artifact.graph, _computed(artifact), constants_of_layers),
        files_table(artifact),
        *((requirements_table(artifact),) if artifact.runtime else ()),
    )
    if failures:
        return Finding(Standing.FAILED, "; ".join(failures), method=_METHOD, tables=tables)
    return Finding(Standing.PROVEN, summary, method=_METHOD, tables=tables)


def _trace(artifact: Artifact) -> _Trace:
    functions = functions_of(artifact.sources[f"{artifact.name}.c"])
    layers = artifact.facts.layers
    defined = {file: constants_of(text) for file, text in {**artifact.sources, **artifact.headers}.items()}
    constants = {name: each for found in defined.values() for name, each in found.items()}
    files = {name: file for file, found in defined.items() for name in found}
    below = {layer.index: functions.below(layer.function) for layer in layers}
    entries = (functions.below(f"{artifact.name}_{each}") for each in ENTRIES)
    return _Trace(layers, functions, constants, files, below, frozenset().union(*entries))


def _lost_operators(artifact: Artifact) -> list[str]:
    computed = _computed(artifact)
    return [
        f"operator {node.name} ({node.op.name}) has no layer"
        for node in artifact.graph.nodes
        if node.name not in computed and not (is_view(node) or is_join(node, artifact.graph))
    ]


def _computed(artifact: Artifact) -> dict[str, str]:
    """Returns the layer of each node, including the nodes of a region."""
    found: dict[str, str] = {}
    for layer in artifact.facts.layers:
        if layer.op not in COPIES:
            found |= dict.fromkeys((layer.name, *(p.name for p in layer.parts)), _describe(layer))
    return found


def _layers(trace: _Trace) -> Table:
    rows = [
        (layer.index, layer.op, layer.origin or layer.name, layer.shapes, layer.kernel, layer.why)
        for layer in trace.layers
    ]
    return Table("Layers", ("layer", "op", "in the model file", "shapes", "kernel", "why this kernel"), rows)


def _operators(artifact: Artifact) -> Table:
    computed = _computed(artifact)
    rows = [
        (node.name, node.op.name, node.origin, computed.get(node.name, _NO_CODE))
        for node in artifact.graph.nodes
    ]
    return Table("Operators", ("operator", "op", "in the model file", "computed by"), rows)


def _functions(trace: _Trace) -> Table:
    rows = [(name, ", ".join(trace.owners(name)) or "nothing") for name in trace.functions.names]
    return Table("Functions of the C", ("function", "belongs to"), rows)


def _constants(trace: _Trace) -> Table:
    rows = [
        (
            name,
            trace.files[name],
            each.bytes,
            each.sha256,
            _origins(trace.reading_layers(name)),
            ", ".join(trace.readers(name)) or "nothing",
        )
        for name, each in trace.constants.items()
    ]
    columns = ("constant", "file", "bytes", "SHA-256", "in the model file", "read by")
    return Table("Constants of the C", columns, rows)


def _origins(layers: Sequence[LayerInfo]) -> str:
    return ", ".join(layer.origin or layer.name for layer in layers) or "nothing"


def _describe(layer: LayerInfo) -> str:
    return f"layer {layer.index}"
