"""What `python -m benchmarks` can do is said where nothing known is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import COMMANDS, main
from benchmarks.pages import BY_HAND, HELD, HERE, PAGES, unstamped


@pytest.mark.parametrize("argv", [[], ["--help"], ["measured"]])
def test_the_commands_are_named(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert (
        capsys.readouterr().err
        == f"usage: python -m benchmarks COMMAND [MODEL|BOARD ...]\n  {', '.join(COMMANDS)}\n"
    )


def test_every_page_of_figures_is_held_by_a_test_or_names_its_commit(repo_root: Path) -> None:
    assert list(unstamped(repo_root / "docs")) == []
    assert {path.name for path in HERE.glob("*.md")} == {*PAGES, *HELD, *BY_HAND}
    assert all((repo_root / test).is_file() for test in HELD.values())
    assert set(PAGES.values()) <= set(COMMANDS)
