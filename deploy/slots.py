"""Reads what the user says about the cartridges that firmware is to take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from aot.errors import InputError
from platforms.cartridge.header import BLOCK_BYTES, MOST_ARENAS, RECORDS_BYTES
from platforms.cartridge.signing import public_key as read_public_key
from platforms.project import ProjectSource, Slots

_LEAST = 1024


def with_slots(
    source: ProjectSource, slots: int | None, arena: int | None, public_key: str | Path | None
) -> ProjectSource:
    """The same firmware with room for cartridges. Raises InputError."""
    if slots is None:
        for said, name in ((arena, "arena"), (public_key, "public key")):
            if said is not None:
                raise InputError(
                    f"the {name} is for cartridges, and there are no slots for them", hint="--slots 128K"
                )
        return source
    if slots < _LEAST:
        raise InputError(
            f"a slot of {slots:,} bytes holds no model", hint=f"--slots 128K; {_LEAST:,} at least"
        )
    if len(source.arenas) > MOST_ARENAS:
        raise InputError(f"models of cartridges work in {MOST_ARENAS} memories at most")
    first, *others = source.arenas
    arenas = (replace(first, bytes=max(first.bytes, arena or 0)), *others)
    whole = -(-(slots + RECORDS_BYTES) // BLOCK_BYTES) * BLOCK_BYTES
    key = read_public_key(Path(public_key)) if public_key else b""
    return replace(source, arenas=arenas, cartridges=Slots(whole, key))
