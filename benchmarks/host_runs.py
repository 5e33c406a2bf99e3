"""Runs models in Solder's C and in TensorFlow Lite Micro's interpreter, on the same inputs in one process.

As a program, which valgrind runs, it says where a run begins and ends:
`python -m benchmarks.host_runs MARKS FILE LIBRARY NAME ...`, with the library that `build_marks` makes.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aot.ir.types import Array
from deploy.inputs.samples import random_samples
from platforms.shared_library import HostModel

OURS, TFLM = "ours", "tflm"
_TFLM_ARENA_BYTES = 8 << 20
_MARKS = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_ZERO_STATS; }
void end(const char *what) { CALLGRIND_DUMP_STATS_AT(what); }
"""


@dataclass(frozen=True, slots=True)
class Built:
    """A model's file, and the library of its C."""

    file: Path
    library: Path
    name: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that run a model. Either may write over its inputs."""

    fill: Callable[[], None]
    run: Callable[[], object]


def sides(built: Built) -> dict[str, Side]:
    """Empty where TensorFlow Lite Micro does not run the model. Both have run once."""
    from tflite_micro.python.tflite_micro import runtime

    ours = HostModel(built.library, built.name)
    inputs = _inputs(ours)
    try:
        theirs = runtime.Interpreter.from_bytes(built.file.read_bytes(), arena_size=_TFLM_ARENA_BYTES)
        found = {
            OURS: Side(lambda: ours.fill(inputs), ours.invoke),
            TFLM: Side(lambda: _fill(theirs, inputs), theirs.invoke),
        }
        for side in found.values():
            side.fill()
            side.run()
    except (RuntimeError, ValueError) as error:
        sys.stderr.write(f"{built.name}: {error}\n")
        return {}
    return found


def _inputs(model: HostModel) -> dict[str, Array]:
    specs = model.inputs
    (sample,) = random_samples(specs, 1).each
    return {spec.name: np.ascontiguousarray(array) for spec, array in zip(specs, sample, strict=True)}


def _fill(interpreter: object, inputs: dict[str, Array]) -> None:
    for number, array in enumerate(inputs.values()):
        interpreter.set_input(array, number)  # type: ignore[attr-defined]


def build_marks(folder: Path) -> Path:
    """The library by which a program says to callgrind what to count."""
    library = folder / "marks.so"
    argv = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(argv, input=_MARKS, text=True, check=True)
    return library


def arguments(models: list[Built]) -> list[str]:
    return [word for built in models for word in (str(built.file), str(built.library), built.name)]


def _given(words: list[str]) -> Iterator[Built]:
    for file, library, name in zip(words[::3], words[1::3], words[2::3], strict=True):
        yield Built(Path(file), Path(library), name)


def _run_marked(library: Path, models: Iterator[Built]) -> None:
    marks = ctypes.CDLL(str(library))
    for built in models:
        for name, side in sides(built).items():
            side.fill()
            marks.begin()
            side.run()
            marks.end(f"{name} {built.name}".encode())


if __name__ == "__main__":
    _run_marked(Path(sys.argv[1]), _given(sys.argv[2:]))
