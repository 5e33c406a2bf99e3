"""States persist between runs: their offsets in the arena, and C code that initializes them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

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

    def save(self, saved_offset: int) -> str:
        """Returns the C statement that copies it to a saved state."""
        place = f"(const uint8_t *){self.arena} + {self.arena_offset}u"
        return f"memcpy(to + {saved_offset}u, {place}, {self.initial.nbytes}u);"

    def restore(self, saved_offset: int) -> str:
        """Returns the C statement that copies it back."""
        place = f"(uint8_t *){self.arena} + {self.arena_offset}u"
        return f"memcpy({place}, from + {saved_offset}u, {self.initial.nbytes}u);"


SAVED_HEADER_BYTES = 32  # magic and format 8, model 8, states 8, size 4, checksum 4
_MAGIC = b"SOLDERS1"


@dataclass(frozen=True)
class SavedStates:
    """The format of saved states: a header that names the model and its states, then the states' bytes."""

    states: Sequence[StateInfo]
    model_hash: str  # in hexadecimal digits

    @property
    def size(self) -> int:
        """Returns the bytes of saved states."""
        return SAVED_HEADER_BYTES + sum(state.initial.nbytes for state in self.states)

    @property
    def head(self) -> bytes:
        """Returns the header up to the checksum: equal for equal models with equal states."""
        kinds = [f"{each.name} {each.initial.dtype} {each.initial.shape}" for each in self.states]
        layout = hashlib.sha256("\n".join(kinds).encode()).digest()[:8]
        return _MAGIC + bytes.fromhex(self.model_hash)[:8] + layout + self.size.to_bytes(4, "little")

    def statements(self, one: Callable[[StateInfo, int], str]) -> list[str]:
        """Returns a statement for each state, made from its offset in the saved bytes."""
        sizes = [state.initial.nbytes for state in self.states]
        offsets = accumulate(sizes[:-1], initial=SAVED_HEADER_BYTES)
        return [one(state, offset) for state, offset in zip(self.states, offsets, strict=True)]


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
