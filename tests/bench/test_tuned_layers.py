"""The tasks of `deploy tune` are the kernels of the compiled model, in every shared model."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared_facts import facts_of

from aot.target import Optimize
from benchmarks.memory import BOARD, read_memory
from benchmarks.shared import shared_models

MODELS = sorted(result.model for result in read_memory())


def test_no_shared_model_is_left_out(shared_dir: Path) -> None:
    assert sorted(shared_models()) == MODELS


@pytest.mark.slow
@pytest.mark.parametrize("goal", [Optimize.RAM, Optimize.SPEED], ids=lambda goal: goal.value)
@pytest.mark.parametrize("name", MODELS)
def test_the_tasks_of_a_shared_model_are_the_kernels_of_its_compiled_model(
    name: str, goal: Optimize, shared_dir: Path
) -> None:
    tuned = facts_of(name, BOARD, goal).tuned
    assert tuned.tasks == tuned.compiled
