"""Planning is bounded work; python -m benchmarks planning takes models by name and knows which there are."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from aot.plan import order as order_search
from aot.plan import planner
from aot.plan.order import SEARCH_STEPS, DraftOrder, draft
from aot.plan.steps import Steps
from aot.target import Optimize
from benchmarks.planning import plan_model
from codegen.fit.budgets import PLANNED_ROWS


def _planning(root: Path, *names: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "benchmarks", "planning", *names]
    return subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_only_the_named_model_is_planned(repo_root, shared_dir):
    done = _planning(repo_root, "tflm_hello_world_int8")
    rows = [line for line in done.stdout.splitlines() if line.startswith("| t")]
    assert (done.returncode, len(rows)) == (0, 1)
    assert rows[0].startswith("| tflm_hello_world_int8 |")


@pytest.mark.slow
def test_an_unknown_model_is_refused(repo_root, shared_dir):
    done = _planning(repo_root, "tflm_hello_wurld_int8")
    assert done.returncode != 0
    assert "no shared model is called tflm_hello_wurld_int8; there are: " in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tflm_person_detect_int8", "onnx_ulfd_slim320_f32"])
def test_a_compile_orders_a_bounded_number_of_rows(name, shared_dir, monkeypatch):
    """Seconds are a machine's; what is tried is ours. The least memory is where most is tried."""
    ordered: list[int] = []

    def counted(steps: Steps, order: Sequence[int]) -> DraftOrder:
        ordered.append(len(order))
        return draft(steps, order)

    monkeypatch.setattr(order_search, "draft", counted)
    monkeypatch.setattr(planner, "draft", counted)
    model, watch = plan_model(name, Optimize.RAM)
    rows, seeds = len(model.plan.order), 7
    assert watch.plans <= seeds + 2 * PLANNED_ROWS // rows
    assert sum(ordered) <= seeds * (3 * SEARCH_STEPS + 3 * rows) + PLANNED_ROWS // rows * 3 * SEARCH_STEPS
