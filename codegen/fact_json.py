"""Frozen dataclasses as JSON and back, by their type hints alone; and JSON as text a person can read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")
_LINE = 110


def encode(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(encode(item) for item in value)
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    return value


def decode(kind: type[T], data: Any) -> T:
    """The object that `encode` wrote. `data` follows the schema; keys that `kind` has not are left out."""
    value: T = _decode(kind, data)
    return value


def _decode(hint: Any, data: Any) -> Any:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is None:
        return _decode_plain(hint, data)
    if NoneType in parts:
        return None if data is None else _decode(parts[0], data)
    if issubclass(origin, Mapping):
        return {key: _decode(parts[1], item) for key, item in data.items()}
    return origin(_decode(parts[0], item) for item in data)


def _decode_plain(kind: Any, data: Any) -> Any:
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**{name: _decode(hint, data[name]) for name, hint in _hints(kind)})
    return kind(data) if issubclass(kind, Enum | float) else data


@cache
def _hints(kind: type) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((field.name, hints[field.name]) for field in fields(kind))


def print_json(value: Any, indent: int = 0) -> str:
    """Sorted keys; what fits goes on one line, and so do lists of plain values however long."""
    line = json.dumps(value, sort_keys=True)
    if len(line) + indent <= _LINE or not isinstance(value, dict | list):
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {print_json(value[key], indent + 2)}" for key in sorted(value)]
        return "{\n" + ",\n".join(inner + item for item in items) + "\n" + " " * indent + "}"
    if not any(isinstance(item, dict | list) for item in value):
        return line
    lines = ",\n".join(inner + print_json(item, indent + 2) for item in value)
    return "[\n" + lines + "\n" + " " * indent + "]"
