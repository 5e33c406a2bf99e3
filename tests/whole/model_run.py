"""Runs real models as compiled C on this computer, in each rounding that their stored outputs are of.

`python tests/whole/model_run.py [WORD ...]` prints a line for each of the shared models, or of those whose
names hold a word: refused, or how far its outputs are from the stored ones. Where one is wrong, the exit
status is 1.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from stored_outputs import furthest

from aot.errors import DeployError
from aot.frontend.declared import InputOverrides
from aot.frontend.load import load_model
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions
from platforms.shared_library import build

NEAR = 1e-5  # of the largest output, for floats
# Weights of 8 bits, activations of floats: LiteRT's own kernels differ by up to 5 % of the largest.
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
    return load_model(folder / "model.onnx", rounding, InputOverrides(shapes, {})), stored


def lines_of(folder: Path) -> Iterator[Line]:
    """One for each rounding."""
    for rounding in _roundings(folder):
        try:
            graph, stored = read_model(folder, rounding)
            has_other = rounding == _OTHER and folder.name not in AS_MICRO
            share, samples = _furthest(graph, stored, _LITERT if has_other else "out_")
        except DeployError as error:
            yield Line(folder.name, rounding, REFUSED, why=error.what)
            continue
        verdict = RIGHT if share <= HYBRID.get(folder.name, NEAR) else WRONG
        why = "as tflm" if rounding == _OTHER and folder.name in AS_MICRO else ""
        yield Line(folder.name, rounding, verdict, share, samples, why)


def _roundings(folder: Path) -> Sequence[str]:
    if (folder / "model.onnx").exists():
        return ("onnx",)
    with np.load(folder / "golden.npz") as stored:
        return ("tflm", _OTHER) if any(key.startswith(_LITERT) for key in stored) else ("tflm",)


def _furthest(graph: Graph, stored: Mapping[str, Array], prefix: str) -> tuple[float, int]:
    model = compile_job(
        Job(ImportedModel(graph, "model", "00" * 32, "model"), Target("host"), CompileOptions())
    )
    with tempfile.TemporaryDirectory() as name:
        return furthest(build(model.sources, Path(name)), stored, prefix)


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
