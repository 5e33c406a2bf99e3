"""Runs graphs drawn at random as NumPy and as C, and holds both against ONNX Runtime.

`make fuzz-graphs` runs 5,000 of them; --count and --first choose others. It prints what differs, by the
number of the graph, and a count of outcomes.

Single precision loses digits in a graph that subtracts large numbers. How many is measured: ONNX Runtime runs
the graph again, with its input and the result of every node moved by a unit in the last place. Solder may
differ by a few times as much as these runs do. If it differs more, ONNX's own evaluator decides in double
precision: Solder may be a few times as far from it as ONNX Runtime is, no more.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from drawn_inputs import INPUTS, drawn_input
from onnx import TensorProto
from onnx_graphs import drawn_graph
from onnx_oracle import run_onnx
from suite_batch import build_batch

from aot.errors import DeployError
from aot.frontend.load import parse_model
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.target import Target
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

RIGHT, REFUSED, UNKNOWN, WRONG = "right", "refused", "not run by ONNX Runtime", "wrong"
TOLERANCE = 1e-5  # of the largest number of an output
MOVED_RUNS = 4
AS_EXACT = 4.0  # times as far as ONNX Runtime is from double precision, or from its own moved runs
MEASURED = 0.1  # of the largest number: farther apart, the evaluator and ONNX Runtime mean different things
SMALL = 1e-6  # by itself, for functions near zero
BATCH = 60
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Outcome:
    number: int
    verdict: str
    why: str = ""

    def __str__(self) -> str:
        return f"graph {self.number}: {self.verdict} {self.why}"


@dataclass(frozen=True)
class Drawn:
    number: int
    data: bytes
    graph: Graph
    model: CompiledModel
    kinds: Sequence[str]
    shape: tuple[int, ...]


def run_graphs(numbers: Sequence[int], folder: Path) -> list[Outcome]:
    outcomes: list[Outcome] = []
    jobs: list[Drawn] = []
    for number in numbers:
        found = _drawn(number)
        (jobs if isinstance(found, Drawn) else outcomes).append(found)  # type: ignore[arg-type]
    hosts = build_batch({job.model.name: job.model for job in jobs}, folder) if jobs else {}
    return outcomes + [_compared(job, hosts[job.model.name].run) for job in jobs]


def _drawn(number: int) -> Drawn | Outcome:
    rng = np.random.default_rng((27, number))
    data, shape = drawn_graph(rng)
    kinds = [str(kind) for kind in rng.choice(list(INPUTS), 3, replace=False)]
    try:
        graph = parse_model(data, "drawn.onnx", "tflm")
        imported = ImportedModel(graph, "drawn.onnx", "00" * 32, f"drawn_{number}")
        return Drawn(
            number, data, graph, compile_job(Job(imported, Target("host"), CompileOptions())), kinds, shape
        )
    except DeployError as error:
        return Outcome(number, REFUSED, error.what)
    except Exception as error:  # a crash is an outcome too, and must not hide the others
        return Outcome(number, WRONG, f"crash: {error!r}")


def _compared(job: Drawn, run: Callable[[dict[str, Any]], Any]) -> Outcome:
    rng = np.random.default_rng((28, job.number))
    (name,) = job.graph.outputs
    for kind in job.kinds:
        x = drawn_input(rng, kind, job.shape)
        try:
            (wanted,) = run_onnx(job.data, {"x": x})
        except Exception as error:  # ONNX Runtime's have no class in common
            return Outcome(job.number, UNKNOWN, str(error).splitlines()[0])
        for what, made in (("NumPy", run_graph(job.graph, {"x": x})), ("C", run({"x": x}))):
            why = why_apart(made[name], wanted, job.data, x)
            if why:
                return Outcome(job.number, WRONG, f"{what}, {kind}: {why}")
    return Outcome(job.number, RIGHT)


def why_apart(made: Array, wanted: Array, data: bytes, x: Array) -> str:
    if made.shape != wanted.shape:
        return f"shape {made.shape}, not {wanted.shape}"
    apart, largest = _distance(made, wanted), _largest(wanted)
    if apart <= TOLERANCE * largest:
        return ""
    lost = digits_lost(data, x, wanted)
    if apart <= AS_EXACT * lost:
        return ""
    said = f"{apart:.3g} apart of {largest:.3g}; ONNX Runtime loses {lost:.3g}"
    exact = in_double(data, x)
    if exact is None or exact.shape != wanted.shape or not np.isfinite(exact).all():
        return said if apart > SMALL else ""
    own, its = _distance(made, exact), _distance(wanted, exact)
    if own <= max(TOLERANCE * _largest(exact), min(AS_EXACT * its, MEASURED * largest), SMALL):
        return ""
    return f"{said}; from double precision {own:.3g}, ONNX Runtime {its:.3g}"


def digits_lost(data: bytes, x: Array, wanted: Array) -> float:
    """Returns how far ONNX Runtime's result moves if the input and each node's result are rounded elsewhere.

    Each of their numbers changes by at most 2 ** -23 of itself, as rounding to single precision changes it.
    Runs in which other numbers are finite measure nothing.
    """
    made = [run_onnx(_moved(data, seed), {"x": x})[0] for seed in range(MOVED_RUNS)]
    return max((d for d in (_distance(each, wanted) for each in made) if np.isfinite(d)), default=0.0)


def _moved(data: bytes, seed: int) -> bytes:
    """The graph with its input and each node's result times random numbers around one."""
    from onnx import helper, load_from_string

    model = load_from_string(data)
    unit = float(np.finfo(np.float32).eps)
    first = helper.make_node("Identity", ["x"], ["x_read"])
    nodes = []
    for number, node in enumerate([first, *model.graph.node]):
        inputs = ["x_read" if name == "x" and number else name for name in node.input]
        del node.input[:]
        node.input.extend(inputs)
        (name,) = node.output
        node.output[0] = f"{name}_still"
        drawn = {"low": 1 - unit, "high": 1 + unit, "seed": float(1000 * seed + number)}
        nodes += [
            node,
            helper.make_node("RandomUniformLike", [f"{name}_still"], [f"{name}_factor"], **drawn),
            helper.make_node("Mul", [f"{name}_still", f"{name}_factor"], [name]),
        ]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return bytes(model.SerializeToString())


def _distance(a: Array, b: Array) -> float:
    """Infinite where one is not finite and the other is not the same."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    known = np.isfinite(b)
    if not np.array_equal(a[~known], b[~known], equal_nan=True):
        return float("inf")
    return float(np.abs(a - b)[known].max(initial=0))


def _largest(array: Array) -> float:
    return float(np.abs(array[np.isfinite(array)]).max(initial=0))


def in_double(data: bytes, x: Array) -> Array | None:
    """The first output in ONNX's own evaluator, all floats with 64 bits; None where it cannot."""
    from onnx import load_from_string, numpy_helper, shape_inference
    from onnx.reference import ReferenceEvaluator

    model = load_from_string(data)
    known = shape_inference.infer_shapes(model).graph
    shapes = {
        value.name: [d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in (*known.value_info, *known.output)
    }
    nodes = [each for node in model.graph.node for each in _evaluated(node, model, shapes)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.float32 and not _is_scale(model, tensor.name):
            tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float64), tensor.name))
    for given in model.graph.input:
        given.type.tensor_type.elem_type = TensorProto.DOUBLE
    try:
        with np.errstate(all="ignore"):
            found: Array = ReferenceEvaluator(model).run(None, {"x": x.astype(np.float64)})[0]
    except Exception:  # bodies of functions mix floats of both sizes
        return None
    return found


def _evaluated(node: Any, model: Any, shapes: Mapping[str, Sequence[int]]) -> list[Any]:
    """Returns nodes that the evaluator computes as ONNX Runtime does, in place of one that it does not.

    A transposed convolution becomes one for each group. Corners are aligned to the whole number of results,
    which sizes state; the evaluator aligns to the product with the scale.
    """
    from onnx import helper, numpy_helper

    if (
        node.op_type == "Resize"
        and len(node.input) == 3
        and b"align_corners" in [a.s for a in node.attribute]
    ):
        size = f"{node.output[0]}_size"
        model.graph.initializer.append(numpy_helper.from_array(np.array(shapes[node.output[0]]), size))
        del node.input[2]
        node.input.extend(["", size])
        return [node]
    groups = next((a.i for a in node.attribute if a.name == "group"), 1)
    if node.op_type != "ConvTranspose" or groups == 1:
        return [node]
    place = next(i for i, t in enumerate(model.graph.initializer) if t.name == node.input[1])
    parts = np.split(numpy_helper.to_array(model.graph.initializer[place]), groups)
    names = [f"{node.output[0]}_{number}" for number in range(groups)]
    made = [helper.make_node("Split", node.input[:1], [f"{n}_x" for n in names], axis=1, num_outputs=groups)]
    for name, part in zip(names, parts, strict=True):
        model.graph.initializer.append(numpy_helper.from_array(part, f"{name}_w"))
        one = helper.make_node("ConvTranspose", [f"{name}_x", f"{name}_w"], [name])
        one.attribute.extend(a for a in node.attribute if a.name != "group")
        made.append(one)
    return [*made, helper.make_node("Concat", names, node.output, axis=1)]


def _is_scale(model: Any, name: str) -> bool:
    return any(node.op_type == "Resize" and name in node.input for node in model.graph.node)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    chosen = parser.parse_args(words)
    counts: Counter[str] = Counter()
    for start in range(chosen.first, chosen.first + chosen.count, BATCH):
        numbers = range(start, min(start + BATCH, chosen.first + chosen.count))
        with tempfile.TemporaryDirectory() as folder:
            outcomes = run_graphs(numbers, Path(folder))
        counts.update(outcome.verdict for outcome in outcomes)
        for outcome in outcomes:
            if outcome.verdict != RIGHT:
                sys.stdout.write(f"{outcome}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{dict(counts)}\n")
    return 1 if counts[WRONG] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
