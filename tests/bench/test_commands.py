"""What `python -m benchmarks` can do is said where nothing known is asked for."""

from __future__ import annotations

import pytest

from benchmarks.__main__ import COMMANDS, main


@pytest.mark.parametrize("argv", [[], ["--help"], ["measured"]])
def test_the_commands_are_named(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert (
        capsys.readouterr().err
        == f"usage: python -m benchmarks COMMAND [MODEL|BOARD ...]\n  {', '.join(COMMANDS)}\n"
    )
