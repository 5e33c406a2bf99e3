"""The files and flags of a project, so that its firmware takes cartridges: core, key, room for two."""

from __future__ import annotations

from boards.board import Board
from platforms.cartridge.header import core_text
from platforms.project import ProjectSource, Slots
from platforms.templates import filled


def cartridge_flags(slots: Slots) -> list[str]:
    key = ["-DSOLDER_CARTRIDGE_KEY"] if slots.public_key else []
    return ["-DSOLDER_CARTRIDGES", f"-DSOLDER_CARTRIDGE_SLOT_BYTES={slots.slot_bytes}u", *key]


def cartridge_files(source: ProjectSource, board: Board) -> dict[str, str]:
    """The file that says which cartridges are taken; none where none are."""
    if source.cartridges is None:
        return {}
    key = ", ".join(f"0x{byte:02x}" for byte in source.cartridges.public_key)
    return {
        "src/cartridges.c": filled("project", "cartridges.c.jinja", core=core_text(board.target), key=key)
    }
