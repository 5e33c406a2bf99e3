"""What --json prints has the shape that docs/json says: who changes one changes a file that is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import deploy
from deploy.command import command_parser, load_command
from deploy.commands import COMMANDS

Run = Callable[..., Any]
DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
STREAMS = {"completion", "farm", "monitor"}  # which print a script, or go on until they are ended
# By command: command lines whose shapes together are the command's.
LINES: Mapping[str, Sequence[Sequence[object]]] = {
    "accelerators": [["accelerators"]],
    "boards": [["boards", "list"]],
    "compile": [
        ["compile", DIGITS, "--board", "host", "-o", "a.tar"],
        ["compile", DIGITS, "--board", "host", "-o", "c.tar", "--weights", "external"],
    ],
    "diff": [["diff", "a.tar", "a.tar"], ["diff", "a.tar", "b.tar"]],
    "evidence": [
        ["evidence", "a.tar", "--chapter", "coverage"],
        ["evidence", DIGITS, "--board", "host", "--chapter", "sums", "-o", "older"],
        ["evidence", "b.tar", "--chapter", "sums", "--against", "older"],
    ],
    "export": [["export", "a.tar", "--as", "single-file", "-o", "exported"]],
    "inspect": [["inspect", DIGITS], ["inspect", "a.tar"], ["inspect", DIGITS, "--board", "mps2-an386"]],
    "new": [["new", "a.tar", "project", "--board", "host"]],
    "ops": [["ops"], ["ops", DIGITS], ["ops", "conv2d", "--meaning"]],
}
NEEDED = {"evidence": ("gcc", "gcov")}  # a chapter without its tool says less
# Objects whose keys are names, and not the shape.
MAPS = {
    "platforms",
    "runners",
    "accelerators",
    "removed_macs",
    "operators",
    "parts",
    "buffers",
    "rounding",
    "bytes",
    "files",
    "meanings",
}


def shape_of(value: Any, name: str = "") -> dict[str, Any]:
    """The JSON schema of one value."""
    if isinstance(value, dict):
        inner = {key: shape_of(each, key) for key, each in value.items()}
        if name in MAPS:
            return {"type": "object", "additionalProperties": joined(list(inner.values()))}
        return {
            "type": "object",
            "properties": inner,
            "required": sorted(inner),
            "additionalProperties": False,
        }
    if isinstance(value, list):
        return {"type": "array", "items": joined([shape_of(each) for each in value])}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return {"type": kinds[type(value)]}


def joined(shapes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The schema that takes what each of these takes."""
    found: dict[str, Any] = {}
    for shape in shapes:
        found = both(found, shape) if found else shape
    return found


def both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    if not one or not other or one == other:
        return one or other
    kinds = {kind for each in (one, other) for kind in _kinds(each)}
    if kinds == {"object"} and "properties" in one:
        names = [*one["properties"], *(n for n in other["properties"] if n not in one["properties"])]
        inner = {n: both(one["properties"].get(n, {}), other["properties"].get(n, {})) for n in names}
        required = sorted({*one["required"]} & {*other["required"]})
        return {"type": "object", "properties": inner, "required": required, "additionalProperties": False}
    merged = {**one, **other}
    for key in ("items", "additionalProperties"):
        if isinstance(one.get(key), dict) and isinstance(other.get(key), dict):
            merged[key] = both(one[key], other[key])
    kinds -= {"integer"} if "number" in kinds else set()
    return {**merged, "type": sorted(kinds) if len(kinds) > 1 else kinds.pop()}


def _kinds(shape: dict[str, Any]) -> list[str]:
    return [shape["type"]] if isinstance(shape["type"], str) else list(shape["type"])


@pytest.fixture
def printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_deploy: Run
) -> Callable[[Sequence[object]], Any]:
    """The facts that a command line prints, in a folder with two archives."""
    monkeypatch.chdir(tmp_path)
    run_deploy("compile", DIGITS, "--board", "host", "-o", "a.tar")
    run_deploy("compile", DIGITS, "--board", "host", "-o", "b.tar", "--optimize", "ram")

    def run(words: Sequence[object]) -> Any:
        said = run_deploy(*words, "--json")
        assert said.status == 0, said.err
        return json.loads(said.out)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("command", LINES)
def test_what_is_printed_has_the_shape_that_is_written_down(
    command: str,
    printed: Callable[[Sequence[object]], Any],
    repo_root: Path,
    generated: Callable[[Path, str], None],
    require_tool: Callable[..., None],
) -> None:
    require_tool(*NEEDED.get(command, ()))
    facts = [printed(words) for words in LINES[command]]
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"deploy {command} --json"}
    schema |= joined([shape_of(each) for each in facts])
    generated(repo_root / "docs" / "json" / f"{command}.json", json.dumps(schema, indent=1) + "\n")
    for each in facts:
        jsonschema.validate(each, schema)


def test_every_command_prints_json_but_those_that_go_on() -> None:
    with_json = {
        name
        for name in COMMANDS
        if "--json" in command_parser(name, load_command(name))._option_string_actions
        or name == "boards"  # whose verbs take it
        or name == "records"
    }
    assert with_json == COMMANDS.keys() - STREAMS
