"""SVDF: a dense layer that keeps its last results, and a filter over them."""

from __future__ import annotations

from dataclasses import dataclass

import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import transposed_constant
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


def import_svdf(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports SVDF; each sample of a batch has separate memory."""
    x, features, times = (read.operand(operator, n, "an operand") for n in (0, 1, 2))
    sizes = _sizes(draft, operator, features, times)
    samples = draft.types[x].elements // sizes.depth
    flat = read.reshaped(draft, operator, x, (1, samples * sizes.depth))
    results = []
    for sample in range(samples):
        part = flat
        if samples > 1:
            part = read.value_like(draft, f"{x}/{sample}", draft.types[x], (1, sizes.depth))
            op = Rearrange((1, sizes.depth), (sizes.depth,), (1,), sample * sizes.depth)
            draft.add_node(operator, op, (flat,), part)
        results.append(_one_sample(draft, operator, part, sizes))
    whole = (1, samples * sizes.units)
    if samples > 1:
        read.reshaped_result(draft, operator, Concat(1), results, whole)
    else:
        output = read.the_output(operator)
        draft.add_node(operator, Reshape(draft.types[output].shape), results, output)


def _sizes(draft: TfliteDraft, operator: TfliteOperator, features: str, times: str) -> _Sizes:
    rank = operator.options(tflite.SVDFOptions).Rank()
    for name in (features, times):
        read.with_rank(draft, operator, name, 2)
        if name not in draft.constants:
            raise operator.fail(
                f'its weights "{name}" must be constant', "convert the model with frozen weights"
            )
    (filters, steps), depth = draft.types[times].shape, draft.types[features].shape[1]
    if rank < 1 or filters % rank or draft.types[features].shape[0] != filters:
        raise operator.fail(f"rank {rank} does not fit its {filters} filters")
    return _Sizes(filters // rank, rank, steps, depth)


def _one_sample(draft: TfliteDraft, operator: TfliteOperator, x: str, sizes: _Sizes) -> str:
    """Adds one sample. Memory is [steps * rank, units], oldest step first, so that rows drop off a step."""
    features, times = (read.operand(operator, n, "weights") for n in (1, 2))
    state = read.operand(operator, _STATE, "the state")
    units, rank, rows = sizes.units, sizes.rank, sizes.rows
    is_real = draft.types[x].dtype is DType.F32
    memory = draft.add_state(state, (1, rows, 1, units))
    made = _feature(draft, operator, x, features, draft.types[state].dtype, (units, rank))
    newest = read.reshaped(draft, operator, made, (1, rank, 1, units))
    seen = _shifted(draft, operator, memory, newest, (rows, rank, units))
    draft.keep_state(memory, seen)
    number = operator.options(tflite.SVDFOptions).FusedActivationFunction()
    # For integers, the reference clamps to the type's range and ignores the activation.
    activation = read.activation(operator, number) if is_real else Activation.NONE
    output = draft.types[read.the_output(operator)]
    result = None if output.dtype is draft.types[state].dtype else output.dtype
    weights = transposed_constant(draft, times, (units, rank, sizes.steps), (2, 1, 0), (rows, 1, units))
    bias = read.constant_bias(draft, operator, units, 3)
    y = read.value_like(draft, f"{operator.label}/filtered", output, (1, 1, 1, units))
    draft.add_node(operator, DepthwiseConv2d(activation=activation, result=result), (seen, weights, bias), y)
    return read.reshaped(draft, operator, y, (1, units))


def _feature(
    draft: TfliteDraft,
    operator: TfliteOperator,
    x: str,
    features: str,
    dtype: DType,
    filters: tuple[int, int],
) -> str:
    """Adds the dense layer, with results in the order [rank, unit]."""
    units, rank = filters
    depth = draft.types[features].shape[1]
    weights = transposed_constant(draft, features, (units, rank, depth), (1, 0, 2), (rank * units, depth))
    kept = draft.types[read.operand(operator, _STATE, "the state")]
    made = read.value_like(draft, f"{operator.label}/feature", kept, (1, rank * units))
    result = None if dtype is draft.types[x].dtype else dtype
    draft.add_node(operator, Dense(result=result), (x, weights, None), made)
    return made


def _shifted(
    draft: TfliteDraft, operator: TfliteOperator, memory: str, newest: str, sizes: tuple[int, int, int]
) -> str:
    """Returns the memory without its oldest step, with the newest at its end."""
    rows, rank, units = sizes
    kept = draft.types[memory]
    if rows == rank:
        return newest
    flat = read.reshaped(draft, operator, memory, (1, rows * units))
    size = (rows - rank) * units
    younger = read.value_like(draft, f"{operator.label}/younger", kept, (1, size))
    draft.add_node(operator, Rearrange((1, size), (size,), (1,), rank * units), (flat,), younger)
    whole = read.value_like(draft, f"{operator.label}/memory", kept, (1, rows * units))
    parts = (younger, read.reshaped(draft, operator, newest, (1, rank * units)))
    draft.add_node(operator, Concat(1), parts, whole)
    return read.reshaped(draft, operator, whole, (1, rows, 1, units))


SVDF: dict[str, Importer] = {"SVDF": import_svdf}
