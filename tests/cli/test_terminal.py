"""Output fits the terminal: width, encoding, tables that line up, progress that does not interfere."""

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from deploy.cli.console import print_result, progress, table
from deploy.cli.terminal_width import SPELLINGS, fitted, fitted_table, terminal_columns


def test_numbers_stand_to_the_right_and_words_to_the_left():
    assert table(("name", "bytes"), [("a", "1,024"), ("abcdef", "-"), ("b", "7")]) == (
        "name    bytes\n"
        "a       1,024\n"
        "abcdef      -\n"
        "b           7"
    )  # fmt: skip


def test_a_table_may_be_empty():
    assert table(("name", "bytes"), []) == "name  bytes"


def test_a_result_is_printed_for_people_or_for_machines(capsys):
    print_result(False, {"a": 1}, "text")
    print_result(True, {"a": 1}, "text")
    assert capsys.readouterr() == ('text\n{\n  "a": 1\n}\n', "")


def test_progress_is_silent_where_nobody_sits(capsys):
    with progress("working", 2) as bar:
        bar.step("one")
    assert capsys.readouterr() == ("", "")


def test_progress_shows_one_bar_on_stderr_of_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")  # the tests may run where TERM is dumb
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(
        "deploy.cli.progress_bar.Console", lambda **kind: Console(**kind, force_terminal=True)
    )
    with progress("outer", 2) as outer:
        outer.step("first half")
        with progress("inner", 5) as inner:
            inner.step("unseen")
    out, err = capsys.readouterr()
    assert out == ""
    assert "outer: first half" in err
    assert "inner" not in err


def test_a_compile_shows_what_it_is_at(model, run_deploy, monkeypatch):
    shown: list[tuple[str, str]] = []

    class Bar:
        def __init__(self, title: str) -> None:
            self.title = title

        def step(self, doing: str) -> None:
            shown.append((self.title, doing))

    @contextmanager
    def recorded(title: str, steps: int) -> Iterator[Bar]:
        yield Bar(title)

    monkeypatch.setattr("deploy.compiler.jobs.progress", recorded)
    assert run_deploy("inspect", model).status == 0
    assert shown == [("compiling", "tiny.tflite")]


WIDE = "  layers     7: " + ", ".join(f"conv2d_{number}" for number in range(12))
MANY = [("name", *(f"column{n}" for n in range(9))), ("a_model", *(f"{n},000" for n in range(9)))]


def test_a_long_line_goes_on_below_its_last_cell():
    assert fitted(WIDE, 60).splitlines() == [
        "  layers     7: conv2d_0, conv2d_1, conv2d_2, conv2d_3,",
        "             conv2d_4, conv2d_5, conv2d_6, conv2d_7,",
        "             conv2d_8, conv2d_9, conv2d_10, conv2d_11",
    ]


def test_a_sentence_goes_on_a_little_to_the_right():
    assert fitted("error: the arena needs more\n  hint: take a larger board", 20).splitlines() == [
        "error: the arena",
        "  needs more",
        "  hint: take a",
        "    larger board",
    ]


@pytest.mark.parametrize("text", ["short\n\n  lines", "x" * 100, f"| {'cell | ' * 30}", "", "a\n"])
def test_what_fits_or_cannot_be_broken_stays(text):
    assert fitted(text, 40) == text


def test_a_column_of_text_is_broken_in_its_place():
    rows = [("op", "elements", "bits"), ("compare", "i8; i16; i32; i64; f32", "8"), ("add", "i8", "16")]
    assert fitted_table(rows, (False, False, True), 30).splitlines() == [
        "op       elements         bits",
        "compare  i8; i16; i32;       8",
        "         i64; f32",
        "add      i8                 16",
    ]


def test_a_row_of_many_numbers_takes_two_lines():
    assert fitted_table(MANY, (False, *[True] * 9), 40).splitlines() == [
        "name     column0  column1  column2",
        "    column3  column4  column5  column6",
        "    column7  column8",
        "a_model    0,000    1,000    2,000",
        "      3,000    4,000    5,000    6,000",
        "      7,000    8,000",
    ]


@pytest.mark.parametrize("columns", [20, 40, 60, 79, 80, 200])
def test_no_word_is_lost_and_no_line_is_too_long(columns):
    rows = [*MANY, ("b", *("-" * 9))]
    text = f"{fitted_table(rows, (False, *[True] * 9), columns)}\n{fitted(WIDE, columns)}"
    assert sorted(text.split()) == sorted([*(cell for row in rows for cell in row), *WIDE.split()])
    assert max(map(len, text.splitlines())) <= columns


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_only_a_terminal_has_a_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    assert terminal_columns(_Screen()) == 50
    assert terminal_columns(io.StringIO()) is None


def test_results_fit_the_terminal_and_code_stays_whole(monkeypatch):
    screen = _Screen()
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr("sys.stdout", screen)
    print_result(False, {}, WIDE)
    print_result(False, {}, table(MANY[0], MANY[1:]))
    assert max(map(len, screen.getvalue().splitlines())) <= 50
    print_result(False, {}, WIDE, is_code=True)
    assert WIDE in screen.getvalue()


ENCODINGS = (
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "cp1252"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
)


def deploy(environment: dict[str, str], *words: object) -> subprocess.CompletedProcess[bytes]:
    argv = (sys.executable, "-m", "deploy", *map(str, words))
    root = str(Path(__file__).parents[2])
    known = {name: value for name, value in os.environ.items() if name not in ("PYTHONIOENCODING", "LC_ALL")}
    return subprocess.run(
        argv, env={**known, "PYTHONPATH": root, **environment}, capture_output=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENCODINGS, ids=lambda environment: next(iter(environment.values())))
def test_a_map_of_memory_is_drawn_in_ascii_where_nothing_else_can_be_shown(environment, repo_root):
    words = ("inspect", repo_root / "deploy/demo/digits.tflite", "--memory")
    known = deploy({"PYTHONIOENCODING": "utf-8"}, *words).stdout.decode("utf-8")
    assert not known.isascii()
    done = deploy(environment, *words)
    assert done.returncode == 0, done.stderr
    encoding = environment.get("PYTHONIOENCODING", "ascii")
    can_show = {letter for letter in SPELLINGS if letter.encode(encoding, "ignore")}
    spelled = known.translate({ord(a): b for a, b in SPELLINGS.items() if a not in can_show})
    assert done.stdout.decode(encoding).splitlines() == spelled.splitlines()


@pytest.mark.slow
def test_a_name_that_cannot_be_shown_is_escaped(repo_root, tmp_path):
    model = tmp_path / "模型.tflite"
    shutil.copy(repo_root / "deploy/demo/digits.tflite", model)
    done = deploy({"PYTHONIOENCODING": "ascii"}, "inspect", model)
    assert done.returncode == 0, done.stderr
    refused = deploy({"PYTHONIOENCODING": "ascii"}, "inspect", tmp_path / "模")
    assert refused.returncode == 1
    assert rb"\u6a21" in refused.stderr


def test_every_spelling_is_one_ascii_letter():
    assert all(len(spelling) == 1 and spelling.isascii() for spelling in SPELLINGS.values())
