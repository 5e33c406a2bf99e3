"""Signal*: TFLite Micro's audio front end, in integers from samples to logarithms of channels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.frontend.tflite.custom_options import custom_options, whole_options
from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.ir.types import Array, DType, TensorType
from aot.ops.binary import Mul
from aot.ops.energy import Energy
from aot.ops.fft import Fft, RealSamples, RealSpectrum
from aot.ops.filter_bank import FilterBank
from aot.ops.gain_control import GainControl
from aot.ops.rearrange import Rearrange
from aot.ops.signal import FixedLog, Headroom, NoiseEstimate, ShiftUp, WholeRoot, Window, WithoutNoise


def _import_window(draft: TfliteDraft, operator: TfliteOperator) -> None:
    (shift,) = whole_options(operator, "shift")
    draft.add_node(operator, Window(shift), operator.inputs, read.the_output(operator))


def _import_auto_scale(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x = read.operand(operator, 0, "the samples")
    scaled, bits = read.outputs(operator, 2)
    draft.add_node(operator, Headroom(), (x,), bits)
    draft.add_node(operator, ShiftUp(), (x, bits), scaled)


def _import_rfft(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x = read.operand(operator, 0, "the samples")
    pairs = read.made(draft, operator, Fft(_length(operator) // 2), x)
    draft.add_node(operator, RealSpectrum(), (pairs,), read.the_output(operator))


def _length(operator: TfliteOperator) -> int:
    """Returns the length of a transform, in samples."""
    (length,) = whole_options(operator, "fft_length")
    if length < 4 or length & (length - 1):
        raise operator.fail(
            f"a transform of {length} samples is not supported",
            "supported: 4, 8, 16, ...; the samples may be fewer",
        )
    return length


def _import_irfft(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Divides float samples by their number; integers were scaled at each stage."""
    x, length = read.operand(operator, 0, "the spectrum"), _length(operator)
    made = read.made(draft, operator, Fft(length // 2), read.made(draft, operator, RealSamples(), x))
    tensor = draft.types[made]
    if tensor.dtype is DType.F32:
        share = np.full((1,) * tensor.rank, 1 / length, np.float32)
        factor = draft.add_value(f"{operator.label}/share", TensorType(DType.F32, share.shape), share)
        whole = draft.add_value(f"{operator.label}/scaled", tensor)
        draft.add_node(operator, Mul(), (made, factor), whole)
        made = whole
    exchange = Rearrange(tensor.shape, (tensor.elements // 2, 2), (2, -1), 1)
    draft.add_node(operator, exchange, (made,), read.the_output(operator))


def _import_energy(draft: TfliteDraft, operator: TfliteOperator) -> None:
    first, end = whole_options(operator, "start_index", "end_index")
    draft.add_node(operator, Energy(first, end), operator.inputs, read.the_output(operator))


def _import_filter_bank(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x = read.operand(operator, 0, "the energies")
    (channels,) = whole_options(operator, "num_channels")
    up, down, starts, places, widths = (
        np.array(read.integers(draft, operator, n, "filters"), np.int64) for n in range(1, 6)
    )
    sizes = {len(part) for part in (starts, places, widths)}
    energies = draft.types[x].elements
    ends = (starts + widths, places + widths) if len(sizes) == 1 else (starts, places)
    fits = (
        sizes == {channels + 1} and len(up) == len(down) and min(map(np.min, (starts, places, widths))) >= 0
    )
    if not fits or ends[0].max() > energies or ends[1].max() > len(up):
        raise operator.fail(
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
        draft.add_value(f"{operator.label}/{name}", TensorType(DType.I32, array.shape), array)
        for name, array in (("first", first), ("weights", weights))
    )
    draft.add_node(operator, FilterBank(), (x, *constants), read.the_output(operator))


def _windows(rows: Array) -> tuple[Array, Array]:
    """Returns the nonzero weights of each row, as many as the longest row needs, and their start."""
    used = [np.flatnonzero(row) for row in rows]
    width = max((int(u[-1] - u[0]) + 1 for u in used if u.size), default=1)
    first = np.array([min(int(u[0]) if u.size else 0, rows.shape[1] - width) for u in used], np.int32)
    return first, rows[np.arange(len(rows))[:, None], first[:, None] + np.arange(width)].astype(np.int32)


def _import_square_root(draft: TfliteDraft, operator: TfliteOperator) -> None:
    draft.add_node(operator, WholeRoot(), operator.inputs, read.the_output(operator))


def _import_spectral_subtraction(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Keeps the noise between runs. Even and odd channels have different smoothing."""
    x = read.operand(operator, 0, "the channels")
    shares = whole_options(
        operator, "smoothing", "alternate_smoothing", "one_minus_smoothing", "alternate_one_minus_smoothing"
    )
    up, down, least = whole_options(
        operator, "smoothing_bits", "spectral_subtraction_bits", "min_signal_remaining"
    )
    limited = bool(custom_options(operator).get("clamping"))
    result, estimate = read.outputs(operator, 2)
    tensor = draft.types[x]
    noise = draft.add_state(estimate, tensor.shape)
    every = np.arange(tensor.elements).reshape(tensor.shape) % 2
    new, old = (
        draft.add_value(
            f"{operator.label}/{name}", replace(tensor, quant=None), np.array([even, odd], np.uint32)[every]
        )
        for name, even, odd in (("new", shares[0], shares[1]), ("old", shares[2], shares[3]))
    )
    draft.add_node(operator, NoiseEstimate(up, down, limited), (x, noise, new, old), estimate)
    draft.add_node(operator, WithoutNoise(up, down, least), (x, estimate), result)
    draft.keep_state(noise, estimate)


def _import_gain_control(draft: TfliteDraft, operator: TfliteOperator) -> None:
    (shift,) = whole_options(operator, "snr_shift")
    draft.add_node(operator, GainControl(shift), operator.inputs, read.the_output(operator))


def _import_log(draft: TfliteDraft, operator: TfliteOperator) -> None:
    up, scale = whole_options(operator, "input_correction_bits", "output_scale")
    draft.add_node(operator, FixedLog(up, scale), operator.inputs, read.the_output(operator))


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
