"""The chapter on tools: what generated the code, how that is verified, and the parts of the firmware."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from aot.counted import counted
from aot.ops import OPS
from artifact.artifact import Artifact
from deploy.proving.chapter import Finding, Standing, Table
from deploy.proving.confidence.bills import PythonPackage, bill_of_firmware, bill_of_tool, packages
from deploy.proving.confidence.compilers import CompilerTry, try_compilers
from deploy.proving.confidence.mutants import MutationScore, mutation_scores
from deploy.proving.confidence.oracles import COMPARISONS
from deploy.proving.lone_program import foreign_sources
from deploy.proving.subject import Subject

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
