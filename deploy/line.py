"""What the user may say about reaching the board; kept apart from sessions, which load much more."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from platforms.patience import RUN_S
from platforms.runners.runner import ANYWHERE, Where


@dataclass(frozen=True, slots=True)
class LineChoices:
    runner: str | None = None
    where: Where = ANYWHERE
    trace: Path | None = None  # every packet is written there
    run_s: float = RUN_S  # what one run may take


def line_choices(arguments: argparse.Namespace) -> LineChoices:
    """What deploy.options.add_line added."""
    where = Where(arguments.serial, arguments.port)
    return LineChoices(arguments.runner, where, arguments.trace, arguments.deadline)
