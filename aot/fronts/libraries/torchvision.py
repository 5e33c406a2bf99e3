"""Pictures of torchvision.transforms: CenterCrop, Resize, ToTensor, Normalize."""

from __future__ import annotations

from dataclasses import dataclass

from aot.fronts.libraries.checks import centred_crop, read_form, require_per_channel, require_positive
from aot.fronts.picture import Picture

_WHITE = 255.0


@dataclass(frozen=True, kw_only=True)
class TorchPicture:
    """Normalize(mean, std) of ToTensor, optionally after CenterCrop and Resize(size, antialias=False)."""

    width: int
    height: int
    format: str = "rgb"
    crop_width: int | None = None
    crop_height: int | None = None
    antialias: bool = True
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def front(self) -> Picture:
        form = read_form(self.format, self.width, self.height)
        require_per_channel("mean", self.mean, form)
        require_per_channel("std", self.std, form)
        for std in self.std:
            require_positive(std=std)
        count = max(len(self.mean), len(self.std))
        pairs = list(zip(_repeated(self.mean, count), _repeated(self.std, count), strict=True))
        return Picture(
            self.height,
            self.width,
            form,
            centred_crop(self.width, self.height, self.crop_width, self.crop_height, _half),
            tuple(1.0 / (_WHITE * std) for _, std in pairs),
            tuple(-mean / std for mean, std in pairs),
            planes_first=True,
            may_resize=not self.antialias,
            why_not="only Resize(antialias=False) is supported: set antialias=false if the model was "
            "trained that way",
        )


def _half(pixels: int) -> int:
    return round(pixels / 2.0)


def _repeated(numbers: tuple[float, ...], count: int) -> tuple[float, ...]:
    return numbers * count if len(numbers) == 1 else numbers
