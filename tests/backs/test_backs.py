"""Decisions behind a model: held against a plain program of the same rules; what does not fit is told."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import deploy
from aot.backs.attach import BACKS, read_back, with_back
from aot.errors import ModelError
from aot.frontend.declared import DeclarationError
from aot.interpret import run_series
from aot.ir.graph import Graph, Node
from aot.ir.types import DType, Quant, TensorType
from aot.ops.binary import Add
from aot.ops.reshape import Reshape

Scores = npt.NDArray[np.float64]
PROBABILITY = Quant((1 / 256,), (-128,))


def model(*shape: int, dtype: DType = DType.F32, quant: Quant | None = None) -> Graph:
    """A model that gives what it is given."""
    kind = TensorType(dtype, shape, quant)
    node = Node("same", Reshape(shape), ("x",), ("y",))
    return Graph("same", ("x",), ("y",), (node,), {"x": kind, "y": kind})


def decisions(scores: Scores, average: int, threshold: float, hold: int) -> list[tuple[int, float]]:
    """The same rules as a loop with memory, in the manner of a program for a board."""
    earlier: list[Scores] = [np.zeros(scores.shape[1])] * (average - 1)
    found, wait = [], 0
    for now in scores:
        runs = [*earlier, now]
        means = np.sum(runs, axis=0) / average
        earlier = runs[1:]
        best = int(np.argmax(means))
        if means[best] >= threshold and wait == 0:
            found.append((best, float(means[best])))
            wait = hold
        else:
            found.append((-1, float(means[best])))
            wait = max(0, wait - 1)
    return found


def runs(graph: Graph, inputs: Sequence[npt.NDArray[Any]]) -> list[list[Any]]:
    made = list(run_series(graph, [{graph.inputs[0]: each} for each in inputs]))
    return [[out[name].reshape(-1).tolist() for name in graph.outputs] for out in made]


@pytest.mark.parametrize("average", [1, 2, 5])
@pytest.mark.parametrize("hold", [0, 1, 4])
def test_a_class_is_what_a_plain_program_decides(average, hold):
    stored = np.random.default_rng(average + 10 * hold).integers(-128, 128, (60, 4)).astype(np.int8)
    threshold = 0.9 if average == 1 else 0.7
    graph = with_back(
        model(1, 4, dtype=DType.I8, quant=PROBABILITY),
        f"classes:average={average},threshold={threshold},hold={hold}",
    )
    found = runs(graph, [each[None] for each in stored])
    wanted = decisions((stored.astype(np.float64) + 128) / 256, average, threshold, hold)
    assert [each[0][0] for each in found] == [number for number, _ in wanted]
    assert np.allclose([each[1][0] for each in found], [score for _, score in wanted], atol=1e-6)
    decided = [number for number, _ in wanted if number >= 0]
    assert 3 < len(decided) < 60, "the numbers of this test try both"


def test_scores_are_made_of_what_no_softmax_has_seen():
    logits = np.array([[[[0.5, 2.5, -1.0]]]], np.float32)
    ((number, score),) = runs(with_back(model(1, 1, 1, 3), "classes:softmax=true"), [logits])
    powers = np.exp(logits.reshape(-1).astype(np.float64))
    assert number == [1]
    assert np.allclose(score, powers[1] / powers.sum())


@pytest.mark.parametrize(("measure", "root"), [("rmse", 0.5), ("mse", 1.0)])
def test_an_anomaly_is_the_error_of_an_autoencoder(measure, root):
    line = TensorType(DType.F32, (1, 4))
    bias = np.array([[0.0, 1.0, 2.0, 3.0]], np.float32)
    node = Node("wrong", Add(), ("x", "b"), ("y",))
    graph = Graph("wrong", ("x",), ("y",), (node,), {"x": line, "y": line, "b": line}, {"b": bias})
    error = 3.5**root
    ((found, is_over),) = runs(
        with_back(graph, f"anomaly:measure={measure},threshold={error - 0.01}"), [bias]
    )
    assert np.allclose(found, error)
    assert is_over == [1]
    ((_, is_under),) = runs(with_back(graph, f"anomaly:measure={measure},threshold={error + 0.01}"), [bias])
    assert is_under == [0]


@pytest.mark.slow
def test_the_network_keeps_its_accuracy(shared_dir):
    path = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    data = np.load(shared_dir / "datasets" / "kws_500.npz")
    found, _ = deploy.load(path, back="classes").run(data["x_int8"][:100]).values()
    (scores,) = deploy.load(path).run(data["x_int8"][:100]).values()
    assert np.array_equal(found.reshape(-1), scores.reshape(100, -1).argmax(axis=1))


@pytest.mark.cc
@pytest.mark.slow
def test_this_computer_decides_like_the_reference(shared_dir):
    path = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    clips = np.load(shared_dir / "datasets" / "kws_500.npz")["x_int8"][:12]
    back = "classes:average=3,threshold=0.6,hold=2"
    verdict = deploy.verify(path, board="host", back=back, inputs=clips)
    assert verdict.equal, str(verdict)


WRONG: dict[str, tuple[Graph, str, str]] = {
    "two outputs": (
        Graph(
            "two",
            ("x",),
            ("x", "y"),
            model(1, 4).nodes,
            model(1, 4).types,
        ),
        "classes",
        "this back end needs a model with one output, this one has 2: x, y",
    ),
    "threshold above all scores": (
        model(1, 4, dtype=DType.I8, quant=PROBABILITY),
        "classes:threshold=2",
        "the threshold is 2, and no score is above 0.996094",
    ),
    "threshold above a softmax": (
        model(1, 4),
        "classes:threshold=1.5,softmax=true",
        "the threshold is 1.5, and no score is above 1",
    ),
    "integers without a scale": (
        model(1, 4, dtype=DType.I32),
        "classes",
        '"y" holds i32 without a scale, so its values have no known unit',
    ),
    "no autoencoder": (
        Graph(
            "fewer",
            ("x",),
            ("y",),
            (Node("best", Reshape((1, 4)), ("z",), ("y",)),),
            {"x": TensorType(DType.F32, (1, 3)), **{v: TensorType(DType.F32, (1, 4)) for v in "yz"}},
            {"z": np.zeros((1, 4), np.float32)},
        ),
        "anomaly",
        "an anomaly score needs an output as large as the input: 4 numbers of 3",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused(name):
    graph, back, what = WRONG[name]
    with pytest.raises(ModelError) as caught:
        with_back(graph, back)
    assert str(caught.value) == f"error: {what}\n  --back {back}"


@pytest.mark.parametrize(
    ("back", "what", "hint"),
    [
        (
            "class",
            '"class" is not a back end - did you mean "classes"?',
            f"known: {', '.join(BACKS)}",
        ),
        ("classes:average=0", "average must be 1 to 1000 runs, not 0", ""),
        ("classes:hold=-1", "hold must be 0 runs or more, not -1", ""),
        ("anomaly:measure=mae", "measure must be rmse or mse, not mae", ""),
        (
            "classes:smooth=3",
            'classes has no parameter "smooth"',
            "it has average, threshold, hold, softmax",
        ),
        (3, "3 is not a back end", "write NAME:PARAMETER=VALUE,... or a table with a name"),
    ],
)
def test_a_wrong_declaration_is_reported(back, what, hint):
    with pytest.raises(DeclarationError) as caught:
        read_back(back)
    assert (caught.value.what, caught.value.hint) == (what, hint)
