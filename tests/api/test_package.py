"""What a user sees of the package: one name, types that hold, and results that are short at a prompt."""

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import deploy
import solder
from deploy import lang
from deploy.frameworks.compile_framework_model import CompiledModule, Conversion
from deploy.frameworks.judging import Judgement
from deploy.host_tools.tool_inventory import OUR_PACKAGES
from deploy.quantization.onnx_quantizer import Quantized

SAYS_WHAT_IS_LOADED = "import sys, solder; print([n for n in sys.modules if n.startswith('codegen')])"


def test_it_has_the_same_objects_under_the_same_names():
    assert solder.__all__ == deploy.__all__
    for name in solder.__all__:
        assert getattr(solder, name) is getattr(deploy, name)
    assert set(solder.__all__) <= set(dir(solder))


def test_the_language_is_the_same_module_however_it_is_imported():
    import solder.lang

    assert sys.modules["solder.lang"] is lang
    assert solder.lang is lang


def test_nothing_of_the_compiler_is_loaded_before_it_is_asked_for():
    argv = [sys.executable, "-c", SAYS_WHAT_IS_LOADED]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_file_that_hides_ours_is_named_with_the_way_out(tmp_path):
    (tmp_path / "deploy.py").write_text("print('mine')\n")
    argv = [sys.executable, "-c", "import solder"]
    said = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True).stderr.splitlines()[-1]
    assert said == (
        f"ImportError: {tmp_path / 'deploy.py'} hides Solder's package deploy: rename it, "
        "or start Python in another folder (deploy doctor tells of such files)"
    )


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
def test_every_package_says_that_it_has_types(package, repo_root):
    assert (repo_root / package / "py.typed").is_file()


@pytest.mark.slow
def test_a_program_that_uses_solder_is_type_checked(tmp_path):
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
def test_what_is_loaded_when_it_is_asked_for_is_listed_before(module):
    assert {*module.__all__} <= {*dir(module)}


DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"


def test_a_compiled_module_is_shown_in_a_line():
    compiled = deploy.compile(DIGITS, board="host")
    quantized = Quantized(b"x" * 60_000, 200_000, (), None, None, None)
    conversion = Conversion("PyTorch", Judgement(1e-7, 1e-3, 4), quantized, None, None, None)
    known = {each.name: getattr(compiled, each.name) for each in fields(compiled)}
    module = CompiledModule(**known, conversion=conversion)
    assert repr(module) == repr(compiled)
    assert repr(conversion) == "<conversion from PyTorch: int8, 1e-07 away at most>"
    assert repr(quantized) == "<int8 model of 60,000 bytes, 200,000 in float>"


def test_a_notebook_keeps_columns_in_line_and_shows_reports_as_pages():
    compiled = deploy.compile(DIGITS, board="host")
    assert compiled._repr_html_().startswith('<pre style="font-family: monospace">digits')
    report = deploy.report(DIGITS, "host")._repr_html_()
    assert report.startswith('<iframe srcdoc="&lt;!')
    assert "&lt;svg" in report
