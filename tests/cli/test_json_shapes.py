"""What --json prints has the shape that docs/json says: who changes one changes a file that is read."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from open_models import open_convolutions
from small_float_net import small_net
from still_host import still_host

import deploy
from deploy.cli.command import command_parser, load_command
from deploy.cli.commands import COMMANDS

_ALONE = ("--oracle", "none")  # whether another runtime is installed changes the shape
DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
STREAMS = {"completion", "monitor"}  # which print a script, or go on until they are ended
WHERE_A_FARM_IS = {"farm"}  # tests/tuning/test_farm.py holds its shape
OWN_FIRMWARE = "the port of the project's firmware, which runs already"
# By command: command lines whose shapes together are the command's.
LINES: Mapping[str, Sequence[Sequence[object]]] = {
    "accelerators": [["accelerators"]],
    "bench": [
        ["bench", DIGITS, "--board", "mps2-an386"],
        ["bench", DIGITS, "--board", "mps2-an386", "--baseline", "said_0.json"],
        ["bench", DIGITS, "--board", "mps2-an386", "--layers"],
        ["bench", DIGITS, "--board", "metro-m4", "--emulated"],
        ["bench", DIGITS, "--board", "host"],
        ["bench", DIGITS, "--board", "host", "--cores", "2"],
        ["bench", DIGITS, "--board", "host", "--runner", "attach", "--port", OWN_FIRMWARE],
    ],
    "boards": [["boards", "list"]],
    "bug-report": [["bug-report", "-o", "bug.zip"]],
    "build": [["build", "project"]],
    "cache": [["cache"], ["cache", "--keep", "0"]],
    "compile": [
        ["compile", DIGITS, "--board", "host", "-o", "a.tar"],
        ["compile", DIGITS, "--board", "host", "-o", "c.tar", "--weights", "external"],
        ["compile", DIGITS, "--board", "nucleo-f746zg", "--place", "--ram", "DTCM=2K", "-o", "e.tar"],
        ["compile", DIGITS, "--board", "host", "--place", "-o", "e.tar"],
        ["compile", "open.onnx", "--board", "host", "-o", "d.tar", "--shape", "x=1..2,4,8"],
    ],
    "diff": [["diff", "a.tar", "a.tar"], ["diff", "a.tar", "b.tar"]],
    "docs": [["docs"], ["docs", "levels"]],
    "doctor": [["doctor"]],
    "evidence": [
        ["evidence", "a.tar", "--chapter", "coverage"],
        ["evidence", DIGITS, "--board", "host", "--chapter", "sums", "-o", "older"],
        ["evidence", "b.tar", "--chapter", "sums", "--baseline", "older"],
    ],
    "explore": [["explore", DIGITS, "--board", "mps2-an386", "--measure", "--rate", "20"]],
    "export": [["export", "a.tar", "--as", "single-file", "-o", "exported"]],
    "flash": [["flash", "project"]],
    "inspect": [
        ["inspect", DIGITS],
        ["inspect", "a.tar"],
        ["inspect", DIGITS, "--board", "nucleo-f746zg", "--place", "--ram", "DTCM=2K"],
        ["inspect", DIGITS, "--board", "mps2-an386"],
        ["inspect", DIGITS, "--slide", "4"],
    ],
    "load": [["load", "a.cart", "slots"]],
    "new": [["new", "a.tar", "another", "--board", "host"]],
    "new-accelerator": [["new-accelerator", "mine", "--like", "vanilla"]],
    "ops": [["ops"], ["ops", DIGITS], ["ops", "conv2d", "--meaning"]],
    "quantize": [["quantize", "small.onnx", "--data", "samples.npz", "-o", "small_int8.onnx"]],
    "records": [["records", "best", "costs.jsonl"], ["records", "stats", "costs.jsonl"]],
    "report": [
        ["report", DIGITS, "--board", "mps2-an386", "-o", "report.html"],
        ["report", DIGITS, "--board", "mps2-an386", "-o", "report.html", "--slide", "4", "--ram", "RAM=2K"],
    ],
    "run": [
        ["run", DIGITS, "--board", "host", "--fill", "random"],
        ["run", DIGITS, "--board", "still.toml", "--fill", "random"],
        ["run", DIGITS, "--board", "mps2-an386", "--fill", "zeros", "--repeat", "2"],
    ],
    "tune": [["tune", DIGITS, "--board", "host", "--trials", "1", "--tasks", "1", "-o", "costs.jsonl"]],
    "verify": [
        ["verify", DIGITS, "--board", "host", "--layers", *_ALONE],
        [*("verify", DIGITS, "--board", "host", "--inputs", "images.npz"), "--labels", "digits.npy", *_ALONE],
        [
            *("verify", DIGITS, "--board", "host", "--inputs", "images.npz"),
            "--expected",
            "outputs.npz",
            *_ALONE,
        ],
        ["verify", "open.onnx", "--board", "host", "--shape", "x=1..2,4,8", *_ALONE],
    ],
}
# By command: what is run before, for the files that it needs.
BEFORE: Mapping[str, Sequence[Sequence[object]]] = {
    "cache": [["run", "a.tar", "--board", "host", "--fill", "zeros"]],
    "bench": [["new", "a.tar", "project", "--board", "host"], ["build", "project"]],
    "build": [["new", "a.tar", "project", "--board", "host"]],
    "flash": [["new", "a.tar", "project", "--board", "host"], ["build", "project"]],
    "load": [
        ["compile", DIGITS, "--board", "host", "--cartridge", "-o", "a.cart"],
        ["new", "a.tar", "slots", "--board", "host", "--slots", "64K"],
    ],
    "records": [["tune", DIGITS, "--board", "host", "--trials", "1", "--tasks", "1", "-o", "costs.jsonl"]],
}
# Tools without which a command says less, or nothing.
_HOST, _BOARD = ("gcc",), ("gcc", "arm-none-eabi-gcc", "qemu-system-arm")
NEEDED = {
    "bench": _BOARD,
    "build": _HOST,
    "cache": _HOST,
    "evidence": ("gcc", "gcov"),
    "explore": _BOARD,
    "flash": _HOST,
    "load": _HOST,
    "records": _HOST,
    "run": _BOARD,
    "tune": _HOST,
    "verify": _HOST,
}
# What these say depends on what is installed: their schema is kept by hand.
OF_THIS_COMPUTER = {"bug-report", "doctor"}
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
    "failures",
    "best",
    "smallest_boards",
    "packages",
    "programs",
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


@contextmanager
def port_in(words: Sequence[object]) -> Iterator[Sequence[object]]:
    """The words, with the port of the project's firmware, which is started for them where they ask for it."""
    if OWN_FIRMWARE not in words:
        yield words
        return
    argv = ["project/build/firmware", "--tcp", "0"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        port = f"tcp://{process.stderr.readline().strip()}"
        try:
            yield [port if word is OWN_FIRMWARE else word for word in words]
        finally:
            process.kill()


@pytest.fixture
def printed(tmp_path, monkeypatch, run_deploy, few_boards):
    """The facts that the lines of a command print, in a folder with two archives, a float model and data."""
    monkeypatch.chdir(tmp_path)
    run_deploy("compile", DIGITS, "--board", "host", "-o", "a.tar")
    run_deploy("compile", DIGITS, "--board", "host", "-o", "b.tar", "--optimize", "ram")
    rng = np.random.default_rng(1)
    small_net(tmp_path / "small.onnx")
    Path("open.onnx").write_bytes(open_convolutions())
    np.savez("samples.npz", x=rng.normal(size=(8, 2, 8, 8)).astype(np.float32))
    np.savez("images.npz", image=rng.integers(-128, 128, (4, 1, 8, 8, 1), np.int8))
    np.savez("outputs.npz", digit=np.zeros((4, 1, 10), np.int8))
    np.save("digits.npy", np.arange(4))
    (tmp_path / "still.toml").write_text(still_host(), encoding="utf-8")

    def run(command: str) -> list[dict[str, Any]]:
        if command == "cache":  # one that has nothing but what is built here, and that may be emptied
            monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        for words in BEFORE.get(command, ()):
            assert run_deploy(*words).status == 0
        found = []
        for number, words in enumerate(LINES[command]):
            with port_in(words) as really:
                said = run_deploy(*really, "--json")
            assert said.status == 0, said.err
            Path(f"said_{number}.json").write_text(said.out, encoding="utf-8")
            found.append(json.loads(said.out))
        return found

    return run


def schema_of(command: str, facts: Sequence[Any]) -> dict[str, Any]:
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"deploy {command} --json"}
    schema: dict[str, Any] = head | opened(joined([shape_of(each) for each in facts]))
    return schema


def opened(shape: Any) -> Any:
    """Without a word on values that none of the lines has: there they are null, elsewhere anything."""
    if isinstance(shape, list):
        return [opened(each) for each in shape]
    if not isinstance(shape, dict):
        return shape
    return {} if shape == {"type": "null"} else {key: opened(each) for key, each in shape.items()}


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(LINES.keys() - OF_THIS_COMPUTER))
def test_what_is_printed_has_the_shape_that_is_written_down(
    command, printed, repo_root, generated, require_tool
):
    require_tool(*NEEDED.get(command, ()))
    facts = printed(command)
    schema = schema_of(command, facts)
    generated(repo_root / "docs" / "json" / f"{command}.json", json.dumps(schema, indent=1) + "\n")
    for each in facts:
        jsonschema.validate(each, schema)


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(OF_THIS_COMPUTER))
def test_what_is_said_of_a_computer_has_the_shape_that_is_written_down(command, printed, repo_root):
    schema = json.loads((repo_root / "docs" / "json" / f"{command}.json").read_text(encoding="utf-8"))
    for each in printed(command):
        jsonschema.validate(each, schema)


def test_every_command_has_a_shape_that_is_written_down(repo_root):
    written = {path.stem for path in (repo_root / "docs" / "json").glob("*.json")}
    assert written == LINES.keys() | WHERE_A_FARM_IS == COMMANDS.keys() - STREAMS


def test_every_command_prints_json_but_those_that_go_on():
    with_json = {
        name
        for name in COMMANDS
        if "--json" in command_parser(name, load_command(name))._option_string_actions
        or name == "boards"  # whose verbs take it
        or name == "records"
    }
    assert with_json == COMMANDS.keys() - STREAMS
