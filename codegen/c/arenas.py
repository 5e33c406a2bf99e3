"""The memories of a run: one arena, or several in regions of the board, fastest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from aot.errors import BoardError, did_you_mean
from aot.plan.model import Pool
from aot.target import FIRMWARE_RAM_BYTES, Target
from codegen.c.names import c_identifier
from codegen.model import TensorInfo

ANY_REGION = Pool("arena")  # wherever the project has memory


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


def chosen_pools(target: Target, requested: Sequence[Pool]) -> tuple[Pool, ...]:
    """Returns the regions that the user names, fastest first, limited to their sizes. Raises BoardError."""
    regions = {region.name: region for region in target.by_speed("ram")}
    for pool in requested:
        if pool.name not in regions:
            raise BoardError(
                f'"{pool.name}" is not a RAM region of this board{did_you_mean(pool.name, list(regions))}',
                hint=f"--pool accepts: {', '.join(regions) or 'nothing without a board'}",
            )
    sizes = {pool.name: pool.bytes for pool in requested}
    rooms = _rooms(target)
    return tuple(Pool(n, min(sizes[n] or rooms[n], regions[n].bytes)) for n in regions if n in sizes)


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
