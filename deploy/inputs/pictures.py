"""Reads camera recordings: PPM and PGM files (binary, with one or more pictures), and BMP files."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from aot.errors import InputError
from aot.fronts.picture import PixelForm
from platforms.project import CameraForm

Pixels = npt.NDArray[np.uint8]  # [height, width, 3]: red, green, blue
Bytes = npt.NDArray[np.uint8]  # [rows, bytes per row] in the camera's format
_PNM_HEAD = re.compile(rb"P([56])(?:\s|#[^\n]*\n)+(\d+)(?:\s|#[^\n]*\n)+(\d+)(?:\s|#[^\n]*\n)+(\d+)\s")
_BMP_HEAD = struct.Struct("<2sIHHIIiiHHIIIIII")
_BMP_BITS = (8, 24)
_ENDS = "the file ends in the middle of its image"


def read_pictures(path: Path, camera: CameraForm) -> Bytes:
    """Returns the rows of all pictures in the camera's format. Raises InputError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"the recording cannot be read: {error.strerror}", str(path)) from error
    read = _read_bmp if data.startswith(b"BM") else _read_pnm
    pictures = read(data, camera, path)
    sent = [_SENT[camera.form](picture) for picture in pictures]
    return np.concatenate(sent).reshape(len(sent) * camera.height, -1)


def _read_pnm(data: bytes, camera: CameraForm, path: Path) -> list[Pixels]:
    pictures: list[Pixels] = []
    at = 0
    while at < len(data) or not pictures:
        head = _PNM_HEAD.match(data, at)
        if head is None:
            if pictures and data[at : at + 1] == b"\n":
                break
            raise InputError("the recording is not a PPM, PGM or BMP file", str(path))
        channels, width, height, most = 3 if head[1] == b"6" else 1, int(head[2]), int(head[3]), int(head[4])
        _require_size(width, height, camera, path)
        if most != 255:
            raise InputError("its colors are not bytes from 0 to 255", str(path))
        count = width * height * channels
        pixels = np.frombuffer(data[head.end() : head.end() + count], np.uint8)
        if len(pixels) < count:
            raise InputError(_ENDS, str(path))
        shaped = pixels.reshape(height, width, channels)
        pictures.append(np.repeat(shaped, 3 // channels, axis=2))
        at = head.end() + count
    return pictures


def _read_bmp(data: bytes, camera: CameraForm, path: Path) -> list[Pixels]:
    if len(data) < _BMP_HEAD.size:
        raise InputError(_ENDS, str(path))
    _, _, _, _, start, head_bytes, width, height, _, bits, packed, _, _, _, count, _ = _BMP_HEAD.unpack_from(
        data
    )
    if head_bytes < 40 or bits not in _BMP_BITS or packed != 0:
        raise InputError("a BMP file must have 8 or 24 bits in a pixel, not compressed", str(path))
    _require_size(width, abs(height), camera, path)
    stride = (width * bits // 8 + 3) // 4 * 4
    stored = np.frombuffer(data[start : start + stride * camera.height], np.uint8)
    if len(stored) < stride * camera.height:
        raise InputError(_ENDS, str(path))
    rows = stored.reshape(camera.height, stride)[:: -1 if height > 0 else 1, : width * bits // 8]
    if bits == 24:
        return [rows.reshape(camera.height, width, 3)[:, :, ::-1]]
    colours = np.zeros((256, 4), np.uint8)
    table = np.frombuffer(data[14 + head_bytes : start], np.uint8)[: 4 * (count or 256)]
    colours.reshape(-1)[: len(table) // 4 * 4] = table[: len(table) // 4 * 4]
    return [colours[rows][:, :, 2::-1]]


def _require_size(width: int, height: int, camera: CameraForm, path: Path) -> None:
    if (width, height) != (camera.width, camera.height):
        raise InputError(
            f"an image has {width}x{height} pixels, the camera's images have {camera.width}x{camera.height}",
            str(path),
        )


def _gray(pixels: Pixels) -> Bytes:
    return (pixels.astype(np.uint32) @ np.array([77, 150, 29], np.uint32) >> 8).astype(np.uint8)


def _packed(pixels: Pixels, order: str) -> Bytes:
    red, green, blue = np.moveaxis(pixels.astype(np.uint32), 2, 0)
    packed = (red & 0xF8) << 8 | (green & 0xFC) << 3 | blue >> 3
    sent: Bytes = packed.astype(f"{order}u2").view(np.uint8)
    return sent


def _mosaic(pixels: Pixels, colours: str) -> Bytes:
    """Selects one color per pixel, in the sensor's pattern."""
    sent = np.empty(pixels.shape[:2], np.uint8)
    for number, colour in enumerate(colours):
        part = np.s_[number // 2 :: 2, number % 2 :: 2]
        sent[part] = pixels[..., "rgb".index(colour)][part]
    return sent


_SENT: Mapping[PixelForm, Callable[[Pixels], Bytes]] = {
    PixelForm.RGB: lambda pixels: pixels.reshape(len(pixels), -1),
    PixelForm.BGR: lambda pixels: pixels[:, :, ::-1].reshape(len(pixels), -1),
    PixelForm.GRAY: _gray,
    PixelForm.RGB565: lambda pixels: _packed(np.ascontiguousarray(pixels), "<"),
    PixelForm.RGB565_HIGH_FIRST: lambda pixels: _packed(np.ascontiguousarray(pixels), ">"),
    **{form: partial(_mosaic, colours=form.mosaic) for form in PixelForm if form.mosaic},
}
