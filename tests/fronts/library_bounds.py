"""Prints how far front ends are from the libraries (PYTHONPATH=.:tests/fronts)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from front_cases import CASES, SAMPLES, FloatArray, FrontCase, signal
from movement_cases import MOVEMENTS, MovementCase, movement

from aot.fronts.attach import declared_front, with_front
from aot.fronts.movement import Movement
from aot.fronts.picture import Picture
from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, TensorType
from aot.ops.unary_math import MathFunction, UnaryMath

STORED: Mapping[str, Any] = json.loads(
    Path(__file__).with_name("library_results.json").read_text(encoding="utf-8")
)
BOUND = 5e-6  # of the largest result's magnitude


def negating(kind: TensorType) -> Graph:
    """A model that takes x and gives -x."""
    node = Node("negate", UnaryMath(MathFunction.NEGATE), ("x",), ("y",))
    return Graph("negating", ("x",), ("y",), (node,), {"x": kind, "y": kind})


def features(declared: str) -> FloatArray:
    """The features of the signal by the reference, [frames, features]."""
    spectrum = declared_front(f"{declared},samples={SAMPLES}")
    assert not isinstance(spectrum, Picture | Movement)
    kind = TensorType(DType.F32, (1, spectrum.frames.count(SAMPLES), spectrum.features))
    graph = with_front(negating(kind), f"{declared},samples={SAMPLES}")
    (found,) = run_graph(graph, {"samples": signal()[None]}).values()
    result: FloatArray = -found[0].astype(np.float64)
    return result


def distance(case: FrontCase) -> float:
    """The largest difference from the library's stored results, over their largest magnitude."""
    stored, found = STORED[case.declared], features(case.declared)
    assert len(found) == stored["frames"], f"{len(found)} frames, the library has {stored['frames']}"
    wanted = np.array(list(stored["rows"].values()))
    given = found[[int(frame) for frame in stored["rows"]]]
    return float(np.max(np.abs(given - wanted)) / np.max(np.abs(wanted)))


def movement_features(declared: str, elements: int, rows: Array) -> FloatArray:
    """The features of rows by the reference, as one line."""
    graph = with_front(negating(TensorType(DType.F32, (1, elements))), declared)
    (result,) = run_graph(graph, {"rows": rows.reshape(graph.types["rows"].shape)}).values()
    return np.negative(result.reshape(-1).astype(np.float64))


def movement_distance(case: MovementCase) -> float:
    """The largest difference from the installed library's results, over their largest magnitude."""
    rows = movement()
    wanted = np.asarray(case.compute(rows.astype(np.float64))).reshape(-1)
    given = movement_features(case.declared, wanted.size, rows)
    return float(np.abs(given - wanted).max() / np.abs(wanted).max())


def main() -> None:
    for case in CASES:
        print(f"{distance(case):.1e}  {STORED[case.declared]['library']:18}  {case.declared}")  # noqa: T201
    for each in MOVEMENTS:
        print(f"{movement_distance(each):.1e}  {'scipy, as it is here':18}  {each.declared}")  # noqa: T201


if __name__ == "__main__":
    main()
