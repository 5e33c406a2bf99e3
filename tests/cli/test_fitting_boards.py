"""`deploy boards list --fits` lists the boards on which `deploy inspect` finds room, with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from graphs import GRAPHS
from model_checks import DSP, compiled

from aot.target import MemoryRegion, Optimize
from boards.board import Board
from codegen.job import ImportedModel, Job, import_model
from codegen.options import CompileOptions
from deploy.compiler.jobs import memory_hints
from deploy.devices.board_filter import Fit, fitting
from deploy.inspection.inspect_model import inspect_model
from platforms.board_files import all_boards, load_board

DIGITS = Path(__file__).parents[2] / "deploy" / "demo" / "digits.tflite"
OPTIONS = CompileOptions()


def with_memory(board: Board, **bytes_of: int) -> Board:
    """The board, with other sizes of some of its regions."""
    regions = tuple(replace(r, bytes=bytes_of.get(r.name, r.bytes)) for r in board.regions)
    sizes = " ".join(f"{name} {size}" for name, size in bytes_of.items())
    return replace(board, name=f"{board.name} {sizes}", regions=regions)


def spread(boards: Sequence[Board], most: int = 24) -> Sequence[Board]:
    """Boards of all sizes of RAM, evenly: each is compiled for by itself."""
    by_size = sorted(boards, key=lambda board: (board.target.ram_bytes, board.name))
    return by_size[:: max(1, len(by_size) // most)]


def inspected(boards: Sequence[Board], path: Path) -> dict[str, object]:
    model = import_model(path, OPTIONS)
    found = {board.name: inspect_model(model, board, OPTIONS) for board in boards}
    return {name: each.report.memory for name, each in found.items() if each.fits}


def listed(boards: Sequence[Board], path: Path) -> dict[str, object]:
    found: list[Fit] = fitting(boards, import_model(path, OPTIONS), OPTIONS)
    return {fit.board.name: fit.report.memory for fit in found}


@pytest.mark.slow
def test_boards_are_those_that_inspect_finds_room_on() -> None:
    """Boards of every core are tried, also of that whose kernels have measured points."""
    boards = all_boards()
    assert listed(boards, DIGITS) == inspected(boards, DIGITS)


@pytest.mark.slow
def test_boards_with_too_little_memory_in_one_piece_or_in_all_are_reported_alike() -> None:
    one, two = load_board("mps2-an386"), load_board("nucleo-f746zg")
    (ram,) = (region.name for region in one.target.by_speed("ram"))
    boards = [
        *(with_memory(one, **{ram: size}) for size in (900, 1300, 1500, 1700, 4000, 100_000)),
        *(with_memory(two, DTCM=dtcm, SRAM=sram) for dtcm in (1000, 13_000) for sram in (600, 1800)),
    ]
    found = listed(boards, DIGITS)
    assert 0 < len(found) < len(boards)
    assert found == inspected(boards, DIGITS)


@pytest.mark.slow
def test_a_goal_is_named_where_it_makes_the_code_fit() -> None:
    graph = GRAPHS["layers_alike"]()

    def flash_of(options: CompileOptions) -> int:
        made = compiled(graph, DSP, options, "m")
        return made.constants_bytes + made.code_bytes_estimate

    fast, small = (flash_of(CompileOptions(goal)) for goal in (Optimize.SPEED, Optimize.SIZE))
    assert small < fast
    job = Job(ImportedModel(graph, "m", "", "m"), DSP, OPTIONS)
    for size, hints in ((small, ["--optimize size makes it fit"]), (small - 1, [])):
        target = replace(DSP, regions=(MemoryRegion("FLASH", 0, size, "flash"),))
        assert memory_hints(replace(job, target=target), "flash") == hints


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny_kws_dscnn_int8", "tiny_ic_resnet8_int8"])
def test_boards_for_shared_models_are_those_that_inspect_finds_room_on(name: str, shared_dir: Path) -> None:
    path = shared_dir / "models" / name / "model.tflite"
    boards = spread(all_boards())
    assert listed(boards, path) == inspected(boards, path)


def test_for_two_cores_boards_with_two_are_listed() -> None:
    options = replace(OPTIONS, cores=2)
    boards = [load_board(name) for name in ("mps2-an386", "mps2-an521", "nrf5340dk", "rpi-pico2")]
    assert [fit.board.name for fit in fitting(boards, import_model(DIGITS, options), options)] == [
        "mps2-an521"
    ]
