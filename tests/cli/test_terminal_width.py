"""What is wider than a terminal is broken at words; nothing is lost, and files keep their lines."""

from __future__ import annotations

import io

import pytest

from deploy.cli.console import print_result, table
from deploy.cli.terminal_width import fitted, fitted_table, terminal_columns

WIDE = "  layers     7: " + ", ".join(f"conv2d_{number}" for number in range(12))
MANY = [("name", *(f"column{n}" for n in range(9))), ("a_model", *(f"{n},000" for n in range(9)))]


def test_a_long_line_goes_on_below_its_last_cell() -> None:
    assert fitted(WIDE, 60).splitlines() == [
        "  layers     7: conv2d_0, conv2d_1, conv2d_2, conv2d_3,",
        "             conv2d_4, conv2d_5, conv2d_6, conv2d_7,",
        "             conv2d_8, conv2d_9, conv2d_10, conv2d_11",
    ]


def test_a_sentence_goes_on_a_little_to_the_right() -> None:
    assert fitted("error: the arena needs more\n  hint: take a larger board", 20).splitlines() == [
        "error: the arena",
        "  needs more",
        "  hint: take a",
        "    larger board",
    ]


@pytest.mark.parametrize("text", ["short\n\n  lines", "x" * 100, f"| {'cell | ' * 30}", "", "a\n"])
def test_what_fits_or_cannot_be_broken_stays(text: str) -> None:
    assert fitted(text, 40) == text


def test_a_column_of_text_is_broken_in_its_place() -> None:
    rows = [("op", "elements", "bits"), ("compare", "i8; i16; i32; i64; f32", "8"), ("add", "i8", "16")]
    assert fitted_table(rows, (False, False, True), 30).splitlines() == [
        "op       elements         bits",
        "compare  i8; i16; i32;       8",
        "         i64; f32",
        "add      i8                 16",
    ]


def test_a_row_of_many_numbers_takes_two_lines() -> None:
    assert fitted_table(MANY, (False, *[True] * 9), 40).splitlines() == [
        "name     column0  column1  column2",
        "    column3  column4  column5  column6",
        "    column7  column8",
        "a_model    0,000    1,000    2,000",
        "      3,000    4,000    5,000    6,000",
        "      7,000    8,000",
    ]


@pytest.mark.parametrize("columns", [20, 40, 60, 79, 80, 200])
def test_no_word_is_lost_and_no_line_is_too_long(columns: int) -> None:
    rows = [*MANY, ("b", *("-" * 9))]
    text = f"{fitted_table(rows, (False, *[True] * 9), columns)}\n{fitted(WIDE, columns)}"
    assert sorted(text.split()) == sorted([*(cell for row in rows for cell in row), *WIDE.split()])
    assert max(map(len, text.splitlines())) <= columns


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_only_a_terminal_has_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert terminal_columns(_Screen()) == 50
    assert terminal_columns(io.StringIO()) is None


def test_results_fit_the_terminal_and_code_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Screen()
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr("sys.stdout", screen)
    print_result(False, {}, WIDE)
    print_result(False, {}, table(MANY[0], MANY[1:]))
    assert max(map(len, screen.getvalue().splitlines())) <= 50
    print_result(False, {}, WIDE, is_code=True)
    assert WIDE in screen.getvalue()
