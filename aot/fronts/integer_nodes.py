"""Adds nodes that compute integer features from 16-bit samples, one row per frame."""

from __future__ import annotations

import math

import numpy as np

from aot.frontend.added_nodes import AddedNodes
from aot.fronts.audio_nodes import SAMPLE, add_frames
from aot.fronts.integer_features import SHARE_BITS, WINDOW_BITS, IntegerFeatures, Integers
from aot.fronts.spectrum import Frames
from aot.ir.types import Array, DType
from aot.ops.binary import Mul
from aot.ops.combine import Combination, Combine
from aot.ops.concat import Concat
from aot.ops.convert import Convert
from aot.ops.energy import Energy
from aot.ops.fft import Fft, RealSpectrum
from aot.ops.filter_bank import FilterBank
from aot.ops.gain_control import GainControl
from aot.ops.rearrange import Rearrange
from aot.ops.signal import FixedLog, Headroom, ShiftUp, WholeRoot, Window, WithoutNoise
from aot.ops.smooth import Smooth

_LARGEST_LEVEL = 65_535.0  # of a level without logarithm


def add_integer_features(chain: AddedNodes, features: IntegerFeatures, frames: int) -> None:
    """Converts samples [1, n] to float features [1, frames, 1, features]."""
    if features.continuous:
        _add_history(chain, features.frames)
    add_frames(chain, features.frames, frames)
    chain.then("window", Window(WINDOW_BITS), _row(features.frames.window, np.int16))
    bits = chain.branch(chain.value)
    bits.then("free bits", Headroom(each_row=True))
    chain.then("loudest", ShiftUp(), bits.value)
    chain.then("fft", Fft(features.fft_length // 2))
    chain.then("spectrum", RealSpectrum())
    chain.then("energies", Energy(*features.bins))
    chain.then("filters", FilterBank(), *_windows(features.filters))
    chain.then("levels", WholeRoot(), bits.value)
    _add_noise_reduction(chain, features)
    if features.log_up is not None:
        chain.then("logarithm", FixedLog(features.log_up, features.log_scale))
    chain.then("as numbers", Convert(DType.F32))
    if features.log_up is None:
        chain.then("at most", Combine(Combination.MINIMUM), _row(_LARGEST_LEVEL, np.float32))
    if features.times != 1:
        chain.then("scaled", Mul(), _row(features.times, np.float32))


def _add_history(chain: AddedNodes, frames: Frames) -> None:
    """Prepends the samples that the run's first frame needs, kept from the previous run."""
    history, samples = len(frames.window) - frames.hop, chain.type.elements
    if history <= 0:
        return
    columns = math.gcd(frames.hop, history)
    chain.view("samples", 1, samples // columns, columns, 1)
    size = (1, history // columns, columns, 1)
    before = chain.state("samples before", np.zeros(size, np.int16), SAMPLE)
    joined = chain.branch(before)
    joined.then("joined", Concat(axis=1), chain.value, quant=SAMPLE)
    last = chain.branch(joined.value)
    last.then("last samples", Rearrange(size, size, (0, columns, 1, 0), samples), quant=SAMPLE)
    chain.keep(before, last.value)
    chain.value = joined.value


def _add_noise_reduction(chain: AddedNodes, features: IntegerFeatures) -> None:
    noise = features.noise
    every = np.array(noise.new)[np.arange(features.features) % 2]
    estimate = chain.branch(chain.value)
    shares = _row(every, np.uint32), _row((1 << SHARE_BITS) - every, np.uint32)
    size = (1, 1, 1, features.features)
    before = (estimate.state("noise before", np.zeros(size, np.uint32)),) if features.continuous else ()
    estimate.then("noise", Smooth(noise.up, SHARE_BITS), *shares, *before)
    if before:
        last = estimate.branch(estimate.value)
        place = estimate.type.elements - features.features
        last.then("last noise", Rearrange(size, size, (0, 0, 0, 1), place))
        estimate.keep(before[0], last.value)
    chain.then("without noise", WithoutNoise(noise.up, SHARE_BITS, noise.least), estimate.value)
    if features.gain is not None:
        chain.then("gain", GainControl(features.gain.shift), estimate.value, features.gain.gains)


def _windows(filters: Integers) -> tuple[Array, Array]:
    """Returns the first bin of each channel, and its weights from there on, the same number for each."""
    used = [np.flatnonzero(row) for row in filters]
    width = max((int(u[-1] - u[0]) + 1 for u in used if u.size), default=1)
    first = np.array([min(int(u[0]), filters.shape[1] - width) if u.size else 0 for u in used], np.int32)
    return first, np.stack([row[f : f + width] for f, row in zip(first, filters, strict=True)]).astype(
        np.int32
    )


def _row(numbers: object, dtype: type[np.generic]) -> Array:
    """Returns a constant that is the same for each row."""
    return np.asarray(numbers).astype(dtype).reshape(1, 1, 1, -1)
