"""Draws boxes.svg: what the detector of tests/models/make_finder.py finds in a picture that it has not seen.

    PYTHONPATH=.:tests/models python docs/pictures/draw_boxes.py

The boxes are the reference's. C finds the same, here and on emulated boards: tests/models/test_finder.py.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from make_finder import BACK, Found, found_in, front, model_file
from scenes import CLASSES, Bytes, scene

import deploy

PLACE = Path(__file__).with_name("boxes.svg")
SIZE, SHAPES, SEED = 320, 14, 3
_COLOURS = ("#ffd24a", "#ffffff", "#66e0ff")  # by class


def drawn() -> str:
    picture, _ = scene(np.random.default_rng(SEED), SIZE, SHAPES)
    model = deploy.load(model_file(SIZE), front=front(SIZE), back=BACK)
    (found,) = found_in(model.run(picture[None, None]), SIZE)
    shown = base64.b64encode(png(picture)).decode()
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" width="{2 * SIZE}" '
        f'height="{2 * SIZE}" font-family="Inter, Helvetica, Arial, DejaVu Sans, sans-serif" font-size="8">',
        f'<image width="{SIZE}" height="{SIZE}" href="data:image/png;base64,{shown}"/>',
        *(part for box in found for part in _box(box)),
    ]
    return "\n".join([*parts, "</svg>", ""])


def _box(found: Found) -> Iterator[str]:
    left, top, right, bottom = found.box
    colour = _COLOURS[found.kind]
    yield (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" '
        f'fill="none" stroke="{colour}" stroke-width="1.5"/>'
    )
    y = top - 3 if top > 12 else bottom + 9
    x, anchor = (left, "start") if right < SIZE - 30 else (right, "end")
    yield (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" stroke="#000000" '
        f'stroke-width="1.6" paint-order="stroke">{CLASSES[found.kind]} {found.score:.2f}</text>'
    )


def png(picture: Bytes) -> bytes:
    """The picture, [rows, columns, 3], as a file."""
    rows, columns, _ = picture.shape
    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)  # eight bits, colours, no interlacing
    above = np.concatenate([np.zeros_like(picture[:1]), picture[:-1]])
    rest = (picture - above).reshape(rows, -1)  # each row as its difference from the one above, modulo 256
    body = zlib.compress(np.pad(rest, ((0, 0), (1, 0)), constant_values=2).tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", head), (b"IDAT", body), (b"IEND", b""))
    )


if __name__ == "__main__":
    PLACE.write_text(drawn(), encoding="utf-8", newline="\n")
