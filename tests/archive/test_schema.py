"""Facts as JSON: read back as they were, and described by a schema that has exactly their fields."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from aot.ir.graph import Window
from aot.ir.types import DType, Quant, TensorType
from aot.plan.model import Kind
from aot.target import FEATURES, Feature, FlashReads, MemoryRegion, Target
from artifact.fact_json import decode, encode, print_json
from artifact.facts import ModelFacts
from artifact.memory_map import BufferLife, MemoryMap
from artifact.metadata import FORMAT, archive_schema
from codegen.formats import RowFormat
from codegen.model import (
    KeptLimit,
    LayerInfo,
    LayerPart,
    LayerResult,
    PlacedConstants,
    PlacementInRam,
    TensorInfo,
)

DEFS: Any = archive_schema()["$defs"]
BESIDE = {  # what the document says besides the fields
    "solder": {"format", "metadata_sha256", "files", "arena_bytes"},
    "tensor": {"bytes", "layout"},
}
LATER: dict[str, set[str]] = {  # keys that earlier archives do not have
    "target": {"machine", "architecture", "flash_reads"},
    "solder": {
        "board",
        "c_headers",
        "removed_macs",
        "structure",
        "weights_bytes",
        "kernels",
        "table_bytes",
        "placement",
        "window",
        "limits",
    },
    "tensor": {"indices", "limits"},
    "layer": {"passed_over", "device", "stays", "sources", "parts", "others", "function"},
}
OBJECTS: dict[str, type] = {
    "solder": ModelFacts,
    "target": Target,
    "tensor": TensorInfo,
    "type": TensorType,
    "quant": Quant,
    "layer": LayerInfo,
    "row_format": RowFormat,
    "memory": MemoryMap,
    "buffer": BufferLife,
}


def test_it_is_a_schema():
    """Archives are held against it as they are written and read, and the schema itself only here."""
    Draft202012Validator.check_schema(archive_schema())


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_has_the_fields_of_its_dataclass(name):
    expected = {field.name for field in fields(OBJECTS[name])} | BESIDE.get(name, set())
    assert set(DEFS[name]["properties"]) == expected
    assert set(DEFS[name]["required"]) == expected - LATER.get(name, set())
    assert DEFS[name]["additionalProperties"] is False


def test_the_page_of_archives_names_each_key_and_the_format(repo_root):
    page = (repo_root / "docs" / "archives.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert set(DEFS["solder"]["properties"]) <= {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    assert f"the version of this part: {FORMAT} |" in page
    assert DEFS["solder"]["properties"]["format"] == {"const": FORMAT}


@pytest.mark.parametrize(("key", "kind"), [("parts", LayerPart), ("others", LayerResult)])
def test_parts_of_a_layer_have_the_fields_of_their_dataclass(key, kind):
    items = DEFS["layer"]["properties"][key]["items"]
    assert set(items["properties"]) == set(items["required"]) == {field.name for field in fields(kind)}


def test_a_window_has_the_fields_of_its_dataclass():
    window = DEFS["solder"]["properties"]["window"]
    assert set(window["properties"]) == set(window["required"]) == names_of(Window)


def test_a_limit_has_the_fields_of_its_dataclass():
    limit = DEFS["solder"]["properties"]["limits"]["items"]
    assert set(limit["properties"]) == set(limit["required"]) == names_of(KeptLimit)


def test_what_lies_in_ram_has_the_fields_of_its_dataclasses():
    placement = DEFS["solder"]["properties"]["placement"]
    layer = placement["properties"]["layers"]["items"]
    assert set(placement["properties"]) == set(placement["required"]) == names_of(PlacementInRam)
    assert set(layer["properties"]) == set(layer["required"]) == names_of(PlacedConstants)
    _, reads = DEFS["target"]["properties"]["flash_reads"]["anyOf"]
    assert set(reads["properties"]) == set(reads["required"]) == names_of(FlashReads)


def names_of(kind: Any) -> set[str]:
    return {field.name for field in fields(kind)}


def test_regions_have_the_fields_of_their_dataclass():
    region = DEFS["target"]["properties"]["regions"]["items"]
    assert set(region["properties"]) == set(region["required"]) == {f.name for f in fields(MemoryRegion)}


def test_element_types_are_those_of_their_enum():
    assert sorted(DEFS["type"]["properties"]["dtype"]["enum"]) == sorted(dtype.value for dtype in DType)


def test_features_may_be_any_names_as_instruction_sets_bring_their_own():
    assert DEFS["target"]["properties"]["features"]["items"] == {"$ref": "#/$defs/identifier"}
    assert all(re.fullmatch(DEFS["identifier"]["pattern"], feature) for feature in FEATURES)


def test_buffers_are_of_a_tensors_kind_or_a_stages_own():
    kinds = {kind.value for kind in Kind} | {"sums", "scratch"}
    assert set(DEFS["buffer"]["properties"]["kind"]["enum"]) == kinds


@dataclass(frozen=True)
class Everything:
    target: Target
    types: tuple[TensorType, ...]
    sizes: Mapping[str, int]
    limit: int | None
    scale: float
    nested: tuple[tuple[int, ...], ...]


EVERYTHING = Everything(
    target=Target(
        "cortex-m4", frozenset({Feature.FPU, Feature.DSP}), (MemoryRegion("RAM", 1 << 29, 64, "ram"),)
    ),
    types=(TensorType(DType.I8, (1, 4), Quant((0.1, 1 / 3), (0, -128), 1)), TensorType(DType.F32, ())),
    sizes={"b": 2, "a": 1},
    limit=None,
    scale=1.0,
    nested=((1, 2), ()),
)


def test_what_was_written_is_read_again():
    assert decode(Everything, json.loads(print_json(encode(EVERYTHING)))) == EVERYTHING


def test_sets_are_sorted():
    assert encode(EVERYTHING)["target"]["features"] == ["dsp", "fpu"]


def test_a_whole_number_may_stand_for_a_real_one():
    changed = decode(Everything, {**encode(EVERYTHING), "scale": 2})
    assert isinstance(changed.scale, float)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1, 2]}, '{"a": [1, 2], "b": 1}'),
        ({"numbers": list(range(60))}, '{\n  "numbers": ' + json.dumps(list(range(60))) + "\n}"),
        (
            [{"name": "x" * 60}, {"name": "y" * 60}],
            f'[\n  {{"name": "{"x" * 60}"}},\n  {{"name": "{"y" * 60}"}}\n]',
        ),
        ({"a": {"b": "z" * 100}}, '{\n  "a": {\n    "b": "' + "z" * 100 + '"\n  }\n}'),
        ({}, "{}"),
        ("ü", '"\\u00fc"'),
    ],
)
def test_json_is_laid_out_to_be_read(value, text):
    assert print_json(value) == text
    assert json.loads(print_json(value)) == value
