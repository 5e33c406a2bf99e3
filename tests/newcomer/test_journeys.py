"""The first hours of newcomers, from the tree; `make newcomer` takes the same steps from a wheel."""

import os
import sys

import pytest
from journeys import JOURNEYS, Environment, Step

pytestmark = [pytest.mark.cc, pytest.mark.slow, pytest.mark.usefixtures("pseudo_terminals")]


@pytest.fixture
def environment(tmp_path, repo_root, own_folders):
    python = [sys.executable]
    programs = {"python": python, "deploy": [*python, "-m", "deploy"]}
    return Environment(tmp_path, programs, {**os.environ, "PYTHONPATH": str(repo_root)})


@pytest.mark.parametrize("who", JOURNEYS)
def test_nothing_stops_a_newcomer(who, environment):
    assert "\n\n".join(filter(None, map(environment.fault_of, JOURNEYS[who]))) == ""


def test_a_step_that_fails_is_reported_with_all_that_is_wrong(environment):
    words = ("python", "-c", "print('\\u00e9' * 81 if 0 else 'x' * 81)")
    fault = environment.fault_of(Step(words, ("y",), status=3, makes=("z",)))
    for what in ("exit status 0, not 3", "/y/ is not said", "81 columns: xxx", "z was not made"):
        assert what in fault
