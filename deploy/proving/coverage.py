"""The chapter on coverage: branches of generated C and of the runtime that tests cover, and the gaps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from aot.ir.types import Array
from artifact.artifact import Artifact
from deploy.proving.branches.gaps import reason_of
from deploy.proving.branches.gcov import CountedLine, Coverage, measure_coverage
from deploy.proving.branches.runtime import runtime_branches
from deploy.proving.chapter import Finding, Standing, Table, not_run
from deploy.proving.lone_program import obstacle
from deploy.proving.sampled import differs_from_reference
from deploy.proving.subject import Subject

_SEED = 1
_RANDOM = 5
_METHOD = (
    "The C of the archive is built by gcc on this computer, without optimization and with its counters. It "
    "runs on the least and the greatest input, on both in turn, on zeros and on random inputs, and is called "
    "with each pointer null and with an arena that is not aligned. Outputs are compared with the reference.",
    "gcov counts each condition of an expression by itself. Each line with a branch that is left is an "
    "exception of this page, with a reason by the kind of the line; one without a reason fails the chapter.",
    "The runtime that serves a line (server, line, lock, loader, cartridges, tables) is the same for every "
    "model. Its branches are those that the source tree's command counted last, over every build that its "
    "tests make (tests/runtime_coverage/runtime_coverage.py): they are not counted by this run, and stand "
    "only for a runtime with the same SHA-256. What a chip needs besides is not in it.",
)


def examine_coverage(subject: Subject) -> Finding:
    """Runs the samples. Raises MissingToolError. Outputs that differ from the reference fail."""
    artifact = subject.artifact
    if why := obstacle(artifact):
        return not_run(why)
    samples = list(_samples(artifact))
    with TemporaryDirectory() as folder:
        found = measure_coverage(artifact, samples, Path(folder))
    table = Table(
        "Branches that no sample takes", ("line", "function", "C", "taken", "reason"), tuple(_rows(found))
    )
    summary = (
        f"{found.run_lines} of {found.lines} lines are run, and {found.taken} of {found.branches} branches "
        f"taken, by {len(samples)} samples and wrong calls"
    )
    failures = [
        f"{_where(line)} is left without a known reason" for line in found.gaps if not reason_of(line.text)
    ]
    if differs_from_reference(artifact, samples, found.outputs):
        failures = ["the outputs are not those of the reference", *failures]
    runtime = runtime_branches(artifact.runtime)
    failures += runtime.unexplained
    if failures:
        tables = (table, *runtime.tables)
        return Finding(Standing.FAILED, "; ".join(failures), (), _METHOD, tables, (found.tool,))
    left = (*(f"{_where(line)}: {reason_of(line.text)}" for line in found.gaps), *runtime.exceptions)
    standing = Standing.EXCEPTIONS if left else Standing.PROVEN
    summary = f"{summary}; {runtime.summary}" if runtime.summary else summary
    return Finding(standing, summary, left, _METHOD, (table, *runtime.tables), (found.tool,))


def _samples(artifact: Artifact) -> Iterator[tuple[Array, ...]]:
    """Yields samples with the ends of the range, zeros, and mixed values."""
    rng = np.random.default_rng(_SEED)
    types = [(tensor.type.shape, tensor.type.dtype.numpy) for tensor in artifact.facts.inputs]
    ends = [_ends(dtype) for _, dtype in types]
    yield tuple(np.full(shape, low, dtype) for (shape, dtype), (low, _) in zip(types, ends, strict=True))
    yield tuple(np.full(shape, high, dtype) for (shape, dtype), (_, high) in zip(types, ends, strict=True))
    yield tuple(np.zeros(shape, dtype) for shape, dtype in types)
    yield tuple(
        np.resize(np.array(both, dtype), shape) for (shape, dtype), both in zip(types, ends, strict=True)
    )
    for _ in range(_RANDOM):
        yield tuple(
            (low + (high - low) * rng.random(shape)).astype(dtype)
            for (shape, dtype), (low, high) in zip(types, ends, strict=True)
        )


def _ends(dtype: np.dtype[Any]) -> tuple[float, float]:
    if dtype == np.bool_:
        return 0, 1
    return (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (-1.0, 1.0)


def _rows(found: Coverage) -> Iterator[tuple[int | str, ...]]:
    for line in found.gaps:
        yield (
            line.number,
            line.function,
            line.text,
            f"{line.taken} of {line.branches}",
            reason_of(line.text) or "none",
        )


def _where(line: CountedLine) -> str:
    return f"line {line.number} of {line.function}, {line.taken} of {line.branches} branches"
