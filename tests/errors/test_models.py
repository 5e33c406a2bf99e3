"""A file that is not a model, a broken one, an unsupported one: every command reports the same facts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tflite_builder import ModelBuilder
from tiny_models import TINY

from aot.frontend.tflite.importers import IMPORTERS
from aot.frontend.tflite.write_file import FileTensor


def truncated(path: Path) -> None:
    data = TINY["classifier"]()
    path.write_bytes(data[: len(data) // 2])


def wild_offset(path: Path) -> None:
    """The first four bytes say where the root table is."""
    path.write_bytes(b"\xff\xff\xff\x7f" + TINY["classifier"]()[4:])


def two_unsupported_operators(path: Path) -> None:
    build = ModelBuilder("strange")
    x = build.input("image", (1, 4))
    for number, code in enumerate(("RANDOM_UNIFORM", "HASHTABLE_FIND", "RANDOM_UNIFORM")):
        x = build.operator(code, 1, [x], [FileTensor(f"value_{number}", (1, 4), "int8", (0.1,), (0,))])
    path.write_bytes(build.finish(x))


# How the file is made, the error's code, and the facts that the user needs.
MISTAKES: dict[str, tuple[Callable[[Path], object], str, tuple[str, ...]]] = {
    "text": (
        lambda path: path.write_text("not a model", encoding="utf-8"),
        "E202",
        ("11 bytes", "net.tflite", "hint: ", ".onnx"),
    ),
    "empty": (lambda path: path.write_bytes(b""), "E202", ("empty", "net.tflite", "hint: ", ".onnx")),
    "missing": (lambda path: None, "E202", ("FOLDER/net.tflite",)),
    "folder": (lambda path: path.mkdir(), "E202", ("folder", "FOLDER/net.tflite", "hint: ", ".onnx")),
    "device": (
        lambda path: path.symlink_to("/dev/zero"),
        "E202",
        ("device", "FOLDER/net.tflite", "hint: ", ".onnx"),
    ),
    "truncated": (truncated, "E203", ("truncated", "1644 to 1648", "1016", "net.tflite", "hint: ")),
    "corrupted": (wild_offset, "E203", ("2147483647 to 2147483651", "2032", "net.tflite", "hint: ")),
    "unsupported operators": (
        two_unsupported_operators,
        "E204",
        (
            "HASHTABLE_FIND, RANDOM_UNIFORM",
            "net.tflite",
            'HASHTABLE_FIND: node 1 "value_1"',
            'RANDOM_UNIFORM: node 0 "value_0", node 2 "value_2"',
            "deploy ops",
            str(len(IMPORTERS)),
        ),
    ),
}


COMMANDS = ("inspect", "compile", "verify", "run", "bench")


@pytest.mark.parametrize(
    ("name", "command"),
    # a folder is looked at as a project by commands about boards
    [
        (name, command)
        for name in MISTAKES
        for command in COMMANDS
        if name != "folder" or command in ("inspect", "compile")
    ],
)
def test_a_file_that_is_not_a_good_model_is_refused_the_same_by_every_command(
    name, command, complaint, tmp_path
):
    make, code, facts = MISTAKES[name]
    path, out = tmp_path / "net.tflite", tmp_path / "out.tar"
    make(path)
    np.savez(tmp_path / "in.npz", input_0=np.zeros(1))
    more = {"compile": ["-o", out], "run": ["--inputs", tmp_path / "in.npz"]}
    complaint(command, path, "--board", "host", *more.get(command, [])).names(code, *facts)
    assert not out.exists()
