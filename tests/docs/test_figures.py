"""Figures in README and docs/memory.md are what commands print and what was measured."""

import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.results import read_results
from boards.load import board_names
from codegen.version import VERSION
from deploy.cli.command import command_parser, load_command
from deploy.demo.__main__ import main as run_demo
from platforms.board_files import all_boards

NUMBER = re.compile(r"\d[\d,]*\.?\d*")
NEAR = 0.01  # of counts, which differ a little between compilers of one family


@pytest.fixture
def readme(repo_root):
    return (repo_root / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def in_the_tree(repo_root, tmp_path, monkeypatch):
    """A folder with the bundled model in deploy/demo, as in the README, and nothing else."""
    (tmp_path / "deploy").symlink_to(repo_root / "deploy")
    monkeypatch.chdir(tmp_path)


def shown(readme: str) -> dict[str, tuple[list[str], list[str]]]:
    """The command of each `$ deploy` line with its words, and the lines shown below it."""
    blocks = re.findall(r"^    \$ (deploy .*)\n((?:    (?!\$).*\n)*)", readme, re.MULTILINE)
    return {line.split()[1]: (shlex.split(line)[1:], text.split("\n")[:-1]) for line, text in blocks}


def without_spaces(lines: list[str]) -> list[str]:
    return [" ".join(line.split()) for line in lines]


@pytest.mark.usefixtures("in_the_tree")
def test_inspect_prints_the_lines_shown(readme, run_deploy):
    words, lines = shown(readme)["inspect"]
    printed = without_spaces(run_deploy(*words).out.splitlines())
    assert len(lines) == 2
    assert [line for line in without_spaces(lines) if line not in printed] == []


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.usefixtures("in_the_tree")
def test_verify_prints_the_line_shown(readme, run_deploy):
    words, lines = shown(readme)["verify"]
    printed = without_spaces(run_deploy(*words).out.splitlines())
    assert printed[: len(lines)] == without_spaces(lines)  # a line about the runtime that is here follows


@pytest.mark.cc
@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.usefixtures("own_folders")
def test_the_demo_prints_the_lines_shown(readme, capsys):
    lines = without_spaces(re.findall(r"^    (?:right|equal to|RAM|flash)\b.*$", readme, re.MULTILINE)[:4])
    assert run_demo() == 0
    printed = without_spaces(capsys.readouterr().out.splitlines())
    for line in lines:
        same = next(each for each in printed if NUMBER.sub("#", each) == NUMBER.sub("#", line))
        for is_said, is_shown in zip(NUMBER.findall(same), NUMBER.findall(line), strict=True):
            said, said_here = (float(text.replace(",", "")) for text in (is_said, is_shown))
            assert said == pytest.approx(said_here, rel=NEAR)


MEASURED = {
    "image classification": "tiny_ic_resnet8_int8",
    "keyword spotting": "tiny_kws_dscnn_int8",
    "visual wake words": "tiny_vww_mbv1_int8",
    "anomaly detection": "tiny_ad_fc_int8",
}


def millions(count: int | None) -> str:
    assert count is not None
    return f"{count / 1e6:.2f} M"


@pytest.mark.parametrize("said", MEASURED)
def test_the_table_is_what_was_measured(said, readme):
    (row,) = re.findall(rf"^\| {re.escape(said)} \| (.*) \|$", readme, re.MULTILINE)
    speed, ram = (
        next(
            each
            for each in read_results()
            if (each.model, each.board, each.optimize) == (MEASURED[said], "mps2-an386", goal)
        )
        for goal in ("speed", "ram")
    )
    ours, theirs, arena, their_arena, least = row.replace("*", "").split(" | ")
    assert (ours, arena, least) == (
        millions(speed.instructions),
        f"{speed.arena_bytes:,}",
        f"{ram.arena_bytes:,}",
    )
    their_row = rf"^\| {MEASURED[said]} \| (.*) \|$"
    results = (Path(__file__).parents[2] / "benchmarks" / "results.md").read_text(encoding="utf-8")
    section = results[results.index("## mps2-an386, --optimize speed") :]
    cells = re.findall(their_row, section, re.MULTILINE)[0].split(" | ")
    assert theirs == millions(int(cells[4].replace(",", "")))
    assert their_arena == cells[6]


def test_the_example_s_arena_is_that_of_keyword_spotting(readme):
    (arena,) = re.findall(r"/\* ([\d,]+) bytes, fixed", readme)
    assert f"| **{arena}** |" in readme


def test_the_status_counts_are_those_of_the_board_files(readme):
    counts = Counter(board.status.value for board in all_boards())
    assert f"{len(board_names())} board files" in readme
    assert f"{counts['emulated-tested']} are tested in an emulator" in readme
    assert f"{counts['build-tested']} are built in our tests" in readme
    assert f"{counts['data-only']} hold only memory" in readme
    assert f"**Version {VERSION}.**" in readme


def test_the_errors_of_the_cycle_model_are_those_of_its_page(readme, repo_root):
    page = (repo_root / "docs" / "cycles.md").read_text(encoding="utf-8")
    (claim,) = re.findall(r"\*\*Cycles come from a model.*?details", readme, re.DOTALL)
    figures = re.findall(r"\d+\.\d %", claim)
    assert len(figures) == 3
    assert [figure for figure in figures if figure not in page] == []


def test_the_commands_of_the_table_are_understood(readme):
    table = readme[readme.index("| you want | command |") : readme.index("Not on the [board list]")]
    commands = re.findall(r"`(deploy [^`]+)`", table)
    assert len(commands) >= 7
    for line in commands:
        _, command, *words = shlex.split(line)
        command_parser(command, load_command(command)).parse_args(words)


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.usefixtures("own_folders")
def test_the_python_runs(readme, repo_root):
    import numpy as np

    import solder

    (code,) = re.findall(r"`(solder\.run\(.*\))` \(", readme)
    image = np.load(repo_root / "deploy/demo/digits_test.npz")["image"][0]
    model = str(repo_root / "deploy/demo/digits.tflite")
    result = eval(code.replace("kws.tflite", model), {"solder": solder, "x": image})
    assert result.outputs["digit"].argmax() == 7


MODELS = {"tiny_kws_dscnn_int8": 0, "tiny_ic_resnet8_int8": 2}  # the first of its two columns


@pytest.fixture
def page(repo_root):
    return (repo_root / "docs" / "memory.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("goal", ["speed", "ram"])
def test_the_table_of_goals_is_what_was_measured(model, goal, page):
    (row,) = re.findall(rf"^\| `--optimize {goal}`(?: \(default\))? \| ([\d,| ]+) \|$", page, re.MULTILINE)
    measured = next(
        each
        for each in read_results()
        if (each.model, each.board, each.optimize) == (model, "mps2-an386", goal)
    )
    cells = [int(cell.replace(",", "")) for cell in row.split(" | ")]
    assert cells[MODELS[model] :][:2] == [measured.arena_bytes, measured.instructions]


def test_inspect_prints_the_lines_of_the_memory_page(page, run_deploy, shared_dir):
    """RAM exactly; the estimate of code may move a little."""
    model = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    printed = [
        " ".join(line.split())
        for line in run_deploy("inspect", model, "--board", "mps2-an386").out.splitlines()
    ]
    block = page[page.index("    RAM  ") : page.index("`inspect` estimates")]
    lines = [" ".join(line.split()) for line in block.splitlines() if line.strip()]
    assert len(lines) == 9
    assert [line for line in lines[:5] if line not in printed] == []
    forms = {re.sub(r"[\d,.]+", "#", line) for line in printed}
    assert [line for line in lines if re.sub(r"[\d,.]+", "#", line) not in forms] == []


def test_the_header_of_several_pools_is_the_one_shown(page, run_deploy, shared_dir, tmp_path):
    model = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    (command,) = re.findall(r"^    \$? ?(deploy run .*--pool.*)$", page, re.MULTILINE)
    words = shlex.split(command)
    pools = [word for i, word in enumerate(words) if word == "--pool" or words[i - 1] == "--pool"]
    board = words[words.index("--board") + 1]
    out = tmp_path / "kws"
    assert run_deploy("compile", model, "--board", board, "--name", "kws", *pools, "-o", out).status == 0
    header = (out / "kws.h").read_text(encoding="utf-8")
    defines = re.findall(r"^#define KWS_\w+_ARENA_BYTES .*$", page, re.MULTILINE)
    assert len(defines) == 2
    assert [line for line in defines if line not in header] == []
