"""Camera pictures for a model, independent of any library: bytes, crop and scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from aot.frontend.builder import AddedNodes
from aot.fronts.model_input import ModelInput
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.binary import Add, Mul
from aot.ops.conv2d import Conv2d
from aot.ops.demosaic import Demosaic, Mosaic
from aot.ops.lookup import Lookup
from aot.ops.op import Op
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rearrange import Rearrange
from aot.ops.resize import Resize
from aot.ops.unpack_rgb565 import UnpackRgb565


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


BYTES = Quant((1.0,), (0,))
_SIGNED = Quant((1.0,), (-128,))  # the same values as signed bytes
_BRIGHTNESS = (0.2989, 0.5870, 0.1140)  # of red, green and blue, as in tf.image and torchvision
_COLOURS_OF: Mapping[PixelForm, Op] = {
    PixelForm.RGB565: UnpackRgb565(),
    PixelForm.RGB565_HIGH_FIRST: UnpackRgb565(high_first=True),
    **{form: Demosaic(Mosaic(form.mosaic)) for form in PixelForm if form.mosaic},
}


def add_picture(
    chain: AddedNodes, picture: Picture, size: tuple[int, int], channels: int, to: TensorType
) -> None:
    """Converts bytes [1, height, width, n] to the type `to`, [1, *size, channels]."""
    if picture.form in _COLOURS_OF:
        chain.then("unpack", _COLOURS_OF[picture.form], quant=BYTES)
    if picture.as_stored:
        chain.then("stored", Lookup(), _every_integer(to.dtype), quant=to.quant)
    else:
        chain.then("signed", Quantize(DType.I8), quant=_SIGNED)
    _add_part(chain, picture.crop, picture.form is PixelForm.BGR)
    is_moved_only = chain.type.shape == (1, *size, channels)
    if is_moved_only and picture.as_stored:
        return
    if is_moved_only and len(picture.factors) == 1 and to.dtype is DType.I8:
        _add_table(chain, picture, to)
        return
    _add_numbers(chain, picture, size, channels)
    if to.dtype is not DType.F32:
        chain.then("quantize", Quantize(to.dtype), quant=to.quant)


def _every_integer(dtype: DType) -> Array:
    low, high = dtype.limits
    return np.arange(low, high + 1).astype(dtype.numpy)


def _add_numbers(chain: AddedNodes, picture: Picture, size: tuple[int, int], channels: int) -> None:
    chain.then("numbers", Dequantize())
    if chain.type.shape[1:3] != size:
        chain.then("resize", Resize(size, half_pixels=True))
    if chain.type.shape[3] != channels:
        chain.then("gray", Conv2d(), np.array(_BRIGHTNESS, np.float32).reshape(1, 1, 1, 3), None)
    if any(factor != 1 for factor in picture.factors):
        chain.then("scaled", Mul(), _per_channel(picture.factors))
    if any(picture.offsets):
        chain.then("shifted", Add(), _per_channel(picture.offsets))


def _add_part(chain: AddedNodes, crop: Crop, is_reversed: bool) -> None:
    """Selects the rows and columns of the crop, and puts red before blue."""
    _, _, width, channels = chain.type.shape
    sizes = (1, crop.height, crop.width, channels)
    if sizes == chain.type.shape and not is_reversed:
        return
    row = width * channels
    first = crop.top * row + crop.left * channels + (channels - 1 if is_reversed else 0)
    strides = (0, row, channels, -1 if is_reversed else 1)
    chain.then("part", Rearrange(sizes, sizes, strides, first), quant=chain.type.quant)


def _add_table(chain: AddedNodes, picture: Picture, to: TensorType) -> None:
    """Adds a table of the model's integer for each of the 256 bytes, equal to the float computation."""
    numbers = np.arange(256, dtype=np.float32) * np.float32(picture.factors[0])
    numbers = numbers + np.float32(picture.offsets[0])
    kind = TensorType(DType.F32, numbers.shape)
    (table,) = Quantize(to.dtype).reference(
        [numbers], [kind], [TensorType(to.dtype, numbers.shape, to.quant)]
    )
    chain.then("table", Lookup(), table, quant=to.quant)


def _per_channel(numbers: tuple[float, ...]) -> Array:
    return np.array(numbers, np.float32).reshape(1, 1, 1, -1)


_COLOURS = (1, 3)


@dataclass(frozen=True)
class _Image:
    """The sizes of the model's image."""

    height: int
    width: int
    channels: int
    are_planes: bool


def pixels_type(picture: Picture, wanted: ModelInput) -> TensorType:
    """Returns the type of the camera's picture. Raises ModelError if it does not give the model's input."""
    _require_fit(picture, _image(picture, wanted), wanted)
    return TensorType(DType.U8, (1, picture.height, picture.width, picture.form.bytes), BYTES)


def add_image(chain: AddedNodes, picture: Picture, wanted: ModelInput) -> None:
    image, target = _image(picture, wanted), wanted.type
    add_picture(chain, picture, (image.height, image.width), image.channels, target)
    if image.are_planes and image.channels > 1:
        pixels = image.height * image.width
        turned = Rearrange(target.shape, (image.channels, pixels), (1, image.channels))
        chain.then("planes", turned, quant=target.quant)
    else:
        chain.view("input", *target.shape)


def _image(picture: Picture, wanted: ModelInput) -> _Image:
    shape = wanted.type.shape
    sizes = shape[1:] if len(shape) == 4 and shape[0] == 1 else shape
    if len(sizes) == 3:
        found = {}
        if sizes[2] in _COLOURS:
            found[False] = _Image(sizes[0], sizes[1], sizes[2], are_planes=False)
        if sizes[0] in _COLOURS:
            found[True] = _Image(sizes[1], sizes[2], sizes[0], are_planes=True)
        for are_planes in (picture.planes_first, not picture.planes_first):
            if are_planes in found:
                return found[are_planes]
    raise wanted.refusal(
        f"the front end makes an image of 1 or 3 channels, but {wanted.said} has shape {list(shape)}"
    )


def _require_fit(picture: Picture, image: _Image, wanted: ModelInput) -> None:
    crop = picture.crop
    if picture.as_stored and wanted.type.dtype not in (DType.I8, DType.U8):
        raise wanted.refusal(
            f"stored=true needs integers with a scale, but {wanted.said} holds {wanted.type.dtype.value}",
            "set scale and offset, as in training",
        )
    if image.channels > picture.form.channels:
        raise wanted.refusal(
            f"the camera's images have 1 channel, but {wanted.said} has {image.channels}: "
            f"{list(wanted.type.shape)}",
            "use a color camera, or a model for gray images",
        )
    if not picture.may_resize and (crop.height, crop.width) != (image.height, image.width):
        raise wanted.refusal(
            f"the image has {crop.width}x{crop.height} pixels, but {wanted.said} has "
            f"{image.width}x{image.height}",
            picture.why_not,
        )
    if len(picture.factors) > image.channels:
        raise wanted.refusal(
            f"there are means or deviations for {len(picture.factors)} channels, but {wanted.said} has "
            f"{image.channels}",
            "give one number",
        )
