"""The memories of a run: one arena, or several in regions of the board, fastest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from aot.errors import BoardError, did_you_mean
from aot.plan.model import Pool
from aot.target import FIRMWARE_RAM_BYTES, Target
from codegen.c.names import c_identifier
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
