"""What runs on an Ethos-U of each shared model, whether its bits are equal, and the cycles Vela estimates."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aot.errors import DeployError
from aot.ir.region import subgraphs_of
from aot.ir.types import Array
from aot.target import Target
from benchmarks.results import read_results
from benchmarks.shared import model_file
from codegen.compile import CompiledModel, compile_job
from codegen.job import read_job
from codegen.options import CompileOptions
from extensions.ethos_u.configurations import CONFIGS
from extensions.ethos_u.program import NpuProgram, program_of
from platforms.shared_library import build

CONFIG = CONFIGS["u55-128"]
_MOST_SAMPLES = 10
HEAD = """\
| model | nodes there | regions | commands | constants | scratch | results equal | NPU, cycles | M4, cycles |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


@dataclass(frozen=True)
class NpuRow:
    model: str
    taken: int  # nodes
    nodes: int
    programs: tuple[NpuProgram, ...]
    equal: int  # results of the whole model that are TensorFlow Lite Micro's
    results: int
    cpu_cycles: int | None  # of the whole model on a Cortex-M4, without the NPU

    def __str__(self) -> str:
        cells = (
            self.model,
            f"{self.taken} of {self.nodes}",
            f"{len(self.programs)}",
            f"{sum(len(program.commands) for program in self.programs):,}",
            f"{sum(len(program.constants) for program in self.programs):,}",
            f"{max(program.scratch_bytes for program in self.programs):,}",
            f"{self.equal:,} of {self.results:,}",
            f"{sum(program.cycles for program in self.programs):,}",
            f"{self.cpu_cycles:,}" if self.cpu_cycles else "",
        )
        return f"| {' | '.join(cells)} |\n"


def ethos_u_rows(name: str) -> Iterator[str]:
    """A row for a model of which something runs on the NPU."""
    if model_file(name).suffix != ".tflite":
        return
    try:
        made = compile_job(read_job(model_file(name), Target("host"), _options()))
    except DeployError:
        return  # the model is not read, with or without an NPU
    programs = tuple(program_of(region.graph, CONFIG) for region in subgraphs_of(made.graph))
    if not programs:
        return
    taken = sum(len(region.graph.nodes) for region in subgraphs_of(made.graph))
    nodes = taken + sum(node.op.name != "region" for node in made.graph.nodes)
    equal, results = _compared(made, model_file(name).with_name("golden.npz"))
    yield str(NpuRow(name, taken, nodes, programs, equal, results, _cpu_cycles(name)))


def _options() -> CompileOptions:
    return CompileOptions(accelerators=(f"ethos-u:config={CONFIG.word}",))


def _compared(made: CompiledModel, golden_file: Path) -> tuple[int, int]:
    """(how many elements of the results are equal, how many there are), by the C of this machine."""
    golden: Mapping[str, Array] = np.load(golden_file)
    equal = results = 0
    with tempfile.TemporaryDirectory() as folder:
        model = build(made.sources, Path(folder))
        for number in range(min(_MOST_SAMPLES, len(golden["in_0"]))):
            inputs = {
                each.name: golden[f"in_{n}"][number].reshape(each.shape) for n, each in enumerate(made.inputs)
            }
            found = model.run(inputs)
            for n, each in enumerate(made.outputs):
                wanted = golden[f"out_{n}"][number].reshape(each.shape)
                equal += int(_is_equal(found[each.name], wanted).sum())
                results += wanted.size
    return equal, results


def _is_equal(found: Array, wanted: Array) -> Array:
    """Element by element; of floats, which the CPU computes, within a thousandth of the largest."""
    if wanted.dtype.kind != "f":
        return np.asarray(found == wanted)
    real = found.astype(np.float64), wanted.astype(np.float64)
    return np.asarray(np.abs(real[0] - real[1]) <= 1e-3 * np.abs(real[1]).max())


def _cpu_cycles(name: str) -> int | None:
    key = (name, "mps2-an386", "speed")
    return next((result.cycles for result in read_results() if result.key == key), None)
