"""Writes and reads an archive's `metadata.json`: TVM's Model Library Format 7, our part under "solder"."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from functools import cache
from importlib.resources import files
from typing import Any

from aot.errors import ArchiveError
from aot.ir.types import TensorType
from aot.plan.model import Kind
from artifact.facts import ModelFacts, decode, encode, print_json, schema_of
from artifact.memory_map import MemoryMap
from codegen.model import TensorInfo
from codegen.option_entry import Option, WrittenWhen
from codegen.options import ALL_OPTIONS


@cache
def archive_schema() -> Any:
    """Returns the whole schema. It is cached, so callers must not change it."""
    schema = json.loads(files("artifact").joinpath("archive_schema.json").read_text(encoding="utf-8"))
    schema["properties"][OURS] = _our_schema()
    return schema


def _our_schema() -> dict[str, Any]:
    """Returns the schema of our part: the fields of ModelFacts, and what `_ours` adds to them."""
    schema = schema_of(ModelFacts, _RULES, _NOT_IN_OLD_ARCHIVES)
    tensor = {"bytes": _COUNT, "layout": {"enum": ["", *_LAYOUTS.values()]}}
    for key in ("inputs", "outputs"):
        _extend(schema["properties"][key]["items"], tensor)
    hashes = {"type": "object", "additionalProperties": _SHA256}
    added = {"format": {"const": FORMAT}, _SELF: _SHA256, "files": hashes, "arena_bytes": _COUNT}
    _extend(schema, {**added, "name": _IDENTIFIER, "options": options_schema(ALL_OPTIONS)})
    return schema


def _extend(schema: dict[str, Any], properties: Mapping[str, Any]) -> None:
    schema["properties"].update(properties)
    schema["required"] = sorted({*schema["required"], *properties})


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


MLF_VERSION = 7
FORMAT = 3  # version of our part; incremented if readers of another version would misread it
OURS = "solder"
_SELF = "metadata_sha256"  # hash of the whole document without this key
_CPU = 1  # DLDeviceType
_LAYOUTS = {2: "NC", 3: "NWC", 4: "NHWC"}
_COUNT = {"type": "integer", "minimum": 0}
_IDENTIFIER = {"type": "string", "pattern": "^[a-z_][a-z0-9_]*$"}
_SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_SIZES = ("dtype_bytes", "hop", "line_bytes", "pointer_bytes", "rows_held", "sets", "ways")
_IF_ANY = ("removed_macs", "table_bytes", "weights_bytes")
_NEVER_EMPTY = ("BufferLife.rows", "MemoryRegion.bytes", "Window.macs", "Window.rows")
_SIGNED = ("axis", "fill", "indices", "limits", "zero_points")
# Plain values by the name of their field, or of class and field; arrays by name[]. Others are not negative.
_RULES: Mapping[str, Mapping[str, Any]] = {
    **{name: {"minimum": 1} for name in (*_SIZES, *_IF_ANY, *_NEVER_EMPTY)},
    **{name: {} for name in _SIGNED},
    "board": {"pattern": r"^[^/\\]*$"},  # a name, not the path of a file
    "c_name": _IDENTIFIER,
    "features": _IDENTIFIER,
    "kernels": {"pattern": "^[0-9a-f]{16}$"},
    "kind": {"enum": [*(kind.value for kind in Kind), "sums", "scratch"]},
    "model_hash": _SHA256,
    "role": {"enum": ["ram", "flash"]},
    "scales[]": {"minItems": 1},
    "zero_points[]": {"minItems": 1},
}
_NOT_IN_OLD_ARCHIVES = ("adds_apart", "architecture", "flash_reads", "machine", "passed_over")
COMPILE_AGAIN = "compile the model again: deploy compile MODEL --board B -o OUT.tar"


def make_metadata(facts: ModelFacts, seconds: int, file_hashes: Mapping[str, str], has_runtime: bool) -> str:
    """Returns the document for these facts, checked against the schema. Its date is `seconds` since 1970."""
    document: dict[str, Any] = {
        "version": MLF_VERSION,
        "modules": {facts.name: _module(facts, seconds, has_runtime)},
        OURS: _ours(facts, file_hashes),
    }
    document[OURS][_SELF] = _self_hash(document)
    violation = _schema_violation(document)
    if violation:
        raise AssertionError(f"metadata.json would break its own schema: {violation}")
    return print_json(document) + "\n"


def _module(facts: ModelFacts, seconds: int, has_runtime: bool) -> dict[str, Any]:
    dependency = {
        "short_name": "solder_runtime",
        "url": "./runtime",
        "url_type": "mlf_path",
        "version_spec": facts.tool_version,
    }
    return {
        "model_name": facts.name,
        "export_datetime": datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ"),
        "target": [f"c -keys=cpu -mcpu={facts.target.core}"],
        "executors": ["aot"],
        "style": "full-model",
        "external_dependencies": [dependency] if has_runtime else [],
        "memory": {"functions": {"main": [_main(facts)], "operator_functions": _operators(facts)}},
    }


def _main(facts: ModelFacts) -> dict[str, Any]:
    """Returns the memory of a run. The workspace includes inputs and outputs inside it."""
    return {
        "device": _CPU,
        "workspace_size_bytes": facts.arena_bytes,
        "constants_size_bytes": facts.constants_bytes,
        "io_size_bytes": facts.io_bytes,
        "inputs": {tensor.name: _size_and_dtype(tensor) for tensor in facts.inputs},
        "outputs": {tensor.name: _size_and_dtype(tensor) for tensor in facts.outputs},
    }


def _size_and_dtype(tensor: TensorInfo) -> dict[str, Any]:
    return {"size": tensor.bytes, "dtype": tensor.type.dtype.numpy.name}


def _operators(facts: ModelFacts) -> list[dict[str, Any]]:
    """Returns the workspace that only one layer uses; it is part of the arena."""
    return [
        {
            "function_name": layer.function,
            "workspace": [{"device": _CPU, "workspace_size_bytes": _workspace(facts.memory, layer.name)}],
        }
        for layer in facts.layers
    ]


def _workspace(memory: MemoryMap, stage: str) -> int:
    """Returns the bytes of a layer's state and scratch."""
    found = (memory.by_name.get(f"{stage}.{kind}") for kind in ("state", "scratch"))
    return sum(buffer.bytes for buffer in found if buffer is not None)


def _ours(facts: ModelFacts, file_hashes: Mapping[str, str]) -> dict[str, Any]:
    return {
        **encode(facts),
        "format": FORMAT,
        "arena_bytes": facts.arena_bytes,
        "inputs": [_tensor(tensor) for tensor in facts.inputs],
        "outputs": [_tensor(tensor) for tensor in facts.outputs],
        "files": dict(file_hashes),
    }


def _tensor(tensor: TensorInfo) -> dict[str, Any]:
    return {**encode(tensor), "bytes": tensor.bytes, "layout": layout_of(tensor.type)}


def layout_of(tensor: TensorType) -> str:
    """Returns the dimensions' names for a rank with a fixed layout, else ""; the last varies fastest."""
    return _LAYOUTS.get(tensor.rank, "")


def _self_hash(document: Mapping[str, Any]) -> str:
    ours = {key: value for key, value in document[OURS].items() if key != _SELF}
    text = json.dumps({**document, OURS: ours}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_metadata(text: bytes, where: str) -> tuple[ModelFacts, Mapping[str, str]]:
    """Returns the facts and the hash of each file. Raises ModelError for other versions' documents."""
    document = _parsed(text, where)
    _require_known_versions(document, where)
    ours = document[OURS]
    if ours.get(_SELF) != _self_hash(document):
        raise ArchiveError(
            "the archive's metadata.json was changed after it was written: its SHA-256 differs",
            where,
            COMPILE_AGAIN,
        )
    violation = _schema_violation(document)
    if violation:  # the hash is right, so another version wrote this
        raise ArchiveError(
            f"the archive is of another version of Solder, {ours.get('tool_version', '(unknown)')}",
            f"{where}\nwhere this version differs: {violation}",
            COMPILE_AGAIN,
        )
    return decode(ModelFacts, ours), ours["files"]


def _parsed(text: bytes, where: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(
            f"the archive's metadata.json is not JSON: {error}", where, COMPILE_AGAIN
        ) from None
    if not isinstance(document, dict):
        raise ArchiveError("the archive's metadata.json holds no JSON object", where, COMPILE_AGAIN)
    return document


def _require_known_versions(document: Mapping[str, Any], where: str) -> None:
    found = document.get("version")
    if found != MLF_VERSION:
        raise ArchiveError(
            f"the archive has Model Library Format {found}, this version of Solder reads {MLF_VERSION}",
            where,
            COMPILE_AGAIN,
        )
    ours = document.get(OURS)
    if not isinstance(ours, dict):
        raise ArchiveError(
            f'the archive was not written by Solder: its metadata.json has no "{OURS}" part',
            where,
            COMPILE_AGAIN,
        )
    its, writer = ours.get("format"), ours.get("tool_version", "(unknown)")
    if its != FORMAT:
        is_newer = isinstance(its, int) and its > FORMAT
        raise ArchiveError(
            f"the archive has format {its}, in which Solder {writer} wrote it; this version reads {FORMAT}",
            where,
            f"use Solder {writer}, or {COMPILE_AGAIN}" if is_newer else COMPILE_AGAIN,
        )


def is_ours(text: bytes) -> bool:
    """Returns whether any version of Solder wrote this metadata.json."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and isinstance(document.get(OURS), dict)


def _schema_violation(document: Mapping[str, Any]) -> str:
    """Describes the place and kind of the schema violation; empty if the document is valid."""
    from jsonschema.exceptions import best_match  # a tenth of a second that only archives need

    error = best_match(_validator().iter_errors(document))
    return "" if error is None else f"{error.json_path.removeprefix('$.')}: {_shortened(error.message)}"


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator  # a test checks the schema itself

    return Draft202012Validator(archive_schema())


def _shortened(message: str, most: int = 160) -> str:
    """Cuts the middle out of a long message, because jsonschema quotes the whole invalid value."""
    return message if len(message) <= most else f"{message[: most // 2]} ... {message[-most // 2 :]}"
