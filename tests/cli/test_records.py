"""deploy records: the best, statistics, merging and drawings of tuning records."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

import deploy.demo
from codegen.kernels.tuning_records import TuningRecord, read_records


def _record(task: str, pixels: int, cost: int | None, error: str = "", board: str = "b") -> TuningRecord:
    return TuningRecord(
        task,
        "cortex-m4",
        {"pixels": pixels},
        cost,
        100,
        error,
        "gcc",
        board,
        "instructions",
        0.5,
        "1",
        "2026",
    )


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "r.jsonl"
    lines = (
        _record("a<b i8", 1, 100),
        _record("a<b i8", 2, 80),
        _record("a<b i8", 3, None, "crashed: pc 0x0"),
        _record("c i8", 1, 100),
    )
    path.write_text("".join(line.as_line() for line in lines))
    return path


def test_the_best_of_each_task(records, run_deploy):
    outcome = run_deploy("records", "best", records)
    assert outcome.out == (
        "task    core       board  default  best   gain  knobs\n"
        "a<b i8  cortex-m4  b          100    80  20.0%  pixels 2\n"
        "c i8    cortex-m4  b          100   100   0.0%  pixels 1\n"
    )


def test_failures_are_counted_by_reason(records, run_deploy):
    first, _ = json.loads(run_deploy("records", "stats", records, "--json").out)
    assert (first["trials"], first["failures"], first["best_at"]) == (3, {"crashed": 1}, 2)
    assert "1 crashed" in run_deploy("records", "stats", records).out


def test_files_are_merged_into_one_without_repetition(records, run_deploy, tmp_path):
    other, both = tmp_path / "other.jsonl", tmp_path / "both.jsonl"
    other.write_text(_record("c i8", 1, 100).as_line() + _record("c i8", 1, 90, board="d").as_line())
    outcome = run_deploy("records", "merge", records, other, "-o", both)
    assert outcome.out == f"{both}: 5 records\n"
    assert len(read_records(both)) == 5


@pytest.mark.parametrize("name", ["plot.svg", "plot.html"])
def test_a_plot_has_a_curve_for_each_task(name, records, run_deploy, tmp_path):
    assert run_deploy("records", "plot", records, "-o", tmp_path / name).status == 0
    text = (tmp_path / name).read_text()
    drawing = ET.fromstring(text[text.index("<svg") :])
    assert len(drawing.findall(".//{*}polyline")) == 2
    assert "80 of 100 instructions" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("merge",), "needs an output file"),
        (("plot", "-o", "x.png"), 'a .svg or .html file, not ".png"\n  x.png\n  hint: -o x.svg'),
    ],
)
def test_what_is_missing_is_said(words, says, records, run_deploy):
    verb, *rest = words
    outcome = run_deploy("records", verb, records, *rest)
    assert (outcome.status, says in outcome.err) == (1, True)


NO_FILE = """error: the tuning records cannot be read: No such file or directory
  nowhere.jsonl
  hint: create them with: deploy tune MODEL --board B -o FILE
"""
NO_TEXT = """error: these are not tuning records: the file is not text
  binary.jsonl
  hint: create them with: deploy tune MODEL --board B -o FILE
"""
NO_RECORDS = """error: the file has no records yet
  empty.jsonl
  hint: create records with: deploy tune MODEL --board B -o FILE
"""


@pytest.mark.parametrize(
    "words", [("best",), ("stats",), ("merge", "-o", "x.jsonl"), ("plot", "-o", "x.svg")]
)
@pytest.mark.parametrize(
    ("file", "says"), [("nowhere.jsonl", NO_FILE), ("binary.jsonl", NO_TEXT), ("empty.jsonl", NO_RECORDS)]
)
def test_files_without_records_are_refused_by_every_verb(
    words, file, says, run_deploy, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("binary.jsonl").write_bytes(b"\xff\x00\xff")
    Path("empty.jsonl").touch()
    verb, *rest = words
    outcome = run_deploy("records", verb, file, *rest)
    assert (outcome.status, outcome.err) == (1, says)


DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
NOT_USED = """  tuned              1 layers
  not used           1 records: for cortex-m7
  not used           1 records: for gcc
  not used           1 records: for kernels that are not in this model
  not used           1 records: not faster than the default
"""


@pytest.mark.arm  # the compiler's name and version decide which records are its own
def test_the_compiler_says_which_records_it_does_not_use_and_why(run_deploy, tmp_path):
    task, knobs = "max_pool2d_2x2_24_by_4 i8", {"unroll": 2}
    good = replace(_record(task, 1, 80), knobs=knobs, compiler="")
    records = (
        good,
        replace(good, core="cortex-m7"),
        replace(good, compiler="gcc"),
        replace(good, task="another i8"),
        replace(good, cost=100),
    )
    path = tmp_path / "r.jsonl"
    path.write_text("".join(record.as_line() for record in records))
    words = ("--board", "mps2-an386", "-o", tmp_path / "a.tar", "--tuning-records", path)
    assert run_deploy("compile", DIGITS, *words).out.endswith(NOT_USED)


def test_where_every_trial_failed_there_is_nothing_to_draw(run_deploy, tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(_record("c i8", 1, None, "crashed").as_line())
    outcome = run_deploy("records", "plot", path, "-o", tmp_path / "r.svg")
    assert "there is nothing to draw: no record has a cost" in outcome.err


def test_a_file_of_another_kind_is_not_written_over(records, run_deploy, tmp_path):
    other = tmp_path / "kws.svg"
    other.write_text("something dear")
    for verb in ("merge", "plot"):
        outcome = run_deploy("records", verb, records, "-o", other)
        assert "the file exists and is not a file of tuning records or its drawing" in outcome.err
    assert run_deploy("records", "merge", records, "-o", records).status == 0
