"""All points of some spaces were measured: at equal trials the model is no worse than ga, ga than chance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.tuners import compared, read_spaces
from benchmarks.tuning_cases import tuning_case

SEEDS = 5


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_the_model_is_no_worse_than_ga_and_ga_than_chance(
    number: int, shared_dir: Path, require_package: Callable[..., None]
) -> None:
    require_package("lightgbm")
    measured = read_spaces()[number]
    space = tuning_case(measured.model, measured.task).task.space
    means = compared(space, measured.of(space), SEEDS)
    assert means["model"] <= means["ga"] <= means["random"]
