"""Fits a picture to the model's input: size, colors, interleaved or planar."""

from __future__ import annotations

from dataclasses import dataclass

from aot.frontend.added_nodes import AddedNodes
from aot.fronts.model_input import ModelInput
from aot.fronts.picture import Picture
from aot.fronts.picture_nodes import BYTES, add_picture
from aot.ir.types import DType, TensorType
from aot.ops.rearrange import Rearrange

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
