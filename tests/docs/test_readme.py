"""What the README shows of a command is what the command prints; its Python runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.results import read_results

NUMBER = re.compile(r"\d[\d,]*\.?\d*")
NEAR = 0.01  # of counts, which other compilers of the same family have a little different

Run = Callable[..., Any]


def shown(readme: str) -> dict[str, str]:
    """The word after `deploy` -> the command line and what follows it, where something does."""
    blocks = re.findall(r"^    \$ (deploy (\w+) .*)\n((?:(?:    (?!\$).*)?\n)+)", readme, re.MULTILINE)
    said = {
        word: (line, re.sub("^    ", "", text, flags=re.MULTILINE).strip()) for line, word, text in blocks
    }
    return {word: f"{line}\n{text}" for word, (line, text) in said.items() if text}


@pytest.fixture
def in_the_tree(repo_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `deploy/demo` is, and results disturb nobody."""
    (tmp_path / "deploy").symlink_to(repo_root / "deploy")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def readme(repo_root: Path) -> str:
    return (repo_root / "README.md").read_text(encoding="utf-8")


def test_the_readme_shows_what_three_commands_print(readme: str) -> None:
    assert set(shown(readme)) == {"inspect", "run", "verify"}


@pytest.mark.usefixtures("in_the_tree")
def test_inspect_prints_what_is_shown(readme: str, run_deploy: Run) -> None:
    line, _, text = shown(readme)["inspect"].partition("\n")
    assert run_deploy(*shlex.split(line)[1:]).out.strip() == text


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.usefixtures("in_the_tree")
@pytest.mark.parametrize("word", ["run", "verify"])
def test_on_the_board_the_same_is_printed(
    word: str,
    readme: str,
    run_deploy: Run,
    require_tool: Callable[..., None],
    require_package: Callable[..., None],
) -> None:
    require_package("unicorn", "capstone")
    require_tool("arm-none-eabi-gcc")
    require_tool("qemu-system-arm")
    line, _, text = shown(readme)[word].partition("\n")
    said = run_deploy(*shlex.split(line)[1:]).out.strip()
    spaces = re.compile(" +")
    assert spaces.sub(" ", NUMBER.sub("#", said)) == spaces.sub(" ", NUMBER.sub("#", text))
    for is_said, is_shown in zip(NUMBER.findall(said), NUMBER.findall(text), strict=True):
        assert float(is_said.replace(",", "")) == pytest.approx(float(is_shown.replace(",", "")), rel=NEAR)


@pytest.mark.cc
@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.usefixtures("in_the_tree", "own_folders")
def test_the_python_runs(
    readme: str, require_tool: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    require_tool("arm-none-eabi-gcc")
    require_tool("qemu-system-arm")
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == "7\n"


MEASURED = {
    "MLPerf Tiny image classification": "tiny_ic_resnet8_int8",
    "MLPerf Tiny keyword spotting": "tiny_kws_dscnn_int8",
    "MLPerf Tiny visual wake words": "tiny_vww_mbv1_int8",
    "MLPerf Tiny anomaly detection": "tiny_ad_fc_int8",
    "person detection (TFLM example)": "tflm_person_detect_int8",
    "micro speech (TFLM example)": "tflm_micro_speech_int8",
}


@pytest.mark.parametrize("said", MEASURED)
def test_the_table_of_costs_is_what_was_measured(said: str, readme: str) -> None:
    (row,) = re.findall(rf"^\| {re.escape(said)} \| (.*) \|$", readme, re.MULTILINE)
    found = {r.optimize: r for r in read_results() if (r.model, r.board) == (MEASURED[said], "mps2-an386")}
    speed, ram = found["speed"], found["ram"]
    ours = (speed.instructions, speed.cycles, speed.arena_bytes, speed.code_bytes, speed.constants_bytes)
    cells = [int(cell.replace(",", "")) for cell in row.split(" | ")]
    assert (cells[0], cells[1], cells[3], *cells[5:]) == (*ours, ram.arena_bytes, ram.instructions)
