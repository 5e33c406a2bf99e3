"""Camera pictures for a model, independent of any library: bytes, crop and scale."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class PixelForm(Enum):
    """A camera's pixel format; the value is its name in declarations."""

    RGB = "rgb"
    BGR = "bgr"
    GRAY = "gray"
    RGB565 = "rgb565"  # the lower byte first
    RGB565_HIGH_FIRST = "rgb565_high_first"
    BAYER_RGGB = "bayer_rggb"  # one color per pixel: the first two of two rows
    BAYER_BGGR = "bayer_bggr"
    BAYER_GRBG = "bayer_grbg"
    BAYER_GBRG = "bayer_gbrg"

    @property
    def bytes(self) -> int:
        return _BYTES.get(self, 1)

    @property
    def channels(self) -> int:
        return 1 if self is PixelForm.GRAY else 3

    @property
    def mosaic(self) -> str:
        """Returns the colors of the first two pixels of two rows, such as "rggb"; "" without mosaic."""
        return self.value.removeprefix("bayer_") if self.value.startswith("bayer_") else ""


_BYTES = {PixelForm.RGB: 3, PixelForm.BGR: 3, PixelForm.RGB565: 2, PixelForm.RGB565_HIGH_FIRST: 2}


@dataclass(frozen=True)
class Crop:
    """The part of a picture that is used."""

    top: int
    left: int
    height: int
    width: int


@dataclass(frozen=True)
class Picture:
    """Pixels of the model's size become v * factor + offset, with one or more channels."""

    height: int
    width: int
    form: PixelForm
    crop: Crop
    factors: tuple[float, ...]
    offsets: tuple[float, ...]
    as_stored: bool = False  # bytes become the model's integers without conversion
    planes_first: bool = False  # the library's results are [channels, height, width]
    may_resize: bool = True
    why_not: str = ""  # if it is not possible
