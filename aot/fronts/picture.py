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

    @property
    def bytes(self) -> int:
        return {PixelForm.RGB: 3, PixelForm.BGR: 3, PixelForm.GRAY: 1}.get(self, 2)

    @property
    def is_packed(self) -> bool:
        return self.bytes == 2

    @property
    def channels(self) -> int:
        return 3 if self.is_packed else self.bytes


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
    as_stored: bool = False  # bytes are the model's integers, in the place of numbers
    planes_first: bool = False  # the library's results are [channels, height, width]
    may_resize: bool = True
    why_not: str = ""  # where it may not
