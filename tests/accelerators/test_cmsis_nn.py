"""--accelerator cmsis-nn: which files are taken, what is refused and, where the library is, equal bits."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from average_pool2d_cases import CASES as AVERAGE_CASES
from conv2d_cases import CASES
from dense_cases import CASES as DENSE_CASES
from depthwise_conv2d_cases import CASES as DEPTHWISE_CASES
from max_pool2d_cases import CASES as MAX_CASES
from op_case import OpCase, random_values

from aot.interpret import run_graph
from aot.target import Target
from codegen.accelerators.cmsis_nn.library import cmsis_nn
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.model import CompiledModel
from codegen.options import CompileOptions
from platforms.poisoned import Poisoned

DIGITS = Path("deploy/demo/digits.tflite")
HINT = "git clone https://github.com/ARM-software/CMSIS-NN, and give that folder: cmsis-nn:path=CMSIS-NN"
CALLED = {
    "arm_convolve_wrapper_s8": "arm_nn_inner",
    "arm_depthwise_conv_wrapper_s8": "",
    "arm_fully_connected_wrapper_s8": "",
    "arm_avgpool_s8": "",
    "arm_max_pool_s8": "",
}
Run = Callable[..., Any]


def function(name: str, body: str = "") -> str:
    return f'#include "arm_nnfunctions.h"\n\nint {name}(int a,\n    int b)\n{{\n    {body}\n}}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A library with the functions that are called, none of which computes anything."""
    path = tmp_path / "library"
    files = {
        "Include/arm_nnfunctions.h": '/* $Revision: V.1.2.3 */\n#include "Internal/arm_inner.h"\n',
        "Include/Internal/arm_inner.h": '#if FLOATS\n    #include "arm_floats.h"\n#endif\n',
        "Include/arm_floats.h": "",
        "Source/arm_said.h": "/* \xe9 */",
        "Source/arm_nn_inner.c": function("arm_nn_inner", "// arm_not_called()"),
        "Source/arm_not_called.c": function("arm_not_called"),
        **{f"Source/{name}.c": function(name, f"return {calls}(a, b);") for name, calls in CALLED.items()},
    }
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, encoding="latin-1")  # as some of the library's files may be
    return path


def compiled(case: OpCase, folder: Path, target: Target) -> CompiledModel:
    model = ImportedModel(case.graph, "net.tflite", "00" * 32, "net")
    return compile_job(Job(model, target, CompileOptions(accelerators=(f"cmsis-nn:path={folder}",))))


def taken(model: CompiledModel) -> bool:
    return any(layer.kernel == "cmsis-nn" for layer in model.layers)


def test_files_are_taken_that_a_function_reaches_and_no_others(folder: Path) -> None:
    assert cmsis_nn(str(folder)).needed_for("arm_convolve_wrapper_s8") == (
        "arm_convolve_wrapper_s8.c",
        "arm_inner.h",
        "arm_nn_inner.c",
        "arm_nnfunctions.h",
    )
    assert cmsis_nn(str(folder)).needed_for("arm_max_pool_s8") == (
        "arm_inner.h",
        "arm_max_pool_s8.c",
        "arm_nnfunctions.h",
    )


def test_the_c_says_which_library_it_comes_with(
    folder: Path, run_deploy: Run, repo_root: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    asked = ("--board", "host", "--accelerator", f"cmsis-nn:path={folder}")
    done = run_deploy("compile", repo_root / DIGITS, *asked, "-o", made)
    assert done.status == 0, done.err
    head, _ = (made / "cmsis_nn_conv2d.h").read_text(encoding="utf-8").split("\n", 1)
    assert head.startswith("/* CMSIS-NN V.1.2.3, sha256 of the files taken: ")
    text = (made / "arm_nnfunctions.h").read_text(encoding="utf-8")
    assert text.startswith("/* From CMSIS-NN. Changed by Solder")
    assert '#include "arm_inner.h"' in text
    assert not (made / "arm_not_called.c").exists()


def test_inspect_says_what_is_taken_and_why_the_rest_is_not(
    folder: Path, run_deploy: Run, repo_root: Path
) -> None:
    asked = ("--board", "mps2-an386", "--accelerator", f"cmsis-nn:path={folder}", "--layers")
    text = run_deploy("inspect", repo_root / DIGITS, *asked).out
    assert "5 of 6 nodes run on accelerators\n" in text
    assert '5  softmax           CPU       SOFTMAX #6 "digit" (cmsis-nn: it computes no softmax)' in text


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (
            "Include/arm_nnfunctions.h",
            'error: --accelerator "cmsis-nn": the folder "{folder}" has no Include/arm_nnfunctions.h',
        ),
        (
            "Source/arm_avgpool_s8.c",
            "revision V.1.2.3 has no function arm_avgpool_s8, which average_pool2d needs",
        ),
        (
            "Include/Internal/arm_inner.h",
            "revision V.1.2.3 has no arm_inner.h, which its arm_nnfunctions.h includes",
        ),
    ],
)
def test_a_library_that_is_not_whole_is_refused_before_anything_is_compiled(
    damage: str, text: str, folder: Path, run_deploy: Run, repo_root: Path
) -> None:
    (folder / damage).unlink()
    done = run_deploy("inspect", repo_root / DIGITS, "--accelerator", f"cmsis-nn:path={folder}")
    assert done.status == 2
    assert text.format(folder=folder) in done.err
    assert f"  hint: {HINT}\n" in done.err


def test_without_a_path_the_way_to_one_is_told(run_deploy: Run, repo_root: Path) -> None:
    done = run_deploy("inspect", repo_root / DIGITS, "--accelerator", "cmsis-nn")
    assert done.status == 2
    assert '"cmsis-nn" calls a library that you have, and there is no path=FOLDER that says where' in done.err
    assert f"  hint: {HINT}\n" in done.err


# With the library, which is the user's own


@pytest.fixture
def library() -> Path:
    given = os.environ.get("CMSIS_NN_PATH")
    if not given:
        pytest.skip("CMSIS_NN_PATH does not say where CMSIS-NN is")
    return Path(given)


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("cases", "least"),
    [(CASES, 8), (DEPTHWISE_CASES, 5), (DENSE_CASES, 3), (AVERAGE_CASES, 2), (MAX_CASES, 2)],
    ids=["conv2d", "depthwise_conv2d", "dense", "average_pool2d", "max_pool2d"],
)
def test_layers_of_all_shapes_keep_their_bits(
    cases: Sequence[OpCase], least: int, library: Path, require_tool: Callable[..., None], tmp_path: Path
) -> None:
    require_tool("gcc")
    rng, names = np.random.default_rng(2), []
    for case in cases:
        made = compiled(case, library, Target("host", pointer_bytes=8))
        if taken(made):
            names.append(case.name)
            inputs = {name: random_values(rng, case.graph.types[name]) for name in case.graph.inputs}
            outputs = Poisoned(made, tmp_path / case.name).run(inputs)
            assert np.array_equal(outputs["y"], run_graph(case.graph, inputs)["y"]), case.name
    assert len(names) >= least, names


@pytest.mark.cc
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("board", ["host", "mps2-an386", "mps3-an547"])
def test_each_layer_of_a_model_has_the_bits_of_the_reference(
    board: str, library: Path, run_deploy: Run, repo_root: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("gcc", "arm-none-eabi-gcc", "qemu-system-arm")
    asked = ("--board", board, "--accelerator", f"cmsis-nn:path={library}", "--layers")
    done = run_deploy("verify", repo_root / DIGITS, *asked)
    assert "outputs and 6 layers equal to the reference in every bit" in done.out, done.err
