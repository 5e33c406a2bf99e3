"""Framer, Stacker, Delay, OverlapAdd of TFLite Micro's audio front end keep samples between runs.

They keep the end of the previous data, so each concatenates that with the new data and selects parts. TFLite
Micro leaves a result that is not valid yet unchanged; here it is computed anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from aot.frontend.tflite.custom_options import custom_options, whole_options
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import DType, TensorType
from aot.ops.binary import Add
from aot.ops.combine import Combination, Combine
from aot.ops.compare import Compare, Relation
from aot.ops.concat import Concat
from aot.ops.convert import Convert
from aot.ops.op import Op
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.ops.select import Select

_MOST_FRAMES = 256  # added by one run


@dataclass(frozen=True)
class _Steps:
    """Adds nodes for one operator; rows are [lines, samples]."""

    node: TfliteOperator

    def shape(self, name: str) -> tuple[int, ...]:
        return self.node.tensor(name).shape

    def made(self, what: str, op: Op, *inputs: str) -> str:
        ((dtype, shape),) = op.infer([self.node.tensor(name) for name in inputs])
        name = self.node.add_value(f"{self.node.label}/{what}", TensorType(DType(dtype), shape))
        self.node.add_node(op, inputs, name)
        return name

    def number(self, value: int, like: str) -> str:
        tensor = self.node.tensor(like)
        array = np.full((1,) * tensor.rank, value, tensor.dtype.numpy)
        return self.node.add_value(f"{self.node.label}/{value}", TensorType(tensor.dtype, array.shape), array)

    def rows(self, x: str) -> str:
        """Returns the value with all dimensions but the last as one."""
        shape = self.shape(x)
        flat = (prod(shape[:-1]), shape[-1])
        return x if shape == flat else self.made("rows", Reshape(flat), x)

    def behind(self, kept: str | None, x: str) -> str:
        return x if kept is None else self.made("whole", Concat(1), kept, x)

    def part(self, x: str, first: int, count: int) -> str:
        lines, length = self.shape(x)
        if count == length:
            return x
        return self.made("part", Rearrange((lines, count), (lines, count), (length, 1), first), x)

    def kept(self, x: str, count: int) -> str | None:
        """Returns samples of each line from the previous run."""
        tensor = TensorType(self.node.tensor(x).dtype, (self.shape(x)[0], count))
        return self.node.draft.add_state_of(f"{self.node.label}/samples", tensor) if count else None

    def keep_end(self, kept: str | None, whole: str) -> None:
        """Keeps the last samples for the next run."""
        if kept is not None:
            count, length = self.shape(kept)[1], self.shape(whole)[1]
            self.node.draft.keep_state(kept, self.part(whole, length - count, count))

    def counter(self) -> str:
        return self.node.draft.add_state_of(f"{self.node.label}/count", TensorType(DType.I32, ()))

    def result(self, op: Op, *inputs: str, to: str) -> None:
        self.node.add_node(op, inputs, to)


def _import_delay(node: TfliteOperator) -> None:
    (length,) = whole_options(node, "delay_length")
    steps, output = _Steps(node), node.the_output
    x = steps.rows(node.operand(0, "the samples"))
    kept = steps.kept(x, length)
    whole = steps.behind(kept, x)
    steps.keep_end(kept, whole)
    late = steps.part(whole, 0, steps.shape(x)[1])
    steps.result(Reshape(node.tensor(output).shape), late, to=output)


def _import_framer(node: TfliteOperator) -> None:
    """Imports Framer: overlapping frames. Without initial samples, the first ones are not valid."""
    size, step = whole_options(node, "frame_size", "frame_step")
    steps, (output, valid) = _Steps(node), node.the_outputs(2)
    x = steps.rows(node.operand(0, "the samples"))
    lines, length = steps.shape(x)
    if not 0 < step <= size or length % step:
        raise node.fail(
            f"frames of {size} in steps of {step} from {length} samples are not supported",
            "the step must not exceed the frame, and the samples must be a multiple of the step",
        )
    before = 0 if custom_options(node).get("prefill") else -(-size // step) - 1
    kept = steps.kept(x, before * step or size - step)
    whole = steps.behind(kept, x)
    steps.keep_end(kept, whole)
    sizes = (lines, length // step, size)
    strides = (steps.shape(whole)[1], step, 1)
    steps.result(Rearrange(node.tensor(output).shape, sizes, strides), whole, to=output)
    if not before:
        node.set_constant(valid, np.ones(node.tensor(valid).shape, np.bool_))
        return
    count = steps.counter()
    enough = steps.made("enough", Compare(Relation.GREATER_EQUAL), count, steps.number(before, count))
    steps.result(Reshape(node.tensor(valid).shape), enough, to=valid)
    more = steps.made("more", Add(), count, steps.number(sizes[1], count))
    least = Combine(Combination.MINIMUM)
    node.draft.keep_state(count, steps.made("seen", least, more, steps.number(before, count)))


def _import_stacker(node: TfliteOperator) -> None:
    """Imports Stacker: several frames side by side, every n runs; the first replaces missing earlier ones."""
    channels, left, right, every = whole_options(
        node, "num_channels", "stacker_left_context", "stacker_right_context", "stacker_step"
    )
    steps, (output, valid) = _Steps(node), node.the_outputs(2)
    x, frames = node.operand(0, "the channels"), left + right + 1
    if node.tensor(x).elements != channels or not 0 < every <= frames or frames > 1 << 12:
        raise node.fail(
            f"{frames} frames of {channels} channels every {every} runs are not supported",
            "the channels must match the elements, and the step must not exceed the number of frames",
        )
    row = x if steps.shape(x) == (1, channels) else steps.made("row", Reshape((1, channels)), x)
    kept, runs = steps.kept(row, channels * (frames - 1)), steps.counter()
    before = kept
    if kept is not None:
        first = steps.made("first", Compare(Relation.EQUAL), runs, steps.number(0, runs))
        again = steps.made("again", Rearrange(steps.shape(kept), (frames - 1, channels), (0, 1)), row)
        before = steps.made("before", Select(), steps.made("is", Reshape((1, 1)), first), again, kept)
    whole = steps.behind(before, row)
    steps.keep_end(kept, whole)
    steps.result(Reshape(node.tensor(output).shape), whole, to=output)
    _count_runs(steps, runs, right, every, valid)


def _count_runs(steps: _Steps, runs: str, first: int, every: int, valid: str) -> None:
    """Sets valid after `first` runs and then every `every`; the counter wraps around without 0."""
    is_turn = [
        steps.made("turn", Compare(Relation.EQUAL), runs, steps.number(n, runs))
        for n in (first, first + every)
    ]
    is_one = steps.made("one_of", Combine(Combination.OR), *is_turn)
    steps.result(Reshape(steps.node.tensor(valid).shape), is_one, to=valid)
    after = steps.made("after", Add(), runs, steps.number(1, runs))
    onward = steps.made("onward", Select(), is_turn[1], steps.number(first + 1, runs), after)
    steps.node.draft.keep_state(runs, onward)


def _import_overlap_add(node: TfliteOperator) -> None:
    """Imports OverlapAdd: adds each frame to the overlapping end of the previous ones."""
    (step,) = whole_options(node, "frame_step")
    steps, output = _Steps(node), node.the_output
    x = node.operand(0, "the frames")
    *outer, count, size = (1, 1, *steps.shape(x))
    if not 0 < step <= size or not 0 < count <= _MOST_FRAMES:
        raise node.fail(f"{count} frames of {size} in steps of {step} are not supported")
    lines = prod(outer)
    flat = steps.made("flat", Reshape((lines, count * size)), x)
    kept = before = steps.kept(flat, size - step)
    parts = []
    for number in range(count):
        frame = steps.part(flat, number * size, size)
        if before is not None:
            over, beyond = (steps.part(frame, *span) for span in ((0, size - step), (size - step, step)))
            frame = steps.made("sum", Concat(1), _added(steps, over, before), beyond)
            before = steps.part(frame, step, size - step)
        parts.append(steps.part(frame, 0, step))
    if kept is not None and before is not None:
        node.draft.keep_state(kept, before)
    whole = parts[0] if count == 1 else steps.made("line", Concat(1), *parts)
    steps.result(Reshape(node.tensor(output).shape), whole, to=output)


def _added(steps: _Steps, a: str, b: str) -> str:
    """Adds; integers saturate."""
    if steps.node.tensor(a).dtype is not DType.I16:
        return steps.made("added", Add(), a, b)
    total = steps.made("total", Add(), *(steps.made("wide", Convert(DType.I32), v) for v in (a, b)))
    for limit, by in zip(DType.I16.limits, (Combination.MAXIMUM, Combination.MINIMUM), strict=True):
        total = steps.made("limited", Combine(by), total, steps.number(limit, total))
    return steps.made("added", Convert(DType.I16), total)


FRAMES: dict[str, Importer] = {
    "CUSTOM SignalDelay": _import_delay,
    "CUSTOM SignalFramer": _import_framer,
    "CUSTOM SignalOverlapAdd": _import_overlap_add,
    "CUSTOM SignalStacker": _import_stacker,
}
