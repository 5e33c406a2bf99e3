"""Builds the firmware twice, in folders with different names, and compares the programs byte by byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from deploy.devices.buildable_boards import platform_here
from deploy.devices.firmware import build_project
from deploy.proving.rebuilding.archives import PLACES
from deploy.proving.rebuilding.twice import RebuildResult, twice
from deploy.proving.subject import Subject
from platforms.base import BuildChoices, Firmware
from platforms.cycles.stand_in import stand_in
from platforms.elf import segments
from platforms.project import App, project_source


def built_again(subject: Subject, folder: Path) -> Iterator[RebuildResult]:
    """Yields comparisons of the loaded bytes, and of the whole ELF file. Raises MissingToolError."""
    firmware = [_built(subject, folder / place / "firmware") for place in PLACES]
    yield twice("what is loaded of the firmware", [_loaded(each) for each in firmware])
    yield twice("ELF file of the firmware", [each.elf.read_bytes() for each in firmware])


def _built(subject: Subject, directory: Path) -> Firmware:
    assert subject.board is not None  # checked by obstacle_to_building()
    board = stand_in(subject.board)
    platform = platform_here(board)
    directory.parent.mkdir(parents=True, exist_ok=True)
    platform.generate(project_source(subject.artifact), directory, board, App.RPC)
    return build_project(platform, directory, board, BuildChoices(subject.toolchain))


def _loaded(firmware: Firmware) -> bytes:
    return b"".join(
        b"%08x" % each.addresses.start + each.data
        for each in sorted(segments(firmware.elf), key=lambda each: each.addresses.start)
    )
