"""Runs real models as compiled C on this computer, in each rounding that their stored outputs are of.

`python tests/whole/model_run.py [WORD ...]` prints a line for each of the shared models, or of those whose
names hold a word: refused, or how far its outputs are from the stored ones. Where one is wrong, the exit
status is 1.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from aot.errors import DeployError
from aot.frontend.given import Given
from aot.frontend.load import load_model
from aot.ir.graph import Array, Graph
from aot.target import Target
from codegen.compile import compile_graph
from codegen.model import CompileOptions
from platforms.shared_library import build

NEAR = 1e-5  # of the largest output, for real numbers
# Weights of 8 bits, activations of real numbers: LiteRT's own kernels differ by up to 5 % of the largest.
HYBRID = {"aeq_mnist_mixed": 0.06, "dtln_1_hybrid": 0.05}
AS_MICRO = ("tflm_mnist_lstm_int8",)  # an LSTM on integers is TFLite Micro's in every rounding
RIGHT, REFUSED, WRONG = "right", "refused", "wrong"
_OTHER, _LITERT = "litert-ref", "litert_ref_out_"


@dataclass(frozen=True)
class Line:
    """How one model ended in one rounding. `furthest` is a share of the largest output; 0: in every bit."""

    name: str
    rounding: str
    verdict: str
    furthest: float = 0.0
    samples: int = 0
    why: str = ""

    def __str__(self) -> str:
        told = self.why or ("in every bit" if self.furthest == 0 else f"within {self.furthest:.1e}")
        return f"{self.name:36}{self.rounding:12}{self.verdict:9}{self.samples:4}  {told}"


def read_model(folder: Path, rounding: str) -> tuple[Graph, Mapping[str, Array]]:
    """The model, an ONNX one in the shapes of its stored inputs, and what is stored."""
    stored = dict(np.load(folder / "golden.npz"))
    path = folder / "model.tflite"
    if path.exists():
        return load_model(path, rounding), stored
    file = onnx.load(folder / "model.onnx").graph
    constants = {constant.name for constant in file.initializer}
    names = [i.name for i in file.input if i.name not in constants]
    shapes = {name: stored[f"in_{number}"].shape[1:] for number, name in enumerate(names)}
    return load_model(folder / "model.onnx", rounding, Given(shapes, {})), stored


def lines_of(folder: Path) -> Iterator[Line]:
    """One for each rounding."""
    for rounding in _roundings(folder):
        try:
            graph, stored = read_model(folder, rounding)
            has_other = rounding == _OTHER and folder.name not in AS_MICRO
            furthest, samples = _furthest(graph, stored, _LITERT if has_other else "out_")
        except DeployError as error:
            yield Line(folder.name, rounding, REFUSED, why=error.what)
            continue
        verdict = RIGHT if furthest <= HYBRID.get(folder.name, NEAR) else WRONG
        why = "as tflm" if rounding == _OTHER and folder.name in AS_MICRO else ""
        yield Line(folder.name, rounding, verdict, furthest, samples, why)


def _roundings(folder: Path) -> Sequence[str]:
    if (folder / "model.onnx").exists():
        return ("onnx",)
    with np.load(folder / "golden.npz") as stored:
        return ("tflm", _OTHER) if any(key.startswith(_LITERT) for key in stored) else ("tflm",)


def _furthest(graph: Graph, stored: Mapping[str, Array], prefix: str) -> tuple[float, int]:
    """What is not real has to be equal in every bit; samples follow each other as states want it."""
    model = compile_graph(graph, Target("host"), CompileOptions(), "model", "00" * 32, "model")
    with tempfile.TemporaryDirectory() as name:
        host, found, count = build(model.sources, Path(name)), 0.0, len(stored["in_0"])
        for sample in range(count):
            inputs = {
                name: stored[f"in_{number}"][sample].astype(graph.types[name].dtype.numpy)
                for number, name in enumerate(graph.inputs)
            }
            made = host.run(inputs)
            for number, name in enumerate(graph.outputs):
                wanted = stored.get(f"{prefix}{number}", stored[f"out_{number}"])
                found = max(found, _distance(made[name], wanted, sample))
    return found, count


def _distance(made: Array, every: Array, sample: int) -> float:
    wanted = every[sample]
    if wanted.dtype.kind != "f":
        return 0.0 if np.array_equal(made.reshape(wanted.shape), wanted) else float("inf")
    difference = np.abs(made.astype(np.float64).ravel() - wanted.astype(np.float64).ravel()).max(initial=0)
    return float(difference / max(np.abs(every.astype(np.float64)).max(), 1e-30))


def main(words: Sequence[str]) -> int:
    models = Path(__file__).resolve().parents[3] / "shared" / "models"
    worst: dict[str, str] = {}
    for folder in sorted(path.parent for path in models.glob("*/golden.npz")):
        if words and not any(word in folder.name for word in words):
            continue
        for line in lines_of(folder):
            sys.stdout.write(f"{line}\n")
            known = worst.get(line.name, RIGHT)
            worst[line.name] = max(known, line.verdict, key=(RIGHT, REFUSED, WRONG).index)
    counts = Counter(worst.values())
    sys.stdout.write(f"{len(worst)} models: {', '.join(f'{n} {how}' for how, n in sorted(counts.items()))}\n")
    return int(counts[WRONG] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
