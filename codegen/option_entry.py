"""The description of an option in the dataclass field that holds its value, and how its value is read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import Enum
from functools import cache, partial
from typing import Any, TypeVar, cast

from aot.errors import InputError, did_you_mean
from codegen.option_kinds import OptionKind, WrongValueError

T = TypeVar("T")
_ENTRY = "option"
WHEN_ARCHIVED = "when archived"


class WrittenWhen(Enum):
    """Specifies when an option is written to the header of generated files, or to an archive."""

    NEVER = "never"
    IF_SET = "if it is not the default"
    ALWAYS = "always"


ADDED_LATER = {WHEN_ARCHIVED: WrittenWhen.IF_SET}  # metadata of fields that old archives do not have


@dataclass(frozen=True, slots=True)
class Option:
    """One option, as the command line, Python, generated headers, archives and docs need it."""

    field: str
    default: Any
    kind: OptionKind[Any]
    flag: str  # such as "--ram"; empty if users cannot set it
    help: str
    in_head: WrittenWhen = WrittenWhen.IF_SET
    in_archive: WrittenWhen = WrittenWhen.IF_SET  # ALWAYS only for options as old as the format of archives
    archive_key: str = ""  # in the options of an archive, "a.b" for b in a; empty: the field's name
    short: str = ""  # short form of the flag, such as -O
    reads_model: bool = False  # whether it affects how the model file is read
    group: str = "Debugging and expert options"  # the heading in the help of commands
    is_main: bool = False  # `-h` shows it; `--help` shows all

    @property
    def name(self) -> str:
        """Returns the Python keyword: tuning_records for --tuning-records."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def archive_path(self) -> tuple[str, ...]:
        """Returns the keys from the archive's options to the value."""
        return tuple((self.archive_key or self.field).split("."))

    def head_words(self, value: Any) -> Iterator[str]:
        """Yields the option as in the header of a generated file: "--pool DTCM=65536"."""
        if self.in_head is WrittenWhen.ALWAYS or (
            self.in_head is WrittenWhen.IF_SET and value != self.default
        ):
            for word in self.kind.words(value):
                yield f"{self.flag} {word}".strip()


def option(default: T, kind: OptionKind[T], flag: str, help: str, **more: Any) -> T:
    """Returns a dataclass field for an option; `more` are further fields of Option."""
    entry = partial(Option, kind=kind, flag=flag, help=help, **more)
    metadata = {_ENTRY: entry}
    if isinstance(default, dict):
        return cast(T, field(default_factory=partial(dict, default), metadata=metadata))
    return field(default=default, metadata=metadata)


@cache
def options_of(kind: type) -> tuple[Option, ...]:
    """Returns the options among the fields of a dataclass, in order."""
    return tuple(
        each.metadata[_ENTRY](field=each.name, default=default_of(each))
        for each in fields(kind)
        if _ENTRY in each.metadata
    )


def default_of(each: Field[Any]) -> Any:
    """Returns the default of a dataclass field, or MISSING."""
    return each.default if each.default_factory is MISSING else each.default_factory()


class UnknownOptionError(TypeError):
    """A keyword that no option has, as Python reports an unexpected one."""

    def __init__(self, name: str, known: Collection[str]) -> None:
        super().__init__(
            f'"{name}" is not an option here{did_you_mean(name, known)}; known: {", ".join(known)}'
        )
        self.name, self.known = name, known


def read_given(start: T, options: Mapping[str, Option], given: Mapping[str, object]) -> T:
    """Returns `start`, a dataclass of these options, with the values given by keyword; None is ignored.

    Raises InputError for an invalid value, and TypeError for an unknown option.
    """
    require_known(given, options)
    values = {
        options[name].field: _read(options[name], value) for name, value in given.items() if value is not None
    }
    return replace(start, **values)  # type: ignore[type-var]  # a dataclass, which T cannot say


def require_known(given: Mapping[str, object], options: Mapping[str, Option]) -> None:
    """Raises UnknownOptionError, a TypeError, for an unknown keyword."""
    for name in given:
        if name not in options:
            raise UnknownOptionError(name, options)


def _read(option: Option, value: object) -> Any:
    try:
        return option.kind.read(value)
    except WrongValueError as error:
        raise InputError(f"{option.name} {error.what}", hint=error.hint) from None
