"""The tests in a process of their own, in which one module is another than its file says."""

import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from code_changes import Change

# Heavy, and not ours: read once, before a process is copied for each change.
FOREIGN = (
    "numpy",
    "onnx",
    "tflite",
    "jinja2",
    "jsonschema",
    "hypothesis",
    "elftools",
    "serial",
    "rich",
    "onnxruntime",
)
TIMEOUT_S = 300  # of one test
# What a failed test leaves open is not a failure of the next.
NOT_WANTED = (
    "-p",
    "no:cacheprovider",
    "-p",
    "no:unraisableexception",
    "-p",
    "no:threadexception",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)


class Changed(importlib.abc.MetaPathFinder):
    """Gives one module as the change makes it; all others come from their files."""

    def __init__(self, root: Path, change: Change) -> None:
        self._module = ".".join(change.path.relative_to(root).with_suffix("").parts)
        self._path, self._text = change.path, change.changed()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._module:
            return None
        loader = _FromText(name, self._path, self._text)
        return importlib.util.spec_from_file_location(name, self._path, loader=loader)


class _FromText(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: Path, text: str) -> None:
        super().__init__(name, str(path))
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._text, self.path, "exec", dont_inherit=True)


class FirstFailure:
    """A plugin that keeps the name of the first test that fails."""

    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.name:
            self.name = f"{report.nodeid} (cannot be read)"


def read_foreign_modules() -> None:
    for name in FOREIGN:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()


@dataclass(frozen=True)
class Trial:
    """Tests to run with one module changed, or none."""

    changed: Changed | None
    tests: tuple[str, ...]
    markers: str


class Children:
    """Trials in copies of this process, which must have one thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._answers: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def start(self, trial: Trial) -> int:
        """Its process number."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                _run(writer, self._root, trial)
            except BaseException as it:
                os.write(writer, f"({it!r})\n".encode())
            os._exit(0)
        os.close(writer)
        self._answers[child] = reader
        return child

    def wait(self) -> tuple[int, str]:
        """The next that has ended: its number, and the first test that failed, "" where none did."""
        child, _ = os.wait()
        with os.fdopen(self._answers.pop(child), "rb") as answer:
            said = answer.read().decode()
        return child, said.removesuffix("\n") if said.endswith("\n") else "(the process died)"


def _run(answer: int, root: Path, trial: Trial) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    with suppress(
        OSError
    ):  # a change that takes all memory ends this process, not another; sanitizers bear no limit
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    os.chdir(root)
    if trial.changed:
        sys.meta_path.insert(0, trial.changed)
    first = FirstFailure()
    words = ["-x", "-q", *NOT_WANTED, "-o", f"timeout={TIMEOUT_S}", "-m", trial.markers]
    status = pytest.main([*words, *trial.tests], plugins=[first])
    nothing = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    name = "" if status in nothing else first.name or f"(pytest ended with {status!r})"
    os.write(answer, f"{name}\n".encode())
