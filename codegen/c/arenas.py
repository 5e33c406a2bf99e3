"""The memories of a run: one arena, or several in regions of the board; and the states in them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType

from aot.errors import BoardError, did_you_mean
from aot.ir.graph import State
from aot.ir.types import Array
from aot.plan.model import Plan, Pool
from aot.target import FIRMWARE_RAM_BYTES, Target
from codegen.c.dialect import Dialect
from codegen.c.names import c_identifier, comment_text
from codegen.compile_kinds import RegionLimit
from codegen.model import TensorInfo

ANY_REGION = Pool("arena")  # wherever the project has memory
NO_LIMITS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Arena:
    """Memory that the caller passes to <model>_run."""

    name: str  # of the parameter: "arena"; with several, "dtcm_arena", ...
    region: str  # of the board; empty if the project chooses
    bytes: int


def arenas_of(pool_bytes: Mapping[str, int]) -> tuple[Arena, ...]:
    """Returns the arenas of a plan, one for each pool, in its order."""
    single = len(pool_bytes) == 1
    return tuple(
        Arena(
            "arena" if single else f"{c_identifier(pool).lower()}_arena",
            "" if pool == ANY_REGION.name else pool,
            size,
        )
        for pool, size in pool_bytes.items()
    )


def line_bytes(arenas: Sequence[Arena], tensors: Iterable[TensorInfo]) -> tuple[int, ...]:
    """Returns each arena's bytes, including a streamed input after it, which the line sends as a whole."""
    ends = [arena.bytes for arena in arenas]
    for tensor in tensors:
        ends[tensor.arena] = max(ends[tensor.arena], tensor.arena_offset + tensor.bytes)
    return tuple(ends)


def chosen_pools(
    target: Target, requested: Sequence[Pool], limits: Mapping[str, int] = NO_LIMITS
) -> tuple[Pool, ...]:
    """Returns the regions that the user names, fastest first, limited to their sizes. Raises BoardError.

    `limits` are bytes for the arena in single regions. With them, all regions may be used if none are named.
    """
    regions = {region.name: region for region in target.by_speed("ram")}
    for pool in requested:
        if pool.name not in regions:
            raise BoardError(
                f'"{pool.name}" is not a RAM region of this board{did_you_mean(pool.name, list(regions))}',
                hint=f"--pool accepts: {', '.join(regions) or 'nothing without a board'}",
            )
    rooms = _rooms(target)
    sizes = {pool.name: pool.bytes or rooms[pool.name] for pool in requested}
    if limits and not sizes:
        sizes = {name: region.bytes if name in limits else rooms[name] for name, region in regions.items()}
    pools = [Pool(n, min(sizes[n], regions[n].bytes, limits.get(n, sizes[n]))) for n in regions if n in sizes]
    return tuple(pool for pool in pools if pool.bytes) or tuple(pools[:1])


def region_limits(target: Target, role: str, limits: Sequence[RegionLimit]) -> Mapping[str, int]:
    """Returns the limits by region. Raises BoardError if the board has no such memory."""
    regions = [region.name for region in target.by_speed(role)]
    others = {region.name: region.role for region in target.regions if region.role != role}
    for limit in limits:
        if limit.region not in regions:
            is_other = limit.region in others
            near = "" if is_other else did_you_mean(limit.region, regions)
            kinds = {"ram": "RAM", "flash": "flash"}
            raise BoardError(
                f'"{limit.region}" is not a {kinds[role]} region of this board{near}',
                hint=f"--{role} accepts: {', '.join(regions) or 'nothing without a board'}"
                + (f"\n--{others[limit.region]} {limit.region}={limit.bytes} limits it" if is_other else ""),
            )
    return {limit.region: limit.bytes for limit in limits}


def all_pools(target: Target) -> tuple[Pool, ...]:
    """Returns all RAM of the target that can hold an arena, fastest first."""
    return tuple(Pool(name, room) for name, room in _rooms(target).items() if room)


def _rooms(target: Target) -> dict[str, int]:
    """Returns each RAM's bytes for an arena; the firmware's stack and variables are in the fastest."""
    rooms = {region.name: region.bytes for region in target.by_speed("ram")}
    for fastest in tuple(rooms)[:1]:
        rooms[fastest] = max(rooms[fastest] - FIRMWARE_RAM_BYTES, 0)
    return rooms


def pools_for(target: Target, arena_bytes: int) -> tuple[Pool, ...]:
    """Returns the target's RAM, fastest first, if the arena exceeds the fastest; otherwise nothing."""
    rooms = _rooms(target)
    if len(rooms) < 2 or arena_bytes <= next(iter(rooms.values())):
        return ()
    return tuple(Pool(name, room) for name, room in rooms.items() if room)


# States persist between runs: their offsets in the arena, and C code that initializes them.


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
