"""Kinds of compiler options with values in two parts, or with names from the compiler's tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from aot.frontend.paired_states import STATE_WORDS
from aot.passes import REQUIRED
from aot.passes.pipeline import pass_names
from aot.plan.model import Pool
from codegen.axis_sizes import AxisSize, Shapes, read_sizes, sizes_word
from codegen.option_kinds import (
    NameList,
    OptionKind,
    Pairs,
    Size,
    WrongValueError,
    numbers_word,
    read_limit,
    read_name,
    read_numbers,
    read_size,
)


@dataclass(frozen=True, slots=True)
class ConstantRule:
    """Puts the constants of matching layers into a region of the board."""

    pattern: str  # a kind of layer, a layer's name, or layer3; * matches any characters
    region: str


@dataclass(frozen=True, slots=True)
class RegionLimit:
    """The most bytes that a model may take of a memory of the board."""

    region: str
    bytes: int


Limit = int | tuple[RegionLimit, ...] | None  # of all memories together, or of each one that is named


def _gather_limits(pairs: Sequence[tuple[str, int]]) -> tuple[RegionLimit, ...]:
    found: dict[str, int] = {}
    for region, limit in pairs:
        if found.setdefault(region, limit) != limit:
            raise WrongValueError(
                f"limits {region} to {found[region]} bytes and to {limit}", "give one of them"
            )
    return tuple(RegionLimit(region, limit) for region, limit in found.items())


_EACH = Pairs[int, tuple[RegionLimit, ...]](
    metavar="REGION=BYTES",
    meant="a memory with its limit, such as DTCM=48K",
    read_second=read_size,
    second_word=str,
    gather=_gather_limits,
    pairs=lambda limits: [(each.region, each.bytes) for each in limits],
    schema={
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["region", "bytes"],
            "properties": {"region": {"type": "string"}, "bytes": {"type": "integer", "minimum": 0}},
        },
    },
)
_NEXT_PAIR = re.compile(",(?=[^,=]*=)")  # 65,536 is one size


class Budget(OptionKind[Limit]):
    """A number of bytes, or one for each of several memories: DTCM=48K,SRAM=100K. None means no limit."""

    is_repeated = True

    metavar = "[REGION=]BYTES"
    schema = MappingProxyType({"anyOf": [Size.schema, _EACH.schema]})

    def read(self, given: object) -> Limit:
        if isinstance(given, Mapping):
            return _EACH.read(given)
        many = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
        words = [part for each in many for part in _parts(each)]
        is_named = ["=" in part if isinstance(part, str) else isinstance(part, Sequence) for part in words]
        if not any(is_named):
            return read_size(words[-1] if words else given)
        if not all(is_named):
            whole, named = words[is_named.index(False)], words[is_named.index(True)]
            raise WrongValueError(
                f"limits all memories together ({whole}) and single ones ({named})", "give one or the other"
            )
        return _EACH.read(words)

    def words(self, value: Limit) -> tuple[str, ...]:
        return _EACH.words(value) if isinstance(value, tuple) else Size().words(value)


def _parts(given: object) -> Sequence[object]:
    return _NEXT_PAIR.split(given) if isinstance(given, str) else [given]


POOLS = Pairs[int | None, tuple[Pool, ...]](
    metavar="REGION[=BYTES]",
    meant="a memory with its limit, such as DTCM=64K",
    read_second=read_limit,
    second_word=lambda limit: None if limit is None else str(limit),
    gather=lambda pairs: tuple(Pool(name, limit) for name, limit in pairs),
    pairs=lambda pools: [(pool.name, pool.bytes) for pool in pools],
    schema={
        "type": "array",
        "description": "the regions that the arena may be spread over, fastest first",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name", "bytes"],
            "properties": {
                "name": {"type": "string"},
                "bytes": {"type": ["integer", "null"], "minimum": 0},
            },
        },
    },
)
CONSTANTS = Pairs[str, tuple[ConstantRule, ...]](
    metavar="LAYERS=REGION",
    meant="layers with a memory, such as dense=QSPI",
    read_second=read_name,
    second_word=str,
    gather=lambda pairs: tuple(ConstantRule(layers, region) for layers, region in pairs),
    pairs=lambda rules: [(rule.pattern, rule.region) for rule in rules],
    schema={
        "type": "array",
        "description": "which layers' constants lie in which region",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["pattern", "region"],
            "properties": {"pattern": {"type": "string"}, "region": {"type": "string"}},
        },
    },
)
SHAPES = Pairs[tuple[AxisSize, ...], Shapes](
    metavar="INPUT=SIZES",
    meant="an input with its sizes, such as x=1,3,32,32, or x=1..4,3,16/32,32 for several",
    read_second=read_sizes,
    second_word=sizes_word,
    gather=dict,
    pairs=lambda shapes: shapes.items(),
    schema={
        "type": "object",
        "description": "sizes of inputs that the model file leaves open",
        "additionalProperties": {"type": "array", "items": {"type": "integer", "minimum": 1}},
    },
)
VALUES = Pairs[tuple[float, ...], Mapping[str, tuple[float, ...]]](
    metavar="INPUT=NUMBERS",
    meant="an input with its value, such as axes=0,1",
    read_second=read_numbers,
    second_word=numbers_word,
    gather=dict,
    pairs=lambda values: values.items(),
    schema={
        "type": "object",
        "description": "fixed values of inputs",
        "additionalProperties": {"type": "array", "items": {"type": "number"}},
    },
)


def _read_state(given: object) -> str:
    return "" if given is None else read_name(given)


def _gather_states(pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    """Raises WrongValueError if a name without an output is not one of STATE_WORDS."""
    alone = next((name for name, becomes in pairs if not becomes and name not in STATE_WORDS), None)
    if alone is not None:
        raise WrongValueError(f'"{alone}" is not {STATES.meant}')
    return dict(pairs)


STATES = Pairs[str, Mapping[str, str]](
    metavar="INPUT=OUTPUT",
    meant="an input with the output that it becomes, such as h=hn, nor auto or none",
    read_second=_read_state,
    second_word=lambda becomes: becomes or None,
    gather=_gather_states,
    pairs=lambda states: states.items(),
    schema={
        "type": "object",
        "description": "inputs that are states, with the outputs that they become",
        "additionalProperties": {"type": "string"},
    },
)

PASSES = NameList(
    metavar="PASS",
    thing="pass",
    known=pass_names,
    refused=REQUIRED,
    schema={
        "type": "array",
        "description": "graph rewrites that were skipped",
        "items": {"type": "string"},
    },
)
