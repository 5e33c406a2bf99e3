"""A step of a schedule, as it is remembered, printed and done again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from codegen.loops.ir import Instruction


@dataclass(frozen=True)
class ScheduleStep:
    """One call of a method, with what it was given."""

    name: str
    arguments: tuple[Any, ...]
    words: tuple[tuple[str, Any], ...] = ()  # arguments that are given by name

    def __str__(self) -> str:
        said = [
            *map(_describe, self.arguments),
            *(f"{name}={_describe(value)}" for name, value in self.words),
        ]
        return f"s.{self.name}({', '.join(said)})"


def _describe(argument: object) -> str:
    return argument.name if isinstance(argument, Instruction) else repr(argument)
