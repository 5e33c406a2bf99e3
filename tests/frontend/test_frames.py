"""Samples kept from run to run: what comes out of a run is picked from all that has come before it."""

import numpy as np
import pytest
from frame_models import Shape, delay, frame_model, framer, overlap_add, stacker

from aot.errors import ModelError
from aot.interpret import run_series
from aot.ir.graph import Graph
from aot.ir.types import Array

RUNS = 9


def samples(shape: Shape) -> Array:
    """[runs, ...]"""
    return np.random.default_rng(2).integers(-(2**15), 2**15, (RUNS, *shape)).astype(np.int16)


def run(graph: Graph, xs: Array) -> list[dict[str, Array]]:
    return [dict(made) for made in run_series(graph, [{"x": x} for x in xs])]


@pytest.mark.parametrize("length", [0, 3, 7])
def test_a_delay_gives_what_came_before_on_each_line(length):
    xs = samples((2, 5))
    stream = np.concatenate([np.zeros((2, length), np.int16), *xs], axis=1)
    made = run(delay(length), xs)
    assert all(np.array_equal(m["y0"], stream[:, 5 * n : 5 * n + 5]) for n, m in enumerate(made))


@pytest.mark.parametrize("prefill", [0, 1])
@pytest.mark.parametrize(("size", "step", "count"), [(5, 2, 3), (4, 4, 2), (400, 160, 1)])
def test_frames_overlap_and_are_valid_when_they_are_full(size, step, count, prefill):
    xs = samples((1, count * step))
    graph = framer(size, step, count, prefill)
    missing = size - step if prefill else (-(-size // step) - 1) * step
    stream = np.concatenate([np.zeros(missing, np.int16), *xs[:, 0]])
    for n, made in enumerate(run(graph, xs)):
        begins = [(n * count + frame) * step for frame in range(count)]
        assert made["y1"] == (bool(prefill) or begins[0] >= missing)
        assert made["y0"][0].tolist() == [stream[b : b + size].tolist() for b in begins]


@pytest.mark.parametrize(("left", "right", "every"), [(1, 1, 2), (0, 0, 1), (2, 3, 1), (3, 0, 2), (0, 2, 3)])
def test_a_stack_begins_with_the_first_frame_repeated(left, right, every):
    xs, frames = samples((4,)), left + right + 1
    graph = stacker(left, right, every)
    stream = [*[xs[0]] * left, *xs]
    for n, made in enumerate(run(graph, xs)):
        is_valid = n >= right and (n - right) % every == 0
        assert made["y1"] == is_valid
        if is_valid:
            assert made["y0"].tolist() == np.concatenate(stream[n - right : n - right + frames]).tolist()


def test_frames_are_added_where_they_overlap_and_saturated_each_time():
    xs = samples((2, 2, 8))
    graph = overlap_add()
    line = np.zeros((2, 8), np.int64)
    for x, made in zip(xs, run(graph, xs), strict=True):
        parts = []
        for frame in range(2):
            line = np.clip(line + x[:, frame], -(2**15), 2**15 - 1)
            parts.append(line[:, :3])
            line = np.concatenate([line[:, 3:], np.zeros((2, 3), np.int64)], axis=1)
        assert made["y0"].tolist() == np.concatenate(parts, axis=1).tolist()


def test_real_frames_are_added_without_limits():
    graph = frame_model("OverlapAdd", (1, 1, 4), [("float32", (1, 2))], "float32", T=0, frame_step=2)
    xs = np.array([[[[1, 2, 3e9, 4]]], [[[5, 6, 7, 8]]]], np.float32)
    assert [m["y0"].tolist() for m in run(graph, xs)] == [[[1, 2]], [[np.float32(3e9) + 5, 10]]]


@pytest.mark.parametrize(
    ("graph", "what"),
    [
        (
            ("Framer", (1, 6), [("int16", (1, 1, 3)), ("bool", ())], {"frame_size": 3, "frame_step": 4}),
            "frames of 3 in steps of 4 from 6 samples are not supported",
        ),
        (
            ("OverlapAdd", (1, 1, 4), [("int16", (1, 5))], {"T": 7, "frame_step": 5}),
            "1 frames of 4 in steps of 5 are not supported",
        ),
        (
            ("Delay", (1, 4), [("int16", (1, 4))], {}),
            "its options delay_length must be whole numbers, 0 or more",
        ),
    ],
)
def test_what_does_not_fit_is_reported(graph, what):
    code, x, outputs, options = graph
    with pytest.raises(ModelError) as refusal:
        frame_model(code, x, outputs, **options)
    assert refusal.value.what == what
