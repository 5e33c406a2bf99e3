"""Converts frozen dataclasses to JSON and back, by their type hints and options; prints readable JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from codegen.option_entry import WHEN_ARCHIVED, Option, WrittenWhen, default_of, options_of

_MISSING = object()
T = TypeVar("T")
_LINE = 110
_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}  # bool is an int, too
Rules = Mapping[str, Mapping[str, Any]]


def encode(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _encode_fields(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(encode(item) for item in value)
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    return value


def _encode_fields(value: object) -> dict[str, Any]:
    document: dict[str, Any] = {}
    kind: type = type(value)
    for each in _stored_fields(kind):
        item = getattr(value, each.name)
        if each.when is WrittenWhen.ALWAYS or item != each.default:
            _put(document, each.path, encode(item))
    return document


def _put(document: dict[str, Any], path: Sequence[str], item: Any) -> None:
    for key in path[:-1]:
        document = document.setdefault(key, {})
    document[path[-1]] = item


def decode(kind: type[T], data: Any) -> T:
    """Returns the object that `encode` wrote. `data` follows the schema; ignores keys unknown to `kind`."""
    value: T = _decode(kind, data)
    return value


def _decode(hint: Any, data: Any) -> Any:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is None:
        return _decode_plain(hint, data)
    if NoneType in parts and data is None:
        return None
    if int in parts and isinstance(data, int):  # an int, or several
        return data
    if origin in (Union, UnionType):
        return _decode(next(part for part in parts if part not in (int, NoneType)), data)
    if issubclass(origin, Mapping):
        return {key: _decode(parts[1], item) for key, item in data.items()}
    return origin(_decode(parts[0], item) for item in data)


def _decode_plain(kind: Any, data: Any) -> Any:
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**dict(_decode_fields(kind, data)))
    return kind(data) if issubclass(kind, Enum | float | str) else data


def _decode_fields(kind: type, data: Any) -> Iterator[tuple[str, Any]]:
    """Yields the decoded fields in the data; a missing field keeps its default."""
    for each in _stored_fields(kind):
        item = _get(data, each.path)
        if item is not _MISSING:
            yield each.name, _decode(each.hint, item)


def _get(data: Any, path: Sequence[str]) -> Any:
    for key in path:
        data = data.get(key, _MISSING) if data is not _MISSING else data
    return data


@dataclass(frozen=True, slots=True)
class _StoredField:
    """A field of a dataclass, and the key and condition under which it is written."""

    name: str
    hint: Any
    path: tuple[str, ...]
    when: WrittenWhen
    default: Any


@cache
def _stored_fields(kind: type) -> tuple[_StoredField, ...]:
    hints, options = get_type_hints(kind), {option.field: option for option in options_of(kind)}
    found = (_stored(field, hints[field.name], options.get(field.name)) for field in fields(kind))
    return tuple(each for each in found if each.when is not WrittenWhen.NEVER)


def _stored(field: Field[Any], hint: Any, option: Option | None) -> _StoredField:
    if option is not None:
        return _StoredField(field.name, hint, option.archive_path, option.in_archive, option.default)
    when = field.metadata.get(WHEN_ARCHIVED, WrittenWhen.ALWAYS)
    return _StoredField(field.name, hint, (field.name,), when, default_of(field))


def schema_of(kind: type, rules: Rules, never_required: Collection[str]) -> dict[str, Any]:
    """Returns the JSON schema of what `encode` writes.

    `rules` limit plain values, by the name of their field, or of their class and field: "Window.rows".
    """
    stored = _stored_fields(kind)
    of_class = {each.name: f"{kind.__name__}.{each.name}" for each in stored}
    ruled = {name: own if own in rules else name for name, own in of_class.items()}
    always = (each.name for each in stored if each.when is WrittenWhen.ALWAYS)
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in always if name not in never_required],
        "properties": {
            each.name: _schema_of(each.hint, ruled[each.name], rules, never_required) for each in stored
        },
    }


def _schema_of(hint: Any, name: str, rules: Rules, never_required: Collection[str]) -> dict[str, Any]:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is None:
        return _plain_schema(hint, name, rules, never_required)
    inner = [_schema_of(p, name, rules, never_required) for p in parts if p not in (NoneType, ...)]
    if NoneType in parts:
        return {"anyOf": [{"type": "null"}, *inner]}
    if issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": inner[-1]}
    limits = {"minItems": len(inner), "maxItems": len(inner)} if len(inner) > 1 else {}
    return {"type": "array", "items": inner[0], **limits, **rules.get(f"{name}[]", {})}


def _plain_schema(kind: Any, name: str, rules: Rules, never_required: Collection[str]) -> dict[str, Any]:
    if isinstance(kind, type) and is_dataclass(kind):
        return schema_of(kind, rules, never_required)
    if issubclass(kind, Enum):
        return {"enum": [each.value for each in kind]}
    json_type = next(text for each, text in _JSON_TYPES.items() if issubclass(kind, each))
    return {"type": json_type, **rules.get(name, {"minimum": 0} if json_type == "integer" else {})}


def print_json(value: Any, indent: int = 0) -> str:
    """Returns JSON with sorted keys. A value that fits is on one line; a list of plain values always is."""
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
