"""Reads declarations such as librosa.mfcc:sr=16000,n_fft=512: a name, and parameters of a dataclass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from aot.errors import did_you_mean

T = TypeVar("T")
_SAID = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "none": None}


class DeclarationError(ValueError):
    """Raised for a wrong declaration. `what` is a sentence."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


NAME = "name"  # its key in a declaration written as a table
Value = bool | int | float | str | tuple[float, ...] | None


def value_of(word: str) -> Value:
    """Parses a value like a Python literal; numbers by channel are written 0.5/0.4/0.3."""
    if "/" in word:
        try:
            return tuple(float(number) for number in word.split("/"))
        except ValueError:
            return word
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            continue
    return word


def word_of(value: object) -> str:
    """Formats a value so that `value_of` returns it."""
    if isinstance(value, list | tuple):
        return "/".join(str(float(number)) for number in value)
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return str(value)


def read_parameters(kind: type[T], given: Mapping[str, object], front: str) -> T:
    """Returns the parameters, with the library's defaults. Raises DeclarationError."""
    hints = get_type_hints(kind)
    for name in given:
        if name not in hints:
            near = did_you_mean(name, hints)
            raise DeclarationError(f'{front} has no parameter "{name}"{near}', f"it has {', '.join(hints)}")
    made: dict[str, Any] = {
        name: _read(value, hints[name], f"{front}: {name}") for name, value in given.items()
    }
    for each in fields(kind):  # type: ignore[arg-type]  # it is a dataclass
        if each.default is MISSING and each.name not in made:
            raise DeclarationError(f"{front} needs {each.name}", f"write {front}:{each.name}=...")
    return kind(**made)


def _read(value: object, hint: Any, where: str) -> object:
    if get_origin(hint) is tuple:
        return _read_numbers(value, where)
    allowed = get_args(hint) or (hint,)
    if isinstance(value, float) and value.is_integer() and float not in allowed and int in allowed:
        value = int(value)
    if str in allowed and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if float in allowed and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) in allowed:
        return value
    said = " or ".join("none" if kind is NoneType else _SAID[kind] for kind in allowed)
    raise DeclarationError(f"{where} must be {said}, not {word_of(value)}")


def _read_numbers(value: object, where: str) -> tuple[float, ...]:
    """Reads one number, or one for each channel."""
    listed = value if isinstance(value, list | tuple) else (value,)
    if listed and all(isinstance(number, int | float) for number in listed):
        return tuple(float(number) for number in listed)
    raise DeclarationError(
        f"{where} must be a number or a list of numbers, not {value}", "for example 0.5, or 0.485/0.456/0.406"
    )


def parted(given: object, kind: str) -> tuple[str, dict[str, object]]:
    """Splits text, or a table with a name, into name and parameters. Raises DeclarationError."""
    if isinstance(given, str):
        name, _, rest = given.partition(":")
        return name, dict(_pair(word, name) for word in rest.split(",") if word)
    if isinstance(given, Mapping) and isinstance(given.get(NAME), str):
        return given[NAME], {key: value for key, value in given.items() if key != NAME}
    raise DeclarationError(
        f"{given!r} is not a {kind}", "write NAME:PARAMETER=VALUE,... or a table with a name"
    )


def declared_word(name: str, values: Mapping[str, object]) -> str:
    """Formats a declaration as text that is read as the same."""
    words = ",".join(f"{key}={word_of(value)}" for key, value in values.items())
    return f"{name}:{words}" if words else name


def _pair(word: str, name: str) -> tuple[str, object]:
    key, equals, value = word.partition("=")
    if not equals:
        raise DeclarationError(
            f'"{word}" has no value: parameters of {name} are written PARAMETER=VALUE', f"write {word}=..."
        )
    return key, value_of(value)


# The user's overrides of a model's inputs: sizes that the file leaves open, and fixed values.


@dataclass(frozen=True, slots=True)
class InputOverrides:
    """Shapes and values by input name; an input with a value is no longer an input."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


NO_OVERRIDES = InputOverrides()
