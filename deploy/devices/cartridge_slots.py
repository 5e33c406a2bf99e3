"""Reads the user's options for firmware that accepts cartridges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aot.errors import InputError
from platforms.cartridge.header import (
    BLOCK_BYTES,
    DIGEST_BYTES,
    HEADER,
    MOST_ARENAS,
    NO_PRODUCT,
    RECORDS_BYTES,
    SIGNATURE_BYTES,
    Identity,
)
from platforms.cartridge.in_firmware import OWN_VERIFIER, PSA, VERIFIERS
from platforms.cartridge.signing import P256_BYTES
from platforms.cartridge.signing import public_key as read_public_key
from platforms.project import ProjectSource, Slots, with_lenders

_LEAST = 1024


def with_slots(
    source: ProjectSource,
    slots: int | None,
    arena: int | None,
    public_key: str | Path | None,
    lenders: Sequence[ProjectSource] = (),
    model: Identity = NO_PRODUCT,
    accepts_older: bool = False,
    verifier: str | None = None,
    is_computer: bool = False,
) -> ProjectSource:
    """Adds cartridge slots to firmware. Tables also use the lenders' kernels. Raises InputError."""
    if slots is None:
        said = (
            ("arena", arena is not None),
            ("public key", public_key is not None),
            ("kernels", bool(lenders)),
            ("product or version", model != NO_PRODUCT),
            ("permission to go back", accepts_older),
            ("library for signatures", verifier is not None),
        )
        for name, is_said in said:
            if is_said:
                are = "are" if name == "kernels" else "is"
                raise InputError(f"the {name} {are} for cartridges, which need --slots", hint="--slots 128K")
        return source
    if source.observes:
        raise InputError(
            f"{source.name} was compiled with --observe, which cannot be combined with --slots",
            hint="compile it without --observe, or omit --slots",
        )
    if slots < _LEAST:
        raise InputError(
            f"a slot of {slots:,} bytes is too small for any model",
            hint=f"use --slots 128K; the minimum is {_LEAST:,}",
        )
    whole = -(-(slots + RECORDS_BYTES) // BLOCK_BYTES) * BLOCK_BYTES
    key = read_public_key(Path(public_key)) if public_key else b""
    taken = Slots(whole, key, model, accepts_older, _verifier(key, verifier, is_computer))
    if source.structure:
        return _with_weights(source, slots, arena, taken)
    if len(source.arenas) > MOST_ARENAS:
        raise InputError(f"models of cartridges can use at most {MOST_ARENAS} memories")
    if lenders and not source.kernels:
        raise InputError(
            f"--kernels needs archives compiled with --tables, but {source.name} was not",
            hint="compile each archive with --tables",
        )
    source = with_lenders(source, lenders)
    first, *others = source.arenas
    arenas = (replace(first, bytes=max(first.bytes, arena or 0)), *others)
    return replace(source, arenas=arenas, cartridges=taken)


def _verifier(key: bytes, chosen: str | None, is_computer: bool) -> str:
    """Returns the library that verifies signatures with this key. Raises InputError if it cannot."""
    of_p256 = len(key) == P256_BYTES
    if chosen is None:
        return (PSA if of_p256 else "libsodium") if is_computer else OWN_VERIFIER
    if chosen not in VERIFIERS:
        raise InputError(f"the library {chosen} is not supported", hint=f"--verify {', '.join(VERIFIERS)}")
    if not key:
        raise InputError(f"--verify {chosen} needs a public key", hint="--public-key KEY.pem")
    if of_p256 and chosen not in (PSA, OWN_VERIFIER):
        raise InputError(
            f"{chosen} cannot verify P-256 signatures",
            hint="use --verify psa, or an Ed25519 key: openssl genpkey -algorithm ed25519 -out key.pem",
        )
    return chosen


def _with_weights(source: ProjectSource, slots: int, arena: int | None, taken: Slots) -> ProjectSource:
    """Adds slots for cartridges that contain only weights."""
    if arena is not None:
        raise InputError(
            f"{source.name} has external weights, so cartridges only replace these: --arena has no effect",
            hint="omit --arena",
        )
    if source.beside:
        raise InputError(
            f"a cartridge holds the weights of one model, but {source.name} is not the only one",
            ", ".join(source.beside),
            "create firmware with one model, or compile without --weights external",
        )
    least = HEADER.size + source.weights_bytes + DIGEST_BYTES + (SIGNATURE_BYTES if taken.public_key else 0)
    if slots < least:
        raise InputError(
            f"a slot of {slots:,} bytes cannot hold the weights of {source.name}: "
            f"they need {source.weights_bytes:,}, with header and hash {least:,}",
            hint=f"--slots {-(-least // 1024) + 1}K",
        )
    return replace(source, cartridges=taken)
