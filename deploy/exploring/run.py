"""Runs an exploration: computes combinations without saved results, in several processes or on a farm."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

from aot.errors import InputError, OutputError, did_you_mean
from aot.frontend.load import read_model
from aot.ir.tensor_spec import graph_specs
from aot.ir.types import Array
from artifact.whole_file import write_whole
from codegen.job import import_data
from codegen.option_entry import read_given
from codegen.options import OPTIONS, CompileOptions
from deploy.cli.console import progress
from deploy.exploring.exploration import Exploration, Result, mark_best
from deploy.exploring.model_on_board import ModelOnBoard, explore_one
from deploy.reporting.attempt import Measuring
from deploy.reporting.given_data import give_data, on_data
from platforms.board_files import all_boards, load_board

# Saves results line by line, so that an interrupted exploration can be continued.


def read_kept(path: Path) -> dict[str, dict[str, Any]]:
    """Returns results by key; {} if the file does not exist. Removes an incomplete last line.

    Raises InputError for files of another kind.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the results cannot be read: {error}", str(path)) from None
    found = {}
    for number, line in enumerate(lines, 1):
        try:
            result = json.loads(line)
            found[result["key"]] = result
        except (ValueError, TypeError, KeyError, RecursionError):
            if number < len(lines) or number == 1:
                raise InputError(
                    f"line {number} is not a result of deploy explore", str(path), "name another file"
                ) from None
            write_whole(path, "".join(f"{json.dumps(result)}\n" for result in found.values()).encode())
    return found


def keep(path: Path, result: dict[str, Any]) -> None:
    """Appends a result. Raises OutputError."""
    try:
        with path.open("a+", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
    except OSError as error:
        raise OutputError(f"the result cannot be saved: {error.strerror}", str(path)) from None


def read_varied(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Returns the values of each varied option, which may be named more than once. Raises InputError.

    "optimize=speed,ram" has two values, "stream" is without and with it. Semicolons separate values that
    contain commas: "ram=DTCM=48K,SRAM=100K;DTCM=64K".
    """
    varied: dict[str, list[Any]] = {}
    for text in texts:
        name, values = _read(text)
        varied.setdefault(name, []).extend(values)
    return {name: list(dict.fromkeys(values)) for name, values in varied.items()}


def _read(text: str) -> tuple[str, list[Any]]:
    name, _, values = text.partition("=")
    _require_option(name)
    if found := [each for each in values.split(";" if ";" in values else ",") if each]:
        return name, found
    if OPTIONS[name].kind.metavar:
        raise InputError(f"--vary {name} needs values", hint=f"--vary {name}=ONE,OTHER")
    return name, [False, True]


def _require_option(name: str) -> None:
    if name not in OPTIONS:
        raise InputError(
            f'"{name}" is not an option that can be varied{did_you_mean(name, OPTIONS)}',
            hint=f"known: {', '.join(OPTIONS)}",
        )


def all_options(base: CompileOptions, varied: Mapping[str, Sequence[Any]]) -> list[CompileOptions]:
    """Returns the base options with each combination of the varied ones. Raises InputError."""
    for name in varied:
        _require_option(name)
    chosen = (dict(zip(varied, values, strict=True)) for values in product(*varied.values()))
    return [_with(base, values) for values in chosen]


def _with(base: CompileOptions, values: Mapping[str, Any]) -> CompileOptions:
    """Sets these values. A switch that is off overrides the command line."""
    off = {OPTIONS[name].field: OPTIONS[name].default for name, value in values.items() if value is False}
    given = {name: value for name, value in values.items() if value is not False}
    return replace(read_given(base, OPTIONS, given), **off)


ALL = "all"  # instead of board names


@dataclass(frozen=True)
class ExploreRequest:
    """The models, boards and options of which every combination is evaluated."""

    models: tuple[Path, ...]
    boards: tuple[str, ...]
    options: tuple[CompileOptions, ...]
    measuring: Measuring | None = None
    rate_hz: float | None = None
    data: Mapping[str, Array] | None = None  # inputs by name, and "labels"
    quantize: bool = False
    kept: Path | None = None
    jobs: int | None = None  # number of processes; None: one per core
    farm: str | None = None

    def __post_init__(self) -> None:
        if self.rate_hz is not None and self.measuring is None:
            raise InputError("a rate needs measurement: add --measure", hint="--measure")


def explore(asked: ExploreRequest) -> Exploration:
    """Runs the exploration.

    Raises DeployError for problems of all combinations, such as an unreadable model.
    """
    kept = read_kept(asked.kept) if asked.kept else {}
    combinations = list(_combinations(asked))
    accuracies = {path: _accuracy(path, asked) for path in asked.models}
    found = {each.key: kept[each.key] for each in combinations if each.key in kept}
    waiting = [each for each in combinations if each.key not in found]
    with progress("exploring", len(waiting)) as bar, _executor(asked) as executor:
        for result in _results(executor, waiting):
            found[result["key"]] = result
            if asked.kept:
                keep(asked.kept, result)
            bar.ended(f"{result['model']} on {result['board']}")
    in_order = [{**found[each.key], "accuracy": accuracies[each.path]} for each in combinations]
    return Exploration(tuple(mark_best(in_order)), asked.rate_hz)


def _combinations(asked: ExploreRequest) -> Iterator[ModelOnBoard]:
    names = [board.name for board in all_boards()] if asked.boards == (ALL,) else asked.boards
    for name in names:
        load_board(name)  # reports a wrong name early
    for path in asked.models:
        data = read_model(path)
        import_data(data, path, asked.options[0])  # and an unsupported model
        for board in names:
            for options in asked.options:
                yield ModelOnBoard(path, data, board, options, asked.measuring)


def _results(executor: Executor | None, combinations: Sequence[ModelOnBoard]) -> Iterator[Result]:
    if executor is None:
        yield from map(explore_one, combinations)
        return
    futures = [executor.submit(explore_one, each) for each in combinations]
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _executor(asked: ExploreRequest) -> Iterator[Executor | None]:
    """Yields an executor for a farm or for local processes, or None to compute in this process."""
    if asked.farm is not None:
        from platforms.tuning.farm import farm_client

        with farm_client(asked.farm) as client:
            yield client.get_executor(pure=False)
        return
    jobs = asked.jobs or os.cpu_count() or 1
    if jobs == 1:
        yield None
        return
    with _importable_main(), ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield pool


@contextmanager
def _importable_main() -> Iterator[None]:
    """Hides a script without main guard: each process would import it and start the exploration again.

    A script that checks __name__ is imported, so that the processes know everything it registers.
    """
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or not Path(file).is_file() or b"__name__" in Path(file).read_bytes():
        yield
        return
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _accuracy(path: Path, asked: ExploreRequest) -> float | None:
    """Returns the model's accuracy computed by the reference, which is the same on every board."""
    if asked.data is None:
        return None
    graph = import_data(read_model(path), path, asked.options[0]).graph
    inputs, outputs = (graph_specs(graph, names) for names in (graph.inputs, graph.outputs))
    given = give_data(asked.data, asked.quantize, inputs, outputs, "data")
    accuracy = on_data(graph, given).accuracy
    return None if accuracy is None else accuracy.reference
