"""Errors for incorrect use of the language, with the line of the user's program; checks of arguments."""

from __future__ import annotations

import inspect
import traceback
import types
from collections import abc
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from reprlib import Repr
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from aot.errors import DeployError, InputError

_CODEGEN = Path(__file__).parent.parent
_OURS = (_CODEGEN, _CODEGEN.parent / "deploy", _CODEGEN.parent / "solder")


def misuse(what: str, hint: str = "") -> InputError:
    """Returns the error to raise. It names the innermost line outside of this project."""
    return InputError(what, line_of_user(), hint)


def line_of_user() -> str:
    """Returns the innermost line outside of this project; empty if there is none."""
    for frame in reversed(traceback.extract_stack()[:-1]):
        is_ours = any(folder in Path(frame.filename).parents for folder in _OURS)
        if not is_ours and not frame.filename.startswith("<frozen"):
            line = f": {frame.line}" if frame.line else ""  # empty in an interactive session
            return f"{frame.filename}:{frame.lineno}{line}"
    return ""


T = TypeVar("T")


class NamedParts(dict[str, T]):
    """A mapping whose error for an unknown key lists the known ones."""

    def __init__(self, proc: str, what: str, found: Mapping[str, T]) -> None:
        super().__init__(found)
        self._proc, self._what = proc, what

    def __missing__(self, name: str) -> T:
        raise misuse(f"{self._proc} has no {self._what} {name}", f"{self._what}s: {', '.join(self)}")


# Checks the arguments of the language's functions against their annotations; errors name the user's line.


# Descriptions of kinds in errors. Other kinds are described by their names.
_SAID: Mapping[object, str] = {
    int: "a whole number",
    float: "a number",
    str: "a string",
    bool: "True or False",
    type(None): "None",
    "Schedule": "a schedule",
    "Proc": "a proc",
    "Instruction": "an instruction(...)",
    "TensorExpression": "a tensor",
    "ElementValue": "a value such as x[i, j] < 3",
    "Position": "an axis",
    "Axis": "a reduce_axis(...)",
    "QuantizedType": "quantized(...)",
    "TemplateKnobs": "knobs",
    "GraphValue": "a value of a graph",
}
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 40
P = ParamSpec("P")


class _OtherKindError(Exception):
    """Raised if a value is not of a kind."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


def checks_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Returns the function with its arguments checked against its annotations.

    NumPy numbers become Python numbers. Integers are not accepted as booleans, nor strings as sequences of
    strings.
    """
    return checks_arguments_as(function.__name__)(function)


def checks_arguments_as(called: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """As checks_arguments, for a function that users call by another name."""
    return lambda function: _checked(called, function)


def _checked(called: str, function: Callable[P, T]) -> Callable[P, T]:
    signature = inspect.signature(function)
    kinds: dict[str, Any] = {}  # of parameters; resolved after all modules are imported

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        if not kinds:
            kinds.update(get_type_hints(function))
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise misuse(f"{called}: {error}", _as_called(called, signature)) from None
        for name, value in bound.arguments.items():
            if name not in kinds:  # self
                continue
            is_many = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            try:
                bound.arguments[name] = (
                    _each_taken(value, [kinds[name]] * len(value)) if is_many else _taken(value, kinds[name])
                )
            except _OtherKindError as other:
                wrong = other.value if is_many else value
                raise misuse(
                    f"{called}: {name} is {_SHORT.repr(wrong)}, but must be {_describe(kinds[name])}",
                    _as_called(called, signature),
                ) from None
        try:
            return function(*bound.args, **bound.kwargs)
        except DeployError as error:  # from a board or a tool; has no line
            line = line_of_user()
            if line not in error.where:
                error.where = "\n".join(filter(None, (error.where, line)))
            raise

    return checked


def _as_called(name: str, signature: inspect.Signature) -> str:
    """Returns the call in short: split(loop, factor)."""
    said = []
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        stars = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is inspect.Parameter.empty else f"={parameter.default!r}"
        is_function = callable(parameter.default) and default
        said.append(f"{stars}{parameter.name}" + ("=..." if is_function else default))
    return f"{name}({', '.join(said)})"


def _taken(value: Any, kind: Any) -> Any:
    """Returns the value converted to a parameter's kind. Raises _OtherKindError if that is impossible."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any or kind is object or kind is np.ndarray or origin is np.ndarray:
        return value  # arrays are checked when they are stored
    if origin in (Union, types.UnionType):
        return _first_taken(value, inner)
    if origin is tuple:
        return _pair_taken(value, inner)
    if origin is abc.Sequence:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise _OtherKindError(value)
        return _each_taken(value, inner * len(value))
    if origin is abc.Mapping:
        _only(value, isinstance(value, Mapping))
        return {_taken(k, inner[0]): _taken(v, inner[1]) for k, v in value.items()}
    if origin is abc.Callable:
        return _only(value, callable(value))
    if kind is int:
        return int(_only(value, isinstance(value, Integral) and not isinstance(value, bool)))
    if kind is float:
        _only(value, isinstance(value, Real) and not isinstance(value, bool))
        return value if isinstance(value, int) else float(value)
    if kind is bool:
        return bool(_only(value, isinstance(value, bool | np.bool_)))
    return _only(value, isinstance(value, origin or kind))


def _only(value: Any, is_of_kind: bool) -> Any:
    if not is_of_kind:
        raise _OtherKindError(value)
    return value


def _first_taken(value: Any, kinds: Sequence[Any]) -> Any:
    for kind in kinds:
        try:
            return _taken(value, kind)
        except _OtherKindError:
            continue
    raise _OtherKindError(value)


def _pair_taken(value: Any, kinds: Sequence[Any]) -> Any:
    _only(value, isinstance(value, tuple))
    if kinds[-1] is ...:
        return _each_taken(value, [kinds[0]] * len(value))
    _only(value, len(value) == len(kinds))
    return _each_taken(value, kinds)


def _each_taken(values: Sequence[Any], kinds: Sequence[Any]) -> Any:
    """Converts each value. Returns the sequence itself if nothing changes, so that ranges stay ranges."""
    taken = tuple(_taken(value, kind) for value, kind in zip(values, kinds, strict=True))
    return values if all(a is b for a, b in zip(taken, values, strict=True)) else taken


def _describe(kind: Any) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        *most, last = dict.fromkeys(map(_describe, inner))
        return f"{', '.join(most)} or {last}" if most else last
    if origin is tuple:
        return f"a tuple of {len(inner)}"
    if origin is abc.Sequence:
        return f"a list of which each is {_describe(inner[0])}"
    if origin is abc.Mapping:
        return "a mapping, such as a dict"
    if origin is abc.Callable:
        return "a function"
    name = str(getattr(kind, "__name__", kind))
    return _SAID.get(kind) or _SAID.get(name) or name
