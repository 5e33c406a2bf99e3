"""The program that MLPerf Tiny's runner measures: its benchmarks, and its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aot.errors import BoardError, InputError
from aot.ir.types import DType
from boards.board import Board
from codegen.model import TensorInfo
from platforms.project import App, ProjectSource
from platforms.templates import c_files, filled

_APP = App.MLPERF_TINY.value
_PLATFORMS = ("baremetal", "host")
_COUNTER_BITS = 32  # so that a run is shorter than the counter's period
_FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark of the suite. Shapes tell which one a model is for."""

    model: str  # its name in the runner, and of the folder of its samples
    task: str  # its name in submissions
    title: str
    inputs: int  # elements
    outputs: int
    target: float  # the quality that the closed division asks for: percent, or the area under the curve
    is_spectrum: bool = False  # samples are floats, and the result is the model's error
    is_picture: bool = False  # samples are unsigned bytes

    @property
    def sample_bytes(self) -> int:
        return self.inputs * (_FLOAT_BYTES if self.is_spectrum else 1)


BENCHMARKS = (
    Benchmark("kws01", "kws", "keyword spotting", 49 * 10, 12, 90),
    Benchmark("ic01", "ic", "image classification", 32 * 32 * 3, 10, 85, is_picture=True),
    Benchmark("vww01", "vww", "visual wake words", 96 * 96 * 3, 2, 80, is_picture=True),
    Benchmark("ad01", "ad", "anomaly detection", 640, 640, 0.85, is_spectrum=True),
)


def benchmark_of(source: ProjectSource, board: Board, platform: str) -> Benchmark:
    """Returns the benchmark that a model is for. Raises InputError or BoardError."""
    if platform not in _PLATFORMS:
        raise InputError(
            f"the app {_APP} supports the platforms {' and '.join(_PLATFORMS)}, not {platform}",
            board.name,
            "choose one of these with --platform, or another board",
        )
    if board.counter.driver == "still" or board.counter.bits != _COUNTER_BITS:
        raise BoardError(
            f"{board.name} has no counter of {_COUNTER_BITS} bits, which the app {_APP} needs",
            hint="deploy boards shows each board's counter",
        )
    if source.is_streamed or source.keeps_state or source.beside:
        raise InputError(
            "MLPerf Tiny runs one model without state on a whole sample",
            source.name,
            "compile the model without --stream and --slide",
        )
    found = next((each for each in BENCHMARKS if _fits(source, each)), None)
    if found is None:
        known = "; ".join(f"{each.model}: {each.inputs} to {each.outputs}" for each in BENCHMARKS)
        raise InputError(
            f"the model is for no benchmark of MLPerf Tiny: {_described(source)}",
            source.name,
            f"elements of int8 inputs and outputs: {known}",
        )
    return found


def _fits(source: ProjectSource, benchmark: Benchmark) -> bool:
    tensors = (*source.inputs, *source.outputs)
    return (
        [each.type.elements for each in tensors] == [benchmark.inputs, benchmark.outputs]
        and len(source.inputs) == 1
        and all(each.type.dtype is DType.I8 and each.type.quant is not None for each in tensors)
    )


def _described(source: ProjectSource) -> str:
    return " to ".join(
        ", ".join(f"{each.type.dtype.value}{list(each.type.shape)}" for each in side)
        for side in (source.inputs, source.outputs)
    )


def mlperf_files(
    source: ProjectSource, board: Board, platform: str, words: Mapping[str, Any]
) -> dict[str, str]:
    """Returns the program's files. Raises DeployError."""
    benchmark = benchmark_of(source, board, platform)
    main = filled(
        "mlperf_tiny",
        "main.c.jinja",
        **{**words, "inputs": None, "outputs": None},
        benchmark=benchmark,
        device=board.name,
        is_host=platform == "host",
        input=_tensor_words(source.inputs[0]),
        output=_tensor_words(source.outputs[0]),
    )
    own = {**dict(c_files("mlperf_tiny")), "main.c": main}
    return {f"src/{name}": text for name, text in own.items()}


def _tensor_words(tensor: TensorInfo) -> dict[str, Any]:
    quant = tensor.type.quant
    assert quant is not None  # checked by benchmark_of
    return {
        "c_name": tensor.c_name,
        "elements": tensor.type.elements,
        "scale": repr(float(quant.scale)),
        "zero_point": quant.zero_point,
    }
