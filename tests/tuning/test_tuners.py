"""Tuners propose every point once, learn from costs, and the better ones need fewer trials."""

import statistics
import time

import numpy as np
import pytest
from error_facts import refused

from aot.errors import ToolError
from codegen.kernels.knobs import Knob, Point, Space
from platforms.tuning.tuners import TUNERS
from platforms.tuning.tuners.tuner import Tuner, make_tuner

SPACE = Space(
    "bowl",
    tuple(Knob(name, tuple(range(1, 9))) for name in "abcd"),
    {"a": 1, "b": 1, "c": 1, "d": 1},
    lambda point: point["a"] + point["b"] <= 14,
)


def cost(point: Point) -> float:
    """A valley whose knobs depend on each other."""
    return 100 + (point["a"] - 6) ** 2 + (point["b"] - point["a"]) ** 2 + 3 * abs(point["c"] - 2) + point["d"]


def best_after(tuner: Tuner, trials: int) -> float:
    for _ in range(trials // 10):
        tuner.learn([(point, cost(point)) for point in tuner.propose(10)])
    assert tuner.best is not None
    return tuner.best[1]


@pytest.mark.parametrize("name", TUNERS)
def test_every_legal_point_is_proposed_once(name, require_package):
    require_package("lightgbm")
    small = Space("small", (Knob("a", (1, 2, 3)), Knob("b", (1, 2))), {"a": 1, "b": 1}, lambda p: p["a"] != 2)
    tuner = make_tuner(name, small, 0)
    proposed = [point for _ in range(9) for point in tuner.propose(1)]
    assert sorted(map(str, proposed)) == sorted(map(str, small.points))
    assert tuner.is_done


@pytest.mark.slow
def test_searches_that_learn_beat_chance(require_package):
    require_package("lightgbm")
    means = {
        name: statistics.fmean(best_after(make_tuner(name, SPACE, seed), 120) for seed in range(5))
        for name in ("random", "anneal", "ga", "model", "regression")
    }
    assert means["model"] <= means["ga"] < means["random"]
    assert means["regression"] <= means["ga"]
    assert means["anneal"] < means["random"]


@pytest.mark.slow
def test_a_failed_point_is_not_the_best_and_not_a_reason_to_stop(require_package):
    require_package("lightgbm")
    for name in TUNERS:
        tuner = make_tuner(name, SPACE, 0)
        for number in range(30):
            tuner.learn([(p, None if number % 2 else cost(p)) for p in tuner.propose(2)])
        assert tuner.best is not None
        assert len(tuner.propose(3)) == 3


def test_what_earlier_records_recommend_goes_first():
    tuner = make_tuner("random", SPACE, 0)
    tuner.warm_up([({"a": 5, "b": 5}, 0.9), ({"a": 6, "b": 6, "c": 2}, 0.8), ({"e": 3}, 0.1)])
    assert [(p["a"], p["c"]) for p in tuner.propose(2)] == [(6, 2), (5, 1)]


@pytest.mark.slow
def test_ten_thousand_points_are_ranked_within_a_second(require_package):
    require_package("lightgbm")
    from platforms.tuning.loop_features import features
    from platforms.tuning.tuners.model import ranked

    knobs = tuple(Knob(name, tuple(range(1, 11))) for name in "abcd")
    space = Space("big", knobs, dict.fromkeys("abcd", 1), extents={"a": 64, "b": 48, "c": 9})
    assert len(space.points) == 10_000
    begun = time.process_time()
    rows = features(space, space.points)
    model = ranked(rows[::33], np.array([cost(point) for point in space.points[::33]]))
    model.predict(rows)
    assert time.process_time() - begun < 1


def test_the_model_says_what_it_needs(monkeypatch):
    monkeypatch.setattr("platforms.tuning.tuners.model.find_spec", lambda _name: None)
    refused(
        lambda: make_tuner("model", SPACE, 0),
        "\"model\" Python tuner needs package 'solder-mcu[tune]' --tuner",
        ToolError,
    )
