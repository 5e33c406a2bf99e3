"""The chapter on traceability: functions and constants of the C to layers, layers to operators, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from artifact.artifact import Artifact
from codegen.model import COPIES, LayerInfo
from deploy.proving.c_functions import CFunctions, constants_of, functions_of
from deploy.proving.chapter import Finding, Standing, Table
from deploy.proving.subject import Subject

_RUN = "the run"  # owner of what calls the layers
_METHOD = (
    "Functions and constants are read from the C that is printed, not from the compiler's memory. A "
    "function belongs to a layer if the layer's function calls it, directly or through others; a constant "
    "belongs to a layer if one of these functions names it.",
    "The operators are those of the graph that the layers compute, after all passes. One without a function "
    "only says that the same bytes have another shape.",
)


@dataclass(frozen=True)
class _Trace:
    layers: Sequence[LayerInfo]
    functions: CFunctions
    constants: Mapping[str, int]
    below: Mapping[int, frozenset[str]]  # layer -> functions
    run: str

    def owners(self, function: str) -> list[str]:
        owners = [f"layer {number}" for number, names in self.below.items() if function in names]
        return owners or ([_RUN] if function in self.functions.below(self.run) else [])

    def readers(self, constant: str) -> list[str]:
        below = {number: self.functions.words(names) for number, names in self.below.items()}
        readers = [f"layer {number}" for number, words in below.items() if constant in words]
        reads = self.functions.words(self.functions.below(self.run))
        return readers or ([_RUN] if constant in reads else [])


def examine_traceability(subject: Subject) -> Finding:
    """Traces both ways. Fails by name for what belongs to nothing."""
    artifact = subject.artifact
    trace = _trace(artifact)
    failures = [f"layer {n} has no function" for n, names in trace.below.items() if not names]
    unowned = [name for name in trace.functions.names if not trace.owners(name)]
    unread = [name for name in trace.constants if not trace.readers(name)]
    failures += [f"function {name} belongs to no layer" for name in unowned]
    failures += [f"constant {name} belongs to no layer" for name in unread]
    failures += _lost_operators(artifact)
    summary = (
        f"{len(trace.functions.names)} functions and {len(trace.constants)} constants belong to "
        f"{len(trace.layers)} layers or to the run that calls them; "
        f"all {len(artifact.graph.nodes)} operators of the graph are computed or are views"
    )
    tables = (_layers(trace), _operators(artifact), _functions(trace), _constants(trace))
    if failures:
        return Finding(Standing.FAILED, "; ".join(failures), method=_METHOD, tables=tables)
    return Finding(Standing.PROVEN, summary, method=_METHOD, tables=tables)


def _trace(artifact: Artifact) -> _Trace:
    functions = functions_of(artifact.sources[f"{artifact.name}.c"])
    layers = artifact.facts.layers
    constants: dict[str, int] = {}
    for text in (*artifact.sources.values(), *artifact.headers.values()):
        constants |= constants_of(text)
    below = {layer.index: functions.below(f"layer_{layer.index}") for layer in layers}
    return _Trace(layers, functions, constants, below, f"{artifact.name}_run")


def _lost_operators(artifact: Artifact) -> list[str]:
    computed = _computed(artifact)
    return [
        f"operator {node.name} ({node.op.name}) has no layer"
        for node in artifact.graph.nodes
        if node.name not in computed and node.op.name != "reshape"
    ]


def _computed(artifact: Artifact) -> dict[str, str]:
    """The layer of each node; a region's parts are nodes too."""
    found: dict[str, str] = {}
    for layer in artifact.facts.layers:
        if layer.op not in COPIES:
            found |= dict.fromkeys((layer.name, *(p.name for p in layer.parts)), f"layer {layer.index}")
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
        (node.name, node.op.name, node.origin, computed.get(node.name, "a view: no code"))
        for node in artifact.graph.nodes
    ]
    return Table("Operators", ("operator", "op", "in the model file", "computed by"), rows)


def _functions(trace: _Trace) -> Table:
    rows = [(name, ", ".join(trace.owners(name)) or "nothing") for name in trace.functions.names]
    return Table("Functions of the C", ("function", "belongs to"), rows)


def _constants(trace: _Trace) -> Table:
    rows = [
        (name, count, ", ".join(trace.readers(name)) or "nothing") for name, count in trace.constants.items()
    ]
    return Table("Constants of the C", ("constant", "elements", "read by"), rows)
