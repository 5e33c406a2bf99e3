"""Runs shared models and one-operator cases at the ends of their inputs, under clang's checks of integers.

`python tests/whole/extremes_run.py [WORD ...]` prints a line for each, or for those whose names hold a
word: held, refused, or what was found. Where something was, the exit status is 1.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from model_run import read_model
from suite_cases import modes, suite_cases

from aot.errors import DeployError
from aot.frontend.load import load_model
from aot.ir.graph import Graph
from aot.target import Target
from artifact.artifact import Artifact, artifact_of
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions
from deploy.proving.chapter import Standing
from deploy.proving.extremes import examine_extremes
from deploy.proving.subject import Subject

SHARED = Path(__file__).resolve().parents[3] / "shared"
HELD, REFUSED, FOUND = "held", "refused", "found"


def artifact_of_file(path: Path, rounding: str) -> Artifact:
    """A one-operator file, or a shared model's folder, compiled for this computer."""
    graph: Graph = read_model(path, rounding)[0] if path.is_dir() else load_model(path, rounding)
    imported = ImportedModel(graph, path.name, "00" * 32, "model")
    return artifact_of(compile_job(Job(imported, Target("host"), CompileOptions())))


def files() -> Iterator[tuple[str, Path, str]]:
    """A name, the file or folder, and the rounding."""
    for path in sorted(each.parent for each in SHARED.glob("models/*/golden.npz")):
        yield path.name, path, "onnx" if (path / "model.onnx").exists() else "tflm"
    for case in suite_cases(SHARED):
        for mode in modes(case.data()):
            yield f"{case.suite}/{case.name} {mode}", case.path, mode


def outcome(path: Path, rounding: str) -> tuple[str, str]:
    try:
        found = examine_extremes(Subject(artifact_of_file(path, rounding)))
    except DeployError as error:
        return REFUSED, error.what
    if found.verdict is Standing.FAILED:
        return FOUND, found.summary
    return (HELD if found.verdict is Standing.EXCEPTIONS else REFUSED), found.summary


def main(words: Sequence[str]) -> int:
    counts: Counter[str] = Counter()
    for name, path, rounding in files():
        if words and not any(word in name for word in words):
            continue
        begun = time.process_time()
        how, why = outcome(path, rounding)
        counts[how] += 1
        sys.stdout.write(f"{name:60} {how:8} {time.process_time() - begun:6.1f} s  {why}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{', '.join(f'{count} {how}' for how, count in sorted(counts.items()))}\n")
    return int(counts[FOUND] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
