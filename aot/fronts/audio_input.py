"""Fits a spectrum to the model's input: frames, samples per clip, element order."""

from __future__ import annotations

from aot.counted import counted
from aot.frontend.added_nodes import AddedNodes
from aot.fronts.audio_nodes import SAMPLE, add_features
from aot.fronts.integer_features import IntegerFeatures
from aot.fronts.integer_nodes import add_integer_features
from aot.fronts.model_input import ModelInput
from aot.fronts.spectrum import Spectrum
from aot.ir.types import DType, TensorType
from aot.ops.quantize import Quantize
from aot.ops.rearrange import Rearrange

Sound = Spectrum | IntegerFeatures


def samples_type(sound: Sound, wanted: ModelInput) -> TensorType:
    """Returns the type of the clip that gives the model's input. Raises ModelError if no clip does."""
    frames, _ = _frames(sound, wanted)
    return TensorType(DType.I16, (1, _samples(sound, frames, wanted)), SAMPLE)


def add_audio(chain: AddedNodes, sound: Sound, wanted: ModelInput) -> None:
    frames, is_turned = _frames(sound, wanted)
    if isinstance(sound, Spectrum):
        add_features(chain, sound, frames)
    else:
        add_integer_features(chain, sound, frames)
    target = wanted.type
    if target.dtype is not DType.F32:
        chain.then("quantize", Quantize(target.dtype), quant=target.quant)
    if is_turned:
        features = sound.features
        chain.then("turned", Rearrange(target.shape, (features, frames), (1, features)), quant=target.quant)
    elif chain.type.shape != target.shape:
        chain.view("input", *target.shape)


def _frames(sound: Sound, wanted: ModelInput) -> tuple[int, bool]:
    """Returns the number of frames in the model's input, and whether features come before frames."""
    target, features = wanted.type, sound.features
    sizes = tuple(size for size in target.shape if size != 1)
    frames = target.elements // features
    if target.elements % features == 0:
        kept = tuple(size for size in (frames, features) if size != 1)
        fitting = [sizes in (kept, (target.elements,)), sizes == kept[::-1]]
        for is_turned in (True, False) if sound.frames_last else (False, True):
            if fitting[is_turned]:
                return frames, is_turned
    raise wanted.refusal(
        f"the front end computes {counted(features, 'feature')} for each frame, but "
        f"{wanted.said} has shape {list(target.shape)}",
        "one dimension must be the features, the product of the others the frames",
    )


def _samples(sound: Sound, frames: int, wanted: ModelInput) -> int:
    least = sound.frames.least_samples(frames)
    samples = sound.samples or max(least, sound.frames.mirrored + 1)
    made = sound.frames.count(samples)
    if made == frames:
        return samples
    most = least + sound.frames.hop - 1
    raise wanted.refusal(
        f"{counted(samples, 'sample')} give {counted(made, 'frame')}, "
        f"but {wanted.said} has {frames}: {list(wanted.type.shape)}",
        f"set samples to {least:,} to {most:,}, or change the step between frames",
    )
