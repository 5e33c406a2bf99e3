"""Project files and flags for firmware that accepts cartridges: loader, key, two slots."""

from __future__ import annotations

import json

from boards.board import Board
from platforms.cartridge.header import core_text, structure_text, tables_text
from platforms.project import ProjectSource, Slots
from platforms.templates import filled, template_text

KERNELS_FILE = "kernels.json"
# Implementations of solder_port_verify for projects, with the linker options for host programs.
OWN_VERIFIER, PSA, MONOCYPHER = "own", "psa", "monocypher"
VERIFIERS = {
    "libsodium": ("-lsodium",),
    MONOCYPHER: (),
    PSA: ("-lmbedcrypto",),
    OWN_VERIFIER: (),
}


def cartridge_flags(source: ProjectSource) -> list[str]:
    slots = source.cartridges
    if slots is None:
        return []
    weights = ["-DSOLDER_WEIGHTS"] if source.accepts_weights else []
    tables = ["-DSOLDER_TABLES"] if source.accepts_tables else []
    key = [f"-DSOLDER_CARTRIDGE_KEY={len(slots.public_key)}"] if slots.public_key else []
    return [
        "-DSOLDER_CARTRIDGES",
        *weights,
        *tables,
        f"-DSOLDER_CARTRIDGE_SLOT_BYTES={slots.slot_bytes}u",
        *(["-DSOLDER_DOWNGRADES"] if slots.accepts_older else []),
        *key,
    ]


def cartridge_files(source: ProjectSource, board: Board) -> dict[str, str]:
    """Returns the file that defines which cartridges are accepted; empty without slots."""
    if source.cartridges is None:
        return {}
    key = ", ".join(f"0x{byte:02x}" for byte in source.cartridges.public_key)
    words = {
        "name": source.name,
        "accepts_weights": source.accepts_weights,
        "lenders": source.lenders if source.accepts_tables else (),
        "core": _taken(source, board),
        "key": key,
        "model": source.cartridges.model,
    }
    return {
        "src/cartridges.c": filled("project", "cartridges.c.jinja", **words),
        **_verify_file(source.cartridges),
        **_kernels_file(source),
    }


def _verify_file(slots: Slots) -> dict[str, str]:
    """Returns the signature verification source for the selected library."""
    return {"src/verify.c": template_text("verify", f"{slots.verifier}.c")} if slots.public_key else {}


def verifier_libraries(source: ProjectSource) -> tuple[str, ...]:
    """Returns the libraries that a host program needs to verify signatures."""
    slots = source.cartridges
    return () if slots is None or not slots.public_key else VERIFIERS[slots.verifier]


def _taken(source: ProjectSource, board: Board) -> str:
    """Returns the core text of the cartridges that the firmware accepts."""
    if source.accepts_weights:
        return structure_text(source.structure)
    return (tables_text if source.accepts_tables else core_text)(board.target)


def _kernels_file(source: ProjectSource) -> dict[str, str]:
    """Returns the list of the firmware's kernels, which is needed to create table cartridges."""
    if not source.accepts_tables:
        return {}
    return {KERNELS_FILE: json.dumps({"format": 1, "kernels": dict(source.lenders)}, indent=2) + "\n"}


def weights_to_come(source: ProjectSource) -> dict[str, str]:
    """Returns an empty weights file if cartridges provide the weights."""
    if not source.accepts_weights:
        return {}
    return {f"{source.name}_weights.c": filled("project", "no_weights.c.jinja", name=source.name)}
