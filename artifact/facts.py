"""Facts about a compiled model that are not in its C: stored in archives, shown by `deploy inspect`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from aot.ir.graph import Graph, Window
from aot.passes.pipeline import PassStep
from aot.plan.model import Kind
from aot.target import Target
from artifact.memory_map import MemoryMap, map_memory
from codegen.c.arenas import Arena, arenas_of, line_bytes
from codegen.c.observe import OBSERVED_BYTES
from codegen.fit.layer_cycles import RunCycles
from codegen.fit.memory_use import MemoryNeeds
from codegen.model import KeptLimit, LayerInfo, PlacementInRam, TensorInfo
from codegen.option_entry import ADDED_LATER, WHEN_ARCHIVED, Option, WrittenWhen, default_of, options_of
from codegen.options import CompileOptions
from codegen.version import VERSION

if TYPE_CHECKING:
    from codegen.compile import CompiledModel


@dataclass(frozen=True, slots=True)
class ModelFacts:
    name: str  # a C identifier in lower case
    source_name: str  # the model file's name, without folders
    model_hash: str  # SHA-256 of the model file, in hex
    tool_version: str  # version of Solder
    target: Target
    options: CompileOptions
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    layers: tuple[LayerInfo, ...]
    memory: MemoryMap
    constants_bytes: int
    constants_in: Mapping[str, int]  # part of these by region, if that is not the region of the code
    code_bytes_estimate: int
    stack_bytes_estimate: int
    c_flags: tuple[str, ...]
    # Headers that its C includes besides its own; not in archives of Solder 0.2.0.
    c_headers: tuple[str, ...] = field(default=("math.h",), metadata=ADDED_LATER)
    board: str = field(default="", metadata=ADDED_LATER)  # name as in the C
    # Multiplications that passes removed, by pass.
    removed_macs: Mapping[str, int] = field(default_factory=dict, metadata=ADDED_LATER)
    # The window that slides over the rows of its input.
    window: Window | None = field(default=None, metadata=ADDED_LATER)
    placement: PlacementInRam | None = field(default=None, metadata=ADDED_LATER)  # by --place
    # Of single memories, by --ram and --flash.
    limits: tuple[KeptLimit, ...] = field(default=(), metadata=ADDED_LATER)
    # For external weights: the hash of the matching code, and their bytes with gaps between arrays.
    structure: str = field(default="", metadata=ADDED_LATER)
    weights_bytes: int = field(default=0, metadata=ADDED_LATER)
    # Names of the kernels that tables can run; bytes of the model's own table.
    kernels: tuple[str, ...] = field(default=(), metadata=ADDED_LATER)
    table_bytes: int = field(default=0, metadata=ADDED_LATER)
    # Of a run, estimated; None if they are not modeled.
    cycles: RunCycles | None = field(default=None, metadata=ADDED_LATER)

    @property
    def arena_bytes(self) -> int:
        return self.memory.arena_bytes

    @property
    def arenas(self) -> tuple[Arena, ...]:
        return arenas_of(self.memory.pool_bytes)

    @property
    def line_arenas(self) -> tuple[Arena, ...]:
        """Returns the arenas that the serial line needs, with space after them for a whole streamed input."""
        sizes = line_bytes(self.arenas, (*self.inputs, *self.outputs))
        return tuple(replace(arena, bytes=size) for arena, size in zip(self.arenas, sizes, strict=True))

    @property
    def callers(self) -> tuple[TensorInfo, ...]:
        """Returns inputs and outputs without space in an arena: they stay in the caller's memory."""
        tensors = (*self.inputs, *self.outputs)
        return tuple(each for each in tensors if each.arena_offset >= self.arenas[each.arena].bytes)

    @property
    def keeps_state(self) -> bool:
        """Returns whether the arena holds a state that persists between runs."""
        return self.state_bytes > 0

    @property
    def state_bytes(self) -> int:
        """Returns the bytes of the arena that persist between runs."""
        states = (each for each in self.memory.buffers if each.kind == Kind.STATE.value)
        return sum(each.row_bytes * each.rows_held for each in states)

    @property
    def io_bytes(self) -> int:
        """Returns the bytes of all inputs and outputs, in the arena or in the caller's memory."""
        return sum(tensor.bytes for tensor in (*self.inputs, *self.outputs))

    @property
    def io_bytes_beside(self) -> int:
        """Returns the bytes of inputs and outputs that are outside the arena."""
        return self.io_bytes if self.options.caller_owns_io else 0

    @property
    def needs(self) -> MemoryNeeds:
        return MemoryNeeds(
            self.arenas,
            self.io_bytes_beside if self.options.caller_owns_io else None,
            self.stack_bytes_estimate,
            max(0, self.constants_bytes - self.weights_bytes),
            self.constants_in,
            self.code_bytes_estimate,
            OBSERVED_BYTES if self.options.observe else 0,
            self.options.cores,
        )

    @property
    def macs(self) -> int:
        return sum(layer.macs for layer in self.layers)


def facts_of(model: CompiledModel) -> ModelFacts:
    return ModelFacts(
        name=model.name,
        source_name=model.planned.job.model.source_name,
        model_hash=model.parts.model_hash,
        tool_version=VERSION,
        target=model.target,
        options=model.options,
        inputs=model.inputs,
        outputs=model.outputs,
        layers=model.layers,
        memory=map_memory(model.planned.request, model.plan, model.whole_tensor_bound_bytes),
        constants_bytes=model.constants.bytes,
        constants_in=model.constants.bytes_in,
        code_bytes_estimate=model.code_bytes_estimate,
        stack_bytes_estimate=model.planned.stack_bytes,
        c_flags=model.parts.c_flags,
        c_headers=model.c_headers,
        board=model.planned.job.board,
        removed_macs=_removed_macs(model.planned.steps),
        window=model.planned.job.model.graph.window,
        placement=model.planned.placement,
        limits=model.limits,
        structure=model.weights.structure if model.weights else "",
        weights_bytes=len(model.weights.data) if model.weights else 0,
        kernels=tuple(model.table.kernels) if model.table else (),
        table_bytes=len(model.table.data) if model.table else 0,
        cycles=model.estimate_cycles(),
    )


def _removed_macs(steps: Iterable[PassStep]) -> dict[str, int]:
    rewritten = ((step.what.name, step.before, step.after) for step in steps if step.after is not step.before)
    removed = ((name, _macs(before) - _macs(after)) for name, before, after in rewritten)
    return {name: macs for name, macs in removed if macs > 0}


def _macs(graph: Graph) -> int:
    costs = (node.op.cost(graph.input_types(node), graph.output_types(node)) for node in graph.nodes)
    return sum(cost.macs for cost in costs)


# Converts frozen dataclasses to JSON and back, by their type hints and options; prints readable JSON.


_MISSING = object()
T = TypeVar("T")
_LINE = 110
_LARGEST = 2**63 - 1  # integer; larger ones are no size, and cannot become floats
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
    limits = {"minimum": -_LARGEST, "maximum": _LARGEST} if json_type == "integer" else {}
    return {"type": json_type, **limits, **rules.get(name, {"minimum": 0} if limits else {})}


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
