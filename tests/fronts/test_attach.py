"""A front end becomes layers before the model's input, or the reason why not is told."""

from __future__ import annotations

import numpy as np
import pytest
from error_facts import require_facts

from aot.errors import ModelError
from aot.fronts.attach import with_front
from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.binary import Add
from aot.ops.reshape import Reshape

FRONT = "tf.signal.log_mel:sample_rate=16000,frame_length=64,frame_step=32,num_mel_bins=9"
STEPS = Quant((0.125,), (3,))
CLIP = np.round(9000 * np.sin(np.arange(160) ** 2 / 300)).astype(np.int16)[None]


def model(*shape: int, dtype: DType = DType.F32, quant: Quant | None = None) -> Graph:
    """A model that gives its input as one line."""
    kind = TensorType(dtype, shape, quant)
    line = TensorType(dtype, (1, kind.elements), quant)
    node = Node("flat", Reshape(line.shape), ("x",), ("y",))
    return Graph("line", ("x",), ("y",), (node,), {"x": kind, "y": line})


def result(graph: Graph) -> Array:
    (found,) = run_graph(graph, {"samples": CLIP}).values()
    return found.reshape(-1)


FEATURES = result(with_front(model(1, 4, 9, 1), FRONT))


@pytest.mark.parametrize("shape", [(1, 4, 9), (4, 9), (1, 1, 4, 9), (1, 36), (1, 4, 9, 1), (1, 4, 1, 9)])
def test_frames_come_first(shape: tuple[int, ...]) -> None:
    assert np.array_equal(result(with_front(model(*shape), FRONT)), FEATURES)


@pytest.mark.parametrize("shape", [(1, 9, 4), (9, 4), (1, 9, 4, 1), (1, 1, 9, 4)])
def test_features_come_first_where_the_model_takes_them_so(shape: tuple[int, ...]) -> None:
    assert np.array_equal(result(with_front(model(*shape), FRONT)), FEATURES.reshape(4, 9).T.reshape(-1))


@pytest.mark.parametrize(("front", "is_turned"), [(FRONT, False), ("librosa.mel:", True)])
def test_a_square_input_has_the_order_of_the_library(front: str, is_turned: bool) -> None:
    if is_turned:
        front = "librosa.mel:sr=16000,n_fft=64,hop_length=40,n_mels=4"
    else:
        front = FRONT.replace("bins=9", "bins=4")
    graph = with_front(model(1, 4, 4), front)
    assert [node.name for node in graph.nodes if node.op.name == "rearrange"] == ["front/turned"] * is_turned


@pytest.mark.parametrize("dtype", [DType.I8, DType.U8, DType.I16])
def test_integers_are_the_features_in_the_steps_of_the_input(dtype: DType) -> None:
    quant = Quant((0.125,), (0 if dtype is DType.I16 else 3,))
    found = result(with_front(model(1, 4, 9, dtype=dtype, quant=quant), FRONT))
    steps = np.round(FEATURES.astype(np.float64) / 0.125) + quant.zero_point
    assert np.array_equal(found, np.clip(steps, *dtype.limits))


def test_layers_say_where_they_come_from_and_names_stay_unique() -> None:
    graph = model(1, 4, 9)
    taken = Graph(
        "taken",
        ("samples",),
        ("front/fft",),
        (Node("front/fft", Reshape((36,)), ("samples",), ("front/fft",)),),
        {"samples": graph.types["x"], "front/fft": TensorType(DType.F32, (36,))},
    )
    made = with_front(taken, FRONT)
    assert (made.inputs, made.outputs) == (("samples#2",), ("front/fft",))
    assert {node.origin for node in made.nodes} == {"--front tf.signal.log_mel", ""}


def _refusal(graph: Graph, front: str) -> str:
    with pytest.raises(ModelError) as caught:
        with_front(graph, front)
    return str(caught.value)


def test_other_features_are_refused_with_both_numbers() -> None:
    require_facts(
        _refusal(model(1, 49, 10, 1), FRONT),
        f'9 model\'s "x" [1 49 10 1] front computes features --front {FRONT} dimension product',
    )


def test_other_frames_are_refused_with_both_numbers() -> None:
    require_facts(
        _refusal(model(1, 49, 9, 1), f"{FRONT},samples=16000"),
        f'16,000 499 model\'s "x" 49 [1 9 1] samples give frames --front {FRONT},samples=16000 1,600 '
        "1,631 change between",
    )


def test_a_model_of_two_inputs_is_refused() -> None:
    kind = TensorType(DType.F32, (1, 4, 9))
    graph = Graph(
        "two", ("a", "b"), ("y",), (Node("sum", Add(), ("a", "b"), ("y",)),), dict.fromkeys("aby", kind)
    )
    require_facts(_refusal(graph, FRONT), f"2 front provides input --front {FRONT}")


def test_integers_without_a_scale_are_refused() -> None:
    require_facts(
        _refusal(model(1, 4, 9, dtype=DType.I32), FRONT),
        f'model\'s "x" i32 input holds without --front {FRONT}',
    )
