"""A wrong WAV file: reported with both numbers, before anything is built."""

from __future__ import annotations

import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from aot.errors import InputError
from deploy.inputs.recordings import read_wav


def wav(path: Path, rate: int = 16000, channels: int = 1, bits: int = 16) -> None:
    with wave.open(str(path), "wb") as file:
        file.setframerate(rate)
        file.setnchannels(channels)
        file.setsampwidth(bits // 8)
        file.writeframes(bytes(4 * channels * bits // 8))


HINT = "sox in.wav -r 16000 -c 1 -b 16 out.wav"
WRONG: dict[str, tuple[Callable[[Path], object], tuple[str, ...]]] = {
    "another rate": (lambda path: wav(path, rate=44100), ("44100", "16000", HINT)),
    "two channels": (lambda path: wav(path, channels=2), ("2 channels", "1", HINT)),
    "bytes": (lambda path: wav(path, bits=8), ("8-bit", "16", HINT)),
    "no WAV file": (lambda path: path.write_bytes(b"ID3 something else"), ("not a WAV file",)),
    "cut short": (lambda path: path.write_bytes(b"RIFF"), ("not a WAV file",)),
    "no file": (lambda path: None, ("does not exist",)),
    "a folder": (lambda path: path.mkdir(), ("Is a directory",)),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_reported(name: str, tmp_path: Path) -> None:
    make, facts = WRONG[name]
    path = tmp_path / "in.wav"
    make(path)
    with pytest.raises(InputError) as caught:
        read_wav(path, 16000)
    assert all(fact in str(caught.value) for fact in (*facts, str(path)))


def test_without_a_front_end_any_rate_will_do(tmp_path: Path) -> None:
    path = tmp_path / "in.wav"
    wav(path, rate=8000)
    assert np.array_equal(read_wav(path, None), np.zeros((1, 4), np.int16))
