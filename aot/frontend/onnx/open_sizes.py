"""Describes sizes that a file leaves open: a command-line option for all of them, guesses marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import onnx

_BATCHES = ("batch", "bs", "n", "b")
_NO_NAME = ("", "none", "?")
_INVENTED = "unk__"  # prefix of tf2onnx's name for an unnamed size
_IMAGE_SIZE, _CHANNELS, _STEPS = 224, 3, 512
_NO_SHAPE = ("1", str(_CHANNELS), str(_IMAGE_SIZE), str(_IMAGE_SIZE))


@dataclass(frozen=True)
class InputSizes:
    """The sizes of one input: a number, a name, or None if unknown; None for an input without a shape."""

    name: str
    each: tuple[int | str, ...] | None

    @staticmethod
    def of(info: onnx.ValueInfoProto) -> InputSizes:
        tensor = info.type.tensor_type
        if not tensor.HasField("shape"):
            return InputSizes(info.name, None)
        return InputSizes(info.name, tuple(_size(dimension) for dimension in tensor.shape.dim))


def _size(dimension: onnx.TensorShapeProto.Dimension) -> int | str:
    is_known = dimension.WhichOneof("value") == "dim_value" and dimension.dim_value >= 0
    return int(dimension.dim_value) if is_known else str(dimension.dim_param)


def is_batch(name: str) -> bool:
    """Returns whether the first size, of this name, must be the batch."""
    return name.lower() in _NO_NAME or name.startswith(_INVENTED) or _names_a_batch(name)


def _names_a_batch(name: str) -> bool:
    return name.lower() in _BATCHES or "batch" in name.lower()


def options(inputs: Sequence[InputSizes]) -> str:
    """Formats an input's sizes for the command line: --shape image=1,3,224,224."""
    guessed = _guessed(inputs)
    return " ".join(f"--shape {x.name}={','.join(_numbers(x, guessed))}" for x in inputs)


def hint(inputs: Sequence[InputSizes]) -> str:
    """Returns the options, with a line for the sizes that only the user knows."""
    named = {name: size for name, size in _guessed(inputs).items() if size != 1}
    lines = [
        f'"{name}" = {size} is a guess: use the size that you run the model with'
        for name, size in named.items()
    ]
    unknown = [x.name for x in inputs if _has_guess_without_name(x)]
    lines += [
        f'the sizes of "{name}" are guesses: use the sizes that you run the model with' for name in unknown
    ]
    return "\n".join([f"set them: {options(inputs)}", *lines])


def _guessed(inputs: Iterable[InputSizes]) -> dict[str, int]:
    """Returns a guess for each name, the same at each occurrence."""
    guessed: dict[str, int] = {}
    for name, size in _guesses(inputs):
        if name:
            guessed[name] = min(size, guessed.get(name, size))
    return guessed


def _guesses(inputs: Iterable[InputSizes]) -> Iterator[tuple[str, int]]:
    for x in inputs:
        for place, size in enumerate(x.each or ()):
            if isinstance(size, str):
                yield size, _guess(size, place, len(x.each or ()))


def _guess(name: str, place: int, rank: int) -> int:
    """Guesses the batch for the first dimension, and an image with channels first for four dimensions."""
    if place == 0 or _names_a_batch(name):
        return 1
    if rank == 4:
        return _CHANNELS if place == 1 else _IMAGE_SIZE
    return _STEPS


def _numbers(x: InputSizes, guessed: dict[str, int]) -> Sequence[str]:
    if x.each is None:
        return _NO_SHAPE
    rank = len(x.each)
    return [
        str(size if isinstance(size, int) else guessed.get(size) or _guess(size, place, rank))
        for place, size in enumerate(x.each)
    ]


def _has_guess_without_name(x: InputSizes) -> bool:
    return x.each is None or "" in x.each[1:]
