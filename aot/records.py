"""Frozen dataclasses that are made in a third of the time: a command makes six hundred before it begins.

The standard library compiles six functions for each class, one at a time. Here three are compiled at once,
and the others are the same for all classes. They are dataclasses like any other: `fields`, `replace`,
`asdict`, matching, subclasses and type checkers see no difference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass

Fields = Sequence["dataclasses.Field[Any]"]
_MISSING = dataclasses.MISSING
# A class that has one of these itself is left to the library, which keeps or refuses it.
_OWN = (
    "__init__",
    "__eq__",
    "__hash__",
    "__repr__",
    "__setattr__",
    "__delattr__",
    "__getstate__",
    "__setstate__",
)


@dataclasses.dataclass(frozen=True)
class _Pattern:
    """Has the parameters of all that are made here: subclasses ask a dataclass whether it is frozen."""


class _Factory:
    """Stands for a default that is made anew for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _made_here(cls: Any = None, /, *, frozen: bool = False, slots: bool = False, **more: bool) -> Any:
    """Makes a dataclass here if it is frozen and ordinary; all others are made by the library."""
    if cls is None:
        return lambda cls: _made_here(cls, frozen=frozen, slots=slots, **more)
    if not frozen or more or any(name in vars(cls) for name in _OWN) or _has_arguments_alone(cls):
        return dataclasses.dataclass(cls, frozen=frozen, slots=slots, **more)
    inherits = any(dataclasses.is_dataclass(base) for base in cls.__mro__[1:])
    cls = dataclasses.dataclass(cls, init=False, repr=False, eq=False, frozen=inherits, slots=slots)
    cls.__dataclass_params__ = _Pattern.__dataclass_params__  # type: ignore[attr-defined]
    for name, function in _functions(cls, dataclasses.fields(cls)).items():
        function.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, function)
    cls.__repr__, cls.__setattr__, cls.__delattr__ = _repr, _no_assignment, _no_deletion
    if slots:
        cls.__getstate__, cls.__setstate__ = _state, _set_state
    return cls


def _has_arguments_alone(cls: type) -> bool:
    """True where something is given to __post_init__ and is no field."""
    return any("InitVar" in str(each) for each in vars(cls).get("__annotations__", {}).values())


def _functions(cls: type, fields: Fields) -> dict[str, Callable[..., Any]]:
    """Compiles the functions that differ from class to class, all at once."""
    names: dict[str, Any] = {"__factory": _FACTORY, "__set": object.__setattr__}
    made: dict[str, Callable[..., Any]] = {}
    exec(f"{_init(cls, fields, names)}\n{_comparison(fields)}", names, made)
    annotations = {field.name: field.type for field in fields if field.init}
    made["__init__"].__annotations__ = {**annotations, "return": None}
    return made


def _init(cls: type, fields: Fields, names: dict[str, Any]) -> str:
    positional: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for field in fields:
        name, value = field.name, field.name
        if field.default_factory is not _MISSING:
            names[f"__make_{name}"] = field.default_factory
            value = (
                f"{name} if {name} is not __factory else __make_{name}()"
                if field.init
                else f"__make_{name}()"
            )
        elif field.default is not _MISSING:
            names[f"__default_{name}"] = field.default
            value = name if field.init else f"__default_{name}"
        elif not field.init:
            continue
        if field.init:
            (by_name if field.kw_only else positional).append(_parameter(field))
        lines.append(_assignment(cls, name, value, names))
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    parameters = ["self", *positional, *(["*"] if by_name else []), *by_name]
    return f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"])


def _parameter(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not _MISSING:
        return f"{field.name}=__factory"
    return field.name if field.default is _MISSING else f"{field.name}=__default_{field.name}"


def _assignment(cls: type, name: str, value: str, names: dict[str, Any]) -> str:
    """Puts a value where instances have it: straight into its slot, if there is one."""
    slot = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    if isinstance(slot, MemberDescriptorType):
        names[f"__set_{name}"] = slot.__set__
        return f"__set_{name}(self, {value})"
    return f"__set(self, {name!r}, {value})"


def _comparison(fields: Fields) -> str:
    compared = [field.name for field in fields if field.compare]
    hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
    return (
        "def __eq__(self, other):\n"
        " if other.__class__ is not self.__class__: return NotImplemented\n"
        f" return {_tuple('self', compared)} == {_tuple('other', compared)}\n"
        "def __hash__(self):\n"
        f" return hash({_tuple('self', hashed)})"
    )


def _tuple(of: str, names: Sequence[str]) -> str:
    return f"({''.join(f'{of}.{name}, ' for name in names)})"


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _no_assignment(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_deletion(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    """Returns the values of an instance with slots, to be pickled."""
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if not TYPE_CHECKING:
    dataclass = _made_here
