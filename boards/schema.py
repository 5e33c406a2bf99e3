"""Reads tables strictly. Errors for unknown and missing keys list the legal ones."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aot.errors import BoardError, BoardFileError, did_you_mean
from aot.extensions import ISAS, loaded
from aot.target import FEATURES, Feature

REQUIRED = object()


@dataclass(frozen=True, slots=True)
class FilePlace:
    """The location of a value: a file, and a table in it."""

    file: str
    table: str = ""

    def inside(self, table: str) -> FilePlace:
        return FilePlace(self.file, f"{self.table}.{table}" if self.table else table)

    def __str__(self) -> str:
        return f"{self.file}, in [{self.table}]" if self.table else self.file


Read = Callable[[Any, str, FilePlace], Any]


@dataclass(frozen=True, slots=True)
class Key:
    """A legal key: the reader of its value, and a default if it is optional."""

    read: Read
    default: Any = REQUIRED


Keys = Mapping[str, Key]


def read_table(table: Any, keys: Keys, place: FilePlace) -> dict[str, Any]:
    """Returns the values of a table. One error lists all unknown keys, or all missing ones."""
    parts = tuple(_tables(table, keys, place))
    _require_known(parts)
    _require_all(parts)
    return _values(table, keys, place)


Part = tuple[Mapping[str, Any], Keys, FilePlace]  # a table, its keys, its location


def _tables(table: Any, keys: Keys, place: FilePlace) -> Iterator[Part]:
    """Yields the table and all nested tables."""
    if not isinstance(table, dict):
        raise BoardFileError(f"must be a table, not {table!r}", str(place))
    yield table, keys, place
    for name, key in keys.items():
        if name in table and isinstance(key.read, Nested):
            yield from key.read.tables(table[name], name, place)


def _require_known(parts: Iterable[Part]) -> None:
    """Raises one error for all unknown keys."""
    unknown = [(name, keys, place) for table, keys, place in parts for name in table if name not in keys]
    if not unknown:
        return
    known = {str(place): f"known keys: {', '.join(keys) or 'none'}" for _, keys, place in unknown}
    said = [(f'"{name}"', did_you_mean(name, keys), str(place)) for name, keys, place in unknown]
    if len(said) == 1:
        ((name, near, where),) = said
        raise BoardFileError(f"key {name} is not known{near}", where, known[where])
    lines = "\n".join(f"{where}: {name}{near}" for name, near, where in said)
    hints = known.values() if len(known) == 1 else (f"{where}: {keys}" for where, keys in known.items())
    raise BoardFileError(f"{len(said)} keys are not known", lines, "\n".join(hints))


def _require_all(parts: Iterable[Part]) -> None:
    """Raises one error for all missing keys."""
    lacking = [
        (place, [name for name, key in keys.items() if key.default is REQUIRED and name not in table])
        for table, keys, place in parts
    ]
    lacking = [(place, names) for place, names in lacking if names]
    count = sum(len(names) for _, names in lacking)
    hint = "deploy docs adding-a-board lists every key"
    if count == 1:
        place, (name,) = lacking[0]
        raise BoardFileError(f'key "{name}" is missing', str(place), hint)
    if count:
        where = "\n".join(f"{place}: {', '.join(names)}" for place, names in lacking)
        raise BoardFileError(f"{count} keys are missing", where, hint)


def _values(table: Mapping[str, Any], keys: Keys, place: FilePlace) -> dict[str, Any]:
    return {
        name: key.read(table[name], name, place) if name in table else key.default
        for name, key in keys.items()
    }


def _bad(name: str, must: str, value: Any, place: FilePlace) -> BoardError:
    return BoardFileError(f'"{name}" must be {must}, not {value!r}', str(place))


def text(value: Any, name: str, place: FilePlace) -> str:
    if not isinstance(value, str) or not value:
        raise _bad(name, "a text", value, place)
    return value


def texts(value: Any, name: str, place: FilePlace) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise _bad(name, "a list of texts", value, place)
    return tuple(text(item, name, place) for item in value)


def words(value: Any, name: str, place: FilePlace) -> tuple[str, ...]:
    """Reads a list of strings, which may be empty."""
    return texts(value, name, place) if value != [] else ()


def at_least(least: int) -> Read:
    def read(value: Any, name: str, place: FilePlace) -> int:
        # bool is a subclass of int, but a board file must not mix them
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise _bad(name, f"an integer of at least {least}", value, place)
        return value

    return read


def positive(value: Any, name: str, place: FilePlace) -> float:
    """Reads a number above zero."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise _bad(name, "a number above zero", value, place)
    return float(value)


def one_of(legal: tuple[str, ...]) -> Read:
    def read(value: Any, name: str, place: FilePlace) -> str:
        if not isinstance(value, str):
            raise _bad(name, f"one of {', '.join(legal)}", value, place)
        if value not in legal:
            near = did_you_mean(value, legal)
            raise BoardFileError(
                f'{name} "{value}" is not known{near}', str(place), f"known: {', '.join(legal)}"
            )
        return value

    return read


def boolean(value: Any, name: str, place: FilePlace) -> bool:
    if not isinstance(value, bool):
        raise _bad(name, "true or false", value, place)
    return value


def power_of_two(value: Any, name: str, place: FilePlace) -> int:
    if not isinstance(value, int) or value < 1 or value & (value - 1):
        raise _bad(name, "a power of two", value, place)
    return value


def sixteen_bits(value: Any, name: str, place: FilePlace) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 0xFFFF:
        raise _bad(name, "a number of 16 bits", value, place)
    return value


def matching(pattern: str, must: str) -> Read:
    """Returns a reader of strings that match the whole pattern."""

    def read(value: Any, name: str, place: FilePlace) -> str:
        if not re.fullmatch(pattern, text(value, name, place)):
            raise _bad(name, must, value, place)
        return str(value)

    return read


def features(value: Any, name: str, place: FilePlace) -> frozenset[Feature]:
    if not isinstance(value, list):
        raise _bad(name, "a list of texts", value, place)
    known = one_of((*FEATURES, *_features_of_extensions()))
    return frozenset(Feature(known(item, name, place)) for item in value)


def _features_of_extensions() -> list[str]:
    """Returns the features that only instruction sets of extensions use."""
    needed = (str(feature) for isa in loaded(ISAS).values() for feature in getattr(isa, "needs", ()))
    return sorted(set(needed) - set(FEATURES))


def tables_of_texts(value: Any, name: str, place: FilePlace) -> dict[str, dict[str, str]]:
    """Reads tables [name.kind]. The user of the result checks their keys."""
    inside = place.inside(name)
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise _bad(name, "one or more tables", value, place)
    return {
        kind: {key: text(each, key, inside.inside(kind)) for key, each in table.items()}
        for kind, table in value.items()
    }


class Nested(ABC):
    """Reads a value that consists of tables."""

    @abstractmethod
    def tables(self, value: Any, name: str, place: FilePlace) -> Iterator[Part]:
        """Yields every table in the value. Raises BoardError if the value has another type."""

    @abstractmethod
    def __call__(self, value: Any, name: str, place: FilePlace) -> Any:
        """Reads the values, after the keys of all tables have been checked."""


class OneTable(Nested):
    """Reads one table [name]."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def tables(self, value: Any, name: str, place: FilePlace) -> Iterator[Part]:
        return _tables(value, self._keys, place.inside(name))

    def __call__(self, value: Any, name: str, place: FilePlace) -> dict[str, Any]:
        return _values(value, self._keys, place.inside(name))


class ListOfTables(Nested):
    """Reads one or more tables [[name]]."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def tables(self, value: Any, name: str, place: FilePlace) -> Iterator[Part]:
        if not isinstance(value, list) or not value:
            raise _bad(name, f"one or more tables [[{name}]]", value, place)
        for item in value:
            yield from _tables(item, self._keys, place.inside(name))

    def __call__(self, value: Any, name: str, place: FilePlace) -> tuple[dict[str, Any], ...]:
        return tuple(_values(item, self._keys, place.inside(name)) for item in value)


class NamedTables(Nested):
    """Reads one or more tables [name.kind], in file order. Each kind has its keys."""

    def __init__(self, keys_of: Mapping[str, Keys]) -> None:
        self._keys_of = keys_of

    def tables(self, value: Any, name: str, place: FilePlace) -> Iterator[Part]:
        if not isinstance(value, dict) or not value:
            example = f"[{name}.{next(iter(self._keys_of))}]"
            raise _bad(name, f"one or more tables, such as {example}", value, place)
        inside = place.inside(name)
        for kind, table in value.items():
            if kind not in self._keys_of:
                raise BoardFileError(
                    f'{name[:-1]} "{kind}" is not known{did_you_mean(kind, self._keys_of)}',
                    str(inside),
                    f"known: {', '.join(self._keys_of)}",
                )
            yield from _tables(table, self._keys_of[kind], inside.inside(kind))

    def __call__(self, value: Any, name: str, place: FilePlace) -> dict[str, dict[str, Any]]:
        inside = place.inside(name)
        return {
            kind: _values(table, self._keys_of[kind], inside.inside(kind)) for kind, table in value.items()
        }
