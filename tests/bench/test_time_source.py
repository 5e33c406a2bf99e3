"""A time is measured or made of cycles; instructions alone have none."""

from dataclasses import asdict, replace

import pytest

from boards.board import Board
from deploy.benchmark.bench_model import BoardCost
from deploy.benchmark.bench_page import bench_page
from deploy.benchmark.cycle_model import ModelCycles
from platforms.board_files import load_board
from platforms.cycles.estimate import Cycles
from platforms.cycles.parts import PARTS


def cost_on(board: Board, seconds: float | None, cycles: ModelCycles | None = None) -> BoardCost:
    sizes = (100, 0, 50, 40, 900, 300)  # arena, inputs and outputs, stack, its bound, code, constants
    return BoardCost("net", board, 120_000, seconds, 60_000, *sizes, 0.1, "gcc", (), cycles)


EMULATED = load_board("mps2-an386")
MODELLED = ModelCycles(EMULATED, Cycles(120_000, dict.fromkeys(PARTS, 25_000)), {})


@pytest.mark.parametrize(
    ("cost", "time_s", "source", "shown"),
    [
        (cost_on(EMULATED, None), None, "unknown", "-"),
        (cost_on(EMULATED, None, MODELLED), MODELLED.seconds, "cycle model", None),
        (cost_on(load_board("nucleo-f446re"), 0.0125), 0.0125, "measured", "12.5"),
    ],
    ids=["instructions alone", "with cycles", "a real board"],
)
def test_time_has_one_value_and_its_source(cost, time_s, source, shown):
    facts = cost.as_json()
    assert (facts["time_s"], facts["time_source"]) == (time_s, source)
    assert "time_s" not in facts.get("cycle_model", {})
    row = bench_page([cost]).splitlines()[1].split()
    assert row[4] == (shown if shown is not None else f"{MODELLED.seconds * 1e3:.4g}")


def test_a_measured_time_stays_where_cycles_are_modelled_too():
    measured = cost_on(load_board("nucleo-f446re"), 0.0125, MODELLED)
    assert (measured.time_s, measured.time_source) == (0.0125, "measured")
    assert replace(measured, seconds=None).time_s == MODELLED.seconds


def test_energy_is_an_estimate_with_its_source_and_only_where_a_board_states_its_current():
    board = load_board("metro-m4")
    assert board.run_current is not None
    cost = cost_on(board, 0.010)
    energy = cost.as_json()["energy"]
    assert energy.pop("joules") == pytest.approx(137e-6 * 120 * 0.010 * 3.3)  # A/MHz, MHz, s, V
    assert energy.pop("is_estimate")
    assert energy == asdict(board.run_current)
    assert all(word in bench_page([cost]) for word in ("0.543 mJ a run, an estimate", energy["source"]))
    without = cost_on(replace(board, run_current=None), 0.010)
    for other in (without, cost_on(board, None), replace(cost, cores=2), cost_on(EMULATED, None, MODELLED)):
        assert "energy" not in other.as_json()
        assert "energy" not in bench_page([other])
