"""How a front end is declared, and what a wrong declaration is answered with."""

from __future__ import annotations

import pytest

from aot.frontend.declared import DeclarationError
from aot.fronts.attach import FRONTS, declared_front, read_front
from aot.fronts.spectrum import Spectrum

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


# A declaration, and the facts of its error and hint.
WRONG: tuple[tuple[object, str], ...] = (
    ("librosa.mfc", f'"librosa.mfc" "librosa.mfcc"? {" ".join(FRONTS)}'),
    (7, "7 NAME:PARAMETER=VALUE,..."),
    ("librosa.mfcc:htk", '"htk" no value librosa.mfcc htk=...'),
    (
        f"{TF},num_mfcc=10",
        'tf.signal.mfcc "num_mfcc" "num_mfccs"? frame_length frame_step fft_length log_offset',
    ),
    ("tf.signal.mfcc:frame_length=480,frame_step=320", "tf.signal.mfcc needs tf.signal.mfcc:sample_rate=..."),
    (f"{TF},num_mfccs=9.5", "tf.signal.mfcc: num_mfccs whole number 9.5"),
    ("librosa.mel:fmax=nyquist", "librosa.mel: fmax number none nyquist"),
    (f"{TF},upper_edge_hertz=11025", "upper_edge_hertz 11025 16000 8000 sample_rate"),
    (f"{TF},lower_edge_hertz=4000", "lower_edge_hertz 4000 upper_edge_hertz 3800 smaller"),
    ("torchaudio.MFCC:n_fft=401", "n_fft even 4 10922 32768 401"),
    ("torchaudio.MFCC:n_fft=11000", "n_fft even 4 10922 32768 11000"),
    (f"{TF},fft_length=256", "frame_length 480 exceed fft_length 256"),
    (f"{TF},num_mfccs=30", "num_mfccs 30 exceed num_mel_bins 20"),
    ("librosa.mel:hop_length=0", "hop_length more than 0"),
    ("librosa.mel:power=1.5", "power 1 2 1.5"),
    ("librosa.mel:window=hamming", "window hann hamming"),
    ("librosa.mel:pad_mode=edge", "pad_mode constant reflect edge"),
    ("torchaudio.MelSpectrogram:n_fft=512,mel_scale=bark", "mel_scale htk slaney bark"),
    ("librosa.mel:norm=2", "norm slaney none 2"),
    (f"{TF},divide_by=rms", "divide_by 32768 max rms"),
)


@pytest.mark.parametrize(("given", "facts"), WRONG)
def test_what_is_wrong_is_reported(given: object, facts: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        read_front(given)
    text = f"{caught.value.what} {caught.value.hint}"
    assert not [fact for fact in facts.split() if fact not in text], text


def test_a_clip_is_as_short_as_its_frames_allow() -> None:
    spectrum = declared_front(TF)
    assert isinstance(spectrum, Spectrum)
    frames = spectrum.frames
    assert frames.least_samples(49) == 15_840
    assert [frames.count(n) for n in (479, 480, 799, 800, 15_839, 15_840)] == [0, 1, 1, 2, 48, 49]
