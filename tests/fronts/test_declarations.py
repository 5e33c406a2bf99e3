"""How a front end is declared, and what a wrong declaration is answered with."""

from __future__ import annotations

import pytest

from aot.frontend.declared import DeclarationError
from aot.fronts.spectrum import Spectrum
from aot.fronts.table import FRONTS, declared_front, read_front

TF = "tf.signal.mfcc:sample_rate=16000,frame_length=480,frame_step=320"


def test_words_and_tables_mean_the_same() -> None:
    table = {"name": "tf.signal.mfcc", "sample_rate": 16000, "frame_length": 480, "frame_step": 320}
    assert read_front(table) == read_front(TF) == TF


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("librosa.mfcc", "librosa.mfcc"),
        ("librosa.mfcc:fmax=none,htk=True", "librosa.mfcc:fmax=none,htk=true"),
        ("torchaudio.MFCC:n_fft=5.12e2", "torchaudio.MFCC:n_fft=512.0"),
        ({"name": "librosa.mel", "norm": None, "divide_by": "max"}, "librosa.mel:norm=none,divide_by=max"),
    ],
)
def test_what_is_kept_is_read_again(given: object, kept: str) -> None:
    assert read_front(given) == kept == read_front(kept)


WRONG: dict[str, tuple[object, str, str]] = {
    "no such front end": (
        "librosa.mfc",
        '"librosa.mfc" is not a front end - did you mean "librosa.mfcc"?',
        f"known: {', '.join(FRONTS)}",
    ),
    "no front end at all": (
        7,
        "7 is not a front end",
        "write NAME:PARAMETER=VALUE,... or a table with a name",
    ),
    "no value": (
        "librosa.mfcc:htk",
        '"htk" has no value: parameters of librosa.mfcc are written PARAMETER=VALUE',
        "write htk=...",
    ),
    "misspelt parameter": (
        f"{TF},num_mfcc=10",
        'tf.signal.mfcc has no parameter "num_mfcc" - did you mean "num_mfccs"?',
        "it has sample_rate, frame_length, frame_step, fft_length, power, samples, divide_by, num_mel_bins, "
        "lower_edge_hertz, upper_edge_hertz, log_offset, num_mfccs",
    ),
    "missing parameter": (
        "tf.signal.mfcc:frame_length=480,frame_step=320",
        "tf.signal.mfcc needs sample_rate",
        "write tf.signal.mfcc:sample_rate=...",
    ),
    "half a frame": (
        f"{TF},num_mfccs=9.5",
        "tf.signal.mfcc: num_mfccs must be a whole number, not 9.5",
        "",
    ),
    "a word for a number": (
        "librosa.mel:fmax=nyquist",
        "librosa.mel: fmax must be a number or none, not nyquist",
        "",
    ),
    "nothing above half of the rate": (
        f"{TF},upper_edge_hertz=11025",
        "upper_edge_hertz is 11025 Hz, but at 16000 samples a second the highest frequency is 8000 Hz",
        "set sample_rate to the rate of the training data",
    ),
    "empty band": (
        f"{TF},lower_edge_hertz=4000",
        "lower_edge_hertz is 4000 Hz, upper_edge_hertz is 3800 Hz: the first must be smaller",
        "",
    ),
    "a transform of an odd number": (
        "torchaudio.MFCC:n_fft=401",
        "n_fft must be even and 4 to 10922, or a power of 2 up to 32768, not 401",
        "",
    ),
    "a transform that is too long": (
        "torchaudio.MFCC:n_fft=11000",
        "n_fft must be even and 4 to 10922, or a power of 2 up to 32768, not 11000",
        "",
    ),
    "a frame longer than the transform": (
        f"{TF},fft_length=256",
        "frame_length is 480, but must not exceed fft_length, which is 256",
        "",
    ),
    "more cosines than channels": (
        f"{TF},num_mfccs=30",
        "num_mfccs is 30, but must not exceed num_mel_bins, which is 20",
        "",
    ),
    "no step": (
        "librosa.mel:hop_length=0",
        "hop_length must be more than 0, not 0",
        "",
    ),
    "another power": (
        "librosa.mel:power=1.5",
        "power must be 1 (magnitudes) or 2 (energies), not 1.5",
        "",
    ),
    "another window": (
        "librosa.mel:window=hamming",
        "window must be hann, not hamming",
        "",
    ),
    "another padding": (
        "librosa.mel:pad_mode=edge",
        "pad_mode must be constant or reflect, not edge",
        "",
    ),
    "another scale": (
        "torchaudio.MelSpectrogram:n_fft=512,mel_scale=bark",
        "mel_scale must be htk or slaney, not bark",
        "",
    ),
    "another norm": (
        "librosa.mel:norm=2",
        "norm must be slaney or none, not 2",
        "",
    ),
    "another divisor": (
        f"{TF},divide_by=rms",
        "divide_by must be 32768 or max, not rms",
        "",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_reported(name: str) -> None:
    given, what, hint = WRONG[name]
    with pytest.raises(DeclarationError) as caught:
        read_front(given)
    assert (caught.value.what, caught.value.hint) == (what, hint)


def test_a_clip_is_as_short_as_its_frames_allow() -> None:
    spectrum = declared_front(TF)
    assert isinstance(spectrum, Spectrum)
    frames = spectrum.frames
    assert frames.least_samples(49) == 15_840
    assert [frames.count(n) for n in (479, 480, 799, 800, 15_839, 15_840)] == [0, 1, 1, 2, 48, 49]
