"""The results of an exploration, as a page, a table or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.wording import counted
from artifact.whole_file import write_whole
from boards.board_text import size_text
from deploy.cli.command_result import Paged, framed
from deploy.cli.console import table
from deploy.exploring.shown_columns import COLUMNS
from deploy.inputs.result_paths import require_place_of_kind
from deploy.reporting.columns import said, with_facts

# Selects the best results: those that no other one beats, and the smallest board that is fast enough.

Result = dict[str, Any]
_LESS_IS_BETTER = ("ram_bytes", "flash_bytes", "time_s")
_MORE_IS_BETTER = ("accuracy",)


def mark_best(results: Sequence[Result]) -> list[Result]:
    """Marks each result that no other one dominates: as good in everything and better in something.

    Models are compared with each other only if their accuracy is known, and firmware only with firmware.
    """
    fitting = [each for each in results if each["fits"]]
    return [
        {**each, "is_best": each["fits"] and not any(_beats(other, each) for other in fitting)}
        for each in results
    ]


def _beats(one: Result, other: Result) -> bool:
    if one["model"] != other["model"] and one["accuracy"] is None:
        return False
    if one["counts_firmware"] != other["counts_firmware"]:
        return False
    grades = [(one[key], other[key]) for key in _LESS_IS_BETTER]
    grades += [(_negated(one[key]), _negated(other[key])) for key in _MORE_IS_BETTER]
    known = [(mine, its) for mine, its in grades if mine is not None and its is not None]
    return all(mine <= its for mine, its in known) and any(mine < its for mine, its in known)


def _negated(value: float | None) -> float | None:
    return None if value is None else -value


def is_enough(result: Result, rate_hz: float | None) -> bool:
    """Returns whether it fits and, if `rate_hz` is given, runs at that rate."""
    return result["fits"] and (rate_hz is None or (result["rate_hz"] or 0) >= rate_hz)


def smallest_boards(results: Iterable[Result], rate_hz: float | None) -> dict[str, Result]:
    """Returns by model the result with the fewest resources on the smallest sufficient board."""
    found: dict[str, Result] = {}
    for each in sorted((r for r in results if is_enough(r, rate_hz)), key=_size):
        found.setdefault(each["model"], each)
    return found


def _size(result: Result) -> tuple[int, int, str, int, int]:
    board = (result["ram_there"], result["flash_there"], result["board"])
    return (*board, result["ram_bytes"], result["flash_bytes"])


MARK = "made by deploy explore"
_CSV_HEAD = "key,model,board,"
_KINDS = (".html", ".csv", ".json")
_MOST_SHOWN = 40  # rows of the page; files contain all
_SAID_ALREADY = ("model", "core", "fits", "time_s")  # shown above a model's table, or in other columns
_OF_ONE_MODEL = tuple(column for column in COLUMNS if column[1] not in _SAID_ALREADY)


@dataclass(frozen=True, repr=False)
class Exploration(Paged):
    """Results of all combinations. str() is a page of the best, save() writes all."""

    results: tuple[Result, ...]
    rate_hz: float | None = None  # requested rate

    def as_json(self) -> dict[str, Any]:
        return {
            "solder": MARK,
            "rate_hz": self.rate_hz,
            "smallest_boards": {m: r["key"] for m, r in smallest_boards(self.results, self.rate_hz).items()},
            "results": list(self.results),
        }

    def __repr__(self) -> str:
        return f"<exploration of {counted(len(self.results), 'combination')}, {self._fitting} fit>"

    def __str__(self) -> str:
        return "\n".join(self._page())

    @property
    def _fitting(self) -> int:
        return sum(each["fits"] for each in self.results)

    def _page(self) -> Iterator[str]:
        yield f"{counted(len(self.results), 'combination')}: {self._fitting} fit"
        yield from self.sentences()
        failed = [each for each in self.results if each["error"]]
        yield from (f"{each['board']}, {each['model']}: {each['error']}" for each in failed[:_MOST_SHOWN])
        best = _together([each for each in self.results if each["is_best"]])
        if best:
            yield "\nBest combinations: no other is at least as good in everything and better in something."
        for model in dict.fromkeys(each["model"] for each in best):
            yield from _table_of(model, [each for each in best if each["model"] == model])

    def _repr_html_(self) -> str:
        return framed(self._text(".html"))

    def sentences(self) -> Iterator[str]:
        """Yields a sentence for each model about the smallest sufficient board."""
        found = smallest_boards(self.results, self.rate_hz)
        enough = "" if self.rate_hz is None else f" at {self.rate_hz:g} Hz"
        for model in dict.fromkeys(each["model"] for each in self.results):
            each = found.get(model)
            if each is None:
                yield f"no board here fits {model}{enough}"
                continue
            sizes = f"{size_text(each['ram_there'])} RAM, {size_text(each['flash_there'])} flash"
            options = f" with {each['options']}" if each["options"] else ""
            rate = f", {each['rate_hz']:.3g} runs a second" if each["rate_hz"] else ""
            board = f"{each['board']} ({sizes}){options}{rate}"
            alone = "" if each["counts_firmware"] else ": the model alone fits"
            yield f"the smallest board that fits {model}{enough}: {board}{alone}"

    def save(self, path: str | Path) -> None:
        """Writes all results as .html, .csv or .json, by the file's suffix. Raises OutputError for others."""
        place = require_exploration_place(Path(path))
        write_whole(place, self._text(place.suffix).encode())

    def _text(self, suffix: str) -> str:
        if suffix == ".json":
            return json.dumps(self.as_json(), indent=1) + "\n"
        if suffix == ".csv":
            return _csv(self.results)
        from deploy.exploring.page import page_of  # jinja2 is slow to import

        return page_of(self.as_json(), list(self.sentences()))


def _table_of(model: str, best: Sequence[Result]) -> Iterator[str]:
    columns = with_facts(_OF_ONE_MODEL, best)
    rows = [tuple(said(row, column) for column in columns) for row in best[:_MOST_SHOWN]]
    yield f"\n{model}"
    yield table([heading for heading, _, _ in columns], rows)
    if len(best) > _MOST_SHOWN:
        yield f"and {len(best) - _MOST_SHOWN} more; write all of them with -o explored.html"


def _together(results: Sequence[Result]) -> list[Result]:
    """Merges results that differ only in the board, for the smallest one. The least demanding come first."""
    alike: dict[tuple[Any, ...], list[Result]] = {}
    for each in results:
        alike.setdefault(tuple(each[key] for key in _SHOWN_TOGETHER), []).append(each)
    found = []
    for group in alike.values():
        smallest = min(group, key=lambda each: (each["ram_there"], each["flash_there"], each["board"]))
        more = f" and {len(group) - 1} more" if len(group) > 1 else ""
        found.append({**smallest, "board": f"{smallest['board']}{more}"})
    return sorted(found, key=lambda each: (each["model"], each["ram_bytes"], each["board"]))


_SHOWN_TOGETHER = (
    "model",
    "core",
    "options",
    "counts_firmware",
    "ram_bytes",
    "flash_bytes",
    "cycles",
    "time_s",
    "accuracy",
)


def _csv(results: Sequence[Result]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, fieldnames=list(results[0]) if results else ["key"])
    writer.writeheader()
    writer.writerows(results)
    return file.getvalue()


def require_exploration_place(path: Path) -> Path:
    """Raises OutputError before compiling if the output would overwrite the user's files."""
    return require_place_of_kind(path, _KINDS, [MARK, _CSV_HEAD], "an exploration")
