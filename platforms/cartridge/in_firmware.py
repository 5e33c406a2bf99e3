"""The files and flags of a project, so that its firmware takes cartridges: core, key, room for two."""

from __future__ import annotations

from boards.board import Board
from platforms.cartridge.header import core_text, structure_text
from platforms.project import ProjectSource
from platforms.templates import filled


def cartridge_flags(source: ProjectSource) -> list[str]:
    slots = source.cartridges
    if slots is None:
        return []
    weights = ["-DSOLDER_WEIGHTS"] if source.takes_weights else []
    key = ["-DSOLDER_CARTRIDGE_KEY"] if slots.public_key else []
    return ["-DSOLDER_CARTRIDGES", *weights, f"-DSOLDER_CARTRIDGE_SLOT_BYTES={slots.slot_bytes}u", *key]


def cartridge_files(source: ProjectSource, board: Board) -> dict[str, str]:
    """The file that says which cartridges are taken; none where none are."""
    if source.cartridges is None:
        return {}
    key = ", ".join(f"0x{byte:02x}" for byte in source.cartridges.public_key)
    core = structure_text(source.structure) if source.takes_weights else core_text(board.target)
    words = {"name": source.name, "takes_weights": source.takes_weights, "core": core, "key": key}
    return {"src/cartridges.c": filled("project", "cartridges.c.jinja", **words)}


def weights_to_come(source: ProjectSource) -> dict[str, str]:
    """The model's file of weights without any, where cartridges bring them."""
    if not source.takes_weights:
        return {}
    return {f"{source.name}_weights.c": filled("project", "no_weights.c.jinja", name=source.name)}
