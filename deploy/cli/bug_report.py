"""Collects a bug report: versions, programs, output of a command, structure of a model; nothing private.

It omits weights, tensor names, serial numbers and values of environment variables. The names of the user and
of this computer, and folders in the command line, are replaced everywhere.
"""

from __future__ import annotations

import getpass
import hashlib
import platform
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import Any

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.trust import module_argv
from codegen.job import import_model
from codegen.options import CompileOptions
from codegen.version import VERSION
from deploy.cli.command_result import Answer
from deploy.host_tools import tool_inventory as machine

_LONGEST_S = 600  # time limit of a command in seconds
_MOST_LINES = 200  # of its output, from the end
_MOST_NUMBERS = 8  # of an attribute
_NEEDS = ("numpy", "tflite", "onnx", "jinja2", "jsonschema", "pyserial", "pyelftools", "cmsis-pack-manager")
_Shown = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Private:
    """Private words and their replacements."""

    words: Mapping[str, str]

    def without(self, text: str) -> str:
        for word, instead in sorted(self.words.items(), key=lambda item: -len(item[0])):
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", instead, text)  # whole words only
        return text


def private_words(words: Sequence[str] = ()) -> Private:
    """Returns replacements for this computer's name, the user's name, and folders in a command line."""
    home, here = Path.home(), Path.cwd()
    folders = [str(Path(word).parent) for word in words if Path(word).is_absolute()]
    found = {
        **dict.fromkeys(folders, "FOLDER"),
        str(here): ".",
        str(home): "~",
        platform.node(): "HOST",
        _user(): "USER",
    }
    return Private({word: instead for word, instead in found.items() if len(word) > 1})


def _user() -> str:
    try:
        return getpass.getuser()
    except (
        KeyError,
        OSError,
        ImportError,
    ):  # a container without a user list, or Windows without the module
        return ""


def bug_report(words: Sequence[str] = (), model: str | Path | None = None) -> Answer:
    """Collects facts for the maintainers; `words` are the arguments of a deploy command to run again."""
    facts: dict[str, Any] = {
        "solder": VERSION,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.platform(),
        "packages": _versions(),
        "programs": {each.name: each.says for each in machine.programs() if each.found},
        "clashes": list(machine.clashes()),
        "command": _run_again(words) if words else None,
        "model": _model_facts(Path(model)) if model is not None else None,
    }
    clean = _clean(facts, private_words([*words, *([str(model)] if model is not None else [])]))
    return Answer(clean, _page(clean))


def _clean(value: Any, private: Private) -> Any:
    if isinstance(value, dict):
        return {key: _clean(each, private) for key, each in value.items()}
    if isinstance(value, list):
        return [_clean(each, private) for each in value]
    return private.without(value) if isinstance(value, str) else value


def _versions() -> dict[str, str]:
    modules = {*machine.PACKAGES.values(), *_NEEDS}
    packages = metadata.packages_distributions()
    names = {name for module in modules for name in packages.get(module, [module])}
    return {name: metadata.version(name) for name in sorted(names) if _is_installed(name)}


def _is_installed(name: str) -> bool:
    return any(metadata.distributions(name=name))


def _run_again(words: Sequence[str]) -> dict[str, Any]:
    line = list(words[1:] if words[0] == "deploy" else words)
    try:
        done = subprocess.run(
            [*module_argv("deploy"), *line],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_LONGEST_S,
            check=False,
        )
        status, output = str(done.returncode), done.stdout
    except subprocess.TimeoutExpired as late:
        said = late.stdout or b""
        status = f"none after {_LONGEST_S} s"
        output = said.decode(errors="replace") if isinstance(said, bytes) else said
    lines = output.splitlines()[-_MOST_LINES:]
    return {"line": shlex.join(["deploy", *line]), "status": status, "output": lines}


def _model_facts(path: Path) -> dict[str, Any]:
    data = path.read_bytes() if path.is_file() else b""
    graph = import_model(path, CompileOptions()).graph
    return {
        "file": path.suffix,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "structure": list(structure(graph)),
    }


def structure(graph: Graph) -> Iterator[str]:
    """Yields a line for each input, constant and node, with numbers instead of names and without weights."""
    number = {name: f"t{index}" for index, name in enumerate(graph.types)}
    for name in graph.inputs:
        yield f"input {number[name]}: {_type(graph.types[name])}"
    for name in graph.constants:
        yield f"constant {number[name]}: {_type(graph.types[name])}"
    for node in graph.nodes:
        yield _node(node, graph, number)
    yield f"output {' '.join(number[name] for name in graph.outputs)}"


def _node(node: Node, graph: Graph, number: Mapping[str, str]) -> str:
    results = ", ".join(f"{number[name]}: {_type(graph.types[name])}" for name in node.outputs)
    operands = " ".join(number[name] if name else "-" for name in node.inputs)
    return f"{results} = {node.op.name}({operands}){_attributes(node)}"


def _type(tensor: TensorType) -> str:
    how = "" if tensor.quant is None else " quantised"
    return f"{tensor.dtype.value}[{','.join(map(str, tensor.shape))}]{how}"


def _attributes(node: Node) -> str:
    values = ((each.name, getattr(node.op, each.name)) for each in fields(node.op))  # type: ignore[arg-type]
    shown = [f"{name}={value}" for name, value in values if _is_shown(value)]
    return "".join(f" {each}" for each in shown)


def _is_shown(value: object) -> bool:
    if isinstance(value, tuple):
        return len(value) <= _MOST_NUMBERS and all(isinstance(each, _Shown) for each in value)
    return isinstance(value, _Shown)


def _page(facts: Mapping[str, Any]) -> str:
    parts = [
        f"# Bug report\n\nSolder {facts['solder']}, {facts['python']}, {facts['system']}",
        _listed("Packages", facts["packages"]),
        _listed("Programs", facts["programs"]),
    ]
    if facts["clashes"]:
        parts.append("## Name clashes\n\n" + "\n".join(f"- {clash}" for clash in facts["clashes"]))
    if facts["command"]:
        command = facts["command"]
        output = "\n".join(command["output"])
        said = f"    {command['line']}\n\nexit status {command['status']}"
        parts.append(f"## Command line\n\n{said}\n\n{_block(output)}")
    if facts["model"]:
        model = facts["model"]
        parts.append(
            f"## Model\n\n{model['file']}, {model['bytes']:,} bytes, SHA-256 {model['sha256']}\n\n"
            + _block("\n".join(model["structure"]))
        )
    parts.append("Read it before you send it: it contains everything that others will see.")
    return "\n\n".join(parts)


def _listed(head: str, facts: Mapping[str, str]) -> str:
    return f"## {head}\n\n" + ("\n".join(f"- {name}: {says}" for name, says in facts.items()) or "none")


def _block(text: str) -> str:
    return f"```\n{text}\n```"
