"""Programs that use Solder are type-checked: its packages say that they have types, and these hold."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import deploy
from deploy import lang
from deploy.host_tools.tool_inventory import OUR_PACKAGES

PROGRAM = """\
import numpy as np
import deploy
from deploy import lang

model = deploy.load("kws.tflite")
compiled = deploy.compile(model, board="mps2-an386", optimize="ram")
result = deploy.run(compiled, np.zeros((1, 49, 10, 1), np.int8), repeat=3)
worst: float = result.count.max
difference = deploy.diff("a.tar", compiled)
text: str = deploy.inspect(compiled).layer(1).ir

x = lang.placeholder("x", (4, 8), "i8")
k = lang.reduce_axis("k", 8)
s = lang.schedule("sums", [x], lang.compute("y", (4,), lambda i: lang.sum(x[i, k], k)))
outer, inner = s.split("i", 2)
kernel = lang.build(s, "host")
cycles: int = kernel.cycles
"""
# A line that is wrong, and what is said of it.
WRONG = {
    "deploy.compile(3)": 'Argument 1 to "compile" has incompatible type "int"',
    "s.split(2, 2)": 'Argument 1 to "split" of "Schedule" has incompatible type "int"',
    "lang.frobnicate": 'Module has no attribute "frobnicate"',
}


@pytest.mark.parametrize("package", OUR_PACKAGES)
def test_every_package_says_that_it_has_types(package: str, repo_root: Path) -> None:
    assert (repo_root / package / "py.typed").is_file()


@pytest.mark.slow
def test_a_program_that_uses_solder_is_type_checked(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("\n".join([PROGRAM.rstrip(), *WRONG, ""]))
    argv = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        f"--cache-dir={os.devnull}",
        "--config-file=",
        path.name,
    ]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    *errors, _ = done.stdout.splitlines()
    first = len(PROGRAM.splitlines()) + 1
    expected = enumerate(WRONG.values(), first)
    assert len(errors) == len(WRONG), done.stdout
    assert all(
        error.startswith(f"program.py:{line}: error: {said}")
        for error, (line, said) in zip(errors, expected, strict=True)
    ), done.stdout


@pytest.mark.parametrize("module", [deploy, lang])
def test_what_is_loaded_when_it_is_asked_for_is_listed_before(module: ModuleType) -> None:
    assert {*module.__all__} <= {*dir(module)}
