"""Puts a declared front end before a model: its nodes make the model's input from what the sensor gives."""

from __future__ import annotations

from dataclasses import replace

from aot.counted import counted
from aot.errors import ModelError
from aot.frontend.builder import GraphBuilder
from aot.fronts.audio_nodes import SAMPLE, add_features
from aot.fronts.front_nodes import FrontNodes
from aot.fronts.spectrum import Spectrum
from aot.fronts.table import declared_spectrum
from aot.ir.graph import Graph
from aot.ir.types import DType, TensorType
from aot.ir.verify import verify
from aot.ops.quantize import Quantize
from aot.ops.rearrange import Rearrange

SAMPLES = "samples"  # the model's new input


def with_front(graph: Graph, declared: str) -> Graph:
    """The model from samples on. `declared` was checked when it was read. Raises ModelError."""
    spectrum = declared_spectrum(declared)
    if len(graph.inputs) != 1:
        raise ModelError(
            f"a front end makes one input, the model has {len(graph.inputs)}: {', '.join(graph.inputs)}",
            _front(declared),
        )
    (value,) = graph.inputs
    target = graph.types[value]
    frames, is_turned = _frames_wanted(spectrum, target, value, declared)
    samples = _samples(spectrum, frames, target, value, declared)
    builder = _builder_with(graph)
    origin = _front(declared.partition(":")[0])
    start = builder.value_names.unique(SAMPLES)
    builder.types[start] = TensorType(DType.I16, (1, samples), SAMPLE)
    chain = FrontNodes(builder, origin, start)
    add_features(chain, spectrum, frames)
    _add_input(chain, target, frames, is_turned)
    nodes = [replace(n, outputs=(value,)) if n.outputs == (chain.value,) else n for n in builder.nodes]
    types = {**graph.types, **{name: t for name, t in builder.types.items() if name != chain.value}}
    made = replace(
        graph,
        inputs=(start,),
        nodes=(*nodes, *graph.nodes),
        types=types,
        constants={**graph.constants, **builder.constants},
    )
    verify(made)
    return made


def _front(declared: str) -> str:
    return f"--front {declared}"


def _builder_with(graph: Graph) -> GraphBuilder:
    """A builder that gives no name of the model's again."""
    builder = GraphBuilder(rounding="tflm")
    for name in graph.types:
        builder.value_names.take(name)
    for node in graph.nodes:
        builder.node_names.take(node.name)
    return builder


def _frames_wanted(spectrum: Spectrum, target: TensorType, value: str, declared: str) -> tuple[int, bool]:
    """The frames that the model's input holds, and whether it has features before frames."""
    sizes = tuple(size for size in target.shape if size != 1)
    features = spectrum.features
    frames = target.elements // features
    if target.elements % features == 0:
        kept = tuple(size for size in (frames, features) if size != 1)
        fitting = [kept in (sizes, (target.elements,)) or sizes == (target.elements,), kept[::-1] == sizes]
        order = (True, False) if spectrum.frames_last else (False, True)
        for is_turned in order:
            if fitting[is_turned]:
                return frames, is_turned
    raise ModelError(
        f"the front end makes {counted(features, 'feature')} of each frame, the model's input "
        f'"{value}" has shape {list(target.shape)}',
        _front(declared),
        "one of its dimensions must be the features, and the others together the frames",
    )


def _samples(spectrum: Spectrum, frames: int, target: TensorType, value: str, declared: str) -> int:
    """The samples of the clip. Raises ModelError where they make other frames, or the input is no number."""
    if target.dtype is not DType.F32 and (target.quant is None or target.quant.is_per_channel):
        raise ModelError(
            f'the model\'s input "{value}" holds {target.dtype.value} without a scale, which no features are',
            _front(declared),
        )
    least = spectrum.frames.least_samples(frames)
    samples = spectrum.samples or max(least, spectrum.frames.mirrored + 1)
    made = spectrum.frames.count(samples)
    if made == frames:
        return samples
    most = least + spectrum.frames.hop - 1
    raise ModelError(
        f"{counted(samples, 'sample')} make {counted(made, 'frame')}, "
        f'the model\'s input "{value}" takes {frames}: {list(target.shape)}',
        _front(declared),
        f"samples of {least:,} to {most:,}, or another step from frame to frame",
    )


def _add_input(chain: FrontNodes, target: TensorType, frames: int, is_turned: bool) -> None:
    """Gives features the element type, the order and the shape of the model's input."""
    if target.dtype is not DType.F32:
        chain.then("quantize", Quantize(target.dtype), quant=target.quant)
    features = chain.type.elements // frames
    if is_turned:
        sizes = (features, frames)
        chain.then("turned", Rearrange(target.shape, sizes, (1, features)), quant=target.quant)
    elif chain.type.shape != target.shape:
        chain.view("input", *target.shape)
