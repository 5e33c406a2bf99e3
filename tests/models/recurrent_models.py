"""ONNX files of recurrent classifiers: a sequence goes in, its last hidden values through a dense layer out.

`PYTHONPATH=. python tests/models/recurrent_models.py FOLDER` writes those of 200 steps.
"""

import sys
from pathlib import Path

import numpy as np
from onnx import helper
from onnx_files import onnx_file

from aot.ir.types import Array

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
CLASSES = 10


def recurrent_classifier(
    kind: str, steps: int = 200, units: int = 32, depth: int = 32, direction: str = "forward"
) -> bytes:
    """As PyTorch exports it: a GRU's reset gate comes late."""
    rng, ways = np.random.default_rng(0), 2 if direction == "bidirectional" else 1

    def numbers(*shape: int) -> Array:
        made: Array = (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
        return made

    gates, late = GATES[kind] * units, {"linear_before_reset": 1} if kind == "GRU" else {}
    constants = {
        "W": numbers(ways, gates, depth),
        "R": numbers(ways, gates, units),
        "B": numbers(ways, 2 * gates),
        "D": numbers(ways * units, CLASSES),
        "flat": np.array([1, ways * units], np.int64),
    }
    last = ["Y", "Y_h", "Y_c"][: 3 if kind == "LSTM" else 2]
    layer = helper.make_node(kind, ["x", "W", "R", "B"], last, hidden_size=units, direction=direction, **late)
    nodes = [
        layer,
        helper.make_node("Reshape", ["Y_h", "flat"], ["h"]),
        helper.make_node("MatMul", ["h", "D"], ["y"]),
    ]
    return onnx_file(nodes, {"x": (steps, 1, depth)}, {"y": (1, CLASSES)}, constants)


def _write(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for kind in GATES:
        for direction in ("forward", "bidirectional"):
            (folder / f"{kind.lower()}_{direction}.onnx").write_bytes(
                recurrent_classifier(kind, direction=direction)
            )


if __name__ == "__main__":
    _write(Path(sys.argv[1]))
