"""Facts as JSON: read back as they were, and described by a schema that has exactly their fields."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from aot.ir.types import DType, Quant, TensorType
from aot.target import Feature, MemoryRegion, Target
from artifact.facts import decode, encode, print_json, schema_of
from artifact.metadata import FORMAT, archive_schema

SOLDER: Any = archive_schema()["properties"]["solder"]


def test_it_is_a_schema():
    """Archives are held against it as they are written and read, and the schema itself only here."""
    Draft202012Validator.check_schema(archive_schema())


def test_the_page_of_archives_names_each_key_and_the_format(repo_root):
    page = (repo_root / "docs" / "archives.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert set(SOLDER["properties"]) <= {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    assert f"the version of this part: {FORMAT} |" in page
    assert SOLDER["properties"]["format"] == {"const": FORMAT}


def broken(path: str, value: object) -> list[str]:
    """Returns the errors of facts in which one value is another."""
    document = json.loads(json.dumps(encode(EVERYTHING)))
    *folders, key = (int(part) if part.isdigit() else part for part in path.split("."))
    place = document
    for folder in folders:
        place = place[folder]
    place[key] = value
    rules: Any = {
        "sizes": {"minimum": 1},
        "zero_points": {},
        "name": {"pattern": "^[A-Z]+$"},
        "scales[]": {"minItems": 1},
    }
    schema = schema_of(Everything, rules, ("machine",))
    return [error.message for error in Draft202012Validator(schema).iter_errors(document)]


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        ("target.core", "avr", None),
        ("target.core", 1, "1 is not of type 'string'"),
        ("target.flash_reads", None, None),
        ("target.regions.0.name", "ram", "'ram' does not match '^[A-Z]+$'"),
        ("target.regions.0.more", 1, "Additional properties are not allowed ('more' was unexpected)"),
        ("types.0.dtype", "i9", "'i9' is not one of"),
        ("types.0.shape.0", -1, "-1 is less than the minimum of 0"),
        ("sizes.a", 0, "0 is less than the minimum of 1"),
        ("scale", "x", "'x' is not of type 'number'"),
        ("types.0.quant.zero_points", [], None),
        ("types.0.quant.scales", [], "{'scales': []"),
        ("pair", [1, 2, 3], "[1, 2, 3] is too long"),
        ("nested.0.0", True, "True is not of type 'integer'"),
        ("limit", "", "'' is not valid under any of the given schemas"),
    ],
)
def test_a_schema_allows_what_the_types_and_the_rules_allow(path, value, error):
    found = broken(path, value)
    assert found == [] if error is None else found[0].startswith(error)


def test_fields_that_are_not_always_written_are_not_required():
    assert "machine" not in schema_of(Target, {}, ("machine",))["required"]
    assert "board" not in SOLDER["required"]
    assert set(SOLDER["required"]) > {"name", "memory", "metadata_sha256", "arena_bytes"}


@dataclass(frozen=True)
class Everything:
    target: Target
    types: tuple[TensorType, ...]
    sizes: Mapping[str, int]
    limit: int | None
    scale: float
    nested: tuple[tuple[int, ...], ...]
    pair: tuple[int, int] = (1, 2)


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
