"""Signal*: TFLite Micro's audio front end, in integers from samples to logarithms of channels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.frontend.tflite.custom_options import custom_options, whole_options
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import Array, DType, TensorType
from aot.ops.binary import Mul
from aot.ops.energy import Energy
from aot.ops.fft import Fft, RealSamples, RealSpectrum
from aot.ops.filter_bank import FilterBank
from aot.ops.gain_control import GainControl
from aot.ops.rearrange import Rearrange
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
