"""Constants in the RAM that is left: modelled cycles without, with all there, and as `--place` chooses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from aot.errors import FitError
from benchmarks.shared import model_file
from boards.board import Board
from codegen.job import import_model
from codegen.model import PlacementInRam
from codegen.options import CompileOptions, read_options
from deploy.benchmark.cycle_model import random_sample, recorded_run
from deploy.compiler.compile_model import compile_for
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import build_source
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.cycles.estimate import estimate
from platforms.cycles.model import core_of, flash_of
from platforms.cycles.parts import FLASH_WAITS
from platforms.cycles.stand_in import stand_in
from platforms.cycles.trace import Trace
from platforms.project import project_source

MODELS = ("tiny_ic_resnet8_int8", "tiny_kws_dscnn_int8", "tiny_vww_mbv1_int8", "tiny_ad_fc_int8")
# Each at the clock that it is measured at elsewhere, or its own.
BOARDS = {
    "nucleo-l4r5zi": 120_000_000,
    "nucleo-f746zg": 192_000_000,
    "nrf5340dk": 128_000_000,
}
HEAD = """\
# Constants in the RAM that is left

Printed by `python -m benchmarks place`: cycles by the model, at `speed`, by arm-none-eabi-gcc. *Waits* are
those for flash, *code* those among them for instructions: kernels in RAM could save no more. *All there* is
`--constants "*=RAM"`, or DTCM where that is the fastest. *Expected* is what the compiler says that `--place`
saves, *saved* what the model says of the programs with it and without.

"""
_COLUMNS = (
    *("board, MHz", "model", "cycles", "waits", "code", "all there", "`--place`", "saved", "expected"),
    *("bytes placed", "left"),
)
HEAD += f"| {' | '.join(_COLUMNS)} |\n|---|---|{'---:|' * (len(_COLUMNS) - 2)}\n"


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled model on a board: cycles of a run, and those that it waits for flash."""

    cycles: int
    waits: int
    code_waits: int
    placement: PlacementInRam | None


def place_rows(name: str) -> Iterator[str]:
    for board_name, clock_hz in BOARDS.items():
        board = replace(load_board(board_name), clock_hz=clock_hz)
        fastest = board.target.by_speed("ram")[0].name
        plain, placed = _program(name, board, {}), _program(name, board, {"place": True})
        everything = _all_there(name, board, fastest)
        chosen = placed.placement
        assert chosen is not None  # it was asked for
        cells = (
            *(f"{board_name}, {clock_hz // 1_000_000}", name, f"{plain.cycles:,}", f"{plain.waits:,}"),
            *(f"{plain.code_waits:,}", everything, f"{placed.cycles:,}", f"{plain.cycles - placed.cycles:,}"),
            *(f"{chosen.cycles:,}", f"{chosen.bytes:,}", f"{chosen.left_in(fastest):,}"),
        )
        yield f"| {' | '.join(cells)} |\n"


def _all_there(name: str, board: Board, region: str) -> str:
    """The cycles with all constants in that memory, or that they have no room there."""
    try:
        return f"{_program(name, board, {'constants': {'*': region}}).cycles:,}"
    except FitError:
        return "no room"


def _program(name: str, board: Board, given: Mapping[str, object]) -> Program:
    options: CompileOptions = read_options(given)
    compiled = compile_for(import_model(model_file(name), options), board, options)
    ready = build_source(project_source(compiled.artifact), stand_in(board), BuildChoices(None))
    trace = recorded_run(ready, LineOptions(), random_sample(compiled.artifact))
    core, flash = core_of(board), flash_of(board)
    run, without_data = (estimate(each, core, flash).run for each in (trace, _without_data(trace)))
    waits, code_waits = (each.parts[FLASH_WAITS] for each in (run, without_data))
    return Program(run.count, waits, code_waits, compiled.artifact.facts.placement)


def _without_data(trace: Trace) -> Trace:
    """The same instructions, which read nothing from flash."""
    none = np.zeros(0, np.int64)
    return replace(trace, flash_reads=none, reads_before=np.zeros(len(trace.order), np.int64))
