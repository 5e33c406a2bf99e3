"""--print-after: graphs as passes leave them, on stderr; those of a model that is refused, too."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from aot.errors import DeployError
from aot.passes.pipeline import PassStep, run_meaning
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.pass_page import named, printed_after


def print_after(steps: Sequence[PassStep], passes: Sequence[str]) -> None:
    """The graphs after the passes with these names."""
    print(printed_after(named(steps, passes)), end="", file=sys.stderr)


@contextmanager
def printed_if_refused(path: Path, options: CompileOptions, passes: Sequence[str]) -> Iterator[None]:
    """Where the model file at `path` is refused in here, its graphs help to see why: those of MEANING."""
    try:
        yield
    except DeployError:
        if passes:
            _print_meaning(path, options, passes)
        raise


def _print_meaning(path: Path, options: CompileOptions, passes: Sequence[str]) -> None:
    """Nothing where the file itself cannot be read: the error says why."""
    with suppress(DeployError):
        graph = import_model(path, options).graph
        print_after(run_meaning(graph, options.disabled_passes).steps, passes)
