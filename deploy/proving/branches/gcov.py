"""Builds a model's C with gcc's counters, runs samples on this computer, and reads the counts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aot.errors import BuildError, MissingToolError
from aot.ir.types import Array
from artifact.artifact import Artifact
from platforms.arena_words import arena_words
from platforms.project import project_source
from platforms.templates import filled

_DRIVER = "coverage.c"
_BUILD = ("gcc", "-std=c99", "-O0", "-g", "-w", "--coverage", "-fprofile-abs-path")


@dataclass(frozen=True, slots=True)
class CountedLine:
    """A line with branches, in the order in which gcov lists them."""

    number: int
    function: str
    text: str
    branches: int
    taken: int


@dataclass(frozen=True, slots=True)
class Coverage:
    tool: str
    lines: int
    run_lines: int
    counted: tuple[CountedLine, ...]
    outputs: bytes  # of all samples

    @property
    def branches(self) -> int:
        return sum(line.branches for line in self.counted)

    @property
    def taken(self) -> int:
        return sum(line.taken for line in self.counted)

    @property
    def gaps(self) -> tuple[CountedLine, ...]:
        return tuple(line for line in self.counted if line.taken < line.branches)


def measure_coverage(artifact: Artifact, samples: Sequence[Sequence[Array]], folder: Path) -> Coverage:
    """Runs each sample, whose arrays are in the order of the inputs. Raises MissingToolError, BuildError."""
    for tool in ("gcc", "gcov"):
        if shutil.which(tool) is None:
            raise MissingToolError(f"{tool} is not installed", hint="Debian has it in gcc")
    name = artifact.name
    for file, text in {**artifact.headers, **artifact.sources, _DRIVER: _driver(artifact)}.items():
        (folder / file).write_text(text, encoding="utf-8", newline="\n")
    code = artifact.sources[f"{name}.c"]
    files = (f"{name}.c", f"{name}_weights.c", _DRIVER)
    _run((*_BUILD, *files, "-lm", "-o", "counted"), folder)
    given = b"".join(array.tobytes() for sample in samples for array in sample)
    outputs = _run((str(folder / "counted"),), folder, given)
    said = json.loads(_run(("gcov", "--json-format", "--stdout", "-b", f"counted-{name}.gcda"), folder))
    lines, run, counted = _read(said, name, code.splitlines())
    tool = _run(("gcov", "--version"), folder).decode().splitlines()[0]
    return Coverage(tool, lines, run, counted, outputs)


def _read(
    said: dict[str, list[dict[str, object]]], name: str, text: Sequence[str]
) -> tuple[int, int, tuple[CountedLine, ...]]:
    """Adds up what gcov lists: a line of an inline function may come several times."""
    counts: defaultdict[int, int] = defaultdict(int)
    branches: dict[int, list[int]] = {}
    functions: dict[int, str] = {}
    for file in said["files"]:
        if not str(file["file"]).endswith(f"{name}.c"):
            continue
        for line in file["lines"]:  # type: ignore[attr-defined]
            number = int(line["line_number"])
            counts[number] += int(line["count"])
            functions.setdefault(number, line.get("function_name", ""))
            found = [int(branch["count"]) for branch in line["branches"]]
            if found:
                before = branches.setdefault(number, [0] * len(found))
                branches[number] = [a + b for a, b in zip(before, found, strict=False)] if before else found
    counted = tuple(
        CountedLine(
            number, functions[number], text[number - 1].strip(), len(each), sum(count > 0 for count in each)
        )
        for number, each in sorted(branches.items())
    )
    return len(counts), sum(count > 0 for count in counts.values()), counted


def _driver(artifact: Artifact) -> str:
    source, words = project_source(artifact), arena_words(project_source(artifact))
    arenas = [str(arena["parameter"]) for arena in words["arenas"]]
    first = [f"&in, &out, {', '.join('NULL' if a == each else a for a in arenas)}" for each in arenas]
    misplaced = [f"&in, &out, {', '.join(f'{a} + 1' if a == each else a for a in arenas)}" for each in arenas]
    together = ", ".join(arenas)
    return filled(
        "proving",
        "coverage.c.jinja",
        name=source.name,
        macro=source.name.upper(),
        inputs=[
            {"c_name": t.c_name, "c_type": t.type.dtype.c_name, "elements": t.type.elements}
            for t in source.inputs
        ],
        outputs=[
            {"c_name": t.c_name, "c_type": t.type.dtype.c_name, "elements": t.type.elements}
            for t in source.outputs
        ],
        keeps_state=source.keeps_state,
        wrong_calls=(f"NULL, &out, {together}", f"&in, NULL, {together}", *first, *misplaced),
        **words,
    )


def _run(argv: Sequence[str], folder: Path, given: bytes = b"") -> bytes:
    env = {**os.environ, "PWD": str(folder)}
    done = subprocess.run(argv, cwd=folder, env=env, input=given, capture_output=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()[-12:]
        raise BuildError(f"{Path(argv[0]).name} failed with exit status {done.returncode}", "\n".join(lines))
    return done.stdout
