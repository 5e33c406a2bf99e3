"""A model as a library of this process: run, refused inputs, memory that is not the model's."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from aot.errors import InputError, ToolError
from aot.ir.types import DType
from codegen.element_numbers import ELEMENT_TYPES
from platforms.shared_library import HostModel, build, build_commands, model_name
from platforms.toolchains import Toolchain

FOLDER = Path(__file__).parent / "tiny_model"
X = np.array([[1, -128, 126, 0]], np.int8)


def tiny_files() -> dict[str, str]:
    """The hand-written model: y = x + 1 on four int8."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.iterdir())}


def built(require_tool: Callable[..., None], directory: Path, **changes: str) -> HostModel:
    require_tool("gcc")
    files = tiny_files()
    for file, text in changes.items():
        files[file.replace("_dot_", ".")] = text
    return build(files, directory)


@pytest.mark.cc
def test_a_model_runs_in_this_process(require_tool, tmp_path):
    model = built(require_tool, tmp_path)
    made = model.run({"x": X})
    assert {name: y.tolist() for name, y in made.items()} == {"y": [[2, -127, 127, 1]]}
    (x,), (y,) = model.inputs, model.outputs
    assert (model.name, x.name, x.dtype, x.shape, y.shape) == ("tiny", "x", np.int8, (1, 4), (1, 4))  # type: ignore[comparison-overlap]


@pytest.mark.cc
def test_outputs_are_the_callers_own(require_tool, tmp_path):
    model = built(require_tool, tmp_path)
    first = model.run({"x": X})["y"]
    model.run({"x": X * 0})
    assert first.tolist() == [[2, -127, 127, 1]]


@pytest.mark.cc
def test_the_arena_may_hold_anything_before_a_run(require_tool, tmp_path):
    model = built(require_tool, tmp_path)
    model.arenas[0][:] = 0xA5
    assert model.run({"x": X})["y"].tolist() == [[2, -127, 127, 1]]
    assert model.arenas[0].ctypes.data % 16 == 0


@pytest.mark.cc
def test_a_library_built_again_in_its_folder_is_the_new_one(require_tool, tmp_path):
    built(require_tool, tmp_path)
    other = tiny_files()["tiny.c"].replace("tiny_add[i])", "tiny_add[i] + 1)")
    assert built(require_tool, tmp_path, tiny_dot_c=other).run({"x": X // 2})["y"].tolist() == [
        [2, -62, 65, 2]
    ]


@pytest.mark.cc
@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({}, 'error: input "x" is missing\n  given: none'),
        ({"z": X}, 'error: input "x" is missing\n  given: "z"'),
        ({"x": X[0]}, 'error: input "x" is int8[4], the model needs int8[1, 4]'),
        ({"x": X.astype(np.int16)}, 'error: input "x" is int16[1, 4], the model needs int8[1, 4]'),
    ],
)
def test_wrong_inputs_are_refused(inputs, says, require_tool, tmp_path):
    model = built(require_tool, tmp_path)
    with pytest.raises(InputError) as refused:
        model.run(inputs)
    assert str(refused.value) == says


@pytest.mark.cc
@pytest.mark.parametrize("place", ["-1", "TINY_ARENA_BYTES"])
def test_writing_outside_the_arena_is_noticed(place, require_tool, tmp_path):
    source = tiny_files()["tiny.c"]
    stray = re.sub(r"return 0;", f"((uint8_t *)arena)[{place}] = 0; return 0;", source)
    assert stray != source
    model = built(require_tool, tmp_path, tiny_dot_c=stray)
    with pytest.raises(RuntimeError, match=r"^tiny has written outside its arena of 8 bytes$"):
        model.run({"x": X})


@pytest.mark.cc
def test_an_error_of_the_model_is_raised(require_tool, tmp_path):
    failing = re.sub(r"return 0;", "return 2;", tiny_files()["tiny.c"])
    with pytest.raises(RuntimeError, match=r"^tiny_run failed with error 2$"):
        built(require_tool, tmp_path, tiny_dot_c=failing).run({"x": X})


@pytest.mark.cc
def test_c_that_does_not_compile_is_shown_with_the_command(require_tool, tmp_path):
    with pytest.raises(ToolError) as failed:
        built(require_tool, tmp_path, tiny_dot_c="#error no good\n")
    assert str(failed.value).startswith("error: the compiler failed with exit status 1\n")
    assert f"in {tmp_path}" in str(failed.value)
    assert "#error no good" in str(failed.value)


def test_the_compilers_arguments():
    gcc = Toolchain("gcc", "gcc", ("gcc",), "gcc 12")
    zig = Toolchain("zig", "zig", ("python", "-m", "ziglang", "cc"), "zig 0.14")
    common = ("-std=c99", "-O2", "-fPIC")
    assert list(build_commands(gcc, ["a.c", "b.c"], "m.so")) == [
        ("gcc", *common, "-c", "a.c", "-o", "a.c.o"),
        ("gcc", *common, "-c", "b.c", "-o", "b.c.o"),
        ("gcc", *common, "-shared", "a.c.o", "b.c.o", "-o", "m.so"),
    ]
    compiler = ("python", "-m", "ziglang", "cc", *common, "-fno-sanitize=all")
    assert list(build_commands(zig, ["a.c"], "m.so")) == [
        (*compiler, "-c", "a.c", "-o", "a.c.o"),
        (*compiler, "-shared", "a.c.o", "-o", "m.so"),
    ]


def test_the_model_is_named_by_its_files():
    assert model_name({"kws.c": "", "kws.h": "", "kws_describe.c": "", "kws_weights.c": ""}) == "kws"


def test_element_types_have_the_numbers_of_the_header(repo_root):
    header = (repo_root / "project_templates" / "common" / "solder_model.h").read_text()
    numbers = {DType[name]: int(value) for name, value in re.findall(r"SOLDER_(\w+) = (\d+)", header)}
    assert numbers == {dtype: number for number, dtype in ELEMENT_TYPES.items()}
