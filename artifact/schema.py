"""The JSON schema of an archive's metadata.json: a file, completed with the table of options."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from codegen.option_entry import Option, WrittenWhen
from codegen.options import ALL_OPTIONS


@cache
def archive_schema() -> Any:
    """Returns the whole schema. It is cached, so callers must not change it."""
    schema = json.loads(files("artifact").joinpath("archive_schema.json").read_text(encoding="utf-8"))
    schema["$defs"]["options"] = options_schema(ALL_OPTIONS)
    return schema


def options_schema(options: Iterable[Option]) -> dict[str, Any]:
    """Returns the schema of the options in an archive. Options added later may be missing."""
    schema = _new_object()
    for option in options:
        if option.in_archive is not WrittenWhen.NEVER:
            _add(schema, option)
    return schema


def _add(schema: dict[str, Any], option: Option) -> None:
    *folders, key = option.archive_path
    place = schema
    for name in folders:
        place = _require(place, name, option)["properties"].setdefault(name, _new_object())
    _require(place, key, option)["properties"][key] = dict(option.kind.schema)


def _require(schema: dict[str, Any], key: str, option: Option) -> dict[str, Any]:
    """Returns the schema itself, with a required key if the option is always present."""
    if option.in_archive is WrittenWhen.ALWAYS:
        schema["required"] = sorted({*schema["required"], key})
    return schema


def _new_object() -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": [], "properties": {}}
