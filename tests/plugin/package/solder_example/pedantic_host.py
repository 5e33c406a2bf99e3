"""The platform "pedantic-host": a process of this computer, compiled with every warning an error."""

from __future__ import annotations

from collections.abc import Mapping

from boards.board import Board
from boards.board_keys import Section
from platforms import host
from platforms.base import CompilerPlatform
from platforms.project import App, ProjectSource

SECTION = Section()


class PedanticHost(CompilerPlatform):
    name = "pedantic-host"
    program_name = host.Host.program_name

    def files(self, source: ProjectSource, board: Board, app: App) -> Mapping[str, str]:
        return {
            name: text.replace("-O2", "-O2 -Werror") if name.endswith("flags") else text
            for name, text in host.PLATFORM.files(source, board, app).items()
        }


PLATFORM = PedanticHost()
