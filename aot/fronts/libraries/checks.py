"""Checks and parts shared by the front ends of several libraries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aot.errors import did_you_mean
from aot.frontend.declared import DeclarationError
from aot.fronts.audio_nodes import LONGEST
from aot.fronts.picture import Crop, PixelForm
from aot.fronts.spectrum import Frames, Matrix, hann
from aot.ops.demosaic import LEAST_SIDE

_MOST_FFT = 1 << 15
LARGEST = "max"  # instead of a number to divide samples by


def require_positive(**numbers: float | None) -> None:
    for name, number in numbers.items():
        if number is not None and number <= 0:
            raise DeclarationError(f"{name} must be more than 0, not {number:g}")


def require_fft_length(length: int, name: str) -> None:
    is_fast = length & (length - 1) == 0
    if not 4 <= length <= (_MOST_FFT if is_fast else LONGEST) or length % 2:
        raise DeclarationError(
            f"{name} must be even and 4 to {LONGEST}, or a power of 2 up to {_MOST_FFT}, not {length}"
        )


def require_band(low_hz: float, high_hz: float, sample_rate: int, names: tuple[str, str]) -> None:
    """Requires that the filters' band is within the band of the samples."""
    if high_hz > sample_rate / 2:
        raise DeclarationError(
            f"{names[1]} is {high_hz:g} Hz, but at {sample_rate} samples a second the highest frequency is "
            f"{sample_rate / 2:g} Hz",
            "set sample_rate to the rate of the training data",
        )
    if not 0 <= low_hz < high_hz:
        raise DeclarationError(
            f"{names[0]} is {low_hz:g} Hz, {names[1]} is {high_hz:g} Hz: the first must be smaller"
        )


def require_at_most(name: str, number: int, most: int, most_name: str) -> None:
    if number > most:
        raise DeclarationError(f"{name} is {number}, but must not exceed {most_name}, which is {most}")


def is_divided_by_largest(divide_by: str) -> bool:
    """Returns whether samples are divided by the clip's largest one; otherwise they are from -1 to 1."""
    if divide_by not in ("32768", LARGEST):
        raise DeclarationError(f"divide_by must be 32768 or {LARGEST}, not {divide_by}")
    return divide_by == LARGEST


def centred_frames(win_length: int, hop_length: int, n_fft: int, center: bool, pad_mode: str) -> Frames:
    """Returns frames of n_fft samples with the window in the middle, like librosa and torch."""
    require_at_most("win_length", win_length, n_fft, "n_fft")
    lead = (n_fft - win_length) // 2
    window: Matrix = hann(win_length, is_periodic=True)
    if not center:
        return Frames(np.concatenate([np.zeros(lead), window]), hop_length, span=n_fft)
    if pad_mode == "constant":
        return Frames(window, hop_length, before=n_fft // 2 - lead)
    if pad_mode == "reflect":
        return Frames(np.concatenate([np.zeros(lead), window]), hop_length, mirrored=n_fft // 2)
    raise DeclarationError(f"pad_mode must be constant or reflect, not {pad_mode}")


def require_hann(name: str, window: str) -> None:
    if window != "hann":
        raise DeclarationError(f"{name} must be hann, not {window}")


def read_power(power: float) -> int:
    if power not in (1, 2):
        raise DeclarationError(f"power must be 1 (magnitudes) or 2 (energies), not {power:g}")
    return int(power)


def read_form(name: str, width: int, height: int) -> PixelForm:
    known = [form.value for form in PixelForm]
    if name not in known:
        raise DeclarationError(f"format is {name}{did_you_mean(name, known)}", f"known: {', '.join(known)}")
    form = PixelForm(name)
    if form.mosaic and min(width, height) < LEAST_SIDE:
        raise DeclarationError(
            f"the camera's images are {width}x{height}, format={name} needs at least "
            f"{LEAST_SIDE}x{LEAST_SIDE} pixels"
        )
    return form


def centred_crop(
    width: int, height: int, crop_width: int | None, crop_height: int | None, half: Callable[[int], int]
) -> Crop:
    """Returns the centered crop; `half` divides the pixels outside it into those before and after."""
    require_positive(width=width, height=height, crop_width=crop_width, crop_height=crop_height)
    wide, high = crop_width or width, crop_height or height
    for name, part, whole in (("crop_width", wide, width), ("crop_height", high, height)):
        if part > whole:
            raise DeclarationError(f"{name} is {part}, the camera's images are {width}x{height}")
    return Crop(half(height - high), half(width - wide), high, wide)


def require_per_channel(name: str, numbers: tuple[float, ...], form: PixelForm) -> None:
    if len(numbers) not in (1, 3) or (len(numbers) == 3 and form is PixelForm.GRAY):
        channels = "1" if form is PixelForm.GRAY else "1 or 3"
        raise DeclarationError(
            f"{name} has {len(numbers)} numbers, it needs {channels}, one for each channel"
        )
