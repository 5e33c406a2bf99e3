"""The program of docs/sliding.md is built with a keyword spotter and run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sliding_nets import Net, drawn_rows, hop_model, whole_windows

from aot.frontend.load import parse_model
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import read_options

_SENSOR = """
#include <stdint.h>
#include <stdio.h>
int read_rows(int8_t *rows, int count) {{ return fread(rows, {row}, (size_t)count, stdin) == (size_t)count; }}
"""


def test_inspect_prints_the_lines_shown(
    repo_root: Path, run_deploy: Callable[..., Any], shared_dir: Path
) -> None:
    page = (repo_root / "docs" / "sliding.md").read_text()
    model = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    printed = run_deploy("inspect", model, "--board", "mps2-an386", "--slide", "2").out
    shown = re.findall(r"^    (  (?:MACs|window) .*)$", page, re.MULTILINE)
    assert len(shown) == 2
    for line in shown:
        assert f"{line}\n" in printed


@pytest.mark.cc
def test_the_program_prints_a_decision_for_each_hop(
    repo_root: Path, require_tool: Callable[..., None], tmp_path: Path
) -> None:
    require_tool("gcc")
    net = Net((1, 49, 10, 1)).conv(8, (10, 4), stride=(2, 2), activation="RELU").mean_pool().dense(4)
    path = tmp_path / "kws.tflite"
    path.write_bytes(net.build.finish(net.build.softmax(net.x, name="scores")))
    compiled = compile_job(read_job(path, Target("host", pointer_bytes=8), read_options({"slide": 2})))
    (program,) = re.findall(r"```c\n(.*?)```", (repo_root / "docs" / "sliding.md").read_text(), re.DOTALL)
    sources = {**compiled.sources, "main.c": program, "sensor.c": _SENSOR.format(row=10)}
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    files = [n for n in sources if n.endswith(".c") and not n.endswith("_describe.c")]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-fsanitize=address,undefined"]
    subprocess.run(["gcc", *flags, *files, "-lm", "-o", "kws"], cwd=tmp_path, check=True)

    graph = parse_model(path.read_bytes(), path.name, "tflm")
    step = hop_model(graph, 2)
    rows = drawn_rows(step, 1, 80)
    ran = subprocess.run(["./kws"], input=rows.tobytes(), cwd=tmp_path, check=True, capture_output=True)
    wanted = [int(each["scores"].reshape(-1)[0]) for each in whole_windows(graph, step, rows, 1)]
    assert list(map(int, ran.stdout.split())) == wanted
    assert np.ptp(wanted) > 0
