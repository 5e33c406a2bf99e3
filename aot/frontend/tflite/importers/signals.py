"""Signal*: TFLite Micro's audio front end, in integers from samples to logarithms of channels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from aot.frontend.tflite.operation import Importer, TfliteOperator, custom_options, whole_options
from aot.ir.types import Array, DType, TensorType
from aot.ops.binary import Add, Mul
from aot.ops.combine import Combination, Combine
from aot.ops.compare import Compare, Relation
from aot.ops.concat import Concat
from aot.ops.convert import Convert
from aot.ops.energy import Energy
from aot.ops.fft import Fft, RealSamples, RealSpectrum
from aot.ops.filter_bank import FilterBank
from aot.ops.gain_control import GainControl
from aot.ops.op import Op
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.ops.select import Select
from aot.ops.signal import FixedLog, Headroom, NoiseEstimate, ShiftUp, WholeRoot, Window, WithoutNoise


def _import_window(node: TfliteOperator) -> None:
    (shift,) = whole_options(node, "shift")
    node.add_node(Window(shift), node.inputs, node.the_output)


def _import_auto_scale(node: TfliteOperator) -> None:
    x = node.operand(0, "the samples")
    scaled, bits = node.the_outputs(2)
    node.add_node(Headroom(), (x,), bits)
    node.add_node(ShiftUp(), (x, bits), scaled)


def _import_rfft(node: TfliteOperator) -> None:
    x = node.operand(0, "the samples")
    pairs = node.apply(Fft(_length(node) // 2), x)
    node.add_node(RealSpectrum(), (pairs,), node.the_output)


def _length(node: TfliteOperator) -> int:
    """Returns the length of a transform, in samples."""
    (length,) = whole_options(node, "fft_length")
    if length < 4 or length & (length - 1):
        raise node.fail(
            f"a transform of {length} samples is not supported",
            "supported: 4, 8, 16, ...; the samples may be fewer",
        )
    return length


def _import_irfft(node: TfliteOperator) -> None:
    """Divides float samples by their number; integers were scaled at each stage."""
    x, length = node.operand(0, "the spectrum"), _length(node)
    made = node.apply(Fft(length // 2), node.apply(RealSamples(), x))
    tensor = node.tensor(made)
    if tensor.dtype is DType.F32:
        share = np.full((1,) * tensor.rank, 1 / length, np.float32)
        factor = node.add_value(f"{node.label}/share", TensorType(DType.F32, share.shape), share)
        whole = node.add_value(f"{node.label}/scaled", tensor)
        node.add_node(Mul(), (made, factor), whole)
        made = whole
    exchange = Rearrange(tensor.shape, (tensor.elements // 2, 2), (2, -1), 1)
    node.add_node(exchange, (made,), node.the_output)


def _import_energy(node: TfliteOperator) -> None:
    first, end = whole_options(node, "start_index", "end_index")
    node.add_node(Energy(first, end), node.inputs, node.the_output)


def _import_filter_bank(node: TfliteOperator) -> None:
    x = node.operand(0, "the energies")
    (channels,) = whole_options(node, "num_channels")
    up, down, starts, places, widths = (np.array(node.integers(n, "filters"), np.int64) for n in range(1, 6))
    sizes = {len(part) for part in (starts, places, widths)}
    energies = node.tensor(x).elements
    ends = (starts + widths, places + widths) if len(sizes) == 1 else (starts, places)
    fits = (
        sizes == {channels + 1} and len(up) == len(down) and min(map(np.min, (starts, places, widths))) >= 0
    )
    if not fits or ends[0].max() > energies or ends[1].max() > len(up):
        raise node.fail(
            f"its {channels} channels do not fit {energies:,} energies and {len(up):,} weights",
            "the file looks corrupted: get or convert it again",
        )
    rows = np.zeros((channels, energies), np.int64)
    for c in range(channels + 1):
        seen, taken = slice(starts[c], ends[0][c]), slice(places[c], ends[1][c])
        # The rest of an energy's weight goes to the next channel; the first channel exists only for this.
        if c > 0:
            rows[c - 1, seen] += up[taken]
        if c < channels:
            rows[c, seen] += down[taken]
    first, weights = _windows(rows)
    constants = (
        node.add_value(f"{node.label}/{name}", TensorType(DType.I32, array.shape), array)
        for name, array in (("first", first), ("weights", weights))
    )
    node.add_node(FilterBank(), (x, *constants), node.the_output)


def _windows(rows: Array) -> tuple[Array, Array]:
    """Returns the nonzero weights of each row, as many as the longest row needs, and their start."""
    used = [np.flatnonzero(row) for row in rows]
    width = max((int(u[-1] - u[0]) + 1 for u in used if u.size), default=1)
    first = np.array([min(int(u[0]) if u.size else 0, rows.shape[1] - width) for u in used], np.int32)
    return first, rows[np.arange(len(rows))[:, None], first[:, None] + np.arange(width)].astype(np.int32)


def _import_square_root(node: TfliteOperator) -> None:
    node.add_node(WholeRoot(), node.inputs, node.the_output)


def _import_spectral_subtraction(node: TfliteOperator) -> None:
    """Keeps the noise between runs. Even and odd channels have different smoothing."""
    x = node.operand(0, "the channels")
    shares = whole_options(
        node, "smoothing", "alternate_smoothing", "one_minus_smoothing", "alternate_one_minus_smoothing"
    )
    up, down, least = whole_options(
        node, "smoothing_bits", "spectral_subtraction_bits", "min_signal_remaining"
    )
    limited = bool(custom_options(node).get("clamping"))
    result, estimate = node.the_outputs(2)
    tensor = node.tensor(x)
    noise = node.draft.add_state(estimate, tensor.shape)
    every = np.arange(tensor.elements).reshape(tensor.shape) % 2
    new, old = (
        node.add_value(
            f"{node.label}/{name}", replace(tensor, quant=None), np.array([even, odd], np.uint32)[every]
        )
        for name, even, odd in (("new", shares[0], shares[1]), ("old", shares[2], shares[3]))
    )
    node.add_node(NoiseEstimate(up, down, limited), (x, noise, new, old), estimate)
    node.add_node(WithoutNoise(up, down, least), (x, estimate), result)
    node.draft.keep_state(noise, estimate)


def _import_gain_control(node: TfliteOperator) -> None:
    (shift,) = whole_options(node, "snr_shift")
    node.add_node(GainControl(shift), node.inputs, node.the_output)


def _import_log(node: TfliteOperator) -> None:
    up, scale = whole_options(node, "input_correction_bits", "output_scale")
    node.add_node(FixedLog(up, scale), node.inputs, node.the_output)


SIGNALS: dict[str, Importer] = {
    "CUSTOM SignalEnergy": _import_energy,
    "CUSTOM SignalFftAutoScale": _import_auto_scale,
    "CUSTOM SignalFilterBank": _import_filter_bank,
    "CUSTOM SignalFilterBankLog": _import_log,
    "CUSTOM SignalFilterBankSpectralSubtraction": _import_spectral_subtraction,
    "CUSTOM SignalFilterBankSquareRoot": _import_square_root,
    "CUSTOM SignalIrfft": _import_irfft,
    "CUSTOM SignalPCAN": _import_gain_control,
    "CUSTOM SignalRfft": _import_rfft,
    "CUSTOM SignalWindow": _import_window,
}


# Framer, Stacker, Delay, OverlapAdd of TFLite Micro's audio front end keep samples between runs.
#
# They keep the end of the previous data, so each concatenates that with the new data and selects parts.
# TFLite Micro leaves a result that is not valid yet unchanged; here it is computed anyway.


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
