"""How far a model's outputs are from the stored ones. Light to import, for a process of its own."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from aot.ir.types import Array
from platforms.shared_library import HostModel


def furthest(host: HostModel, stored: Mapping[str, Array], prefix: str) -> tuple[float, int]:
    """The largest difference as a share of the largest output, and the number of samples, which follow each
    other as states want it. What is not real has to be equal in every bit, else it is infinitely far."""
    found, count = 0.0, len(stored["in_0"])
    for sample in range(count):
        inputs = {
            tensor.name: stored[f"in_{number}"][sample].astype(tensor.dtype)
            for number, tensor in enumerate(host.inputs)
        }
        made = host.run(inputs)
        for number, tensor in enumerate(host.outputs):
            wanted = stored.get(f"{prefix}{number}", stored[f"out_{number}"])
            found = max(found, _distance(made[tensor.name], wanted, sample))
    return found, count


def furthest_of_library(library: Path, name: str, golden: Path) -> float:
    """That share for a model in a file, by its C name."""
    with np.load(golden) as stored:
        return furthest(HostModel(library, name), dict(stored), "out_")[0]


def _distance(made: Array, every: Array, sample: int) -> float:
    wanted = every[sample]
    if wanted.dtype.kind != "f":
        return 0.0 if np.array_equal(made.reshape(wanted.shape), wanted) else float("inf")
    difference = np.abs(made.astype(np.float64).ravel() - wanted.astype(np.float64).ravel()).max(initial=0)
    if np.isnan(difference):
        return float("inf")
    return float(difference / max(np.abs(every.astype(np.float64)).max(), 1e-30))
