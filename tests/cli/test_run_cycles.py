"""deploy run's time on an emulated board: by the model of cycles, or why there is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
pytestmark = [pytest.mark.arm, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _tools(require_tool: Callable[..., None], require_package: Callable[..., None]) -> None:
    require_tool("arm-none-eabi-gcc")
    require_package("unicorn", "capstone")


def test_time_is_reported_at_the_boards_clock_with_the_models_error(
    model: Path, inputs: Path, tmp_path: Path, run_deploy: Run
) -> None:
    words = ("run", model, "--board", "mps2-an386", "--runner", "unicorn", "--inputs", inputs)
    facts = json.loads(run_deploy(*words, "--json").out)
    told = facts["cycle_model"]
    assert facts["instructions"]["min"] < told["cycles"] < 2 * facts["instructions"]["max"]
    assert told["time_s"] == told["cycles"] / 25_000_000
    lines = run_deploy(*words, "--output", tmp_path / "out.npz").out.splitlines()
    cycles, by = lines[-4:-2]
    assert cycles == f"first sample: {told['cycles']:,} cycles, {told['time_s'] * 1e3:,.4f} ms"
    assert (
        by == "(by a model of cortex-m4 at 25 MHz and memory without wait states; not compared with silicon)"
    )


def test_a_core_without_a_table_is_named(
    model: Path, inputs: Path, tmp_path: Path, run_deploy: Run, require_tool: Callable[..., None]
) -> None:
    require_tool("riscv64-unknown-elf-gcc", "qemu-system-riscv32")
    words = ("run", model, "--board", "qemu-riscv32", "--inputs", inputs)
    assert "cycle_model" not in json.loads(run_deploy(*words, "--json").out)
    assert "time_s" not in json.loads(run_deploy(*words, "--json").out)
    counts, why = run_deploy(*words, "--output", tmp_path / "out.npz").out.splitlines()[-4:-2]
    assert counts.split()[0] == "instructions"
    assert why == "(no time: there is no table of instruction cycles for a rv32imac)"


def test_the_trace_is_of_the_run_and_not_of_the_recording(
    model: Path, inputs: Path, tmp_path: Path, run_deploy: Run
) -> None:
    words = ("run", model, "--board", "mps2-an386", "--runner", "unicorn", "--inputs", inputs)
    assert run_deploy(*words, "--trace", tmp_path / "trace").status == 0
    assert (tmp_path / "trace").read_text(encoding="utf-8").count("-> run") == 3
