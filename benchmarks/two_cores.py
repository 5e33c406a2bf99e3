"""Two cores against one: models on the emulated SSE-200, their instructions, memory and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import deploy
from benchmarks.shared import model_file
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.benchmark.bench_model import BenchChoices, BoardCost, Modelled, measure
from deploy.compiler.compile_model import Compiled, compile_for
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import prepare_compiled
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.project import project_source

BOARD = "mps2-an521"
MODELS = {
    "tiny_ic_resnet8_int8": "image classification",
    "tiny_kws_dscnn_int8": "keyword spotting",
    "tiny_vww_mbv1_int8": "visual wake words",
    "tiny_ad_fc_int8": "anomaly detection",
}
HEAD = """\
# Two cores

Printed by `python -m benchmarks two-cores`: the MLPerf Tiny models on one and on both Cortex-M33 of
mps2-an521, in QEMU. *Instructions* on both cores count each step's longer half and the hand-over. They do
not include waits because both cores read one flash and one RAM, which cost cycles on silicon. *A hand-over*
is the average cost of a split step beyond half of its cost on one core; it includes the effect of an uneven
cut, and for image classification that only one core uses Winograd's products. *Stack* is the reserved
stack. *Same bits* shows whether both cores give the reference's outputs.

| model | layers | in halves | one core | both | times | a hand-over | stack, one | both | same bits |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---|
"""


def two_core_rows() -> Iterator[str]:
    for name, title in MODELS.items():
        file = model_file(name)
        compiled = [_compiled(file, cores) for cores in (1, 2)]
        one, two = (_cost(each) for each in compiled)
        shared = _in_halves(compiled[1])
        verdict = deploy.verify(file, BOARD, cores=2)
        assert one.count is not None
        assert two.count is not None
        cells = (
            *(title, len(one.layers), len(shared), f"{one.count:,}", f"{two.count:,}"),
            *(f"{one.count / two.count:.2f}", round(_handed_over(compiled[1], one, two))),
            *(f"{_stack(each):,}" for each in compiled),
            "yes" if verdict.equal else "NO",
        )
        yield f"| {' | '.join(map(str, cells))} |\n"


def _compiled(file: Path, cores: int) -> Compiled:
    options = CompileOptions(cores=cores)
    return compile_for(import_model(file, options), load_board(BOARD), options)


def _cost(compiled: Compiled) -> BoardCost:
    choices = BenchChoices(
        compiled.job.options, BuildChoices(), LineOptions(), repeat=1, layers=True, cycles=Modelled.NONE
    )
    return measure(prepare_compiled(compiled), compiled.seconds, choices)


def _in_halves(compiled: Compiled) -> list[int]:
    layers = range(len(compiled.artifact.facts.layers))
    return [layer for layer in layers if compiled.model.code_of(layer).kernel.in_halves]


def _handed_over(compiled: Compiled, one: BoardCost, two: BoardCost) -> float:
    """The instructions of a step that two cores take beyond half of one core's, on average."""
    shared = _in_halves(compiled)
    steps = sum(compiled.model.code_of(layer).steps for layer in shared)
    return sum(two.layers[layer].count - one.layers[layer].count / 2 for layer in shared) / steps


def _stack(compiled: Compiled) -> int:
    source = project_source(compiled.artifact)
    return source.stack_bytes + source.second_stack_bytes
