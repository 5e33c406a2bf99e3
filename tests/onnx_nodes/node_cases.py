"""The node tests that the `onnx` package brings: a model of few nodes, inputs, outputs, tolerances each."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aot.frontend.onnx.errors import NeedsValueError
from aot.frontend.onnx.read import read_onnx
from aot.ir.graph import Graph
from aot.ir.types import Array


@dataclass(frozen=True)
class NodeCase:
    name: str
    operator: str  # what the case is counted under
    file: bytes
    inputs: tuple[Any, ...]  # by the model's inputs, in order
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    outputs: tuple[Any, ...]
    rtol: float
    atol: float


@dataclass(frozen=True)
class Imported:
    """The case as a graph; `fixed` are the inputs that were given when it was compiled."""

    case: NodeCase
    graph: Graph
    fixed: tuple[str, ...]


def node_cases(expanded: bool = False) -> list[NodeCase]:
    """The base cases, or those with functions written out."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflows that the package's cases are made of
        cases = load_model_tests(kind="node")
    return [_case(c) for c in cases if ("expanded" in c.name) == expanded and c.name not in _OTHERWISE]


# These expect the corners of a fractional size. ONNX Runtime and PyTorch, which make and run such files, and
# Solder use the size that the result has.
_OTHERWISE = {
    "test_resize_downsample_scales_cubic_align_corners",
    "test_resize_downsample_scales_linear_align_corners",
}
# These expect the noise of a transform in single precision, 2e-7, where the result is 0.
_NOISE = {"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}


def _case(case: Any) -> NodeCase:
    graph = case.model.graph
    inputs, outputs = case.data_sets[0]
    operators = [n.op_type for n in graph.node if n.op_type != "Constant"] or ["Constant"]
    return NodeCase(
        case.name,
        operators[0],
        case.model.SerializeToString(),
        tuple(inputs),
        tuple(i.name for i in graph.input),
        tuple(o.name for o in graph.output),
        tuple(outputs),
        case.rtol,
        _NOISE.get(case.name, case.atol),
    )


def imported(case: NodeCase) -> Imported:
    """Inputs that an importer has to know (axes, shapes, counts) are fixed to the case's."""
    fixed: dict[str, Array] = {}
    given = _tensors(case.input_names, case.inputs)
    shapes = {n: tuple(x.dims) if hasattr(x, "dims") else np.shape(x) for n, x in given.items()}
    lengths = zip(case.input_names, case.inputs, strict=False)
    shapes.update({n: (len(items),) for n, items in lengths if isinstance(items, list)})
    while True:
        try:
            sizes = {n: s for n, s in shapes.items() if n not in fixed}
            graph = read_onnx(case.file, f"{case.name}.onnx", shapes=sizes, values=fixed)
            return Imported(case, graph, tuple(fixed))
        except NeedsValueError as error:
            if error.graph_input is None or error.graph_input in fixed:
                raise
            fixed[error.graph_input] = _array(given[error.graph_input])


def samples(found: Imported) -> tuple[dict[str, Array], list[tuple[str, Array]]]:
    """Inputs and expected outputs, in the element types of the graph."""
    given = _tensors(found.case.input_names, found.case.inputs)
    graph = found.graph
    inputs = {n: _stored(given[n], graph.types[n].dtype.numpy) for n in graph.inputs}
    wanted = _tensors(found.case.output_names, found.case.outputs)
    filled = {n: x for n, x in wanted.items() if _array(x).size}  # the others are not outputs of a graph
    for name in counted(found):  # the file's own output has as many rows as there are
        filled[f"{name}_count"] = np.array([len(_array(wanted[name]))])
    assert sorted(filled) == sorted(graph.outputs), found.case.name
    return inputs, [(n, _stored(filled[n], graph.types[n].dtype.numpy)) for n in graph.outputs]


def counted(found: Imported) -> list[str]:
    """Outputs that have a count beside them: of all rows that there can be, so many are there."""
    names = found.case.output_names
    return [n for n in names if f"{n}_count" in found.graph.outputs and f"{n}_count" not in names]


def as_counted(found: Imported, made: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs with no more rows than are there."""
    counts = {name: int(made[f"{name}_count"].item()) for name in counted(found)}
    return {name: array[: counts[name]] if name in counts else array for name, array in made.items()}


def _tensors(names: Sequence[str], items: Sequence[Any]) -> dict[str, Any]:
    """Tensors by name, those of a sequence by its name and their place; what is absent has none."""
    tensors: dict[str, Any] = {}
    for name, item in zip(names, items, strict=False):
        if isinstance(item, list):
            tensors.update(_tensors([f"{name}_{place}" for place in range(len(item))], item))
        elif item is not None:
            tensors[name] = item
    return tensors


def _array(given: Any) -> Array:
    """Element types that NumPy lacks come as a file has them."""
    if not hasattr(given, "data_type"):
        return np.asarray(given)
    from onnx.numpy_helper import to_array

    array: Array = to_array(given)
    return array


def _stored(given: Any, dtype: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):
        return _array(given).astype(dtype)


def is_right(made: Array, wanted: Array, case: NodeCase) -> bool:
    """Integers in every bit, floats as near as the case says."""
    if made.shape != wanted.shape:
        return False
    if made.dtype.kind != "f":
        return np.array_equal(made, wanted)
    return bool(np.allclose(made, wanted, case.rtol, case.atol, equal_nan=True))
