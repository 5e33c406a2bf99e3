"""One-operator cases of others, beside the repository: a model file, its inputs, the outputs to expect."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aot.ir.types import Array
from platforms.shared_library import HostModel

SUITES = ("tflm_kernels", "seanet_16x8", "mlperf_layers_int8", "small_graphs", "litert_ops")
MODES = {"tflm": ("out_",), "litert-ref": ("litert_ref_out_", "out_")}  # the first that is stored counts
NEAR = 1e-5  # of the largest result, for floats


@dataclass(frozen=True)
class SuiteCase:
    """`operators` is what the suite's index says of the file."""

    suite: str
    name: str
    operators: str
    path: Path

    @property
    def operator(self) -> str:
        """What the case is counted under: the operator it is named after, or the first in it."""
        return self.operators.split(":")[0].split(" ")[0]

    def data(self) -> Mapping[str, Array]:
        with np.load(self.path.with_suffix(".npz")) as stored:
            return dict(stored)


def suite_cases(shared: Path, suites: tuple[str, ...] = SUITES) -> list[SuiteCase]:
    """Every case of the suites, in the order of their indices."""
    return [case for suite in suites for case in _of(shared / "suites" / suite)]


def _of(folder: Path) -> Iterator[SuiteCase]:
    with (folder / "index.csv").open(encoding="utf-8") as index:
        for row in csv.DictReader(index):
            yield SuiteCase(folder.name, row["name"], row["op"], folder / f"{row['name']}.tflite")


def why_wrong(library: Path, name: str, case: SuiteCase, mode: str) -> str:
    """Runs the case's model of that C name: which result is not the stored one, or nothing."""
    host = HostModel(library, name)
    host.arenas[0][:] = 0xA5
    host.reset()
    for number, (inputs, wanted) in enumerate(samples(host, case.data(), mode)):
        made = host.run(inputs)
        for output, array in wanted.items():
            if not is_right(made[output], array):
                return f'output "{output}" of sample {number}'
    return ""


def samples(
    host: HostModel, data: Mapping[str, Array], mode: str
) -> Iterator[tuple[Mapping[str, Array], Mapping[str, Array]]]:
    """Inputs and expected outputs by name, one sample after the other."""
    inputs = {tensor.name: data[f"in_{number}"] for number, tensor in enumerate(host.inputs)}
    outputs = {
        tensor.name: data[expected_key(data, mode, number)] for number, tensor in enumerate(host.outputs)
    }
    if all(inputs[tensor.name].ndim == len(tensor.shape) for tensor in host.inputs):
        yield inputs, outputs  # a single one, without a dimension for samples
        return
    for sample in range(len(next(iter(inputs.values())))):
        yield (
            {name: x[sample] for name, x in inputs.items()},
            {name: y[sample] for name, y in outputs.items()},
        )


def expected_key(data: Mapping[str, Array], mode: str, number: int) -> str:
    return next(f"{prefix}{number}" for prefix in MODES[mode] if f"{prefix}{number}" in data)


def modes(data: Mapping[str, Array]) -> tuple[str, ...]:
    """LiteRT's own results are stored only where they differ."""
    return tuple(MODES) if any(key.startswith("litert_ref_out_") for key in data) else ("tflm",)


def is_right(made: Array, wanted: Array) -> bool:
    """Integers in every bit; floats near the largest of them."""
    if made.shape != wanted.shape or made.dtype != wanted.dtype:
        return False
    if made.dtype.kind != "f":
        return np.array_equal(made, wanted)
    both = made == wanted  # infinities too
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
    with np.errstate(invalid="ignore"):
        near = np.abs(made - wanted) <= NEAR * max(largest, 1e-30)  # type: ignore[operator]
    return bool((both | near | (np.isnan(made) & np.isnan(wanted))).all())
