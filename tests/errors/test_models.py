"""A file that is not a model, a broken one, an unsupported one: the whole text that is printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tflite_builder import ModelBuilder
from tiny_models import TINY

from aot.frontend.tflite.importers import IMPORTERS
from aot.frontend.tflite.write_file import FileTensor

Complaint = Callable[..., str]


def truncated(path: Path) -> None:
    data = TINY["classifier"]()
    path.write_bytes(data[: len(data) // 2])


def wild_offset(path: Path) -> None:
    """The first four bytes say where the root table is."""
    path.write_bytes(b"\xff\xff\xff\x7f" + TINY["classifier"]()[4:])


def two_unsupported_operators(path: Path) -> None:
    build = ModelBuilder("strange")
    x = build.input("image", (1, 4))
    for number, code in enumerate(("RFFT2D", "BUCKETIZE", "RFFT2D")):
        x = build.operator(code, 1, [x], [FileTensor(f"value_{number}", (1, 4), "int8", (0.1,), (0,))])
    path.write_bytes(build.finish(x))


MISTAKES: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (
        lambda path: path.write_text("not a model", encoding="utf-8"),
        "error: this is neither a TFLite nor an ONNX model (11 bytes)\n"
        "  net.tflite\n"
        "  hint: give a .tflite or .onnx file\n",
    ),
    "empty": (
        lambda path: path.write_bytes(b""),
        "error: the file is empty\n  net.tflite\n  hint: give a .tflite or .onnx file\n",
    ),
    "missing": (lambda path: None, "error: the model file does not exist\n  FOLDER/net.tflite\n"),
    "folder": (
        lambda path: path.mkdir(),
        "error: a model file is needed, this is a folder\n"
        "  FOLDER/net.tflite\n"
        "  hint: give a .tflite or .onnx file\n",
    ),
    "device": (
        lambda path: path.symlink_to("/dev/zero"),
        "error: a model file is needed, this is a device\n"
        "  FOLDER/net.tflite\n"
        "  hint: give a .tflite or .onnx file\n",
    ),
    "truncated": (
        truncated,
        "error: the TFLite file is truncated or corrupted: Model field 1 would be at bytes 1644 to 1648, "
        "the file has 1016\n"
        "  net.tflite\n"
        "  hint: get or convert the file again; compare its size with the original's\n",
    ),
    "corrupted": (
        wild_offset,
        "error: the TFLite file is truncated or corrupted: Model would be at bytes 2147483647 to 2147483651, "
        "the file has 2032\n"
        "  net.tflite\n"
        "  hint: get or convert the file again; compare its size with the original's\n",
    ),
    "unsupported operators": (
        two_unsupported_operators,
        "error: TFLite operators BUCKETIZE, RFFT2D are not supported\n"
        "  net.tflite\n"
        '  BUCKETIZE: node 1 "value_1"\n'
        '  RFFT2D: node 0 "value_0", node 2 "value_2"\n'
        f"  hint: deploy ops lists the {len(IMPORTERS)} operators that are   (deploy docs ops)\n",
    ),
}


COMMANDS = ("inspect", "compile", "verify", "run", "bench")


@pytest.mark.parametrize(
    ("name", "command"),
    # run takes project folders too
    [(name, command) for name in MISTAKES for command in COMMANDS if (name, command) != ("folder", "run")],
)
def test_a_file_that_is_not_a_good_model_is_refused_the_same_by_every_command(
    name: str, command: str, complaint: Complaint, tmp_path: Path
) -> None:
    make, expected = MISTAKES[name]
    path, out = tmp_path / "net.tflite", tmp_path / "out.tar"
    make(path)
    np.savez(tmp_path / "in.npz", input_0=np.zeros(1))
    more = {"compile": ["-o", out], "run": ["--inputs", tmp_path / "in.npz"]}
    assert complaint(command, path, "--board", "host", *more.get(command, [])) == expected
    assert not out.exists()
