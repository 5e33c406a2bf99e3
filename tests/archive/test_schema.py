"""The schema of metadata.json says of our part exactly what the dataclasses behind it hold."""

from __future__ import annotations

import json
from dataclasses import fields
from enum import Enum
from importlib.resources import files
from typing import Any

import pytest

from aot.ir.types import DType, Quant, TensorType
from aot.plan.model import Kind
from aot.target import Feature, Optimize, Region, Target
from codegen.facts import ModelFacts
from codegen.memory_map import BufferLife, MemoryMap
from codegen.model import CompileOptions, LayerInfo, Rounding, RowFormat, TensorInfo

SCHEMA: Any = json.loads(files("codegen").joinpath("archive_schema.json").read_text(encoding="utf-8"))
DEFS = SCHEMA["$defs"]
BESIDE = {  # what the document says besides the fields
    "solder": {"format", "metadata_sha256", "files", "arena_bytes"},
    "tensor": {"bytes", "layout"},
}
OBJECTS: dict[str, type] = {
    "solder": ModelFacts,
    "target": Target,
    "options": CompileOptions,
    "tensor": TensorInfo,
    "type": TensorType,
    "quant": Quant,
    "layer": LayerInfo,
    "row_format": RowFormat,
    "memory": MemoryMap,
    "buffer": BufferLife,
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_has_the_fields_of_its_dataclass(name: str) -> None:
    expected = {field.name for field in fields(OBJECTS[name])} | BESIDE.get(name, set())
    assert set(DEFS[name]["properties"]) == set(DEFS[name]["required"]) == expected
    assert DEFS[name]["additionalProperties"] is False


def test_regions_have_the_fields_of_their_dataclass() -> None:
    region = DEFS["target"]["properties"]["regions"]["items"]
    assert set(region["properties"]) == set(region["required"]) == {f.name for f in fields(Region)}


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (DEFS["type"]["properties"]["dtype"]["enum"], DType),
        (DEFS["target"]["properties"]["features"]["items"]["enum"], Feature),
        (DEFS["options"]["properties"]["optimize"]["enum"], Optimize),
        (DEFS["options"]["properties"]["rounding"]["enum"], Rounding),
    ],
)
def test_words_are_those_of_their_enum(words: list[str], kind: type[Enum]) -> None:
    assert sorted(words) == sorted(member.value for member in kind)


def test_buffers_are_of_a_tensors_kind_or_a_stages_own() -> None:
    kinds = {kind.value for kind in Kind} | {"sums"}
    assert set(DEFS["buffer"]["properties"]["kind"]["enum"]) == kinds
