"""Adds a declared front end to a model: nodes that compute the model's input from sensor data."""

from __future__ import annotations

from dataclasses import replace

from aot.frontend.added_nodes import AddedNodes, builder_of
from aot.frontend.builder import GraphBuilder
from aot.fronts.audio_input import Sound, add_audio, samples_type
from aot.fronts.front import Front
from aot.fronts.integer_features import IntegerFeatures
from aot.fronts.model_input import ModelInput
from aot.fronts.movement import Movement
from aot.fronts.movement_input import add_rows, rows_type
from aot.fronts.picture_input import add_image, pixels_type
from aot.fronts.spectrum import Spectrum
from aot.fronts.table import declared_front
from aot.ir.graph import Graph
from aot.ir.verify import verify

SAMPLES, PIXELS, ROWS = "samples", "pixels", "rows"  # names of the model's new input


def with_front(graph: Graph, declared: str) -> Graph:
    """Returns the model with the front end. `declared` was checked when it was read. Raises ModelError."""
    front, wanted = declared_front(declared), _wanted(graph, declared)
    if graph.states and _begins_anew(front):
        raise wanted.refusal(
            "the model keeps state between runs, but this front end starts fresh with each run",
            "micro_frontend:continuous=true continues with the sound of the previous run",
        )
    builder = builder_of(graph)
    start = builder.value_names.unique(_input_name(front))
    chain = AddedNodes(builder, "front", f"--front {declared.partition(':')[0]}", start)
    if isinstance(front, Sound):
        builder.types[start] = samples_type(front, wanted)
        add_audio(chain, front, wanted)
    elif isinstance(front, Movement):
        builder.types[start] = rows_type(front, wanted)
        add_rows(chain, front, wanted)
    else:
        builder.types[start] = pixels_type(front, wanted)
        add_image(chain, front, wanted)
    joined = _joined(graph, builder, chain.value, start, wanted.name)
    made = replace(joined, states=(*graph.states, *chain.states))
    verify(made)
    return made


def _input_name(front: Front) -> str:
    if isinstance(front, Movement):
        return ROWS
    return SAMPLES if isinstance(front, Sound) else PIXELS


def _begins_anew(front: Front) -> bool:
    """Returns whether frames depend on previous frames of the same run, but not on earlier runs."""
    if isinstance(front, Spectrum):
        return front.channel_gain is not None
    if isinstance(front, Movement):
        return front.sections is not None or front.taps is not None
    return isinstance(front, IntegerFeatures) and not front.continuous


def _wanted(graph: Graph, declared: str) -> ModelInput:
    wanted = ModelInput(graph.inputs[0], graph.types[graph.inputs[0]], declared)
    if len(graph.inputs) != 1:
        raise wanted.refusal(
            f"a front end provides one input, the model has {len(graph.inputs)}: {', '.join(graph.inputs)}"
        )
    if not wanted.is_number:
        raise wanted.refusal(
            f"{wanted.said} holds {wanted.type.dtype.value} without a scale, which front ends cannot produce"
        )
    return wanted


def _joined(graph: Graph, builder: GraphBuilder, last: str, start: str, value: str) -> Graph:
    """Returns the model whose input is computed by the node of the value `last`."""
    nodes = [replace(node, outputs=(value,)) if node.outputs == (last,) else node for node in builder.nodes]
    made = {name: kind for name, kind in builder.types.items() if name != last}
    return replace(
        graph,
        inputs=(start,),
        nodes=(*nodes, *graph.nodes),
        types=made,
        constants={**graph.constants, **builder.constants},
    )
