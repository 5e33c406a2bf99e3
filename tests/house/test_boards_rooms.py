"""A board is data: it loads, a page shows it, and no code asks for its name."""

import re

import pytest

from boards.board_keys import CONSOLE, COUNTER, REGION, RUN_CURRENT, UART, USB, board_keys
from boards.board_text import boards_table
from boards.cores import CORE
from boards.load import board_names
from platforms.board_files import SECTIONS, all_boards, load_board

INTRODUCTION = """\
# Boards

Find a board: `deploy boards list` filters by `--core`, `--min-ram`, `--min-flash` and `--has-platform`, and
`--fits MODEL` lists boards with enough memory. `deploy boards show B` prints all facts with their sources.

| status | meaning |
|---|---|
| `hardware-tested` | measured on a board by [`deploy bench --kit`](measure-your-board.md), with the raw log |
| `emulated-tested` | runs in an emulator in our tests |
| `build-tested` | built in our tests |
| `data-only` | memory and clock are known: compile and inspect models for it |

No board here? Use `--target cortex-m4+fpu,ram=256K,flash=1M`, or write [a board file](adding-a-board.md).
`make golden` writes this page.
"""
ASKS_FOR_A_BOARD = re.compile(r"""\bboard(?:_name|\.name)?\s*(?:==|!=|in\b)\s*["'({\[]""")


@pytest.mark.parametrize("name", board_names())
def test_a_board_loads_and_gives_a_target_with_memory(name):
    board = load_board(name)
    assert board.name == name
    assert board.target.ram_bytes > 0
    assert board.target.flash_bytes > 0


def test_the_page_shows_every_board(repo_root, generated):
    generated(repo_root / "docs" / "boards.md", f"{INTRODUCTION}\n{boards_table(all_boards())}")


def test_the_page_on_boards_lists_every_key(repo_root):
    page = (repo_root / "docs" / "adding-a-board.md").read_text()
    sections = (*SECTIONS.platforms.items(), *SECTIONS.runners.items())
    tables = (board_keys(SECTIONS), CONSOLE, COUNTER, REGION, RUN_CURRENT, UART, USB, CORE)
    keys = {key for table in (*tables, *(section.keys for _, section in sections)) for key in table}
    keys |= {name for name, _ in sections}
    assert not [key for key in keys if f"`{key}`" not in page]


def test_no_code_asks_for_a_board_by_name(package_modules):
    assert not [path for path in package_modules if ASKS_FOR_A_BOARD.search(path.read_text())], (
        "code must not compare board names: add a key to the board file (boards/board_keys.py) and read that"
    )


@pytest.mark.parametrize(
    "code", ['if board == "x":', "if board.name in ('x', 'y'):", "if board_name != 'x':"]
)
def test_asking_for_a_board_by_name_is_noticed(code):
    assert ASKS_FOR_A_BOARD.search(code)
