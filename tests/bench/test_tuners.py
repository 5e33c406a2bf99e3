"""Tuners that learn need fewer trials than chance; tasks are the kernels of the compiled model."""

from statistics import fmean

import pytest
from shared_facts import facts_of

from aot.target import Optimize
from benchmarks.memory import BOARD, read_memory
from benchmarks.shared import shared_models
from benchmarks.tuner_models import searched
from benchmarks.tuners import compared, read_spaces
from benchmarks.tuning_cases import tuning_case
from platforms.tuning.loop_features import curves, features
from platforms.tuning.tuners.model import ModelLed, ranked, regressed

SEEDS = 5


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_the_model_is_no_worse_than_ga_and_ga_than_chance(number, shared_dir, require_package):
    require_package("lightgbm")
    measured = read_spaces()[number]
    space = tuning_case(measured.model, measured.task).task.space
    means = compared(space, measured.of(space), SEEDS)
    assert means["model"] <= means["ga"] <= means["random"]


@pytest.mark.slow
def test_costs_from_curves_are_learnt_first_and_ranks_find_the_best(shared_dir, require_package):
    require_package("lightgbm")
    told, ranks = [], []
    for measured in read_spaces():
        space = tuning_case(measured.model, measured.task).task.space
        costs = measured.of(space)
        for seed in range(3):
            told.append(searched(ModelLed(space, seed, curves, regressed), space, costs))
            ranks.append(searched(ModelLed(space, seed, features, ranked), space, costs))
    assert fmean(found[24] for found in told) < fmean(found[24] for found in ranks)
    assert {found[64] for found in ranks} == {1.0}


MODELS = sorted(result.model for result in read_memory())


def test_no_shared_model_is_left_out(shared_dir):
    assert sorted(shared_models()) == MODELS


@pytest.mark.slow
@pytest.mark.parametrize("goal", [Optimize.RAM, Optimize.SPEED], ids=lambda goal: goal.value)
@pytest.mark.parametrize("name", MODELS)
def test_the_tasks_of_a_shared_model_are_the_kernels_of_its_compiled_model(name, goal, shared_dir):
    tuned = facts_of(name, BOARD, goal).tuned
    assert tuned.tasks == tuned.compiled
