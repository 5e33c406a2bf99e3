"""Checks the bounds of a flatbuffer before it is used: every offset and count stays inside the file.

A layout lists the fields that are read later; only those are checked. After `check_flatbuffer` the schema's
accessors cannot read outside the data, and no loop over a vector runs too long.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from aot.errors import BrokenFileError

# A small file can claim millions of tables, or gigabytes, by pointing at the same bytes again and again.
# Models have thousands of tables, and share few of their bytes.
MAX_TABLES = 50_000
MAX_SHARING = 4  # parts, counted once per reference, may be this many times as large as the file
_FREE_BYTES = 4096  # not counted, so that tiny files may share freely


@dataclass(frozen=True)
class Scalar:
    """A number stored in the table itself."""

    bytes: int


@dataclass(frozen=True)
class Vector:
    """A counted sequence of numbers; strings are sequences of bytes."""

    element_bytes: int


@dataclass(frozen=True)
class Layout:
    """A table: its fields by number."""

    name: str
    fields: Mapping[int, Field]


@dataclass(frozen=True)
class Tables:
    """A counted sequence of tables."""

    layout: Layout


@dataclass(frozen=True)
class Union:
    """A table whose layout is selected by another field, one byte wide."""

    kind_field: int
    layouts: Mapping[int, Layout]


Field = Scalar | Vector | Layout | Tables | Union

_ANY_TABLE = Layout("table", {})


def check_flatbuffer(data: bytes, root: Layout, file_name: str) -> None:
    """Raises ModelError if an offset or count of the file points outside the file."""
    checker = _Checker(data, file_name)
    checker.table(checker.follow(0, "the root"), root)


class _Checker:
    def __init__(self, data: bytes, file_name: str) -> None:
        self._data = data
        self._file_name = file_name
        self._tables = 0
        self._unspent_bytes = MAX_SHARING * len(data) + _FREE_BYTES

    def follow(self, position: int, what: str) -> int:
        """Returns the position that the unsigned offset at `position` points to."""
        return position + self._number("<I", position, what)

    def table(self, position: int, layout: Layout) -> None:
        self._count_table()
        vtable = position - self._number("<i", position, layout.name)
        vtable_bytes = self._number("<H", vtable, layout.name)
        table_bytes = self._number("<H", vtable + 2, layout.name)
        self._inside(vtable, vtable_bytes, layout.name)
        self._inside(position, table_bytes, layout.name)
        for number, field in layout.fields.items():
            offset = self._field_offset(vtable, vtable_bytes, number)
            if offset:
                self._field(position, offset, table_bytes, field, f"{layout.name} field {number}")
                if isinstance(field, Union):
                    kind = self._kind(position, vtable, vtable_bytes, field)
                    target = self.follow(position + offset, layout.name)
                    self.table(target, field.layouts.get(kind, _ANY_TABLE))

    def _field(self, position: int, offset: int, table_bytes: int, field: Field, what: str) -> None:
        width = field.bytes if isinstance(field, Scalar) else 4
        if offset + width > table_bytes:
            self._fail(f"{what} is outside its table")
        if isinstance(field, Scalar | Union):
            return
        target = self.follow(position + offset, what)
        if isinstance(field, Layout):
            self.table(target, field)
        elif isinstance(field, Vector):
            self._vector(target, field.element_bytes, what)
        else:
            self._table_vector(target, field.layout, what)

    def _vector(self, position: int, element_bytes: int, what: str) -> int:
        count = self._number("<I", position, what)
        self._inside(position + 4, count * element_bytes, what)
        self._unspent_bytes -= count * element_bytes
        if self._unspent_bytes < 0:
            self._fail(f"its parts add up to more than {MAX_SHARING} times its size")
        return count

    def _table_vector(self, position: int, layout: Layout, what: str) -> None:
        for index in range(self._vector(position, 4, what)):
            element = position + 4 + 4 * index
            self.table(self.follow(element, what), layout)

    def _field_offset(self, vtable: int, vtable_bytes: int, number: int) -> int:
        slot = 4 + 2 * number
        # A table of odd size may end in half a field, which readers would read.
        return self._number("<H", vtable + slot, "a table") if slot < vtable_bytes else 0

    def _kind(self, position: int, vtable: int, vtable_bytes: int, field: Union) -> int:
        offset = self._field_offset(vtable, vtable_bytes, field.kind_field)
        return self._number("<B", position + offset, "a union") if offset else 0

    def _number(self, form: str, position: int, what: str) -> int:
        self._inside(position, struct.calcsize(form), what)
        number: int = struct.unpack_from(form, self._data, position)[0]
        return number

    def _inside(self, position: int, count: int, what: str) -> None:
        if position < 0 or position + count > len(self._data):
            self._fail(
                f"{what} would be at bytes {position} to {position + count}, the file has {len(self._data)}"
            )

    def _count_table(self) -> None:
        self._tables += 1
        if self._tables > MAX_TABLES:
            self._fail(f"it claims to hold more than {MAX_TABLES:,} tables")

    def _fail(self, fact: str) -> None:
        raise BrokenFileError(
            f"the TFLite file is truncated or corrupted: {fact}",
            where=self._file_name,
            hint="get or convert the file again; compare its size with the original's",
        )
