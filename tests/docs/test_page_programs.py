"""Programs and commands of the documentation run and print what the pages show."""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
import wave
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sliding_nets import Net, drawn_rows, hop_model, whole_windows

from aot.frontend.declared import NO_OVERRIDES, InputOverrides
from aot.frontend.load import load_model, parse_model
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job, read_job
from codegen.options import CompileOptions, read_options
from deploy.inputs.recordings import read_wav

WORDS = ("yes", "yes", "noise", "noise", "no")


def without_counts(text: str) -> list[str]:
    return [re.sub(r" *[\d,]+ instructions", " N instructions", line) for line in text.splitlines()]


def transcript(page: str) -> tuple[list[list[str]], str]:
    """The commands before the first output of the page, and that output."""
    block = re.search(r"(?:^    .*\n)+", page, re.MULTILINE)
    assert block is not None
    text = re.sub(r"^    ", "", block[0], flags=re.MULTILINE).replace("\\\n", "")
    commands = [shlex.split(line) for line in re.findall(r"^\$ (.*)$", text, re.MULTILINE)]
    return commands, re.sub(r"^\$ .*\n", "", text, flags=re.MULTILINE)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_the_page_shows_what_is_printed(repo_root, shared_dir, tmp_path, monkeypatch, run_deploy):
    monkeypatch.chdir(tmp_path)
    shutil.copy(shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite", "kws.tflite")
    with wave.open("words.wav", "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        for word in WORDS:
            with wave.open(str(shared_dir / "datasets" / f"{word}_1000ms.wav")) as clip:
                file.writeframes(clip.readframes(clip.getnframes()))
    commands, output = transcript((repo_root / "docs" / "apps.md").read_text(encoding="utf-8"))
    outcomes = [run_deploy(*words[1:]) for words in commands]
    assert [outcome.status for outcome in outcomes] == [0, 0, 0], outcomes[-1].err
    assert without_counts(outcomes[-1].out) == without_counts(output)


@pytest.fixture
def page(repo_root):
    return (
        (repo_root / "docs" / "front-ends.md").read_text(encoding="utf-8").partition("## A program that")[2]
    )


def commands(page: str) -> list[list[str]]:
    """The words of each command line of the page."""
    joined = page.replace("\\\n", "")
    return [shlex.split(line) for line in re.findall(r"^    \$ (.*)$", joined, re.MULTILINE)]


@pytest.mark.cc
@pytest.mark.slow
def test_the_program_listens(page, shared_dir, tmp_path, monkeypatch, run_deploy):
    monkeypatch.chdir(tmp_path)
    shutil.copy(shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite", "kws.tflite")
    compiling, building, listening = commands(page)[:3]
    assert run_deploy(*compiling[1:]).status == 0
    program = re.search(r"```c listen/main.c\n(.*?)```", page, re.DOTALL)
    assert program is not None
    (tmp_path / "listen" / "main.c").write_text(program[1], encoding="utf-8")
    strict = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
    subprocess.run([*building, *strict], check=True)
    files = listening[1 : listening.index("|")]
    clips = [read_wav(shared_dir / "datasets" / f"{Path(file).stem}_1000ms.wav", 16000) for file in files]
    heard = b"".join(clip.astype("<i2").tobytes() for clip in clips)
    found = subprocess.run(["./listener"], input=heard, capture_output=True, check=True).stdout.decode()
    assert found.splitlines() == re.findall(r"^    (second .*)$", page, re.MULTILINE)


_SENSOR = """
#include <stdint.h>
#include <stdio.h>
int read_rows(int8_t *rows, int count) {{ return fread(rows, {row}, (size_t)count, stdin) == (size_t)count; }}
"""


def test_inspect_prints_the_lines_shown(repo_root, run_deploy, shared_dir):
    page = (repo_root / "docs" / "sliding.md").read_text()
    model = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    printed = run_deploy("inspect", model, "--board", "mps2-an386", "--slide", "2").out
    shown = re.findall(r"^    (  (?:MACs|window) .*)$", page, re.MULTILINE)
    assert len(shown) == 2
    for line in shown:
        assert f"{line}\n" in printed


@pytest.mark.cc
def test_the_program_prints_a_decision_for_each_hop(repo_root, tmp_path):
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


NEEDED = {
    "keras": ("keras", "tensorflow"),
    "sklearn": ("sklearn", "skl2onnx"),
    "torch": ("torch", "onnx"),
    "jax": ("jax", "jax2onnx"),
}
WRITES = {"keras": "model.tflite", "sklearn": "model.onnx", "torch": "model.onnx", "jax": "model.onnx"}
OPEN = {"sklearn": InputOverrides(shapes={"X": (1, 6)})}


def blocks(page: str) -> dict[str, str]:
    return dict(re.findall(r"```python (\w+)\n(.*?)```", page, re.DOTALL))


def test_the_page_shows_each_framework(repo_root):
    page = (repo_root / "docs" / "exporting.md").read_text()
    for name, code in blocks(page).items():
        compile(code, name, "exec")
    assert set(blocks(page)) == set(NEEDED)


@pytest.mark.slow
@pytest.mark.parametrize("framework", NEEDED)
def test_what_the_page_exports_compiles(framework, repo_root, tmp_path):
    missing = [package for package in NEEDED[framework] if find_spec(package) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: not asked for")
    code = blocks((repo_root / "docs" / "exporting.md").read_text())[framework]
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    graph = load_model(tmp_path / WRITES[framework], overrides=OPEN.get(framework, NO_OVERRIDES))
    model = compile_job(
        Job(ImportedModel(graph, WRITES[framework], "00" * 32, "model"), Target("host"), CompileOptions())
    )
    assert model.sources


_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = (
    "found-schedule",
    "from-python",
    "graph-as-data",
    "kernel-text",
    "matrix-product",
    "own-instruction",
    "own-op",
    "own-pass",
    "own-schedule",
    "template",
)


def with_what_it_prints(page: str, name: str) -> str:
    """The page, with each text block as the program above it prints."""
    known: dict[str, Any] = {}
    out = ""

    def as_run(block: re.Match[str]) -> str:
        nonlocal out
        kind, text = block.groups()
        if kind == "text":
            return f"```text\n{out}```"
        with contextlib.redirect_stdout(io.StringIO()) as captured:
            exec(compile(text, f"{name}.md", "exec"), known)
        out = re.sub(r"\n\n+$", "\n", captured.getvalue())
        return block[0]

    return _BLOCK.sub(as_run, page)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_tutorial_prints_what_it_shows(name, repo_root, own_folders, generated):
    path = repo_root / "docs" / "tutorials" / f"{name}.md"
    generated(path, with_what_it_prints(path.read_text(encoding="utf-8"), name))


def test_every_tutorial_is_run(repo_root):
    """Three are run elsewhere: next to the site, in tests/demo and in tests/sensor_apps."""
    pages = {path.stem for path in (repo_root / "docs" / "tutorials").glob("*.md")}
    assert pages == {*PAGES, "first-hour", "language-model", "sound-to-text"}
