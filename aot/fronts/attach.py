"""Adds a declared front end to a model: nodes that compute the model's input from sensor data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pkgutil import resolve_name
from typing import Protocol, TypeAlias, cast

from aot.errors import did_you_mean
from aot.frontend.builder import AddedNodes, GraphBuilder, builder_of
from aot.frontend.declared import DeclarationError, declared_word, parted, read_parameters
from aot.fronts.audio_nodes import Sound, add_audio, samples_type
from aot.fronts.model_input import ModelInput
from aot.fronts.movement import Movement, add_rows, rows_type
from aot.fronts.picture import Picture, add_image, pixels_type
from aot.fronts.spectrum import IntegerFeatures, Spectrum
from aot.ir.graph import Graph
from aot.ir.verify import verify

# A front end, independent of any library: for sound (by spectrum), pictures or movements.


Front: TypeAlias = Spectrum | IntegerFeatures | Picture | Movement


_KIND = "front end"


class FrontParameters(Protocol):
    """The parameters of one front end."""

    def front(self) -> Front:
        """Returns the front end in library-independent form. Raises DeclarationError."""


# The module in aot/fronts/libraries and its class: most models have no front end, and none has two.
FRONTS: Mapping[str, str] = {
    "librosa.mel": "librosa.LibrosaMel",
    "librosa.mel_db": "librosa.LibrosaDecibels",
    "librosa.mfcc": "librosa.LibrosaMfcc",
    "librosa.pcen": "librosa.LibrosaPcen",
    "micro_frontend": "micro_frontend.MicroFrontend",
    "scipy.features": "scipy_signal.ScipyFeatures",
    "scipy.filter": "scipy_signal.ScipyFilter",
    "tf.image": "tf_image.TfPicture",
    "tf.signal.log_mel": "tf_signal.TfLogMel",
    "tf.signal.mfcc": "tf_signal.TfMfcc",
    "tf.signal.spectrogram": "tf_signal.TfSpectrogram",
    "torchaudio.MFCC": "torchaudio.TorchMfcc",
    "torchaudio.MelSpectrogram": "torchaudio.TorchMel",
    "torchaudio.MelSpectrogramDB": "torchaudio.TorchDecibels",
    "torchaudio.Spectrogram": "torchaudio.TorchSpectrogram",
    "torchvision": "torchvision.TorchPicture",
}


def read_front(given: object) -> str:
    """Checks a declaration, given as text or as a table with a name, and returns it as text."""
    name, values = parted(given, _KIND)
    _front_of(name, values)
    return declared_word(name, values)


def declared_front(word: str) -> Front:
    """Returns the front end of a declaration. Raises DeclarationError."""
    return _front_of(*parted(word, _KIND))


def declared_rate(word: str) -> int | None:
    """Returns the sample rate of a declared audio front end in Hz; None for other front ends."""
    from aot.fronts.movement import Movement  # imported on demand, like the front ends
    from aot.fronts.picture import Picture

    front = declared_front(word)
    return None if isinstance(front, Picture | Movement) else front.sample_rate


def _front_of(name: str, values: Mapping[str, object]) -> Front:
    if name not in FRONTS:
        raise DeclarationError(
            f'"{name}" is not a front end{did_you_mean(name, FRONTS)}', f"known: {', '.join(FRONTS)}"
        )
    parameters = cast("type[FrontParameters]", resolve_name(f"aot.fronts.libraries.{FRONTS[name]}"))
    return read_parameters(parameters, values, name).front()


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
