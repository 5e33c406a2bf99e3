"""Weights that lie where the program says: one struct, the same on every compiler, and its bytes.

The structure is a hash over all C of a model but these bytes, whatever the user calls things. Code computes
with the weights of each training that has its structure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aot.errors import InputError
from aot.ir.types import Array
from codegen.c.constants import Constants
from codegen.kernels.memory_demand import WORD
from codegen.options import CDialect, CompileOptions

_DIGITS = 22


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


def layout_of(constants: Constants) -> WeightsLayout | None:
    """The places of all weights; None where they are not external."""
    members = tuple(_placed(constants))
    return WeightsLayout(members) if members else None


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
    """The hash of generated C except for the weights of `model`."""
    digest = hashlib.sha256()
    for name, text in sorted(sources.items()):
        if name != f"{model}_weights.c":
            digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()[:_DIGITS]


def require_possible(options: CompileOptions, constant_space: str) -> None:
    """Raises InputError where weights cannot lie anywhere."""
    for is_so, what in (
        (bool(constant_space), f"constants of this core lie in {constant_space or 'flash'} and nowhere else"),
        (options.dialect is CDialect.STRICT, "standard C has no word for their alignment"),
        (bool(options.constants), "--constants says already where they lie"),
        (options.place, "--place puts some of them into RAM"),
        (bool(options.accelerators), "accelerators have forms of their own for them"),
    ):
        if is_so:
            raise InputError(f"--weights external is not possible: {what}", hint="leave --weights out")


def require_some(layout: WeightsLayout | None) -> WeightsLayout:
    if layout is None:
        raise InputError("the model has no weights that could be external", hint="leave --weights out")
    return layout
