"""Mel filters and cosine transforms, as defined by each library."""

from __future__ import annotations

import numpy as np

from aot.fronts.spectrum import Matrix

_BREAK_HZ, _BREAK_MEL = 1000.0, 15.0  # the Slaney scale is linear below and logarithmic above
_LOG_STEP = np.log(6.4) / 27.0


def hann(length: int, is_periodic: bool) -> Matrix:
    """Returns a raised cosine that begins with 0; if periodic, the next 0 would follow its end."""
    turns = length if is_periodic else max(length - 1, 1)
    return np.asarray(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / turns))


def hz_to_mel(hz: Matrix, is_slaney: bool = False) -> Matrix:
    if not is_slaney:
        return np.asarray(2595.0 * np.log10(1.0 + hz / 700.0))
    above = _BREAK_MEL + np.log(np.maximum(hz, _BREAK_HZ) / _BREAK_HZ) / _LOG_STEP
    return np.where(hz < _BREAK_HZ, hz * _BREAK_MEL / _BREAK_HZ, above)


def mel_to_hz(mel: Matrix, is_slaney: bool = False) -> Matrix:
    if not is_slaney:
        return np.asarray(700.0 * (10.0 ** (mel / 2595.0) - 1.0))
    above = _BREAK_HZ * np.exp(_LOG_STEP * (np.maximum(mel, _BREAK_MEL) - _BREAK_MEL))
    return np.where(mel < _BREAK_MEL, mel * _BREAK_HZ / _BREAK_MEL, above)


def triangles(places: Matrix, edges: Matrix) -> Matrix:
    """Returns [places, channels]: channel c rises from edge c to edge c + 1 and falls to edge c + 2."""
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    rising = (places[:, None] - low) / (middle - low)
    falling = (high - places[:, None]) / (high - middle)
    return np.asarray(np.maximum(0.0, np.minimum(rising, falling)))


def filters_in_hz(
    bins: int,
    sample_rate: int,
    channels: int,
    low_hz: float,
    high_hz: float,
    is_slaney: bool,
    is_normed: bool,
) -> Matrix:
    """Returns triangles in hertz; if normed, all have the same area."""
    ends = hz_to_mel(np.array([low_hz, high_hz]), is_slaney)
    edges = mel_to_hz(np.linspace(ends[0], ends[1], channels + 2), is_slaney)
    made = triangles(np.linspace(0.0, sample_rate / 2, bins), edges)
    return made * (2.0 / (edges[2:] - edges[:-2])) if is_normed else made


def filters_in_mel(bins: int, sample_rate: int, channels: int, low_hz: float, high_hz: float) -> Matrix:
    """Returns triangles in mel; the constant component has weight 0."""
    ends = hz_to_mel(np.array([low_hz, high_hz]))
    places = hz_to_mel(np.linspace(0.0, sample_rate / 2, bins))
    made = triangles(places, np.linspace(ends[0], ends[1], channels + 2))
    made[0] = 0.0
    return made


def cosines(channels: int, features: int, is_orthonormal: bool) -> Matrix:
    """Returns the DCT-II [channels, features]; if orthonormal, the first feature is scaled down."""
    places, numbers = np.arange(channels)[:, None] + 0.5, np.arange(features)
    made = np.cos(np.pi / channels * places * numbers) * np.sqrt(2.0 / channels)
    if is_orthonormal:
        made[:, 0] *= np.sqrt(0.5)
    return np.asarray(made)
