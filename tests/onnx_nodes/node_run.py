"""Runs ONNX's node tests as compiled C: each is right, refused with a reason, or wrong.

`PYTHONPATH=.:tests/suites python tests/onnx_nodes/node_run.py [WORD ...]` prints a table of all, or of
those whose names hold a word; with `--store` it runs all and writes the counts that docs/ops.md shows.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from node_cases import Imported, NodeCase, as_counted, imported, is_right, node_cases, samples
from suite_batch import build_batch

from aot.errors import DeployError
from aot.target import Target
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions
from platforms.shared_library import HostModel

RIGHT, REFUSED, WRONG = "right", "refused", "wrong"
COUNTS = Path(__file__).resolve().parents[2] / "deploy" / "inspection" / "onnx_counts.json"


@dataclass(frozen=True)
class Outcome:
    case: NodeCase
    verdict: str
    why: str = ""
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Job:
    found: Imported
    model: CompiledModel


def run_cases(cases: Sequence[NodeCase], folder: Path) -> list[Outcome]:
    jobs: list[_Job] = []
    outcomes: list[Outcome] = []
    for case in cases:
        try:
            found = imported(case)
            name = f"case_{len(jobs)}"
            model = compile_job(
                Job(ImportedModel(found.graph, case.name, "00" * 32, name), Target("host"), CompileOptions())
            )
            jobs.append(_Job(found, model))
        except DeployError as error:
            outcomes.append(Outcome(case, REFUSED, error.what))
        except Exception as error:  # a crash is an outcome too, and must not hide the others
            outcomes.append(Outcome(case, WRONG, f"crash: {error!r}"))
    hosts = build_batch({job.model.name: job.model for job in jobs}, folder) if jobs else {}
    return outcomes + [_checked(job, hosts[job.model.name]) for job in jobs]


def _checked(job: _Job, host: HostModel) -> Outcome:
    found = job.found
    inputs, wanted = samples(found)
    host.arenas[0][:] = 0xA5
    made = as_counted(found, host.run(inputs))
    for name, array in wanted:
        if not is_right(made[name], array, found.case):
            return Outcome(found.case, WRONG, f'output "{name}"', found.fixed)
    return Outcome(found.case, RIGHT, "", found.fixed)


def table(outcomes: Iterable[Outcome]) -> str:
    """Counts of cases for each operator, and the sum."""
    counts: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        counts.setdefault(outcome.case.operator, Counter())[outcome.verdict] += 1
        counts.setdefault("~all", Counter())[outcome.verdict] += 1
    lines = [f"{'operator':32}{RIGHT:>8}{REFUSED:>9}{WRONG:>7}"]
    lines += [f"{op:32}{c[RIGHT]:8}{c[REFUSED]:9}{c[WRONG]:7}" for op, c in sorted(counts.items())]
    return "\n".join(lines)


def stored_counts(outcomes: Iterable[Outcome]) -> str:
    """For deploy/inspection/onnx_counts.json: operator -> how many cases are right and how many refused."""
    counts: dict[str, dict[str, int]] = {}
    for outcome in outcomes:
        each = counts.setdefault(outcome.case.operator, {RIGHT: 0, REFUSED: 0})
        each[outcome.verdict] = each.get(outcome.verdict, 0) + 1
    return json.dumps(dict(sorted(counts.items())), indent=1) + "\n"


def main(words: list[str]) -> None:
    is_storing = words == ["--store"]
    words = [] if is_storing else words
    cases = [c for c in node_cases() if not words or any(w in c.name for w in words)]
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run_cases(cases, Path(folder))
    if is_storing:
        COUNTS.write_text(stored_counts(outcomes), encoding="utf-8")
    lines = [f"{o.verdict} {o.case.operator} {o.case.name}: {o.why}" for o in outcomes if o.why]
    sys.stdout.write("\n".join([*lines, table(outcomes), ""]))


if __name__ == "__main__":
    main(sys.argv[1:])
