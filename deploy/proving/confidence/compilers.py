"""Compiles a model's C with each installed compiler for its core, with warnings as errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.errors import ToolError
from artifact.artifact import Artifact
from deploy.proving.lone_program import write_files
from deploy.proving.tool_run import run_tool
from platforms.elf import sizes
from platforms.templates import template_text
from platforms.toolchains import Toolchain, compilers_of, cpu_flags

_STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")
_CONTROL = "control.c"
_CONTROLS = {  # warning -> C code that triggers it
    "unused-variable": "int control(void);\nint control(void)\n{\n    int a = 1;\n    return 0;\n}\n",
    "unused-parameter": "int control(int a);\nint control(int a)\n{\n    return 0;\n}\n",
    "conversion": "signed char control(int a);\nsigned char control(int a)\n{\n    return a;\n}\n",
    "shadow": "int control(int a);\nint control(int a)\n{\n    {\n        int a = 1;\n        (void)a;\n"
    "    }\n    return a;\n}\n",
}
_HEADERS = ("string.h", "math.h")  # for compilers without a C library


@dataclass(frozen=True, slots=True)
class CompilerTry:
    """The result of compiling with one compiler."""

    name: str
    version: str  # "": not installed
    complaint: str  # error or warning; "": none
    code_bytes: int


def try_compilers(artifact: Artifact) -> tuple[CompilerTry, ...]:
    """Tries all supported compilers for the core; missing ones are included in the result."""
    return tuple(
        CompilerTry(name, "", "", 0) if found is None else _tried(artifact, found)
        for name, found in compilers_of(artifact.facts.target)
    )


def _tried(artifact: Artifact, toolchain: Toolchain) -> CompilerTry:
    facts = artifact.facts
    flags = (*cpu_flags(facts.target, toolchain.family), *facts.c_flags, *_STRICT, "-I.")
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_files({**artifact.headers, **artifact.sources}, folder)
        for file, data in artifact.runtime.items():
            (folder / file).write_bytes(data)
        if toolchain.family == "zig":
            write_files({file: template_text("baremetal", file) for file in _HEADERS}, folder)
        if not _refuses_control(toolchain, flags, folder):
            complaint = "it takes a control file that -Wall -Wextra -Wconversion -Wshadow -Werror must refuse"
            return CompilerTry(toolchain.name, toolchain.version, complaint, 0)
        code = 0
        for source in (f"{facts.name}.c", f"{facts.name}_weights.c"):
            try:
                run_tool((*toolchain.argv, *flags, "-c", source, "-o", f"{source}.o"), folder)
            except ToolError as error:
                return CompilerTry(toolchain.name, toolchain.version, _first_words(error), 0)
            code += sizes(folder / f"{source}.o").code
    return CompilerTry(toolchain.name, toolchain.version, "", code - facts.constants_bytes)


def _refuses_control(toolchain: Toolchain, flags: Sequence[str], folder: Path) -> bool:
    """Returns whether the compiler reports each of the warnings. Only then its silence is meaningful."""
    for warning, text in _CONTROLS.items():
        write_files({_CONTROL: text}, folder)
        try:
            run_tool((*toolchain.argv, *flags, "-c", _CONTROL, "-o", "control.o"), folder)
        except ToolError as error:
            if warning in error.where:
                continue
        return False
    return True


def _first_words(error: ToolError) -> str:
    lines = [line for line in error.where.splitlines() if "error:" in line]
    return lines[0].strip() if lines else error.what
