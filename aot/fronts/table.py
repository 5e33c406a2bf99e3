"""The front ends by name, and how one is declared: tf.signal.mfcc:sample_rate=16000,frame_length=480,..."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from aot.errors import did_you_mean
from aot.fronts.libraries.librosa import LibrosaDecibels, LibrosaMel, LibrosaMfcc
from aot.fronts.libraries.tf_image import TfPicture
from aot.fronts.libraries.tf_signal import TfLogMel, TfMfcc, TfSpectrogram
from aot.fronts.libraries.torchaudio import TorchDecibels, TorchMel, TorchMfcc, TorchSpectrogram
from aot.fronts.libraries.torchvision import TorchPicture
from aot.fronts.parameters import FrontError, read_parameters, value_of, word_of
from aot.fronts.picture import Picture
from aot.fronts.spectrum import Spectrum

Front = Spectrum | Picture
NAME = "name"  # the key of a front end's name where it is written as a table


class FrontParameters(Protocol):
    """The parameters of one front end."""

    def front(self) -> Front:
        """The same in the words of no library. Raises FrontError."""


FRONTS: Mapping[str, type[FrontParameters]] = {
    "librosa.mel": LibrosaMel,
    "librosa.mel_db": LibrosaDecibels,
    "librosa.mfcc": LibrosaMfcc,
    "tf.image": TfPicture,
    "tf.signal.log_mel": TfLogMel,
    "tf.signal.mfcc": TfMfcc,
    "tf.signal.spectrogram": TfSpectrogram,
    "torchaudio.MFCC": TorchMfcc,
    "torchaudio.MelSpectrogram": TorchMel,
    "torchaudio.MelSpectrogramDB": TorchDecibels,
    "torchaudio.Spectrogram": TorchSpectrogram,
    "torchvision": TorchPicture,
}


def read_front(given: object) -> str:
    """The declaration as one word, checked: of such a word, or of a table with a name. Raises FrontError."""
    name, values = _parted(given)
    _front_of(name, values)
    words = ",".join(f"{key}={word_of(value)}" for key, value in values.items())
    return f"{name}:{words}" if words else name


def declared_front(word: str) -> Front:
    """The front end that a declaration means. Raises FrontError."""
    return _front_of(*_parted(word))


def declared_rate(word: str) -> int | None:
    """The samples a second that a declared front end takes; None of one that takes no sound."""
    front = declared_front(word)
    return front.sample_rate if isinstance(front, Spectrum) else None


def _front_of(name: str, values: Mapping[str, object]) -> Front:
    if name not in FRONTS:
        raise FrontError(
            f'"{name}" is no front end{did_you_mean(name, FRONTS)}', f"known: {', '.join(FRONTS)}"
        )
    return read_parameters(FRONTS[name], values, name).front()


def _parted(given: object) -> tuple[str, dict[str, object]]:
    if isinstance(given, str):
        name, _, rest = given.partition(":")
        return name, dict(_pair(word, name) for word in rest.split(",") if word)
    if isinstance(given, Mapping) and isinstance(given.get(NAME), str):
        return given[NAME], {key: value for key, value in given.items() if key != NAME}
    raise FrontError(
        f"{given!r} is no front end", 'such as "tf.signal.mfcc:sample_rate=16000", or a table with a name'
    )


def _pair(word: str, name: str) -> tuple[str, object]:
    key, equals, value = word.partition("=")
    if not equals:
        raise FrontError(f'"{word}" is no parameter of {name} with its value', f"write {word}=...")
    return key, value if key == "divide_by" else value_of(value)
