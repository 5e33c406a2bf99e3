"""A wrong WAV file: said with both numbers, before anything is built."""

from __future__ import annotations

import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from aot.errors import InputError
from deploy.wav import read_wav


def wav(path: Path, rate: int = 16000, channels: int = 1, bits: int = 16) -> None:
    with wave.open(str(path), "wb") as file:
        file.setframerate(rate)
        file.setnchannels(channels)
        file.setsampwidth(bits // 8)
        file.writeframes(bytes(4 * channels * bits // 8))


HINT = "\n  hint: audio tools convert it, such as: sox in.wav -r 16000 -c 1 -b 16 out.wav"


WRONG: dict[str, tuple[Callable[[Path], object], str, bool]] = {
    "another rate": (
        lambda path: wav(path, rate=44100),
        "the file has 44100 samples a second, the front end takes 16000",
        True,
    ),
    "two channels": (lambda path: wav(path, channels=2), "the file has 2 channels, the model takes 1", True),
    "bytes": (lambda path: wav(path, bits=8), "the file has samples of 8 bits, the model takes 16", True),
    "no WAV file": (
        lambda path: path.write_bytes(b"ID3 something else"),
        "the file of inputs is not a WAV file of whole numbers",
        False,
    ),
    "cut short": (
        lambda path: path.write_bytes(b"RIFF"),
        "the file of inputs is not a WAV file of whole numbers",
        False,
    ),
    "no file": (lambda path: None, "the file of inputs does not exist", False),
    "a folder": (lambda path: path.mkdir(), "the file of inputs cannot be read: Is a directory", False),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_reported(name: str, tmp_path: Path) -> None:
    make, what, has_hint = WRONG[name]
    path = tmp_path / "in.wav"
    make(path)
    with pytest.raises(InputError) as caught:
        read_wav(path, 16000)
    assert str(caught.value) == f"error: {what}\n  {path}{HINT if has_hint else ''}"


def test_without_a_front_end_any_rate_will_do(tmp_path: Path) -> None:
    path = tmp_path / "in.wav"
    wav(path, rate=8000)
    assert np.array_equal(read_wav(path, None), np.zeros((1, 4), np.int16))
