"""The chapter on tools: what generated the code, how that is verified, and the parts of the firmware."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.errors import ToolError
from aot.ops import OPS
from aot.wording import counted
from artifact.artifact import Artifact
from deploy.proving.chapter import Finding, Standing, Table
from deploy.proving.confidence.bills import PythonPackage, bill_of_firmware, bill_of_tool, packages
from deploy.proving.lone_program import foreign_sources, run_tool, write_files
from deploy.proving.subject import Subject
from platforms.elf import sizes
from platforms.templates import template_text
from platforms.toolchains import Toolchain, compilers_of, cpu_flags

# Compiles a model's C with each installed compiler for its core, with warnings as errors.

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


# Mutation test results of the compiler, counted by `make mutants` in the source tree.

_FILE = "mutants.json"  # written by tests/mutants/try_changes.py --store


@dataclass(frozen=True, slots=True)
class MutationScore:
    """A package of the source tree, with the number of mutations tried."""

    room: str
    solder: str  # the version tested
    possible: int  # possible mutations, of which a reproducible sample is tried
    changes: int
    seen: int  # a test fails
    with_reason: int  # no test fails, and there is a reason why the change is not observable
    survivors: tuple[str, ...]  # no test fails, without a known reason

    @property
    def unseen(self) -> int:
        return self.changes - self.seen - self.with_reason


def mutation_scores() -> tuple[MutationScore, ...]:
    """Returns the packages tested, sorted by name."""
    stored = json.loads((files("deploy.proving.confidence") / _FILE).read_text(encoding="utf-8"))
    return tuple(
        MutationScore(room, **{**score, "survivors": tuple(score["survivors"])})
        for room, score in sorted(stored.items())
    )


# Independent references that tests in the source tree compare parts of the compiler with.


@dataclass(frozen=True, slots=True)
class Comparison:
    """A part of the compiler, an independent reference, and the test that compares them."""

    part: str
    judge: str
    test: str  # in the source tree


COMPARISONS = (
    Comparison(
        "references of ops", "LiteRT's reference kernels, in every bit", "tests/interpret/test_litert.py"
    ),
    Comparison("values between layers", "LiteRT, tensor by tensor", "tests/interpret/test_between.py"),
    Comparison("models of one operator", "LiteRT, on models drawn at random", "tests/one_op/test_one_op.py"),
    Comparison("operators of TFLite and ONNX", "outputs stored by others", "tests/suites/test_suites.py"),
    Comparison("operators of ONNX", "the node tests of ONNX", "tests/onnx_nodes/test_nodes.py"),
    Comparison("whole models", "outputs stored by TensorFlow Lite", "tests/whole/test_shared_models.py"),
    Comparison(
        "kernels: loops, C here, on M4, M55, AVR", "the op's reference", "tests/kernels/test_kernels.py"
    ),
    Comparison("instructions of Cortex-M4", "their loops, in an emulator", "tests/isa/test_instructions.py"),
    Comparison("instructions of Helium", "their loops, in an emulator", "tests/isa/test_mve.py"),
    Comparison("fitted scales", "the reference, for every sum", "tests/isa/test_fitted_scales.py"),
    Comparison("C by other compilers", "stored outputs", "tests/whole/test_compilers.py"),
    Comparison("C in other projects' flags", "no warning", "tests/whole/test_flags.py"),
    Comparison("memory plans", "a replay that knows nothing of planning", "tests/plan/test_check.py"),
    Comparison("the server on the device", "random frames under sanitizers", "tests/rpc/test_fuzz.py"),
    Comparison("readers of files", "damaged files", "tests/fuzz/test_fuzz_files.py"),
)


_METHOD = (
    "Each op has a meaning in NumPy, which is exact for integers, and cases by which each of its kernels is "
    "compared with it: as loops, as C under sanitizers, and in emulators. Foreign judges say whether the "
    "meaning is right. The files that are named are in the source tree of Solder.",
    "The C of this model is compiled by each compiler for its core that is here, with -Wall -Wextra "
    "-Wconversion -Wshadow -Werror; one that complains makes this chapter fail.",
    "A change of one operator, number or word of the compiler is tried at a time, chosen by the hash of its "
    "line; the scores are those that the source tree's command counted last (make mutants), not of this run.",
    "tool.cdx.json and firmware.cdx.json are bills of materials in CycloneDX 1.6. Licenses of packages are "
    "what their metadata says. The constants are the model's: its owner decides about their license.",
)
_NOT_RUN = "the tests that are named are not run by this command: they belong to the source tree"


def examine_tool_confidence(subject: Subject) -> Finding:
    """Compiles with each compiler and lists the parts. Compiler warnings fail."""
    artifact, parts = subject.artifact, packages()
    tries = try_compilers(artifact)
    files, foreign = _files(subject), foreign_sources(artifact)
    bills = {
        "tool.cdx.json": bill_of_tool(parts),
        "firmware.cdx.json": bill_of_firmware(artifact.facts, files, foreign),
    }
    scores = mutation_scores()
    tables = (
        *(_ops(artifact), _comparisons(), _compilers(tries), _packages(parts)),
        *(_scores(scores), _survivors(scores)),
    )
    tools = tuple(f"{each.name}: {each.version}" for each in tries if each.version)
    failures = [f"{each.name}: {each.complaint}" for each in tries if each.complaint]
    if failures:
        return Finding(Standing.FAILED, "; ".join(failures), (), _METHOD, tables, tools, bills)
    summary = (
        f"{counted(len(tables[0].rows), 'op')} of the model with tests of their own; "
        f"{counted(len(tools), 'compiler')} without a warning; "
        f"bills of {counted(len(parts), 'package')} and {counted(len(files), 'file')}"
    )
    exceptions = (*_exceptions(tries, parts, foreign), *_unseen(scores), _NOT_RUN)
    return Finding(Standing.EXCEPTIONS, summary, exceptions, _METHOD, tables, tools, bills)


def _files(subject: Subject) -> Mapping[str, bytes]:
    """Returns the firmware's files: those of the project or, without one, of the model and the runtime."""
    if subject.project is not None:
        return {name: text.encode() for name, text in subject.project.files.items()}
    artifact = subject.artifact
    texts = {**artifact.headers, **artifact.sources}
    return {**{name: text.encode() for name, text in texts.items()}, **artifact.runtime}


def _exceptions(
    tries: tuple[CompilerTry, ...], parts: tuple[PythonPackage, ...], foreign: tuple[str, ...]
) -> Iterator[str]:
    if absent := [each.name for each in tries if not each.version]:
        yield f"not installed here, so not tried: {', '.join(absent)}"
    if not tries:
        yield "no compiler for the core is known that could be called alone"
    if unknown := [each.name for each in parts if not each.licence]:
        yield f"their metadata names no license: {', '.join(unknown)}"
    if foreign:
        yield f"not generated, and of a license that is not known here: {', '.join(foreign)}"


def _ops(artifact: Artifact) -> Table:
    """Returns the graph's ops and the tests that verify them."""
    used = Counter(node.op.name for node in artifact.graph.nodes)
    kernels = {op: sorted({layer.kernel for layer in artifact.facts.layers if layer.op == op}) for op in used}
    rows = [
        (
            op,
            used[op],
            f"aot/ops/{_stem(op)}.py",
            f"tests/ops/{_stem(op)}_cases.py",
            ", ".join(kernels[op]) or "none",
        )
        for op in sorted(used)
    ]
    columns = ("op", "times in the model", "meaning", "cases", "kernels that compute it here")
    return Table("Ops of the model", columns, rows)


def _stem(op: str) -> str:
    return OPS[op].__module__.rpartition(".")[2]


def _comparisons() -> Table:
    rows = [(each.part, each.judge, each.test) for each in COMPARISONS]
    return Table("What the compiler is held against", ("part", "judge", "test"), rows)


def _compilers(tries: tuple[CompilerTry, ...]) -> Table:
    rows = [(each.name, each.version or "not installed", _outcome(each), each.code_bytes) for each in tries]
    return Table("Compilers", ("compiler", "version", "outcome", "code bytes"), rows)


def _scores(scores: tuple[MutationScore, ...]) -> Table:
    rows = [
        (each.room, each.solder, each.possible, each.changes, each.seen, each.with_reason, each.unseen)
        for each in scores
    ]
    columns = (
        "part of the compiler",
        "Solder",
        "possible changes",
        "tried",
        "noticed",
        "not to be noticed, with a reason",
        "not noticed",
    )
    return Table("Small changes of the compiler that tests notice", columns, rows)


def _survivors(scores: tuple[MutationScore, ...]) -> Table:
    rows = [(each.room, change) for each in scores for change in each.survivors]
    return Table("Small changes that no test notices", ("part of the compiler", "change"), rows)


def _unseen(scores: tuple[MutationScore, ...]) -> Iterator[str]:
    """Yields a sentence for each part with undetected mutations."""
    for each in scores:
        if each.unseen:
            yield f"of {each.changes} small changes of {each.room} its own tests do not notice {each.unseen}"


def _outcome(each: CompilerTry) -> str:
    return "not tried" if not each.version else each.complaint or "no warning"


def _packages(parts: tuple[PythonPackage, ...]) -> Table:
    rows = [
        (part.name, part.version, part.licence or "not named", "optional" if part.is_optional else "required")
        for part in parts
    ]
    return Table("Python packages of the tool", ("package", "version", "licence", "is"), rows)
