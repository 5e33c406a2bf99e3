"""The table of options for reaching a board; sessions, which load much more, are elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aot.records import dataclass
from codegen.option_entry import Option, option, options_of
from codegen.option_kinds import FilePath, Seconds, Text, WrittenFile
from platforms.line_deadlines import RUN_S
from platforms.runners.runner import BoardSelector


@dataclass(frozen=True, slots=True)
class LineOptions:
    """The user's choices for reaching the board."""

    runner: str | None = option(
        None, Text("NAME"), "--runner", "what runs the firmware (default: the board's first found here)"
    )
    serial: str | None = option(
        None,
        Text("NUMBER"),
        "--serial",
        "the board, or its debug probe, with this serial number on the USB",
    )
    port: str | None = option(
        None,
        Text("PORT"),
        "--port",
        "the board's line: /dev/ttyACM0, COM3, a pseudo terminal, tcp://HOST:PORT",
    )
    trace: Path | None = option(None, WrittenFile(), "--trace", "write every packet on the line to this file")
    line_key: Path | None = option(
        None, FilePath(), "--line-key", "the key of firmware that was made with deploy new --line-key"
    )
    run_s: float = option(
        RUN_S, Seconds(), "--deadline", f"the longest that one run may take (default: {RUN_S:g})"
    )

    @property
    def where(self) -> BoardSelector:
        """The selector of one among several equal boards."""
        return BoardSelector(self.serial, self.port)


LINE: Mapping[str, Option] = {each.name: each for each in options_of(LineOptions)}  # by keyword
