"""Kinds of option values: parse text or Python values, format them again, and describe wrong ones."""

from __future__ import annotations

import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from aot.errors import did_you_mean
from aot.frontend.declared import DeclarationError

T = TypeVar("T")
V = TypeVar("V")
_SIZE = re.compile(r"((?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?) ?(?:([KMG])I?)?B?", re.IGNORECASE)
_UNIT_BYTES = {None: 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class WrongValueError(ValueError):
    """Raised if a value does not fit its option. `what` is a sentence that begins with the option's name."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


def json_type(*types: str, **limits: object) -> Mapping[str, object]:
    """Returns the JSON schema of values of these types."""
    return {"type": types[0] if len(types) == 1 else list(types), **limits}


class OptionKind(ABC, Generic[T]):
    """The kind of an option's values. On the command line, a value follows the flag as one argument."""

    is_repeated = False  # whether the flag may be given several times
    metavar: str  # the placeholder of the argument in help; empty if the flag has no argument
    schema: Mapping[str, object]  # the JSON schema of a value in an archive

    @abstractmethod
    def read(self, given: object) -> T:
        """Returns the value of an argument or a Python value. Raises WrongValueError."""

    def check(self, given: object) -> None:
        """Raises WrongValueError for an invalid value. Unlike `read`, it never runs code."""
        self.read(given)

    def words(self, value: T) -> tuple[str, ...]:
        """Returns the arguments for the value, one per occurrence of the flag."""
        return () if value is None else (str(value),)


@dataclass(frozen=True)
class Choice(OptionKind[T]):
    """One of a few named values."""

    values: Mapping[str, T]

    @cached_property
    def metavar(self) -> str:  # type: ignore[override]  # it follows from the values
        return f"{{{','.join(self.values)}}}"

    @cached_property
    def schema(self) -> Mapping[str, object]:  # type: ignore[override]
        return {"enum": [value.value if isinstance(value, Enum) else value for value in self.values.values()]}

    def read(self, given: object) -> T:
        word = given.value if isinstance(given, Enum) else given
        if isinstance(word, str) and word in self.values:
            return self.values[word]
        near = did_you_mean(str(word), self.values)
        raise WrongValueError(f"{_shown(given)} is not known{near}", f"known: {', '.join(self.values)}")

    def words(self, value: T) -> tuple[str, ...]:
        return tuple(word for word, meant in self.values.items() if meant == value)


class OneOfNumbers(Choice[int]):
    """One of a few numbers, given as a number or by name."""

    def read(self, given: object) -> int:
        is_number = isinstance(given, int) and not isinstance(given, bool)
        return super().read(str(given) if is_number else given)


@dataclass(frozen=True)
class OnOff(OptionKind[bool]):
    """A switch; its flag has no argument."""

    metavar = ""
    schema = json_type("boolean")

    def read(self, given: object) -> bool:
        if isinstance(given, bool):
            return given
        raise WrongValueError(f"{_shown(given)} is neither True nor False")

    def words(self, value: bool) -> tuple[str, ...]:
        return ("",) if value else ()


@dataclass(frozen=True)
class Size(OptionKind[int | None]):
    """A number of bytes; None means no limit."""

    metavar = "BYTES"
    schema = json_type("integer", "null", minimum=0)

    def read(self, given: object) -> int:
        return read_size(given)


def read_size(given: object) -> int:
    """Parses a number of bytes: 65536, 65,536, 64K, 64KB, 64 KiB. Raises WrongValueError."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and given >= 0:
        return int(given)
    found = _SIZE.fullmatch(given) if isinstance(given, str) else None
    if found:
        unit = found[2].upper() if found[2] else None
        size = Fraction(found[1].replace(",", "")) * _UNIT_BYTES[unit]
        if size.denominator == 1:
            return int(size)
    raise WrongValueError(f"{_shown(given)} is not a size such as 65536, 64KB or 1MB")


@dataclass(frozen=True)
class Count(OptionKind[int | None]):
    """How many of something there are: at least one. None if the option is not given."""

    metavar: str  # placeholder in help

    schema = json_type("integer", "null", minimum=1)

    def read(self, given: object) -> int:
        number = int(given) if isinstance(given, str) and re.fullmatch("[0-9]{1,9}", given) else given
        if isinstance(number, int | np.integer) and not isinstance(number, bool) and 0 < number < 10**9:
            return int(number)
        raise WrongValueError(
            f"{_shown(given)} is not a number of {self.metavar.lower()} from 1 on, such as 2"
        )


@dataclass(frozen=True)
class FilePath(OptionKind[Path | None]):
    """The path of a file on this machine."""

    metavar = "FILE"
    schema = json_type("string")

    def read(self, given: object) -> Path:
        if isinstance(given, str | os.PathLike):
            return Path(given)
        raise WrongValueError(f"{_shown(given)} is not the path of a file")


class WrittenFile(FilePath):
    """The path of a file that Solder writes. Only a user may choose it."""


@dataclass(frozen=True)
class Text(OptionKind[str | None]):
    """A name, or other text that is used unchanged."""

    metavar: str  # placeholder in help

    schema = json_type("string", "null")

    def read(self, given: object) -> str:
        if isinstance(given, str) and given:
            return given
        raise WrongValueError(f"{_shown(given)} is not a {self.metavar.lower()}")


@dataclass(frozen=True)
class FormedText(OptionKind[str]):
    """Text in a certain format."""

    metavar: str  # placeholder in help
    pattern: str
    meant: str  # description with an example, printed after "is not"

    @cached_property
    def schema(self) -> Mapping[str, object]:  # type: ignore[override]
        return {"type": "string", "pattern": f"^{self.pattern}$"}

    def read(self, given: object) -> str:
        if isinstance(given, str) and re.fullmatch(self.pattern, given):
            return given
        raise WrongValueError(f"{_shown(given)} is not {self.meant}")

    def words(self, value: str) -> tuple[str, ...]:
        return (value,) if value else ()


@dataclass(frozen=True)
class Declared(OptionKind[str | None]):
    """A name with parameters, stored as one string. Python also accepts a mapping with a name."""

    said: str  # description
    read_word: Callable[[object], str]  # raises DeclarationError

    metavar = "NAME:PARAMETER=VALUE,..."

    @cached_property
    def schema(self) -> Mapping[str, object]:  # type: ignore[override]
        return {"type": ["string", "null"], "description": self.said}

    def read(self, given: object) -> str:
        try:
            return self.read_word(given)
        except DeclarationError as error:
            raise WrongValueError(error.what, error.hint) from None


@dataclass(frozen=True)
class Seconds(OptionKind[float]):
    """A positive, finite number of seconds."""

    metavar = "SECONDS"
    schema = json_type("number", exclusiveMinimum=0)

    def read(self, given: object) -> float:
        try:
            found = float(given)  # type: ignore[arg-type]  # what it does not take is refused below
        except (TypeError, ValueError, OverflowError):
            found = math.nan
        if not 0 < found < math.inf:
            raise WrongValueError(f"{_shown(given)} is not a number of seconds, such as 120 or 0.5")
        return found

    def words(self, value: float) -> tuple[str, ...]:
        return (f"{value:g}",)


@dataclass(frozen=True)
class Pairs(OptionKind[T], Generic[V, T]):
    """Names with a value each, as in x=1,3,32,32. Python accepts a mapping, or one or several strings."""

    metavar: str  # placeholder of one pair in help
    meant: str  # description of one pair with an example, printed after "is not"
    read_second: Callable[[Any], V]  # of text or a Python value; None: no value given. Raises ValueError
    second_word: Callable[[V], str | None]
    gather: Callable[[Sequence[tuple[str, V]]], T]
    pairs: Callable[[T], Iterable[tuple[str, V]]]
    schema: Mapping[str, object]

    is_repeated = True

    def read(self, given: object) -> T:
        return self.gather([self._read_pair(each) for each in self._each(given)])

    def words(self, value: T) -> tuple[str, ...]:
        found = ((name, self.second_word(second)) for name, second in self.pairs(value))
        return tuple(name if word is None else f"{name}={word}" for name, word in found)

    def _each(self, given: object) -> Iterable[object]:
        if isinstance(given, str):
            return (given,)
        if isinstance(given, Mapping):
            return given.items()
        if isinstance(given, Sequence):
            return given
        raise self._wrong(given)

    def _read_pair(self, given: object) -> tuple[str, V]:
        name, second = _parted(given) if isinstance(given, str) else self._two(given)
        try:
            if isinstance(name, str) and name:
                return name, self.read_second(second)
        except WrongValueError:
            raise
        except (ValueError, TypeError):
            pass
        raise self._wrong(given)

    def _two(self, given: object) -> tuple[object, object]:
        if isinstance(given, Sequence) and len(given) == 2:
            return given[0], given[1]
        raise self._wrong(given)

    def _wrong(self, given: object) -> WrongValueError:
        return WrongValueError(f"{_shown(given)} is not {self.meant}")


@dataclass(frozen=True)
class NameList(OptionKind[tuple[str, ...]]):
    """Names from a table. Python accepts one, or several in a list."""

    metavar: str  # placeholder of one name in help
    thing: str  # noun for the named things
    known: Callable[[], Collection[str]]
    refused: Mapping[str, str]  # forbidden ones -> reason, printed after "cannot be disabled, since"
    schema: Mapping[str, object]

    is_repeated = True

    def read(self, given: object) -> tuple[str, ...]:
        each = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
        return tuple(dict.fromkeys(self._read_name(name) for name in each))

    def words(self, value: tuple[str, ...]) -> tuple[str, ...]:
        return value

    def _read_name(self, given: object) -> str:
        known = self.known()
        if not isinstance(given, str) or given not in known:
            near = did_you_mean(str(given), known)
            wrong = f"{_shown(given)} is not a known {self.thing}{near}"
            raise WrongValueError(wrong, f"known: {', '.join(known)}")
        if given in self.refused:
            raise WrongValueError(f'"{given}" cannot be disabled: {self.refused[given]}')
        return given


def _parted(word: str) -> tuple[str, str | None]:
    """Returns the name before the last "=", and the text after it, or None without "="."""
    name, parts, second = word.rpartition("=")
    return (name, second) if parts else (word, None)


def read_limit(given: object) -> int | None:
    """Parses a size, or None."""
    return None if given is None else read_size(given)


def read_name(given: object) -> str:
    if isinstance(given, str) and given:
        return given
    raise ValueError


def read_numbers(given: object) -> tuple[float, ...]:
    """Parses numbers in order: "0,1", one number, or an array."""
    numbers = tuple(float(number) for number in _listed(given))
    if not numbers:
        raise ValueError
    return numbers


def _listed(given: Any) -> Sequence[Any]:
    if given is None:
        raise ValueError
    return given.split(",") if isinstance(given, str) else np.ravel(given).tolist()


def numbers_word(numbers: Sequence[float]) -> str:
    """Returns the numbers as text that `read_numbers` accepts."""
    return ",".join(str(int(n)) if float(n).is_integer() else repr(float(n)) for n in numbers)


def _shown(given: object) -> str:
    return f'"{given}"' if isinstance(given, str) else repr(given)
