"""The table of gemm-npu: cycles of a Cortex-M4 with and without it, and its own by virtual threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array
from benchmarks.shared import model_file
from codegen.accelerators.gemm_npu.encoding import NpuCommand, program_in
from codegen.accelerators.gemm_npu.timing import outside_bytes, timed
from codegen.fit.plan_job import plan_job
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.compiling import Compiled, compile_for
from deploy.cycle_model import model_cycles
from deploy.device import open_device
from deploy.firmware import prepare_compiled, ready_for
from deploy.line import LineOptions
from deploy.measure import run_series
from deploy.samples import Samples
from platforms.base import BuildChoices
from platforms.board_files import load_board

MODELS = (
    "tiny_ic_resnet8_int8",
    "tiny_kws_dscnn_int8",
    "tiny_vww_mbv1_int8",
    "tflm_person_detect_int8",
)
BOARD, RUNNER = "mps2-an386", "unicorn"
_MOST_SAMPLES = 3
HEAD = """\
| model | nodes there | results equal | M4 alone, cycles | M4 beside it | times fewer | NPU, 1 thread \
| 2 threads | gain | both, 2 threads | bytes moved | programs | constants |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""


@dataclass(frozen=True)
class GemmNpuRow:
    """A model's figures; cycles are those of one run."""

    model: str
    taken: int
    nodes: int
    equal: int
    results: int
    alone: int
    beside: int
    device: Mapping[int, int]  # by virtual threads
    moved: int  # bytes, by two threads
    programs: int  # bytes
    constants: int  # bytes

    def __str__(self) -> str:
        one, two = self.device[1], self.device[2]
        cells = (
            self.model,
            f"{self.taken} of {self.nodes}",
            f"{self.equal:,} of {self.results:,}",
            f"{self.alone:,}",
            f"{self.beside:,}",
            f"{self.alone / self.beside:,.0f}",
            f"{one:,}",
            f"{two:,}",
            f"{100 * (one - two) / one:.0f} %",
            f"{self.beside + two:,}",
            f"{self.moved:,}",
            f"{self.programs:,}",
            f"{self.constants:,}",
        )
        return f"| {' | '.join(cells)} |\n"


@dataclass(frozen=True)
class _Programs:
    """What a compiled model has for the device."""

    programs: tuple[tuple[NpuCommand, ...], ...]
    constants: int  # bytes

    @property
    def cycles(self) -> int:
        return sum(timed(program).cycles for program in self.programs)

    @property
    def moved(self) -> int:
        return sum(outside_bytes(one) for program in self.programs for one in program)


def gemm_npu_row(name: str) -> GemmNpuRow:
    alone = _compiled(name)
    beside = {threads: _compiled(name, f"gemm-npu:threads={threads},device=registers") for threads in (1, 2)}
    made = {threads: _programs(compiled) for threads, compiled in beside.items()}
    equal, results = _compared(beside[2], np.load(model_file(name).with_name("golden.npz")))
    devices = [layer.device for layer in beside[2].model.layers if layer.op != "relayout"]
    return GemmNpuRow(
        name,
        devices.count("gemm-npu"),
        len(devices),
        equal,
        results,
        _cycles(alone),
        _cycles(beside[2]),
        {threads: each.cycles for threads, each in made.items()},
        made[2].moved,
        sum(32 * len(program) for program in made[2].programs),
        made[2].constants,
    )


def gemm_npu_rows(name: str) -> Iterator[str]:
    yield str(gemm_npu_row(name))


def _compiled(name: str, *accelerators: str) -> Compiled:
    options = CompileOptions(accelerators=accelerators)
    return compile_for(import_model(model_file(name), options), load_board(BOARD), options)


def _programs(compiled: Compiled) -> _Programs:
    kernels = [stage.kernel for stage in plan_job(compiled.job).lowered.stages]
    taken = [kernel.constants for kernel in kernels if kernel.device == "gemm-npu"]
    return _Programs(
        tuple(program_in(constants["program"]) for constants in taken),
        sum(constants["constants"].size for constants in taken),
    )


def _cycles(compiled: Compiled) -> int:
    return model_cycles(compiled, load_board(BOARD), None, LineOptions(), layers=False).run.count


def _compared(compiled: Compiled, golden: Mapping[str, Array]) -> tuple[int, int]:
    """(how many results on the emulated board are TensorFlow Lite Micro's, how many there are)."""
    count = min(_MOST_SAMPLES, len(golden["in_0"]))
    (x,), (y,) = compiled.model.inputs, compiled.model.outputs
    samples = Samples(tuple((golden["in_0"][n].reshape(x.shape),) for n in range(count)), is_series=True)
    line = LineOptions(runner=RUNNER)
    with open_device(ready_for(prepare_compiled(compiled), BuildChoices(), RUNNER), line) as device:
        outputs = run_series(device, samples, 1, lambda _: None).outputs
    found = np.stack([each[0].reshape(y.shape) for each in outputs])
    wanted = golden["out_0"][:count].reshape(found.shape)
    return int((found == wanted).sum()), wanted.size
