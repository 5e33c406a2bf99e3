"""Reads sensor recordings: sound from WAV files, numbers from CSV files, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from aot.errors import InputError
from aot.fronts.table import declared_rate
from aot.ir.types import Array, DType
from deploy.inputs.pictures import read_pictures
from deploy.inputs.wav import read_wav
from platforms.project import Recording, SensorKind, SensorPipeline

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
