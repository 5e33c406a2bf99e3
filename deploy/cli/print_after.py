"""Prints graphs after given passes to stderr, for --print-after; also if the model is rejected."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from aot.errors import DeployError
from aot.passes.pipeline import PassStep, run_meaning
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.inspection.pass_page import named, printed_after


def print_after(steps: Sequence[PassStep], passes: Sequence[str]) -> None:
    """Prints the graphs after the passes with these names."""
    print(printed_after(named(steps, passes)), end="", file=sys.stderr)


@contextmanager
def printed_if_refused(path: Path, options: CompileOptions, passes: Sequence[str]) -> Iterator[None]:
    """Prints the graphs of MEANING if the block rejects the model file at `path`, to show the cause."""
    try:
        yield
    except DeployError:
        if passes:
            _print_meaning(path, options, passes)
        raise


def _print_meaning(path: Path, options: CompileOptions, passes: Sequence[str]) -> None:
    """Prints the graphs, or nothing if the file cannot be read, which the error already explains."""
    with suppress(DeployError):
        graph = import_model(path, options).graph
        print_after(run_meaning(graph, options.left_out_passes).steps, passes)
