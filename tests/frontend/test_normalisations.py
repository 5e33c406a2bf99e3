"""Normalizations of numbers far from zero equal the same formula in double precision, in C and in NumPy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import helper
from onnx_files import onnx_file
from onnx_oracle import run_onnx
from suite_batch import build_batch

from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

TOLERANCE = 1e-5
Array = npt.NDArray[Any]
Exact = Callable[..., Array]


def standard(x: Array, axes: tuple[int, ...], epsilon: float = 1e-5) -> Array:
    centred = x - x.mean(axes, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axes, keepdims=True) + epsilon))


def without_epsilon(x: Array, axes: tuple[int, ...]) -> Array:
    centred = x - x.mean(axes, keepdims=True)
    return np.asarray(centred / (np.sqrt((centred**2).mean(axes, keepdims=True)) + 1e-9))


def channels(values: Array, rank: int) -> Array:
    return values.reshape(-1, *(1,) * (rank - 2))


def instance(x: Array, scale: Array, bias: Array) -> Array:
    rank = x.ndim
    return standard(x, tuple(range(2, rank))) * channels(scale, rank) + channels(bias, rank)


def groups(x: Array, scale: Array, bias: Array, count: int = 2) -> Array:
    split = standard(x.reshape(x.shape[0], count, -1), (2,))
    if scale.size == count != x.shape[1]:
        return (split * scale[:, None] + bias[:, None]).reshape(x.shape)
    return split.reshape(x.shape) * channels(scale, x.ndim) + channels(bias, x.ndim)


def trained(x: Array, scale: Array, bias: Array, *_: Array) -> Array:
    axes = (0, *range(2, x.ndim))
    return standard(x, axes) * channels(scale, x.ndim) + channels(bias, x.ndim)


def of_batches(x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> Array:
    of = [channels(values, x.ndim) for values in (scale, bias, mean, variance)]
    return (x - of[2]) / np.sqrt(of[3] + 1e-5) * of[0] + of[1]


def by_length(x: Array, axis: int = -1) -> Array:
    return np.asarray(x / np.sqrt((x**2).sum(axis, keepdims=True)))


def of_sums(x: Array, skip: Array, scale: Array, bias: Array) -> Array:
    return standard(x + skip, (-1,)) * scale + bias


def by_steps(x: Array, two: Array, epsilon: Array) -> Array:
    return standard(x, (-1,), float(epsilon))


@dataclass(frozen=True)
class Case:
    """One operator, or several, on x and constants; `exact` is its first result in double precision."""

    nodes: tuple[Any, ...]
    exact: Exact
    shape: tuple[int, ...] = (1, 9, 24)
    constants: tuple[Any, ...] = ()  # shapes, and numbers
    version: int = 21
    outputs: tuple[str, ...] = ("y",)

    def given(self, mean: float, deviation: float) -> Mapping[str, Array]:
        """Constants by name; those of inference are of the input's own mean and deviation."""
        rng = np.random.default_rng(7)
        found = {
            f"c{n}": np.float32(size) if isinstance(size, float) else rng.uniform(0.5, 2, size)
            for n, size in enumerate(self.constants)
        }
        if self.exact is of_batches:
            found |= {"c2": np.full(4, mean), "c3": np.full(4, deviation**2)}
        return {name: np.asarray(array, np.float32) for name, array in found.items()}

    def file(self, constants: Mapping[str, Array]) -> bytes:
        version = self.version
        return onnx_file(self.nodes, {"x": self.shape}, self.outputs, constants, version, ir_version=10)


def one(operator: str, count: int = 0, outputs: tuple[str, ...] = ("y",), **attributes: Any) -> tuple[Any]:
    names = ["x", *(f"c{n}" for n in range(count))]
    return (helper.make_node(operator, names, list(outputs), **attributes),)


STEPS = (
    helper.make_node("ReduceMean", ["x"], ["m"], axes=[-1]),
    helper.make_node("Sub", ["x", "m"], ["d"]),
    helper.make_node("Pow", ["d", "c0"], ["p"]),
    helper.make_node("ReduceMean", ["p"], ["v"], axes=[-1]),
    helper.make_node("Add", ["v", "c1"], ["e"]),
    helper.make_node("Sqrt", ["e"], ["r"]),
    helper.make_node("Div", ["d", "r"], ["y"]),
)
IMAGE = (1, 4, 12, 12)
FOUR = ((4,), (4,))
CASES = {
    "layers": Case(
        one("LayerNormalization", 2),
        lambda x, s, b: standard(x, (-1,)) * s + b,
        constants=((24,), (24,)),
    ),
    "layers of two dimensions, with the mean and the deviation": Case(
        one("LayerNormalization", 2, ("y", "mean", "deviation"), axis=1),
        lambda x, s, b: standard(x, (1, 2)) * s + b,
        (2, 9, 24),
        ((9, 24), (9, 24)),
        outputs=("y", "mean", "deviation"),
    ),
    "instances": Case(one("InstanceNormalization", 2), instance, IMAGE, FOUR),
    "instances of lines": Case(one("InstanceNormalization", 2), instance, (2, 4, 33), FOUR),
    "groups": Case(one("GroupNormalization", 2, num_groups=2), groups, IMAGE, FOUR),
    "groups with a scale each": Case(
        one("GroupNormalization", 2, num_groups=2), groups, (2, 4, 5, 7), ((2,), (2,)), version=18
    ),
    "images": Case(one("MeanVarianceNormalization"), lambda x: without_epsilon(x, (0, 2, 3)), (1, 3, 8, 8)),
    "vectors": Case(
        one("MeanVarianceNormalization", axes=[2]), lambda x: without_epsilon(x, (2,)), (1, 4, 33)
    ),
    "sums": Case(
        one("SkipLayerNormalization", 3, domain="com.microsoft", epsilon=1e-5),
        of_sums,
        constants=((1, 9, 24), (24,), (24,)),
    ),
    "batches": Case(one("BatchNormalization", 4), of_batches, IMAGE, FOUR + FOUR),
    "batches while training": Case(
        one("BatchNormalization", 4, ("y", "mean", "variance"), training_mode=1), trained, IMAGE, FOUR + FOUR
    ),
    "lengths": Case(one("LpNormalization"), by_length),
    "steps of old exports": Case(STEPS, by_steps, (1, 5, 768), (2.0, 1e-5), version=13),
}
INPUTS = {
    "mean 10": (10.0, 1.0),
    "mean 100": (100.0, 1.0),
    "mean 1000": (1000.0, 1.0),
    "an accelerometer": (9.81, 0.05),
    "a barometer": (1013.0, 0.3),
    "centred": (0.0, 1.0),
    "a constant": (1000.3, 0.0),
    "tiny": (3e-4, 1e-5),
    "huge": (3e6, 1e4),
}


def drawn(case: Case, mean: float, deviation: float) -> Array:
    noise = np.random.default_rng(prod(case.shape)).normal(size=case.shape)
    return (mean + deviation * noise).astype(np.float32)


def wide(case: Case, x: Array, constants: Mapping[str, Array]) -> Array:
    return case.exact(x.astype(np.float64), *(array.astype(np.float64) for array in constants.values()))


def is_apart(made: Array, wanted: Array, tolerance: float = TOLERANCE) -> bool:
    return float(np.abs(made - wanted).max()) > tolerance * float(np.abs(wanted).max())


def test_no_mean_is_too_far_from_zero(tmp_path, require_tool):
    require_tool("gcc")
    models: dict[str, Any] = {}
    jobs: list[tuple[Any, ...]] = []
    for number, (name, case) in enumerate(CASES.items()):
        for kind, (mean, deviation) in INPUTS.items():
            constants = case.given(mean, deviation)
            if case.exact is by_steps and not deviation:
                continue  # what is left of x - mean in single precision is noise, in any runtime
            graph = read_onnx(case.file(constants), "net.onnx")
            model = f"case_{number}" if case.exact is not of_batches else f"case_{number}_{len(jobs)}"
            if model not in models:
                imported = ImportedModel(graph, "net.onnx", "00" * 32, model)
                models[model] = compile_job(Job(imported, Target("host"), CompileOptions()))
            jobs.append((name, kind, model, graph, drawn(case, mean, deviation), constants))
    hosts = build_batch(models, tmp_path)
    apart = []
    for name, kind, model, graph, x, constants in jobs:
        case, (mean, deviation) = CASES[name], INPUTS[kind]
        wanted = wide(case, x, constants)
        # The file itself rounds a mean, and a sum with numbers of a deviation of 0.43, to single precision.
        rounded = {by_steps: deviation, of_sums: max(deviation, 0.43)}.get(case.exact, np.inf)
        apart += [
            f"{name}, {kind}: {what}"
            for what, made in (("NumPy", run_graph(graph, {"x": x})), ("C", hosts[model].run({"x": x})))
            if is_apart(made["y"], wanted, TOLERANCE + 2**-24 * mean / rounded)
        ]
    assert not apart, "\n".join(apart)


@pytest.mark.parametrize("name", CASES)
def test_all_results_are_those_of_onnx_runtime(name):
    """Where the input is centred, so that ONNX Runtime loses no digits either."""
    case = CASES[name]
    x, constants = drawn(case, 0.0, 1.0), case.given(0.0, 1.0)
    made = run_graph(read_onnx(case.file(constants), "net.onnx"), {"x": x})
    for output, array in zip(case.outputs, run_onnx(case.file(constants), {"x": x}), strict=True):
        assert made[output].shape == array.shape
        assert not is_apart(made[output], array), output
