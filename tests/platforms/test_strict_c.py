"""C as others compile it: --dialect strict with any flags, runtime headers in C++ programs."""

import re
import subprocess
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import TINY

import deploy

Run = Callable[..., Any]
PEDANTIC = ("-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Wconversion", "-Werror")
FLAGS = ("-O0", "-Os", "-O2", "-O2 -fpic", "-O2 -flto", "-O1 -fsanitize=address,undefined")
SHARED = ("tflm_hello_world_int8", "tflm_hello_world_f32", "mww_vad_v2_int8", "tiny_kws_dscnn_int8")
BEYOND = re.compile(r"__asm|\basm\b|__builtin|__attribute__|_arm_|#pragma|#include [\"<]arm_")
GUARDED = re.compile(r"#ifdef __GNUC__\n.*\n#else", re.MULTILINE)  # the alignment of the caller's arena


def made_folder(name: str, model: bytes, tmp_path: Path, run_deploy: Run) -> Path:
    path = tmp_path / f"{name}.tflite"
    path.write_bytes(model)
    folder = tmp_path / name
    outcome = run_deploy("compile", path, "--board", "nucleo-f446re", "--dialect", "strict", "-o", folder)
    assert outcome.status == 0, outcome.err
    return folder


def require_same(folder: Path, name: str) -> None:
    """Builds with each compiler and each set of flags, and runs the test program."""
    for compiler, flags in product(("gcc", "clang"), FLAGS):
        program = built(folder, (compiler, *PEDANTIC, *flags.split()))
        done = subprocess.run([program], capture_output=True, text=True, check=False)
        assert done.stdout == f"{name}: right\n", f"{compiler} {flags}: {done.stdout}{done.stderr}"


def built(folder: Path, argv: Sequence[str]) -> Path:
    """The test program, of which the compiler has nothing to say."""
    sources = sorted(path.name for path in folder.glob("*.c"))
    words = (*argv, *sources, "-lm", "-o", "test")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), argv
    return folder / "test"


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED)
def test_any_flags_of_any_compiler_give_the_same_bits(name, shared_dir, tmp_path, run_deploy, require_tool):
    require_tool("clang")
    model = (shared_dir / "models" / name / "model.tflite").read_bytes()
    require_same(made_folder(name, model, tmp_path, run_deploy), name)


@pytest.mark.parametrize("name", ["classifier", "depthwise", "residual"])
def test_nothing_beyond_the_standard_is_left(name, tmp_path, run_deploy):
    folder = made_folder(name, TINY[name](), tmp_path, run_deploy)
    for path in (path for path in folder.iterdir() if path.suffix in (".c", ".h")):
        assert BEYOND.search(GUARDED.sub("", path.read_text())) is None, path.name


@pytest.mark.cc
def test_constants_without_end_are_macros_of_the_standard_library():
    g = deploy.graph("endless")
    weights = np.asarray([np.inf, -np.inf, np.nan, 1], np.float32)
    g.output(g.input("x", (4,)) + weights, "sum")
    for dialect in ("gnu", "strict"):
        text = deploy.compile(g.model(), board="host", dialect=dialect).artifact.sources["endless_weights.c"]
        assert "INFINITY, -INFINITY, NAN, 1.0f" in text
        assert "#include <math.h>" in text
    made = deploy.in_process(g.model(), dialect="strict").run([np.ones(4, np.float32)])
    np.testing.assert_array_equal(made["sum"], weights + 1)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            ("--board", "arduino-mega"),
            "--dialect strict: standard C cannot place constants in __flash, where avr keeps them",
        ),
        (
            ("--board", "mps2-an500", "--constants", "*=RAM"),
            "--dialect strict: standard C cannot place constants in RAM",
        ),
    ],
)
def test_what_standard_c_cannot_say_is_refused(more, says, tmp_path, tiny_file, run_deploy):
    words = (*more, "--dialect", "strict", "-o", tmp_path / "tiny.tar")
    outcome = run_deploy("compile", tiny_file("dense"), *words)
    assert outcome.status == 1
    assert says in outcome.err
    assert "omit --dialect strict" in outcome.err


_PROTOTYPE = re.compile(r"^(?!typedef|static|#|\s)[\w *]+?(\w+)\([^;{}]*\);", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def functions(header: Path) -> list[str]:
    """The functions that a header declares and does not define."""
    text = re.sub(r"__attribute__\(\(.*?\)\)\)?", "", _COMMENT.sub("", header.read_text()))
    return _PROTOTYPE.findall(text)


def runtime_headers(repo_root: Path) -> list[Path]:
    folders = [
        repo_root / "project_templates" / name for name in ("common", "sensor_app", "zephyr", "arduino")
    ]
    return [header for folder in folders for header in sorted(folder.glob("*.h")) if functions(header)]


def test_the_headers_with_functions_are_found(repo_root):
    names = {header.name: functions(header) for header in runtime_headers(repo_root)}
    assert "solder_port_read" in names["solder_port.h"]
    assert "solder_server_run" in names["solder_server.h"]
    assert len(names) > 20


@pytest.mark.cc
def test_functions_have_the_names_that_c_gives_them(repo_root, tmp_path, require_tool):
    require_tool("g++")
    (tmp_path / "app.h").write_text(
        "#include <stddef.h>\n#include <stdint.h>\ntypedef int8_t app_element;\n"
        "#define ROW_ELEMENTS 2u\n#define WINDOW_ROWS 4u\n#define CLASSES 2u\n"
    )
    include = ["-DSOLDER_FUNCTIONS", f"-I{tmp_path}"]
    include += [f"-I{repo_root / 'project_templates' / name}" for name in ("common", "sensor_app")]
    for header in runtime_headers(repo_root):
        seen = subprocess.run(
            ["g++", "-E", "-P", *include, header], capture_output=True, text=True, check=True
        ).stdout
        names = [name for name in functions(header) if re.search(rf"\b{name}\(", seen)]  # as it is compiled
        addresses = ", ".join(f"reinterpret_cast<void *>(&{name})" for name in names)
        text = f"void *const all[] = {{{addresses}}};\nvoid *const *see() {{ return all; }}\n"
        (tmp_path / "test.cpp").write_text(f'#include "{header}"\n{text}')
        argv = ["g++", "-Wall", "-Werror", *include, "-c", "test.cpp", "-o", "test.o"]
        made = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert made.returncode == 0, f"{header.name}\n{made.stderr}"
        symbols = subprocess.run(
            ["nm", "-u", "test.o"], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.split()
        assert set(names) <= set(symbols), header.name
