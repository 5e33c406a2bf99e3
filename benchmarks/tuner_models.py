"""Compares what a learned model may learn from, and by which loss, where every point of a space is known."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping

from benchmarks.tuners import MeasuredSpace, read_spaces
from benchmarks.tuning_cases import tuning_case
from codegen.kernels.knobs import Space
from platforms.tuning.loop_features import curves, features, knob_values
from platforms.tuning.tuners.model import Fit, ModelLed, Table, ranked, regressed
from platforms.tuning.tuners.tuner import Key, key_of

TABLES: Mapping[str, Table] = {"knobs": knob_values, "loop features": features, "curves": curves}
FITS: Mapping[str, Fit] = {"rank": ranked, "regression": regressed}
NAMES = {("rank", "loop features"): "`model`", ("regression", "curves"): "`regression`"}
SEEDS = 12
AFTER = (24, 32, 40, 64)  # trials
_IN_A_BATCH = 8
HEAD = (
    "The best cost found, in percent above the best of the whole space: mean and standard error of\n"
    f"{SEEDS} seeds in each space of `tuning_spaces.json`. Printed by `python -m benchmarks\n"
    "tuner-models` in two minutes, without new measurements.\n\n"
    f"| loss | learns from | `--tuner` | {' | '.join(f'{n} trials' for n in AFTER)} |\n"
    f"| --- | --- | --- |{' ---: |' * len(AFTER)}\n"
)
Found = dict[int, list[float]]  # by trials, a search's best over the best of all, for each search


def model_rows() -> Iterator[str]:
    spaces = [(measured, tuning_case(measured.model, measured.task).task.space) for measured in read_spaces()]
    means: dict[tuple[str, str], dict[int, float]] = {}
    for loss, fit in FITS.items():
        for source, table in TABLES.items():
            found = [part for measured, space in spaces for part in _searches(measured, space, table, fit)]
            means[loss, source] = {n: statistics.fmean(each[n] for each in found) for n in AFTER}
            cells = " | ".join(_cell([each[n] for each in found]) for n in AFTER)
            yield f"| {loss} | {source} | {NAMES.get((loss, source), '')} | {cells} |\n"
    yield _winners(means)


def _cell(found: list[float]) -> str:
    error = statistics.stdev(found) / len(found) ** 0.5
    return f"{100 * (statistics.fmean(found) - 1):.2f} ± {100 * error:.2f}"


def _winners(means: Mapping[tuple[str, str], Mapping[int, float]]) -> str:
    said = []
    for n in AFTER:
        best = min(mean[n] for mean in means.values())
        names = [f"{loss} from {source}" for (loss, source), mean in means.items() if mean[n] == best]
        said.append(f"after {n} trials {' and '.join(names)}")
    return f"\nLeast: {'; '.join(said)}.\n"


def _searches(measured: MeasuredSpace, space: Space, table: Table, fit: Fit) -> Iterator[dict[int, float]]:
    costs = measured.of(space)
    for seed in range(SEEDS):
        yield searched(ModelLed(space, seed, table, fit), space, costs)


def searched(tuner: ModelLed, space: Space, costs: Mapping[Key, int]) -> dict[int, float]:
    """As a search goes, the default first: its best over the best of all, after some numbers of trials."""
    found: dict[int, float] = {}
    tuner.learn([(space.default, float(costs[key_of(space.default)]))])
    for done in range(_IN_A_BATCH, AFTER[-1] + 1, _IN_A_BATCH):
        tuner.learn([(point, float(costs[key_of(point)])) for point in tuner.propose(_IN_A_BATCH)])
        assert tuner.best is not None
        if done in AFTER:
            found[done] = tuner.best[1] / min(costs.values())
    return found
