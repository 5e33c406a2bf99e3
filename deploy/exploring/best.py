"""Selects the best results: those that no other one beats, and the smallest board that is fast enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Result = dict[str, Any]
_LESS_IS_BETTER = ("ram_bytes", "flash_bytes", "time_s")
_MORE_IS_BETTER = ("accuracy",)


def mark_best(results: Sequence[Result]) -> list[Result]:
    """Marks each result that no other one dominates: as good in everything and better in something.

    Models are compared with each other only if their accuracy is known.
    """
    fitting = [each for each in results if each["fits"]]
    return [
        {**each, "is_best": each["fits"] and not any(_beats(other, each) for other in fitting)}
        for each in results
    ]


def _beats(one: Result, other: Result) -> bool:
    if one["model"] != other["model"] and one["accuracy"] is None:
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
