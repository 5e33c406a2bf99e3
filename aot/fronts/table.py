"""The table of front ends, and how to declare one: tf.signal.mfcc:sample_rate=16000,frame_length=480,..."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Protocol, cast

from aot.errors import did_you_mean
from aot.frontend.declared import DeclarationError, declared_word, parted, read_parameters

if TYPE_CHECKING:
    from aot.fronts.front import Front

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
