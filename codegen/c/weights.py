"""Weights at an address that the program chooses: one struct with the same layout on every compiler.

The structure is a hash of all C code of a model except these bytes and comments, independent of the user's
names. Code accepts the weights of any training with the same structure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aot.errors import InputError
from aot.ir.types import Array
from codegen.c.constants import Constants
from codegen.kernels.kernel import WORD
from codegen.options import CDialect, CompileOptions

_DIGITS = 22
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Member:
    """An array of the struct."""

    name: str
    array: Array
    align: int
    offset: int


@dataclass(frozen=True)
class WeightsLayout:
    members: tuple[Member, ...]

    @property
    def align(self) -> int:
        return max(member.align for member in self.members)

    @property
    def size(self) -> int:
        last = self.members[-1]
        return _up(last.offset + last.array.nbytes, self.align)

    @property
    def packed(self) -> bytes:
        data = bytearray(self.size)
        for each in self.members:
            elements = each.array.astype(each.array.dtype.newbyteorder("<")).tobytes()
            data[each.offset : each.offset + len(elements)] = elements
        return bytes(data)


def layout_of(constants: Constants) -> WeightsLayout:
    """Returns the offsets of all external weights. Raises InputError if the model has none."""
    members = tuple(_placed(constants))
    if not members:
        raise InputError("the model has no weights that could be external", hint="omit --weights external")
    return WeightsLayout(members)


def _placed(constants: Constants) -> Iterator[Member]:
    end = 0
    for name, array in constants.arrays.items():
        if name in constants.external:
            align = max(constants.aligns.get(name, WORD), array.itemsize)
            place = _up(end, align)
            yield Member(name, array, align, place)
            end = place + array.nbytes


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def structure_of(sources: Mapping[str, str], model: str) -> str:
    """Returns the hash of generated C code except for its comments and the weights of `model`."""
    digest = hashlib.sha256()
    for name, text in sorted(sources.items()):
        if name != f"{model}_weights.c":
            digest.update(f"{name}\0{_COMMENT.sub('', text)}\0".encode())
    return digest.hexdigest()[:_DIGITS]


def require_possible(options: CompileOptions, constant_space: str) -> None:
    """Raises InputError if weights cannot be external."""
    for is_so, what in (
        (bool(constant_space), f"constants of this core must be in {constant_space or 'flash'}"),
        (options.dialect is CDialect.STRICT, "standard C cannot align them"),
        (bool(options.constants), "--constants already places them"),
        (options.place, "--place moves some of them to RAM"),
        (bool(options.accelerators), "accelerators use their own weight formats"),
    ):
        if is_so:
            raise InputError(f"--weights external is not possible: {what}", hint="omit --weights external")
