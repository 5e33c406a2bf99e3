"""Options for connecting to a board. Separate from sessions, which load many more modules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.option_entry import Option, option, options_of
from codegen.option_kinds import FilePath, Seconds, Text, WrittenFile
from platforms.line_deadlines import RUN_S

if TYPE_CHECKING:
    from platforms.runners.runner import BoardSelector

_GROUP = "Board and connection"


@dataclass(frozen=True, slots=True)
class LineOptions:
    """The user's options for connecting to a board."""

    runner: str | None = option(
        None,
        Text("NAME"),
        "--runner",
        "Emulator or flasher [first found]",
        group=_GROUP,
        is_main=True,
    )
    serial: str | None = option(
        None,
        Text("NUMBER"),
        "--serial",
        "USB serial number of the board or its debug probe",
        group=_GROUP,
    )
    port: str | None = option(
        None,
        Text("PORT"),
        "--port",
        "Serial port: /dev/ttyACM0, COM3, a pseudo-terminal or tcp://HOST:PORT",
        group=_GROUP,
        is_main=True,
    )
    trace: Path | None = option(
        None, WrittenFile(), "--trace", "Write every packet to this file", group=_GROUP
    )
    line_key: Path | None = option(
        None, FilePath(), "--line-key", "Key of firmware made with 'deploy new --line-key'", group=_GROUP
    )
    run_s: float = option(
        RUN_S,
        Seconds(),
        "--deadline",
        f"Longest time for one run [{RUN_S:g}]",
        group=_GROUP,
    )

    @property
    def where(self) -> BoardSelector:
        """Selects one of several equal boards."""
        from platforms.runners.runner import BoardSelector

        return BoardSelector(self.serial, self.port)


LINE: Mapping[str, Option] = {each.name: each for each in options_of(LineOptions)}  # by keyword
