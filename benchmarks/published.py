"""Compares the cycle model of the Cortex-M55 with cycles that others measured on a chip."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from benchmarks.cmsis_nn import library_folder
from benchmarks.operator_models import OneOperator, conv, two
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.benchmark.cycle_model import layer_cycles
from deploy.compiler.compile_model import compile_for
from deploy.devices.connection_options import LineOptions
from platforms.board_files import load_board

BOARD = "mps3-an547"
HEAD = """\
# The Cortex-M55's cycle model and a chip

Kernels of CMSIS-NN on an Apollo510 (Cortex-M55 with Helium, 96 MHz), published by Ambiq in
docs/guides/kernel-benchmarks.md of AmbiqAI/ns-cmsis-nn at 7f71faaa (gcc 14.3 with -O3), and what the cycle
model counts for them with gcc 12.2 and -O3, in memory without wait states. The convolution is that of Arm's
library, the other kernels are those of Ambiq's. No parameter of the model was chosen with these points in
view: they are held-out. `CMSIS_NN_PATH=... AMBIQ_CMSIS_NN_PATH=... python -m benchmarks published` prints
this.

| kernel | data | published, cycles | model | off by |
| --- | --- | ---: | ---: | ---: |
"""
_ARM, _AMBIQ = "CMSIS_NN_PATH", "AMBIQ_CMSIS_NN_PATH"  # folders of both libraries
_IMAGE = (1, 32, 32, 64)
_LINE = (1, 4096)


@dataclass(frozen=True, slots=True)
class Point:
    """A published measurement, and the model of one operator that runs the same kernel."""

    kernel: str
    data: str
    cycles: int
    operator: OneOperator
    library: str = _AMBIQ


POINTS = (
    Point("arm_convolve_s8", "32x32x64, 3x3 to 64", 7_577_201, conv("int8", _IMAGE, (64, 3, 3, 64)), _ARM),
    Point(
        "arm_avgpool_s8",
        "32x32x64, 3x3",
        2_135_472,
        OneOperator(
            "AVERAGE_POOL_2D",
            "int8",
            (_IMAGE,),
            (_IMAGE,),
            (),
            "Pool2DOptions",
            {"StrideH": 1, "StrideW": 1, "FilterHeight": 3, "FilterWidth": 3},
        ),
    ),
    Point("arm_elementwise_add_s8", "4,096", 61_575, two("ADD", "int8", _LINE, "AddOptions")),
    Point("arm_elementwise_mul_s8", "4,096", 22_647, two("MUL", "int8", _LINE, "MulOptions")),
)


def published_rows() -> Iterator[str]:
    """Yields a row for each point, then the errors of all."""
    errors = []
    for point in POINTS:
        counted = _counted(point)
        errors.append(counted / point.cycles - 1)
        yield (f"| `{point.kernel}` | {point.data} | {point.cycles:,} | {counted:,} | {errors[-1]:+.1%} |\n")
    worst = max(errors, key=abs)
    yield f"\nMean error {mean(map(abs, errors)):.1%}, worst {worst:+.1%}, of {len(errors)} points.\n"


def _counted(point: Point) -> int:
    """Returns the cycles of the layer that calls the library."""
    options = CompileOptions(accelerators=(f"cmsis-nn:path={library_folder(point.library)}",))
    board = load_board(BOARD)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "one.tflite"
        file.write_bytes(point.operator.file())
        compiled = compile_for(import_model(file, options), board, options)
    (layer,) = (each for each in compiled.model.layers if "cmsis" in each.kernel)
    return layer_cycles(compiled.artifact, board, None, LineOptions())[layer.index].count
