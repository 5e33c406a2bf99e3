"""A picture for a model in the words of no library: bytes of a camera, a part of them, their scale."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class PixelForm(Enum):
    """The bytes of a pixel as a camera sends them; the value is the name in declarations."""

    RGB = "rgb"
    BGR = "bgr"
    GRAY = "gray"
    RGB565 = "rgb565"  # the lower byte first
    RGB565_HIGH_FIRST = "rgb565_high_first"
    BAYER_RGGB = "bayer_rggb"  # one color a pixel: of two rows the first two
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
        """The colors of the first two pixels of two rows, where a pixel has one: "rggb"; else nothing."""
        return self.value.removeprefix("bayer_") if self.value.startswith("bayer_") else ""


_BYTES = {PixelForm.RGB: 3, PixelForm.BGR: 3, PixelForm.RGB565: 2, PixelForm.RGB565_HIGH_FIRST: 2}


@dataclass(frozen=True)
class Crop:
    """The part of a picture that is looked at."""

    top: int
    left: int
    height: int
    width: int


@dataclass(frozen=True)
class Picture:
    """Pixels of the model's size become v * factor + offset, by channel where there are several."""

    height: int
    width: int
    form: PixelForm
    crop: Crop
    factors: tuple[float, ...]
    offsets: tuple[float, ...]
    as_stored: bool = False  # bytes are the model's integers, in place of numbers
    planes_first: bool = False  # the library's results are [channels, height, width]
    may_resize: bool = True
    why_not: str = ""  # where it may not
