"""The assembly of selected functions of a model, compiled for the board."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aot.errors import ToolError
from aot.target import Target
from platforms.templates import c_files
from platforms.toolchains import cpu_flags, find_toolchain

_LABEL = re.compile(r"(?P<name>[A-Za-z_]\w*)[.\w]*:")  # gcc appends .constprop.0 and the like to names
_NOISE = re.compile(r"\s*\.(?!word|long|short|byte|quad)|\s*[@#;]|\s*//|\s*$")  # directives and comments
_LOCAL_LABEL = re.compile(r"(\.L?\w+):")
_MESSAGE_LINES = 12


def assembly_of(
    functions: Sequence[str], sources: Mapping[str, str], file: str, target: Target, c_flags: Sequence[str]
) -> dict[str, str]:
    """Returns the assembly of each of these functions in `file`.

    Raises ToolError if there is no compiler for the target, or if compilation fails.
    """
    chain = find_toolchain(target)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, text in (*c_files("common"), *sources.items()):
            (folder / name).write_text(text, encoding="utf-8")
        argv = (*chain.argv, *cpu_flags(target, chain.family), *c_flags, "-g0", "-S", file, "-o", "out.s")
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            shown = done.stderr.splitlines()[:_MESSAGE_LINES]
            raise ToolError(f"{chain.name} does not compile {file}", "\n".join(shown))
        lines = (folder / "out.s").read_text(encoding="utf-8").splitlines()
    parts = dict(_functions(lines))
    return {name: parts[name] for name in functions if name in parts}


def _functions(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields each function's name and its lines without directives; its constants follow its code."""
    name, found = "", list[str]()
    for line in lines:
        label = _LABEL.match(line)
        if label is not None:
            if name:
                yield name, _tidy(found)
            name, found = label["name"], [line.strip()]
        elif name and (_LOCAL_LABEL.match(line) or not _NOISE.match(line)):
            found.append(line.expandtabs(8).rstrip())
    if name:
        yield name, _tidy(found)


def _tidy(lines: Sequence[str]) -> str:
    """Removes labels that no instruction refers to."""
    text = "\n".join(lines)
    used = {word for line in lines if not _LOCAL_LABEL.match(line) for word in re.findall(r"\.L?\w+", line)}
    kept = [line for line in text.splitlines() if not (m := _LOCAL_LABEL.match(line)) or m[1] in used]
    return "\n".join(kept)
