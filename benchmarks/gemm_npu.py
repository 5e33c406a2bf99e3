"""The table of gemm-npu: cycles of a Cortex-M4 with and without it, and its own by virtual threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.on_board import compared, compiled_with, cycles_of
from benchmarks.shared import model_file
from codegen.fit.plan_job import plan_job
from deploy.compiler.compile_model import Compiled
from extensions.gemm_npu.encoding import NpuCommand, program_in
from extensions.gemm_npu.timing import outside_bytes, timed

MODELS = (
    "tiny_ic_resnet8_int8",
    "tiny_kws_dscnn_int8",
    "tiny_vww_mbv1_int8",
    "tflm_person_detect_int8",
)
HEAD = """\
# gemm-npu

A Cortex-M4 alone and with [gemm-npu](../docs/gemm-npu.md), printed by `python -m benchmarks gemm-npu`.
Results of the whole model, on a board emulated by unicorn with the device, are compared with TensorFlow
Lite Micro's for up to three inputs. The [model of that core](../docs/cycles.md) computes the M4's cycles.
With the device they count starting it, copying inputs, and the softmax that stays on the core, without
waiting. The device's cycles follow its timings, with one virtual thread and with two; "both" is one after
the other, at one clock. Bytes are those that the device moves in a run, and the flash for programs and
packed constants.

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
    alone = compiled_with(name)
    beside = {
        threads: compiled_with(name, f"gemm-npu:threads={threads},device=registers") for threads in (1, 2)
    }
    made = {threads: _programs(compiled) for threads, compiled in beside.items()}
    equal, results = compared(beside[2], np.load(model_file(name).with_name("golden.npz")))
    devices = [layer.device for layer in beside[2].model.layers if layer.op != "relayout"]
    return GemmNpuRow(
        name,
        devices.count("gemm-npu"),
        len(devices),
        equal,
        results,
        cycles_of(alone),
        cycles_of(beside[2]),
        {threads: each.cycles for threads, each in made.items()},
        made[2].moved,
        sum(32 * len(program) for program in made[2].programs),
        made[2].constants,
    )


def gemm_npu_rows(name: str) -> Iterator[str]:
    yield str(gemm_npu_row(name))


def _programs(compiled: Compiled) -> _Programs:
    kernels = [stage.kernel for stage in plan_job(compiled.job).lowered.stages]
    taken = [kernel.constants for kernel in kernels if kernel.device == "gemm-npu"]
    return _Programs(
        tuple(program_in(constants["program"]) for constants in taken),
        sum(constants["constants"].size for constants in taken),
    )
