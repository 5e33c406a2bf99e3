"""Pictures of tf.image: resize, rgb_to_grayscale, and Keras' Rescaling."""

from __future__ import annotations

from dataclasses import dataclass

from aot.frontend.declared import DeclarationError
from aot.fronts.libraries.checks import centred_crop, read_form
from aot.fronts.picture import Picture


@dataclass(frozen=True, kw_only=True)
class TfPicture:
    """Pixels of tf.image.resize(x, size) * scale + offset, optionally after resize_with_crop_or_pad."""

    width: int
    height: int
    format: str = "rgb"
    crop_width: int | None = None
    crop_height: int | None = None
    scale: float = 1.0
    offset: float = 0.0
    stored: bool = False  # the model's integers are the bytes, for int8 the bytes minus 128

    def front(self) -> Picture:
        if self.stored and (self.scale, self.offset) != (1.0, 0.0):
            raise DeclarationError("stored=true uses the model's scale and offset", "omit scale and offset")
        crop = centred_crop(self.width, self.height, self.crop_width, self.crop_height, lambda n: n // 2)
        form = read_form(self.format, self.width, self.height)
        return Picture(self.height, self.width, form, crop, (self.scale,), (self.offset,), self.stored)
