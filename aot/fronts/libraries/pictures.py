"""Checks and parts shared by the front ends for pictures."""

from __future__ import annotations

from collections.abc import Callable

from aot.errors import did_you_mean
from aot.frontend.declared import DeclarationError
from aot.fronts.libraries.checks import require_positive
from aot.fronts.picture import Crop, PixelForm
from aot.ops.demosaic import LEAST_SIDE


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
