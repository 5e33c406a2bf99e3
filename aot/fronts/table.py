"""The front ends by name, and how one is declared: tf.signal.mfcc:sample_rate=16000,frame_length=480,..."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from aot.errors import did_you_mean
from aot.frontend.declared import DeclarationError, declared_word, parted, read_parameters
from aot.fronts.integer_features import IntegerFeatures
from aot.fronts.libraries.librosa import LibrosaDecibels, LibrosaMel, LibrosaMfcc, LibrosaPcen
from aot.fronts.libraries.micro_frontend import MicroFrontend
from aot.fronts.libraries.scipy_signal import ScipyFeatures, ScipyFilter
from aot.fronts.libraries.tf_image import TfPicture
from aot.fronts.libraries.tf_signal import TfLogMel, TfMfcc, TfSpectrogram
from aot.fronts.libraries.torchaudio import TorchDecibels, TorchMel, TorchMfcc, TorchSpectrogram
from aot.fronts.libraries.torchvision import TorchPicture
from aot.fronts.movement import Movement
from aot.fronts.picture import Picture
from aot.fronts.spectrum import Spectrum

Front = Spectrum | IntegerFeatures | Picture | Movement
_KIND = "front end"


class FrontParameters(Protocol):
    """The parameters of one front end."""

    def front(self) -> Front:
        """The same in the words of no library. Raises DeclarationError."""


FRONTS: Mapping[str, type[FrontParameters]] = {
    "librosa.mel": LibrosaMel,
    "librosa.mel_db": LibrosaDecibels,
    "librosa.mfcc": LibrosaMfcc,
    "librosa.pcen": LibrosaPcen,
    "micro_frontend": MicroFrontend,
    "scipy.features": ScipyFeatures,
    "scipy.filter": ScipyFilter,
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
    """The declaration as one word, checked: of such a word, or of a table with a name."""
    name, values = parted(given, _KIND)
    _front_of(name, values)
    return declared_word(name, values)


def declared_front(word: str) -> Front:
    """The front end that a declaration means. Raises DeclarationError."""
    return _front_of(*parted(word, _KIND))


def declared_rate(word: str) -> int | None:
    """The samples a second that a declared front end takes; None of one that takes no sound."""
    front = declared_front(word)
    return None if isinstance(front, Picture | Movement) else front.sample_rate


def _front_of(name: str, values: Mapping[str, object]) -> Front:
    if name not in FRONTS:
        raise DeclarationError(
            f'"{name}" is not a front end{did_you_mean(name, FRONTS)}', f"known: {', '.join(FRONTS)}"
        )
    return read_parameters(FRONTS[name], values, name).front()
