"""The bytes of a cartridge: header, code and constants, description, relocations, SHA-256, signature."""

from __future__ import annotations

import hashlib
import string
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from aot.errors import InputError
from aot.target import Target
from platforms.rpc.protocol import CARTRIDGE_FORMAT

MAGIC = 0x54524143
HEADER = struct.Struct("<17I32s28s")  # as struct header of solder_cartridge.c
BLOCK_BYTES = 64
DIGEST_BYTES, SIGNATURE_BYTES = 32, 64
MOST_ARENAS = 4
MOST_DESCRIPTION = 512
RECORDS_BYTES = 96
_CORE_BYTES = 32
_PRODUCT_BYTES = 28
_MOST_VERSION = (1 << 32) - 1
_IN_NAMES = frozenset(string.ascii_letters + string.digits + "-_. ")
_WEIGHTS = "weights"
_TABLES = "tables"


@dataclass(frozen=True, slots=True)
class Image:
    """A model's code as it lies at any multiple of 64, and what its loader needs; or weights; or a table."""

    data: bytes  # code and constants, and at their end the description
    description_bytes: int = 0  # of them, copied to RAM
    model: int = 0  # offset in the description of the struct solder_model
    relocations: tuple[int, ...] = ()  # offsets in the description of words that point into the cartridge


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of a model, which firmware must meet."""

    core: str  # or the structure, of weights
    arena_bytes: tuple[int, ...]
    alignment: int
    stack_bytes: int
    test_crc: int  # of the outputs of the self-test; 0: they are not compared


@dataclass(frozen=True, slots=True)
class Identity:
    """The product that a model is for, and the version of it; both are signed with the rest."""

    product: str = ""  # "": firmware without a product
    version: int = 0  # later models have greater ones


NO_PRODUCT = Identity()


def identity(product: str = "", version: int = 0) -> Identity:
    """Checks both. Raises InputError."""
    if len(product) >= _PRODUCT_BYTES or not _IN_NAMES.issuperset(product):
        raise InputError(
            f"{product!r} is no name of a product: {_PRODUCT_BYTES - 1} characters at most, "
            "letters, digits, spaces and -_.",
            hint="--product door-sensor",
        )
    if not 0 <= version <= _MOST_VERSION:
        raise InputError(
            f"a model's version is a number from 0 to {_MOST_VERSION:,}, and {version:,} was given",
            hint="--model-version 2",
        )
    return Identity(product, version)


@dataclass(frozen=True, slots=True)
class Header:
    """The words of a cartridge that its firmware compares."""

    format: int
    arena_bytes: tuple[int, ...]
    stack_bytes: int
    core: str
    identity: Identity


def read_header(cartridge: bytes) -> Header:
    """Reads the header, which is that of CARTRIDGE_FORMAT only if it says so."""
    words = HEADER.unpack_from(cartridge)
    core, product = (text.rstrip(b"\0").decode("utf-8", "replace") for text in words[17:])
    arenas = words[9 : 9 + min(words[8], MOST_ARENAS)]
    return Header(words[1], arenas, words[14], core, Identity(product, words[16]))


def core_text(target: Target) -> str:
    """The core with its features, as both sides must have it: "cortex-m4 dsp,fpu"."""
    return _short(f"{target.core} {','.join(sorted(target.features))}".strip())


def tables_text(target: Target) -> str:
    """The same of tables, which run the kernels of firmware for a core: "tables cortex-m4 dsp,fpu"."""
    return _short(f"{_TABLES} {core_text(target)}")


def _short(text: str) -> str:
    """The text, or its beginning and its hash where that is longer than a header's room."""
    if len(text) < _CORE_BYTES:
        return text
    return f"{text[:14].rstrip()} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def structure_text(structure: str) -> str:
    """The same of weights, which are for any core: the structure of the code that computes with them."""
    return f"{_WEIGHTS} {structure}"


def is_structure(text: str) -> bool:
    return text.startswith(f"{_WEIGHTS} ")


def packed(image: Image, needs: Needs, is_signed: bool, model: Identity = NO_PRODUCT) -> bytes:
    """The cartridge up to its SHA-256, which is the last that this gives."""
    if len(needs.arena_bytes) > MOST_ARENAS:
        raise InputError(f"a cartridge's model works in {MOST_ARENAS} memories at most, this one in more")
    if image.description_bytes > MOST_DESCRIPTION:
        raise InputError(
            f"the description of the model takes {image.description_bytes} bytes of RAM, "
            f"firmware has {MOST_DESCRIPTION} for it",
            hint="fewer inputs and outputs: each takes 28 bytes",
        )
    relocations = struct.pack(f"<{len(image.relocations)}I", *image.relocations)
    used = HEADER.size + len(image.data) + len(relocations)
    total = -(-used // BLOCK_BYTES) * BLOCK_BYTES
    header = HEADER.pack(
        MAGIC,
        CARTRIDGE_FORMAT,
        total,
        HEADER.size + len(image.data) - image.description_bytes,
        image.description_bytes,
        image.model,
        len(image.relocations),
        int(is_signed),
        len(needs.arena_bytes),
        *_four(needs.arena_bytes),
        needs.alignment,
        needs.stack_bytes,
        needs.test_crc,
        model.version,
        needs.core.encode(),
        model.product.encode(),
    )
    body = header + image.data + bytes(total - used) + relocations
    return body + hashlib.sha256(body).digest()


def _four(sizes: Sequence[int]) -> tuple[int, ...]:
    return (*sizes, *(0,) * (MOST_ARENAS - len(sizes)))
