"""ONNX graphs drawn at random, on inputs that are not centred, are as exact as in ONNX Runtime."""

from collections import Counter

import numpy as np
import pytest
from graph_run import REFUSED, RIGHT, UNKNOWN, WRONG, digits_lost, run_graphs, why_apart
from onnx_graphs import Drawing
from onnx_oracle import run_onnx

# Graphs that divide by a deviation of nearly zero, or by a root of a tiny variance.
LOSING = (1103, 1287, 1365, 1934, 2395)
GRAPHS = 80  # make fuzz-graphs runs 5,000


@pytest.mark.cc
@pytest.mark.slow
def test_no_graph_gives_other_numbers_than_onnx_runtime(tmp_path, require_package):
    require_package("onnxruntime")
    outcomes = run_graphs(range(GRAPHS), tmp_path)
    assert [str(outcome) for outcome in outcomes if outcome.verdict in (WRONG, REFUSED)] == []
    counts = Counter(outcome.verdict for outcome in outcomes)
    assert counts[RIGHT] + counts[UNKNOWN] == GRAPHS
    assert counts[RIGHT] > 0.9 * GRAPHS


@pytest.mark.cc
@pytest.mark.slow
def test_graphs_that_lose_digits_by_themselves_are_right(tmp_path, require_package):
    require_package("onnxruntime")
    outcomes = run_graphs(LOSING, tmp_path)
    assert [outcome.verdict for outcome in outcomes] == [RIGHT] * len(LOSING)


@pytest.mark.parametrize(("mean", "is_wrong"), [(0.0, True), (1e4, False)])
def test_a_difference_is_wrong_if_the_graph_keeps_its_digits(mean, is_wrong):
    """Subtracting the mean of numbers near 10,000 leaves four of their seven digits."""
    x = (mean + np.random.default_rng(5).normal(size=(1, 4, 6))).astype(np.float32)
    drawing = Drawing(np.random.default_rng(6))
    scale = drawing.weights(6)
    made = drawing.node("LayerNormalization", "x", scale, shape=x.shape, axis=-1)
    data = drawing.file({"x": x.shape}, [made], 18)
    (wanted,) = run_onnx(data, {"x": x})
    assert why_apart(wanted, wanted, data, x) == ""
    assert bool(why_apart(wanted * np.float32(1.0005), wanted, data, x)) is is_wrong
    assert (digits_lost(data, x, wanted) < 2e-5) is is_wrong
