"""SVDF: a dense layer that keeps its last results, and a filter over them."""

from __future__ import annotations

from dataclasses import dataclass

import tflite

from aot.frontend.tflite.importers.rearranging import transposed_constant
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.concat import Concat
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape

_STATE = 4  # number of the input that persists between runs


@dataclass(frozen=True)
class _Sizes:
    units: int
    rank: int
    steps: int
    depth: int

    @property
    def rows(self) -> int:
        return self.steps * self.rank


def import_svdf(node: TfliteOperator) -> None:
    """Imports SVDF; each sample of a batch has separate memory."""
    x, features, times = (node.operand(n, "an operand") for n in (0, 1, 2))
    sizes = _sizes(node, features, times)
    samples = node.tensor(x).elements // sizes.depth
    flat = node.reshaped(x, (1, samples * sizes.depth))
    results = []
    for sample in range(samples):
        part = flat
        if samples > 1:
            part = node.value_like(f"{x}/{sample}", node.tensor(x), (1, sizes.depth))
            op = Rearrange((1, sizes.depth), (sizes.depth,), (1,), sample * sizes.depth)
            node.add_node(op, (flat,), part)
        results.append(_one_sample(node, part, sizes))
    whole = (1, samples * sizes.units)
    if samples > 1:
        node.reshaped_result(Concat(1), results, whole)
    else:
        output = node.the_output
        node.add_node(Reshape(node.tensor(output).shape), results, output)


def _sizes(node: TfliteOperator, features: str, times: str) -> _Sizes:
    rank = node.options(tflite.SVDFOptions).Rank()
    for name in (features, times):
        node.with_rank(name, 2)
        if name not in node.draft.constants:
            raise node.fail(f'its weights "{name}" must be constant', "convert the model with frozen weights")
    (filters, steps), depth = node.tensor(times).shape, node.tensor(features).shape[1]
    if rank < 1 or filters % rank or node.tensor(features).shape[0] != filters:
        raise node.fail(f"rank {rank} does not fit its {filters} filters")
    return _Sizes(filters // rank, rank, steps, depth)


def _one_sample(node: TfliteOperator, x: str, sizes: _Sizes) -> str:
    """Adds one sample. Memory is [steps * rank, units], oldest step first, so that rows drop off a step."""
    features, times = (node.operand(n, "weights") for n in (1, 2))
    state = node.operand(_STATE, "the state")
    units, rank, rows = sizes.units, sizes.rank, sizes.rows
    is_real = node.tensor(x).dtype is DType.F32
    memory = node.draft.add_state(state, (1, rows, 1, units))
    made = _feature(node, x, features, node.tensor(state).dtype, (units, rank))
    newest = node.reshaped(made, (1, rank, 1, units))
    seen = _shifted(node, memory, newest, (rows, rank, units))
    node.draft.keep_state(memory, seen)
    number = node.options(tflite.SVDFOptions).FusedActivationFunction()
    # For integers, the reference clamps to the type's range and ignores the activation.
    activation = node.activation(number) if is_real else Activation.NONE
    output = node.tensor(node.the_output)
    result = None if output.dtype is node.tensor(state).dtype else output.dtype
    weights = transposed_constant(node, times, (units, rank, sizes.steps), (2, 1, 0), (rows, 1, units))
    bias = node.constant_bias(units, 3)
    y = node.value_like(f"{node.label}/filtered", output, (1, 1, 1, units))
    node.add_node(DepthwiseConv2d(activation=activation, result=result), (seen, weights, bias), y)
    return node.reshaped(y, (1, units))


def _feature(
    node: TfliteOperator,
    x: str,
    features: str,
    dtype: DType,
    filters: tuple[int, int],
) -> str:
    """Adds the dense layer, with results in the order [rank, unit]."""
    units, rank = filters
    depth = node.tensor(features).shape[1]
    weights = transposed_constant(node, features, (units, rank, depth), (1, 0, 2), (rank * units, depth))
    kept = node.tensor(node.operand(_STATE, "the state"))
    made = node.value_like(f"{node.label}/feature", kept, (1, rank * units))
    result = None if dtype is node.tensor(x).dtype else dtype
    node.add_node(Dense(result=result), (x, weights, None), made)
    return made


def _shifted(node: TfliteOperator, memory: str, newest: str, sizes: tuple[int, int, int]) -> str:
    """Returns the memory without its oldest step, with the newest at its end."""
    rows, rank, units = sizes
    kept = node.tensor(memory)
    if rows == rank:
        return newest
    flat = node.reshaped(memory, (1, rows * units))
    size = (rows - rank) * units
    younger = node.value_like(f"{node.label}/younger", kept, (1, size))
    node.add_node(Rearrange((1, size), (size,), (1,), rank * units), (flat,), younger)
    whole = node.value_like(f"{node.label}/memory", kept, (1, rows * units))
    parts = (younger, node.reshaped(newest, (1, rank * units)))
    node.add_node(Concat(1), parts, whole)
    return node.reshaped(whole, (1, rows, 1, units))


SVDF: dict[str, Importer] = {"SVDF": import_svdf}
