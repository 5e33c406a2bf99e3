"""Reads sensor recordings: sound from WAV files, numbers from CSV files, pictures."""

from __future__ import annotations

import wave
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from aot.errors import InputError
from aot.fronts.attach import declared_rate
from aot.ir.types import Array, DType
from deploy.inputs.pictures import read_pictures
from platforms.project import Recording, SensorKind, SensorPipeline

# Reads 16-bit samples from a WAV file, and rejects formats that the model would misinterpret.

SUFFIX = ".wav"
_BITS = 16
_HOW = "convert it, for example: sox in.wav -r {rate} -c 1 -b 16 out.wav"


def read_wav(path: Path, sample_rate: int | None) -> Array:
    """Returns the samples of one channel as [1, n]; `sample_rate` is that of a front end.

    Raises InputError.
    """
    try:
        with wave.open(str(path)) as file:
            form = file.getparams()
            # A header may claim too many frames, for example if a recorder never updated the length.
            frames = min(form.nframes, path.stat().st_size // max(1, form.nchannels * form.sampwidth))
            data = file.readframes(frames)
    except FileNotFoundError:
        raise InputError("the file of inputs does not exist", str(path)) from None
    except OSError as error:
        raise InputError(f"the file of inputs cannot be read: {error.strerror}", str(path)) from None
    except (wave.Error, EOFError):
        raise InputError("the file of inputs is not a WAV file of whole numbers", str(path)) from None
    hint = _HOW.format(rate=sample_rate or form.framerate)
    if form.nchannels != 1:
        raise InputError(f"the file has {form.nchannels} channels, the model needs 1", str(path), hint)
    if form.sampwidth * 8 != _BITS:
        raise InputError(
            f"the file has {form.sampwidth * 8}-bit samples, the model needs {_BITS}", str(path), hint
        )
    if sample_rate is not None and form.framerate != sample_rate:
        raise InputError(
            f"the file has {form.framerate} samples a second, the front end needs {sample_rate}",
            str(path),
            hint,
        )
    return np.frombuffer(data[: len(data) // 2 * 2], "<i2").astype(np.int16)[None]


Reader = Callable[[Path, SensorPipeline, DType, str | None], Array]


def read_recording(path: Path, pipeline: SensorPipeline, dtype: DType, front: str | None) -> Recording:
    """Returns the rows of the file as C code, without an incomplete last row. Raises InputError."""
    rows = _READERS[pipeline.sensor](path, pipeline, dtype, front)
    if len(rows) == 0:
        raise InputError(
            "the recording has no rows",
            str(path),
            f"a row of the model's input has {pipeline.row_elements} elements",
        )
    return Recording(path.name, tuple(", ".join(map(_in_c, row.tolist())) for row in rows))


def _in_c(number: float) -> str:
    return f"{number!r}f" if isinstance(number, float) else str(number)


def _read_sound(path: Path, pipeline: SensorPipeline, _dtype: DType, front: str | None) -> Array:
    samples = read_wav(path, declared_rate(front) if front else None).reshape(-1)
    whole = len(samples) // pipeline.row_elements
    return samples[: whole * pipeline.row_elements].reshape(whole, pipeline.row_elements)


def _read_numbers(path: Path, pipeline: SensorPipeline, dtype: DType, _front: str | None) -> Array:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("the recording cannot be read", f"{path}: {error}") from error
    rows = []
    for number, line in enumerate(lines, 1):
        words = line.replace(",", " ").replace(";", " ").split()
        if words and not (number == 1 and not _is_number(words[0])):
            rows.append(_row(words, number, path, pipeline, dtype))
    return np.array(rows, dtype.numpy).reshape(len(rows), pipeline.row_elements)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _row(words: list[str], line: int, path: Path, pipeline: SensorPipeline, dtype: DType) -> list[float]:
    where = f"{path}, line {line}"
    if not all(map(_is_number, words)):
        raise InputError("the line contains something that is not a number", where)
    numbers = [float(word) for word in words]
    if len(numbers) != pipeline.row_elements:
        raise InputError(
            f"the line has {len(numbers)} numbers, a row of the model has {pipeline.row_elements}", where
        )
    least, most = dtype.limits if dtype.is_integer else (-_LARGEST, _LARGEST)
    if not all(least <= number <= most for number in numbers):
        said = f"{least} to {most}" if dtype.is_integer else "what float holds"
        raise InputError(f"the line has a number outside of {said}", where)
    if dtype.is_integer and not all(number.is_integer() for number in numbers):
        raise InputError("the line has a number that is not whole", where)
    return numbers


def _read_camera(path: Path, pipeline: SensorPipeline, _dtype: DType, _front: str | None) -> Array:
    assert pipeline.camera is not None  # always set for pictures
    return read_pictures(path, pipeline.camera)


_LARGEST = float(np.finfo(np.float32).max)
_READERS: Mapping[SensorKind, Reader] = {
    SensorKind.SOUND: _read_sound,
    SensorKind.NUMBERS: _read_numbers,
    SensorKind.PICTURE: _read_camera,
}
