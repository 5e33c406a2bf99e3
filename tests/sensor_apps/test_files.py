"""The readers of files in C and in Python give the same rows, and refuse the same files."""

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from aot.errors import InputError
from aot.fronts.picture import Crop, PixelForm
from aot.ir.types import DType
from deploy.inputs.pictures import read_pictures
from deploy.inputs.recordings import read_recording
from platforms.project import CameraForm, SensorKind, SensorPipeline
from platforms.templates import filled, template_text

pytestmark = [pytest.mark.cc, pytest.mark.slow]

WIDTH, HEIGHT = 5, 3  # rows of 15 and of 5 bytes, which BMP files lengthen to 16 and 8
TYPES = {DType.U8: "uint8_t", DType.I8: "int8_t", DType.F32: "float"}
Pixels = npt.NDArray[np.uint8]


@pytest.fixture(scope="module")
def reader(tmp_path_factory, repo_root):
    """The program that prints the rows of files, with sanitizers."""

    def build(kind: str, dtype: DType, row_elements: int, words: dict[str, Any]) -> Path:
        folder = tmp_path_factory.mktemp("reader")
        for name in ("sensor.h", "file_rows.h", "sensor_file.c"):
            (folder / name).write_text(template_text("sensor_app", name))
        (folder / "file.c").write_text(filled("sensor_app", f"file_{kind}.c.jinja", **words))
        facts = f"typedef {TYPES[dtype]} app_element;\n#define ROW_ELEMENTS {row_elements}u\n"
        (folder / "app.h").write_text(f"#ifndef APP_H\n#define APP_H\n#include <stdint.h>\n{facts}#endif\n")
        strict = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=address,undefined"]
        sources = [folder / "sensor_file.c", folder / "file.c", Path(__file__).parent / "print_rows.c"]
        subprocess.run(["cc", *strict, f"-I{folder}", "-o", folder / "rows", *sources], check=True)
        return folder / "rows"

    return build


def printed(program: Path, *files: Path) -> list[str]:
    done = subprocess.run([program, *files], capture_output=True, check=True)
    return done.stdout.decode().splitlines()


def colours() -> Pixels:
    made: Pixels = np.random.default_rng(7).integers(0, 256, (HEIGHT, WIDTH, 3)).astype(np.uint8)
    return made


def ppm(pixels: Pixels) -> bytes:
    return b"P6\n# a comment\n%d %d\n255\n" % (WIDTH, HEIGHT) + pixels.tobytes()


def pgm(pixels: Pixels) -> bytes:
    return b"P5 %d %d 255\n" % (WIDTH, HEIGHT) + pixels[:, :, 1].tobytes()


def bmp(pixels: Pixels, bits: int = 24, height: int = HEIGHT, packed: int = 0) -> bytes:
    """A BMP file; with 8 bits its colours are the pixels' greens, through a table that is upside down."""
    table = b"".join(bytes([255 - n, 255 - n, 255 - n, 0]) for n in range(256)) if bits == 8 else b""
    rows = 255 - pixels[:, :, 1:2] if bits == 8 else pixels[:, :, ::-1]
    ordered = rows[::-1] if height > 0 else rows
    lines = [row.tobytes() + bytes(-len(row.tobytes()) % 4) for row in ordered]
    head = struct.pack("<IiiHHIIiiII", 40, WIDTH, height, 1, bits, packed, 0, 0, 0, 0, 0)
    start = 14 + len(head) + len(table)
    return struct.pack("<2sIHHI", b"BM", 0, 0, 0, start) + head + table + b"".join(lines)


def mosaic(pixels: Pixels, colours: str) -> Pixels:
    """The one colour of each pixel, by its row and its column."""
    rows = [
        [[pixel["rgb".index(colours[2 * (y % 2) + x % 2])]] for x, pixel in enumerate(row)]
        for y, row in enumerate(pixels)
    ]
    return np.array(rows, np.uint8)


SENT: dict[PixelForm, Callable[[Pixels], Pixels]] = {
    PixelForm.RGB: lambda p: p,
    PixelForm.BGR: lambda p: p[:, :, ::-1],
    PixelForm.GRAY: lambda p: p[:, :, 1:2],  # of gray pixels
    PixelForm.RGB565: lambda p: np.stack([(p[..., 1] << 3 & 0xE0) | p[..., 2] >> 3, packed_high(p)], axis=2),
    PixelForm.RGB565_HIGH_FIRST: lambda p: np.stack(
        [packed_high(p), (p[..., 1] << 3 & 0xE0) | p[..., 2] >> 3], axis=2
    ),
    PixelForm.BAYER_RGGB: lambda p: mosaic(p, "rggb"),
    PixelForm.BAYER_BGGR: lambda p: mosaic(p, "bggr"),
    PixelForm.BAYER_GRBG: lambda p: mosaic(p, "grbg"),
    PixelForm.BAYER_GBRG: lambda p: mosaic(p, "gbrg"),
}


def packed_high(pixels: Pixels) -> Pixels:
    made: Pixels = ((pixels[..., 0] & 0xF8) | pixels[..., 1] >> 5).astype(np.uint8)
    return made


@pytest.mark.parametrize("form", PixelForm)
def test_pictures_are_sent_as_the_camera_sends_them(form, reader, tmp_path):
    camera = CameraForm(WIDTH, HEIGHT, form, Crop(0, 0, HEIGHT, WIDTH))
    program = reader("picture", DType.U8, WIDTH * form.bytes, {"pipeline": {"camera": camera}})
    pixels = colours()
    gray = np.repeat(pixels[:, :, 1:2], 3, axis=2)
    files = {
        "a.pgm": (pgm(pixels) + pgm(pixels), [gray, gray]),
        "b.bmp": (bmp(pixels, 8), [gray]),
        "c.ppm": (ppm(gray) + b"\n", [gray]),
        **(
            {}
            if form is PixelForm.GRAY
            else {
                "d.ppm": (ppm(pixels) + ppm(gray), [pixels, gray]),
                "e.bmp": (bmp(pixels), [pixels]),
                "f.bmp": (bmp(pixels, height=-HEIGHT), [pixels]),
            }
        ),
    }
    for name, (data, pictures) in files.items():
        (tmp_path / name).write_bytes(data)
        expected = [row.tobytes().hex() for picture in pictures for row in SENT[form](picture)]
        assert printed(program, tmp_path / name) == expected, name
        assert [row.tobytes().hex() for row in read_pictures(tmp_path / name, camera)] == expected, name
    assert printed(program, *(tmp_path / name for name in files))[-HEIGHT:] == expected


WRONG_PICTURES: dict[str, tuple[bytes, str, str]] = {
    "another size": (
        b"P6 4 3 255\n" + bytes(36),
        "an image has 4x3 pixels, the camera's images have 5x3",
        "",
    ),
    "a tall BMP": (
        bmp(colours(), height=-4),
        "an image has 5x4 pixels, the camera's images have 5x3",
        "",
    ),
    "16 bits": (
        b"P6 5 3 65535\n" + bytes(90),
        "its colors are not bytes from 0 to 255",
        "",
    ),
    "cut": (ppm(colours())[:-1], "the file ends in the middle of its image", ""),
    "a BMP that is cut": (bmp(colours())[:-1], "the file ends in the middle of its image", ""),
    "a BMP that is cut in its head": (bmp(colours())[:30], "the file ends in the middle of its image", ""),
    "a packed BMP": (
        bmp(colours(), 8, packed=1),
        "a BMP file must have 8 or 24 bits in a pixel, not compressed",
        "",
    ),
    "another format": (
        b"\x89PNG....",
        "it is not a PPM, PGM or BMP file",
        "the recording is not a PPM, PGM or BMP file",
    ),
    "a second one that is none": (
        ppm(colours()) + b"GIF",
        "it is not a PPM, PGM or BMP file",
        "the recording is not a PPM, PGM or BMP file",
    ),
    "empty": (b"", "it is not a PPM, PGM or BMP file", "the recording is not a PPM, PGM or BMP file"),
}


def test_pictures_that_do_not_fit_are_refused(reader, tmp_path):
    camera = CameraForm(WIDTH, HEIGHT, PixelForm.RGB, Crop(0, 0, HEIGHT, WIDTH))
    program = reader("picture", DType.U8, WIDTH * 3, {"pipeline": {"camera": camera}})
    for name, (data, in_c, in_python) in WRONG_PICTURES.items():
        path = tmp_path / "in"
        path.write_bytes(data)
        assert printed(program, path)[-1] == f"{path}: {in_c}", name
        with pytest.raises(InputError) as caught:
            read_pictures(path, camera)
        assert str(caught.value) == f"error: {in_python or in_c}\n  {path}", name


NUMBERS: dict[str, tuple[DType, bytes, list[list[float]] | str]] = {
    "integers": (DType.I8, b"1,-128,127\n\n 4;5 6\r\n", [[1, -128, 127], [4, 5, 6]]),
    "a head": (DType.I8, b"x,y,z\n1,2,3", [[1, 2, 3]]),
    "reals": (DType.F32, b"0.5 -1e3,.25\n", [[0.5, -1000, 0.25]]),
    "too few": (DType.I8, b"1,2,3\n1,2\n", "line 2 has 2 numbers, a row of the model has 3"),
    "too many": (DType.I8, b"1,2,3,4\n", "line 1 has 4 numbers, a row of the model has 3"),
    "too large": (DType.I8, b"1,2,128\n", "line 1 has a number outside of -128 to 127"),
    "not whole": (DType.I8, b"1,2,0.5\n", "line 1 has a number that is not whole"),
    "no number": (DType.F32, b"1,2,3\n1,2,three\n", "line 2 contains something that is not a number"),
    "not finite": (DType.F32, b"1,2,1e99\n", "line 1 has a number outside of what float holds"),
    "no number at all": (DType.F32, b"1,2,nan\n", "line 1 has a number outside of what float holds"),
}


def test_numbers_are_read_or_refused(reader, tmp_path):
    made = {dtype: reader("numbers", dtype, 3, number_words(dtype)) for dtype in (DType.I8, DType.F32)}
    for name, (dtype, data, expected) in NUMBERS.items():
        path = tmp_path / "in.csv"
        path.write_bytes(data)
        rows = printed(made[dtype], path)
        if isinstance(expected, list):
            assert rows == [np.array(row, dtype.numpy).tobytes().hex() for row in expected], name
            found = read_recording(path, numbers(), dtype, None).rows
            assert [[float(n.rstrip("f")) for n in row.split(", ")] for row in found] == expected, name
        else:
            assert rows[-1] == f"{path}: {expected}", name
            with pytest.raises(InputError):
                read_recording(path, numbers(), dtype, None)


def number_words(dtype: DType) -> dict[str, Any]:
    is_real = dtype is DType.F32
    least, most = ("-FLT_MAX", "FLT_MAX") if is_real else ("-128", "127")
    said = "what float holds" if is_real else "-128 to 127"
    return {"pipeline": numbers(), "is_real": is_real, "least": least, "most": most, "said_range": said}


def numbers() -> SensorPipeline:
    return SensorPipeline(SensorKind.NUMBERS, 0, 1, 3, 0, (), has_threshold=False, arenas=(), lanes=1)
