"""Tables line up, and progress keeps out of the way of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from deploy.cli.console import print_result, progress, table


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    assert table(("name", "bytes"), [("a", "1,024"), ("abcdef", "-"), ("b", "7")]) == (
        "name    bytes\n"
        "a       1,024\n"
        "abcdef      -\n"
        "b           7"
    )  # fmt: skip


def test_a_table_may_be_empty() -> None:
    assert table(("name", "bytes"), []) == "name  bytes"


def test_a_result_is_printed_for_people_or_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    print_result(False, {"a": 1}, "text")
    print_result(True, {"a": 1}, "text")
    assert capsys.readouterr() == ('text\n{\n  "a": 1\n}\n', "")


def test_progress_is_silent_where_nobody_sits(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working", 2) as bar:
        bar.step("one")
    assert capsys.readouterr() == ("", "")


def test_progress_shows_one_bar_on_stderr_of_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_compile_shows_what_it_is_at(
    model: Path, run_deploy: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
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
