"""The platform "host": a process on this computer, connected by pipe, pseudo-terminal or TCP."""

from __future__ import annotations

import os
from collections.abc import Mapping

from aot.distribution import pip_install
from aot.errors import MissingToolError
from boards.board import Board
from boards.board_keys import Section
from platforms.base import CompilerPlatform
from platforms.cartridge.in_firmware import verifier_libraries
from platforms.layout import PlatformFiles, project_files
from platforms.project import App, ProjectSource
from platforms.templates import template_text
from platforms.toolchains import Toolchain

_LINE_FILES = ("line.c", "line.h")
_RPC_FILES = ("deadline.c", "fault.c", "host.h", *_LINE_FILES)


SECTION = Section()


class Host(CompilerPlatform):
    name = "host"
    program_name = "firmware"

    def toolchain(self, board: Board, prefer: str | None = None) -> Toolchain:
        if not hasattr(os, "fork"):
            raise MissingToolError(
                "firmware for this computer needs POSIX signals, terminals and sockets, which Windows does "
                "not have",
                hint=f"--board mps2-an386 runs in an emulator: {pip_install('zig', 'unicorn')}\n"
                "or use WSL. You can still compile models for the host and build them in your own project",
            )
        return super().toolchain(board, prefer)

    def files(self, source: ProjectSource, board: Board, app: App) -> Mapping[str, str]:
        own = {"src/port.c": template_text("host", "port.c")}
        if app is App.RPC:
            own |= {f"src/{name}": template_text("host", name) for name in _RPC_FILES}
            own["src/main.c"] = template_text("host", "main_rpc.c")
        if app is App.MLPERF_TINY:
            own |= {f"src/{name}": template_text("host", name) for name in _LINE_FILES}
        if source.cartridges:
            for name in ("cartridge_slots.c", "cartridge_slots.h"):
                own[f"src/{name}"] = template_text("host", name)
        if source.functions:
            own["src/heap.c"] = template_text("host", "heap.c")
        return project_files(source, board, app, _platform_files(own, verifier_libraries(source)))


def _platform_files(files: Mapping[str, str], libraries: tuple[str, ...]) -> PlatformFiles:
    return PlatformFiles(
        platform=Host.name,
        program=Host.program_name,
        default_cc="cc",
        other_cc="python -m ziglang cc",
        files=files,
        folders={"src/port.c": "the runtime's access to this computer"},
        compile_flags={"gcc": (), "zig": ("-fno-sanitize=all",)},
        can_sanitize=True,
        entropy="host",
        link_flags=dict.fromkeys(("gcc", "zig"), ("-lm", *libraries)),
    )


PLATFORM = Host()
