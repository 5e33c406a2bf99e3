"""The command `deploy explore` as a Python function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aot.ir.types import Array
from codegen.options import read_options
from deploy.cli.console import OnProgress, reports_progress
from deploy.exploring.exploration import Exploration
from deploy.exploring.run import ALL, ExploreRequest, all_options
from deploy.exploring.run import explore as explore_asked
from deploy.inputs.given_arrays import by_name, with_labels
from deploy.python_api.model import model_path
from deploy.python_api.option_keywords import accepts_options
from deploy.reporting.attempt import Measuring


@accepts_options()
@reports_progress
def explore(
    models: str | Path | Sequence[str | Path],
    board: str | Sequence[str] = ALL,
    vary: Mapping[str, Sequence[Any]] | None = None,
    measure: bool = False,
    rate: float | None = None,
    data: Mapping[str, Array] | None = None,
    labels: Array | None = None,
    quantize: bool = False,
    kept: str | Path | None = None,
    jobs: int | None = None,
    farm: str | None = None,
    toolchain: str | None = None,
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Exploration:
    """Evaluates every combination of models, boards and varied options: does it fit, what does it need.

    `vary` contains values of options, such as {"optimize": ["speed", "ram"]}. `measure` counts cycles in an
    emulator, which a `rate` in runs per second requires. `data` contains inputs by name; with `labels`, which
    may also be in `data`, the accuracy is computed. With a file `kept`, an interrupted exploration can be
    continued. Work is done by `jobs` processes, or a `farm`.
    """
    paths = models if isinstance(models, list | tuple) else [models]
    return explore_asked(
        ExploreRequest(
            models=tuple(model_path(path) for path in paths),
            boards=(board,) if isinstance(board, str) else tuple(board),
            options=tuple(all_options(read_options(options), vary or {})),
            measuring=Measuring(toolchain) if measure else None,
            rate_hz=rate,
            data=None if data is None else with_labels(by_name(data), labels),
            quantize=quantize,
            kept=None if kept is None else Path(kept),
            jobs=jobs,
            farm=farm,
        )
    )
