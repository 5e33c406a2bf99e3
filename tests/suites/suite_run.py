"""Runs suites of one-operator cases as compiled C: each is right, refused with a reason, or wrong.

`python tests/suites/suite_run.py [WORD ...]` prints a table of all, or of those whose names hold a word;
with --json it prints what deploy/inspection/suite_counts.json holds.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apart import Apart, CrashedError
from suite_batch import build_libraries
from suite_cases import SuiteCase, modes, suite_cases, why_wrong

from aot.errors import DeployError
from aot.frontend.load import load_model
from aot.target import Target
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

RIGHT, REFUSED, WRONG = "right", "refused", "wrong"


@dataclass(frozen=True)
class Outcome:
    case: SuiteCase
    mode: str
    verdict: str
    why: str = ""


@dataclass(frozen=True)
class CompiledCase:
    """A case that is compiled to C in one mode."""

    case: SuiteCase
    mode: str
    model: CompiledModel


def compile_suite(cases: Iterable[SuiteCase]) -> tuple[list[CompiledCase], list[Outcome]]:
    """A job for each case and each mode that it has results for, and how those ended that are none."""
    jobs: list[CompiledCase] = []
    outcomes: list[Outcome] = []
    for case in cases:
        for mode in modes(case.data()):
            try:
                jobs.append(_compiled(case, mode, f"case_{len(jobs)}"))
            except DeployError as error:
                outcomes.append(Outcome(case, mode, REFUSED, error.what))
            except Exception as error:  # a crash is an outcome too, and must not hide the others
                outcomes.append(Outcome(case, mode, WRONG, f"crash: {error!r}"))
    return jobs, outcomes


def run_jobs(jobs: Sequence[CompiledCase], folder: Path, compiler: str, level: str) -> list[Outcome]:
    """An outcome for each job, built by that compiler of this computer with that level, such as "-Os"."""
    libraries = build_libraries({job.model.name: job.model for job in jobs}, folder, compiler, level)
    with Apart() as apart:
        return [_outcome(job, libraries[job.model.name], apart) for job in jobs]


def _compiled(case: SuiteCase, mode: str, name: str) -> CompiledCase:
    graph = load_model(case.path, mode)
    model = compile_job(
        Job(ImportedModel(graph, case.path.name, "00" * 32, name), Target("host"), CompileOptions())
    )
    return CompiledCase(case, mode, model)


def _outcome(job: CompiledCase, library: Path, apart: Apart) -> Outcome:
    try:
        why = apart.call(why_wrong, library, job.model.name, job.case, job.mode)
    except CrashedError:
        why = "crash of the compiled code"
    return Outcome(job.case, job.mode, WRONG if why else RIGHT, why)


def counts_of(outcomes: Iterable[Outcome]) -> dict[str, Counter[str]]:
    """Operator -> how many cases ended how."""
    worst: dict[SuiteCase, str] = {}
    for outcome in outcomes:
        known = worst.get(outcome.case, RIGHT)
        worst[outcome.case] = max(known, outcome.verdict, key=(RIGHT, REFUSED, WRONG).index)
    counts: dict[str, Counter[str]] = {}
    for case, verdict in worst.items():
        counts.setdefault(case.operator, Counter())[verdict] += 1
    return dict(sorted(counts.items()))


def counts_text(counts: Mapping[str, Mapping[str, int]]) -> str:
    """What `deploy ops` shows, as it is stored in deploy/inspection/suite_counts.json."""
    kept = {
        op: {verdict: found.get(verdict, 0) for verdict in (RIGHT, REFUSED)} for op, found in counts.items()
    }
    return json.dumps(kept, indent=1) + "\n"


def table(outcomes: Iterable[Outcome]) -> str:
    """Counts of cases for each operator, and the sum."""
    counts = counts_of(outcomes)
    counts = {**counts, "all": sum(counts.values(), Counter())}
    lines = [f"{'operator':32}{RIGHT:>8}{REFUSED:>9}{WRONG:>7}"]
    lines += [f"{op:32}{c[RIGHT]:8}{c[REFUSED]:9}{c[WRONG]:7}" for op, c in counts.items()]
    return "\n".join(lines)


def main(words: list[str]) -> None:
    as_json, words = "--json" in words, [w for w in words if w != "--json"]
    shared = Path(__file__).resolve().parents[3] / "shared"
    cases = [c for c in suite_cases(shared) if not words or any(w in f"{c.suite}/{c.name}" for w in words)]
    with tempfile.TemporaryDirectory() as folder:
        jobs, outcomes = compile_suite(cases)
        outcomes += run_jobs(jobs, Path(folder), "gcc", "-O0")
    if as_json:
        sys.stdout.write(counts_text(counts_of(outcomes)))
        return
    lines = [f"{o.verdict} {o.case.suite}/{o.case.name} {o.mode}: {o.why}" for o in outcomes if o.why]
    sys.stdout.write("\n".join([*lines, table(outcomes), ""]))


if __name__ == "__main__":
    main(sys.argv[1:])
