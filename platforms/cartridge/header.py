"""The binary format of a cartridge: header, code, constants, description, relocations, hash, signature."""

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
HEADER = struct.Struct("<17I32s28s")  # matches the struct header in solder_cartridge.c
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
    """The payload of a cartridge: code that runs at any multiple of 64, or weights, or a table."""

    data: bytes  # code and constants, followed by the description
    description_bytes: int = 0  # size of the description, which is copied to RAM
    model: int = 0  # offset of struct solder_model in the description
    relocations: tuple[int, ...] = ()  # offsets in the description of words that point into the cartridge


@dataclass(frozen=True, slots=True)
class Needs:
    """What a model needs from the firmware."""

    core: str  # for weights: the structure hash
    arena_bytes: tuple[int, ...]
    alignment: int
    stack_bytes: int
    test_crc: int  # of the self-test's outputs; 0: not compared


@dataclass(frozen=True, slots=True)
class Identity:
    """The product that a model is for, and its version. Both are signed."""

    product: str = ""  # "": firmware without a product
    version: int = 0  # increases with every release


NO_PRODUCT = Identity()


def identity(product: str = "", version: int = 0) -> Identity:
    """Validates a product name and a version. Raises InputError."""
    if len(product) >= _PRODUCT_BYTES or not _IN_NAMES.issuperset(product):
        raise InputError(
            f"{product!r} is not a valid product name: use at most {_PRODUCT_BYTES - 1} "
            "letters, digits, spaces and -_.",
            hint="--product door-sensor",
        )
    if not 0 <= version <= _MOST_VERSION:
        raise InputError(
            f"the model version must be 0 to {_MOST_VERSION:,}, not {version:,}",
            hint="--model-version 2",
        )
    return Identity(product, version)


@dataclass(frozen=True, slots=True)
class Header:
    """Header fields that the firmware compares."""

    format: int
    arena_bytes: tuple[int, ...]
    stack_bytes: int
    core: str
    identity: Identity


def read_header(cartridge: bytes) -> Header:
    """Reads a header. Check `format` before using other fields."""
    words = HEADER.unpack_from(cartridge)
    core, product = (text.rstrip(b"\0").decode("utf-8", "replace") for text in words[17:])
    arenas = words[9 : 9 + min(words[8], MOST_ARENAS)]
    return Header(words[1], arenas, words[14], core, Identity(product, words[16]))


def core_text(target: Target) -> str:
    """Returns the core with its features as compared on both sides: "cortex-m4 dsp,fpu"."""
    return _short(f"{target.core} {','.join(sorted(target.features))}".strip())


def tables_text(target: Target) -> str:
    """Returns the core text for table cartridges: "tables cortex-m4 dsp,fpu"."""
    return _short(f"{_TABLES} {core_text(target)}")


def _short(text: str) -> str:
    """Returns the text or, if it is too long for the header, its beginning and its hash."""
    if len(text) < _CORE_BYTES:
        return text
    return f"{text[:14].rstrip()} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def structure_text(structure: str) -> str:
    """Returns the core text for weight cartridges: the structure hash of the code that uses the weights."""
    return f"{_WEIGHTS} {structure}"


def is_structure(text: str) -> bool:
    return text.startswith(f"{_WEIGHTS} ")


def packed(image: Image, needs: Needs, is_signed: bool, model: Identity = NO_PRODUCT) -> bytes:
    """Returns the cartridge up to and including its SHA-256."""
    if len(needs.arena_bytes) > MOST_ARENAS:
        raise InputError(f"a cartridge can use at most {MOST_ARENAS} memories, this model needs more")
    if image.description_bytes > MOST_DESCRIPTION:
        raise InputError(
            f"the description of the model needs {image.description_bytes} bytes of RAM, "
            f"firmware has {MOST_DESCRIPTION} for it",
            hint="use fewer inputs and outputs: each needs 28 bytes",
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
