"""`deploy explore` looks at every combination once, keeps what it found, and names what is best."""

import csv
import json
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_facts import require_facts

import deploy
from codegen.compile_kinds import RegionLimit
from codegen.options import CompileOptions
from deploy.exploring import run as exploring
from deploy.exploring.exploration import mark_best, smallest_boards
from deploy.exploring.model_on_board import ModelOnBoard, explore_one
from deploy.exploring.run import all_options, read_varied

DEMO = Path(deploy.__file__).parent / "demo"
DIGITS = DEMO / "digits.tflite"
BOARDS = ("nano-33-ble", "arduino-uno", "host")


def explored(**more: Any) -> Any:
    return deploy.explore(DIGITS, board=BOARDS, jobs=1, **more)


def result(**figures: Any) -> dict[str, Any]:
    """A result with made-up figures."""
    usual = {"model": "kws", "board": "b", "fits": True, "ram_bytes": 10, "flash_bytes": 10, "time_s": 1.0}
    there = {"ram_there": 100, "flash_there": 100, "rate_hz": 1.0, "accuracy": None}
    there["counts_firmware"] = True
    return {**usual, **there, **figures}


@pytest.mark.slow
def test_each_combination_is_what_inspect_says_of_it():
    found = explored(vary={"optimize": ["speed", "ram"], "stream": [False, True]})
    results = found.as_json()["results"]
    assert len(results) == len(BOARDS) * 2 * 2
    combinations = product(BOARDS, ("speed", "ram"), (False, True))
    for each, (board, optimize, stream) in zip(results, combinations, strict=True):
        inspected = deploy.inspect(DIGITS, board=board, optimize=optimize, stream=stream or None)
        assert each["board"] == board
        assert each["fits"] == inspected.fits
        assert each["ram_bytes"] == inspected.report.needed_bytes("ram")
        assert each["flash_bytes"] == inspected.report.needed_bytes("flash")


@pytest.mark.slow
def test_all_boards_are_looked_at_where_none_is_named():
    results = deploy.explore(DIGITS, jobs=1).as_json()["results"]
    assert [each["board"] for each in results] == [board["name"] for board in deploy.boards()]


@pytest.mark.slow
def test_processes_find_the_same():
    assert deploy.explore(DIGITS, board=BOARDS, jobs=2).as_json() == explored().as_json()


@pytest.mark.slow
def test_what_was_interrupted_goes_on(tmp_path, monkeypatch):
    kept = tmp_path / "kept.jsonl"
    whole = explored(kept=kept)
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text("".join(lines[:2]) + lines[2][:20])  # as a process that was killed leaves it
    done: list[str] = []

    def counted_one(each: ModelOnBoard) -> Any:
        done.append(each.board)
        return explore_one(each)

    monkeypatch.setattr(exploring, "explore_one", counted_one)
    assert explored(kept=kept).as_json() == whole.as_json()
    assert done == [BOARDS[2]]
    assert explored(kept=kept).as_json() == whole.as_json()
    assert done == [BOARDS[2]]
    explored(kept=kept, vary={"optimize": ["size"]})  # other options are other combinations
    assert len(done) == 1 + len(BOARDS)


def test_a_file_of_something_else_is_not_written_to(tmp_path, run_deploy):
    path = tmp_path / "mine.txt"
    path.write_text("mine\n")
    outcome = run_deploy("explore", DIGITS, "--board", "host", "--kept", path)
    assert outcome.status == 1
    assert "line 1 is not a result of deploy explore" in outcome.err
    assert path.read_text() == "mine\n"


def test_the_unbeaten_are_those_that_nothing_is_better_than():
    small, fast = result(time_s=2.0), result(ram_bytes=20, time_s=0.5)
    worse, other = result(ram_bytes=20, time_s=2.0), result(model="vww", ram_bytes=900)
    too_large = result(ram_bytes=1, time_s=0.1, fits=False)
    marked = mark_best([small, fast, worse, other, too_large])
    assert [each["is_best"] for each in marked] == [True, True, False, True, False]
    rivals = [result(accuracy=0.9), result(model="vww", ram_bytes=900, accuracy=0.8)]
    assert [each["is_best"] for each in mark_best(rivals)] == [True, False]


def test_a_model_alone_does_not_beat_firmware():
    """Its figures were smaller, because nothing else was counted."""
    whole, alone = result(), result(ram_bytes=5, flash_bytes=5, counts_firmware=False)
    assert [each["is_best"] for each in mark_best([whole, alone])] == [True, True]


def test_the_smallest_board_is_one_that_is_fast_enough():
    tiny = result(board="tiny", ram_there=10, rate_hz=2.0)
    big = result(board="big", rate_hz=30.0)
    assert smallest_boards([big, tiny], None)["kws"]["board"] == "tiny"
    assert smallest_boards([big, tiny], 20)["kws"]["board"] == "big"
    assert smallest_boards([big, tiny], 40) == {}


def test_the_page_answers_in_a_sentence(run_deploy):
    out = run_deploy("explore", DIGITS, "--board", *BOARDS, "-j", "1").out
    assert "3 combinations: 3 fit\n" in out
    smallest = "arduino-uno (2 KiB RAM, 31.5 KiB flash): the model alone fits"
    assert f"the smallest board that fits digits: {smallest}\n" in out
    assert re.search(r"^arduino-uno .* model alone$", out, re.MULTILINE)
    assert re.search(r"^host .* firmware$", out, re.MULTILINE)


@pytest.mark.slow
def test_files_have_every_result(tmp_path, run_deploy):
    facts = explored().as_json()
    for name in ("all.csv", "all.json", "all.html"):
        path = tmp_path / name
        for _ in range(2):  # what was written before is written again
            outcome = run_deploy("explore", DIGITS, "--board", *BOARDS, "-j", "1", "-o", path)
            assert outcome.status == 0, outcome.err
    assert json.loads((tmp_path / "all.json").read_text()) == facts
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["ram_bytes"] for row in rows] == [str(each["ram_bytes"]) for each in facts["results"]]
    page = (tmp_path / "all.html").read_text()
    assert all(f'<tr id="{each["key"]}">' in page for each in facts["results"])


@pytest.mark.slow
def test_accuracy_is_that_of_the_reference():
    images = np.load(DEMO / "digits_test.npz")["image"][:50]
    labels = np.load(DEMO / "digits_labels.npy")[:50]
    right = deploy.load(DIGITS).run({"image": images})["digit"].reshape(50, 10).argmax(1) == labels
    results = explored(data={"image": images, "labels": labels}).as_json()["results"]
    assert {each["accuracy"] for each in results} == {float(right.mean())}


def test_options_are_varied_in_all_combinations():
    base = CompileOptions()
    options = all_options(base, read_varied(["optimize=speed,ram", "stream"]))
    assert [(each.optimize.value, each.stream) for each in options] == [
        ("speed", False), ("speed", True), ("ram", False), ("ram", True),
    ]  # fmt: skip


def test_values_with_commas_are_separated_by_semicolons():
    texts = ["ram=DTCM=48K,SRAM=100K;DTCM=64K", "optimize=ram", "ram=96K", "optimize=ram"]
    varied = read_varied(texts)
    assert varied == {"ram": ["DTCM=48K,SRAM=100K", "DTCM=64K", "96K"], "optimize": ["ram"]}
    dtcm, sram = RegionLimit("DTCM", 48 * 1024), RegionLimit("SRAM", 100 * 1024)
    limits = [each.ram for each in all_options(CompileOptions(), varied)]
    assert limits == [(dtcm, sram), (RegionLimit("DTCM", 64 * 1024),), 96 * 1024]


REFUSED: dict[tuple[str, ...], str] = {
    ("--vary", "optimise=speed"): '"optimise" "optimize"?',
    ("--vary", "optimize"): "--vary optimize values",
    ("--vary", "ram=;"): "--vary ram values",
    ("--vary", "optimize=fast"): 'optimize "fast"',
    ("--rate", "20"): "rate --measure",
    ("--board", "nano-33-bla"): '"nano-33-bla" "nano-33-ble"?',
    ("-o", "explored.pdf"): ".html, .csv, .json, .pdf",
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words, run_deploy):
    outcome = run_deploy("explore", DIGITS, *words)
    assert outcome.status == 1
    require_facts(outcome.err, REFUSED[words])


@pytest.mark.slow
def test_a_combination_that_cannot_be_compiled_says_why(tmp_path):
    """The others are looked at."""
    results = explored(vary={"ram": [None, "100"]}).as_json()["results"]
    assert [each["fits"] for each in results] == [True, False] * len(BOARDS)


@pytest.mark.arm
def test_what_is_measured_is_what_bench_measures(require_package):
    require_package("unicorn", "capstone")
    (found,) = deploy.explore(DIGITS, board="nano-33-ble", measure=True, rate=20, jobs=1).as_json()["results"]
    benched = deploy.bench(DIGITS, board="nano-33-ble", emulated=True)
    assert found["cycles"] == benched["cycle_model"]["cycles"]
    assert found["rate_hz"] == pytest.approx(1 / benched["time_s"])


SCRIPT = """\
import deploy

print("once")
vary = {{"optimize": ["speed", "ram"]}}
found = deploy.explore({model!r}, ["mps2-an386", "nano-33-ble"], vary=vary, jobs=2)
print(len(found.as_json()["results"]))
"""


def test_a_script_is_not_run_again_in_each_process(tmp_path):
    model = Path(deploy.__file__).parent / "demo" / "digits.tflite"
    script = tmp_path / "look.py"
    script.write_text(SCRIPT.format(model=str(model)))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "once\n4\n"), done.stderr
