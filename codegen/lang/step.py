"""A recorded step of a schedule, which can be printed and replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from codegen.loops.ir import Instruction


@dataclass(frozen=True)
class ScheduleStep:
    """One method call with its arguments."""

    name: str
    arguments: tuple[Any, ...]
    words: tuple[tuple[str, Any], ...] = ()  # keyword arguments

    def __str__(self) -> str:
        said = [
            *map(_describe, self.arguments),
            *(f"{name}={_describe(value)}" for name, value in self.words),
        ]
        return f"s.{self.name}({', '.join(said)})"


def _describe(argument: object) -> str:
    return argument.name if isinstance(argument, Instruction) else repr(argument)
