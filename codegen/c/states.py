"""States persist between runs: their offsets in the arena, and C code that initializes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aot.ir.graph import State
from aot.ir.types import Array
from aot.plan.model import Plan
from codegen.c.arenas import Arena
from codegen.c.dialect import Dialect
from codegen.c.names import comment_text


@dataclass(frozen=True)
class StateInfo:
    """A state in the arena."""

    name: str
    arena: str  # the parameter of its arena
    arena_offset: int
    initial: Array
    constant: str | None  # C name of its initial value; None if all bytes are equal

    def reset(self, dialect: Dialect) -> str:
        """Returns the C statement that initializes it."""
        place, size = f"(uint8_t *){self.arena} + {self.arena_offset}u", self.initial.nbytes
        said = f"/* {comment_text(self.name)} */"
        if self.constant is not None:
            return f"{dialect.copy_constants}({place}, {self.constant}, {size}u); {said}"
        return f"memset({place}, {_bytes(self.initial)[0]}, {size}u); {said}"


def state_infos(
    model: str, states: Sequence[State], plan: Plan, arenas: Mapping[str, Arena]
) -> tuple[StateInfo, ...]:
    """Returns the states; `arenas` are by the names of their pools."""
    return tuple(
        StateInfo(
            state.name,
            arenas[plan.buffers[state.name].pool].name,
            plan.buffers[state.name].offset,
            state.initial,
            f"{model}_state{number}" if len(set(_bytes(state.initial))) > 1 else None,
        )
        for number, state in enumerate(states)
    )


def _bytes(array: Array) -> bytes:
    return array.tobytes()
