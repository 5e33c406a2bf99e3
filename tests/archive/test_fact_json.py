"""Dataclasses as JSON and back, and the text a person reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from aot.ir.types import DType, Quant, TensorType
from aot.target import Feature, MemoryRegion, Target
from artifact.fact_json import decode, encode, print_json


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


def test_what_was_written_is_read_again() -> None:
    assert decode(Everything, json.loads(print_json(encode(EVERYTHING)))) == EVERYTHING


def test_sets_are_sorted() -> None:
    assert encode(EVERYTHING)["target"]["features"] == ["dsp", "fpu"]


def test_a_whole_number_may_stand_for_a_real_one() -> None:
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
def test_json_is_laid_out_to_be_read(value: object, text: str) -> None:
    assert print_json(value) == text
    assert json.loads(print_json(value)) == value
