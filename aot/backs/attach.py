"""Adds a declared back end to a model: nodes that compute a decision from the model's output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from aot.errors import ModelError, did_you_mean
from aot.frontend.builder import AddedNodes, builder_of
from aot.frontend.declared import DeclarationError, declared_word, parted, read_parameters
from aot.ir.graph import Graph
from aot.ir.verify import verify

if TYPE_CHECKING:
    from aot.backs.back import Back


# The module here and its class: most models have no back end, and none has two.
BACKS: Mapping[str, str] = {
    "anomaly": "anomaly.Anomaly",
    "classes": "classes.Classes",
    "edge_impulse.fomo": "fomo.Fomo",
    "torchvision.ssd": "torchvision_ssd.Ssd",
    "ultralytics.yolov5": "ultralytics.Yolov5",
    "ultralytics.yolov8": "ultralytics.Yolov8",
}


def read_back(given: object) -> str:
    """Checks a declaration, given as text or as a table with a name, and returns it as text."""
    name, values = parted(given, "back end")
    _back_of(name, values)
    return declared_word(name, values)


def declared_back(word: str) -> Back:
    """Returns the back end of a declaration. Raises DeclarationError."""
    return _back_of(*parted(word, "back end"))


def _back_of(name: str, values: Mapping[str, object]) -> Back:
    if name not in BACKS:
        raise DeclarationError(
            f'"{name}" is not a back end{did_you_mean(name, BACKS)}', f"known: {', '.join(BACKS)}"
        )
    parameters = cast("type[Back]", resolve_name(f"aot.backs.{BACKS[name]}"))
    made = read_parameters(parameters, values, name)
    made.check()
    return made


def with_back(graph: Graph, declared: str) -> Graph:
    """Returns the model with the back end's outputs instead of its original ones. Raises ModelError."""
    back = declared_back(declared)
    refusal = back.refusal(graph)
    if refusal is not None:
        raise ModelError(refusal, f"--back {declared}")
    builder = builder_of(graph)
    nodes = AddedNodes(builder, "back", f"--back {declared.partition(':')[0]}", graph.outputs[0])
    outputs = back.add(nodes, graph)
    made = replace(
        graph,
        outputs=outputs,
        nodes=(*graph.nodes, *builder.nodes),
        types=builder.types,
        constants={**graph.constants, **builder.constants},
        states=(*graph.states, *nodes.states),
    )
    verify(made)
    return made
