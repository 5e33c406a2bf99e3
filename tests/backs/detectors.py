"""Models whose outputs are parts of their picture, and what libraries of detectors make of such outputs."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from aot.backs.attach import with_back
from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.rearrange import Rearrange

FloatArray = npt.NDArray[Any]


@dataclass(frozen=True)
class Found:
    """Boxes as left, top, right, bottom, best first; of each its class and its score."""

    boxes: FloatArray
    kinds: list[int]
    scores: FloatArray


def giving(picture: tuple[int, ...], *shapes: tuple[int, ...]) -> Graph:
    """A model that gives the first numbers of its picture in these shapes."""
    types, nodes, first = {"x": TensorType(DType.F32, picture)}, [], 0
    for number, shape in enumerate(shapes):
        types[f"y{number}"] = TensorType(DType.F32, shape)
        picked = Rearrange(shape, (prod(shape),), (1,), first)
        nodes.append(Node(f"head {number}", picked, ("x",), (f"y{number}",)))
        first += prod(shape)
    outputs = tuple(f"y{number}" for number in range(len(shapes)))
    return Graph("giving", ("x",), outputs, tuple(nodes), types)


def found_by(back: str, picture: tuple[int, ...], *heads: FloatArray) -> Found:
    """What the back end finds where the model gives these heads."""
    given = np.zeros(prod(picture), np.float32)
    flat = np.concatenate([head.reshape(-1) for head in heads]).astype(np.float32)
    given[: flat.size] = flat
    graph = with_back(giving(picture, *(head.shape for head in heads)), back)
    boxes, kinds, scores, count = run_graph(graph, {"x": given.reshape(picture)}).values()
    kept = int(count.item())
    assert not boxes[0, kept:].any()
    return Found(boxes[0, :kept], kinds[0, :kept].tolist(), scores[0, :kept])


def shares(boxes: FloatArray, others: FloatArray) -> FloatArray:
    """Intersection over union of each box with each other one."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(axis=-1)
    areas = [(b[:, 2:] - b[:, :2]).prod(axis=-1) for b in (boxes, others)]
    result: FloatArray = common / (areas[0][:, None] + areas[1][None] - common)
    return result


def best_boxes(
    boxes: FloatArray, scores: FloatArray, *, least: float, most_overlap: float, count: int, by_class: bool
) -> Found:
    """Suppresses what overlaps a better box; `scores` has a row for each box and a column for each class."""
    places = [(-scores[b, k], b, k) for b, k in np.argwhere(scores > least).tolist()]
    kept: list[tuple[int, int]] = []
    for _, box, kind in sorted(places):
        rivals = [b for b, k in kept if k == kind or not by_class]
        if not rivals or shares(boxes[[box]], boxes[rivals]).max() <= most_overlap:
            kept.append((box, kind))
    kept = kept[:count]
    chosen = [box for box, _ in kept]
    return Found(boxes[chosen], [kind for _, kind in kept], np.array([scores[b, k] for b, k in kept]))


def only_best(scores: FloatArray) -> FloatArray:
    """Keeps each box's best class alone."""
    kept = np.full_like(scores, -1)
    rows = np.arange(len(scores))
    kept[rows, scores.argmax(axis=1)] = scores.max(axis=1)
    return kept


def sigmoid(x: FloatArray) -> FloatArray:
    result: FloatArray = 1 / (1 + np.exp(-x.astype(np.float64)))
    return result


def corners(centres: FloatArray) -> FloatArray:
    """Corners from x, y, width, height."""
    half = centres[:, 2:] / 2
    return np.concatenate([centres[:, :2] - half, centres[:, :2] + half], axis=1)


def assert_same(found: Found, wanted: Found, more_than: int = 3) -> None:
    assert len(wanted.kinds) > more_than, "the numbers of the test try it"
    assert found.kinds == wanted.kinds
    assert np.allclose(found.boxes, wanted.boxes, atol=1e-5)
    assert np.allclose(found.scores, wanted.scores, atol=1e-6)
