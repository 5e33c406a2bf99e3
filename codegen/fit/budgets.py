"""Answers budgets of RAM and flash from the archive of a model's plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aot.errors import FitError
from aot.ir.graph import Graph
from aot.passes.pipeline import PassRun, run_meaning
from aot.target import Optimize, Target
from codegen.c.arenas import chosen_pools
from codegen.c.estimate import estimate_kernel_bytes
from codegen.c.kernel_library import Sharing, kernel_library
from codegen.compile_kinds import RegionLimit
from codegen.fit.device_regions import with_regions
from codegen.fit.layer_cycles import cycle_table
from codegen.fit.memory_use import Place, arena_limits, code_place, constants_at, kept_limits, limits_of
from codegen.fit.placement_search import checked_plan, fastest_plan, fastest_variant, in_memories, starts
from codegen.fit.variant import MORE_ROOM, CompiledPlan, Variant
from codegen.job import Job
from codegen.lower.decisions import Decisions, all_layers, decisions_for
from codegen.lower.stages import Lowered, LoweredStage
from codegen.model import KeptLimit
from codegen.options import CompileOptions

if TYPE_CHECKING:
    from codegen.fit.archive import Archive, Member
    from codegen.fit.layer_cycles import CycleTable


PLANNED_ROWS = 90_000  # in the orders of all plans of an archive
_SMALL_ROWS = 22_500  # of plans with small kernels, which differ less
_THOROUGH_TIMES = 8
_KEPT = 4  # archives of the models compiled last
_MAX_SLOWDOWN_FOR_RAM = 0.03  # estimated, for short rows if the arena is not limited; below 0.05 when counted
_SHOWN = 3  # buffers at the peak that an error names
_PARTS = 32  # of the arena: a limit that is enough is searched in such steps, as buffers may not divide well
Accepts = Callable[[CompiledPlan], bool]


def has_budget(job: Job) -> bool:
    """Returns whether the options limit the arena or the flash, or minimize RAM."""
    is_limited = arena_limit(job) is not None or bool(limits_of(job))
    return is_limited or job.options.optimize is Optimize.RAM


def arena_limit(job: Job) -> int | None:
    """Returns the limit of the arena in bytes, from the options or as the sum of their pools, or None."""
    pools = chosen_pools(job.kernel_target, job.options.pools, arena_limits(job))
    sizes = [pool.bytes for pool in pools if pool.bytes is not None]
    offered = [sum(sizes)] if pools and len(sizes) == len(pools) else []
    given = [job.options.ram_bytes] if job.options.ram_bytes is not None else []
    return min((*given, *offered), default=None)


def flash_bytes(plan: CompiledPlan) -> int:
    """Returns the flash for constants and kernels; kernels are estimated."""
    constants = constants_at(plan.lowered.stages, plan.job, plan.constant_regions)["flash", ""]
    return constants + estimate_kernel_bytes(plan.library, plan.job.target)


def plan_within(meaning: PassRun, job: Job, accepts: Accepts) -> CompiledPlan | None:
    """Returns the fastest accepted plan within the budgets; if RAM is the goal, the smallest."""
    limit = arena_limit(job)
    for own, member in _best_first(meaning, job):
        if limit is not None and member.arena_bytes > limit:
            continue
        try:
            planned = in_memories(member.planned, own)
        except FitError:
            continue
        plan = checked_plan(meaning, member.placement, planned, own)
        if all(each.is_kept for each in kept_limits(plan)) and accepts(plan):
            return plan
    return None


def _best_first(meaning: PassRun, job: Job) -> Iterator[tuple[Job, Member]]:
    """Yields plans, fastest first; if RAM is the goal, smallest first, among those that cost little time."""
    if job.options.optimize is Optimize.RAM:
        for own in _goals(meaning, job):
            archive = archive_of(meaning, own)
            assert archive.least is not None
            most = archive.least.cycles * (1 + _MAX_SLOWDOWN_FOR_RAM)
            yield from ((own, m) for m in archive.by_arena if m.cycles <= most)
        return
    found = [(own, m) for own in _goals(meaning, job) for m in archive_of(meaning, own).members]
    yield from sorted(found, key=lambda each: each[1].rank)


def _goals(meaning: PassRun, job: Job) -> Iterator[Job]:
    """Yields the job, if its kernels can fit the flash; if flash is limited, also the job with small ones."""
    limited = _limited_flash(job)
    if limited is None or job.options.optimize is Optimize.SIZE:
        yield job
        return
    place, limit = limited
    if _is_open(place, job) or _least_flash(meaning.graph, job, place) <= limit:
        yield job
    yield replace(job, options=replace(job.options, optimize=Optimize.SIZE))


def _limited_flash(job: Job) -> tuple[Place, int] | None:
    """Returns the memory that holds the code, with its limit, if it has one."""
    limits = limits_of(job)
    return next(((p, limits[p]) for p in (("flash", ""), code_place(job)) if p in limits), None)


def _is_open(place: Place, job: Job) -> bool:
    """Returns whether only a plan tells which constants are there: rules may name layers by number."""
    _, region = place
    return bool(region and job.options.constants)


def _least_flash(graph: Graph, job: Job, place: Place) -> int:
    """Returns about the least flash for constants and kernels, if all layers use one way."""
    from codegen.fit.choices import WAYS, uniform

    variant = Variant(graph, job.kernel_target, job.options, (), decisions_for(graph, Optimize.SPEED))
    lowered = [uniform(variant, way).lowered for way in WAYS]
    kernels = (kernel_library(each.stages, Sharing.PARAMETRIC) for each in lowered)
    constants = min(constants_at(each.stages, job)[place] for each in lowered)
    return constants + min(estimate_kernel_bytes(each, job.target) for each in kernels)


@dataclass(frozen=True)
class _Kept:
    graph: Graph
    target: Target
    options: str
    tuned: Mapping[str, object]
    archive: Archive


_kept: list[_Kept] = []


def archive_of(meaning: PassRun, job: Job) -> Archive:
    """Returns the archive of the job's model. The key ignores budgets, so all budgets share one archive."""
    free = _without_budgets(job.options)
    for kept in _kept:
        same = kept.graph is job.model.graph and kept.target == job.target
        if same and kept.options == repr(free) and kept.tuned == job.tuned:
            return kept.archive
    archive = _searched(meaning, replace(job, options=free))
    _kept.insert(0, _Kept(job.model.graph, job.target, repr(free), job.tuned, archive))
    del _kept[_KEPT:]
    return archive


def _without_budgets(options: CompileOptions) -> CompileOptions:
    goal = Optimize.SIZE if options.optimize is Optimize.SIZE else Optimize.SPEED
    return replace(options, ram=None, flash=None, pools=(), place=False, optimize=goal)


def _searched(meaning: PassRun, job: Job) -> Archive:
    """Searches plans of every placement; the plan without a budget is the first."""
    from codegen.fit.archive import Archive, ArchiveSearch, Member, extra_bytes

    table = cycle_table(job.kernel_target)
    first, placement = fastest_variant(meaning, job)
    cycles = table.run(first.variant.lowered)
    archive = Archive(fastest=0 if table.measured else cycles)
    archive.add(Member(first, placement, cycles, extra_bytes(first.variant), (), 0))
    begins = list(starts(meaning, job))
    rows = _SMALL_ROWS if job.options.optimize is Optimize.SIZE else PLANNED_ROWS
    times = _THOROUGH_TIMES if job.options.is_thorough else 1
    for start in begins:
        ArchiveSearch(archive, start, table, rows // len(begins), times).run()
        if start.slowdown == begins[0].slowdown:
            archive.least = archive.by_arena[0]
    for member in list(archive.members):
        _add_merged(archive, member, table, job)
    return archive


def _add_merged(archive: Archive, member: Member, table: CycleTable, job: Job) -> None:
    """Adds the same plan with fewer functions: families of kernels are merged one after the other."""
    from codegen.fit.merged_kernels import merges_of

    if job.options.optimize is Optimize.SIZE or not job.options.at_level.has_schedules:
        return  # functions of one shape are merged anyway, or none are
    variant, layers = member.planned.variant, frozenset[str]()
    for merge in merges_of(variant.lowered, job.kernel_target, table):
        layers |= merge.layers
        planned = replace(member.planned, variant=variant.decided(merged=layers))
        member = replace(
            member,
            planned=planned,
            cycles=member.cycles + merge.cycles,
            flash_bytes=member.flash_bytes - merge.bytes,
            number=archive.made,
        )
        archive.made += 1
        archive.add(member)


def require_room(meaning: PassRun, job: Job) -> None:
    """Raises FitError if the inputs or the constants alone are too large. This is known before the search."""
    _require_room_for_inputs(job, meaning.graph, arena_limit(job))
    _require_room_for_constants(meaning, job)


def _require_room_for_inputs(job: Job, graph: Graph, limit: int | None) -> None:
    inputs = sum(graph.types[value].bytes for value in graph.inputs)
    if limit is None or job.options.stream or job.options.caller_owns_io or inputs <= limit:
        return
    raise FitError(
        f"the inputs alone need {inputs:,} bytes, {inputs - limit:,} more than {_says(job, limit)}",
        hint="--io caller keeps them out of the arena, --stream reads an image row by row",
    )


def _require_room_for_constants(meaning: PassRun, job: Job) -> None:
    limited = _limited_flash(job)
    if limited is None or _is_open(limited[0], job):
        return
    place, limit = limited
    both = (_smallest_weights(job, meaning.graph, goal) for goal in (Optimize.SIZE, Optimize.SPEED))
    least = min(both, key=lambda lowered: constants_at(lowered.stages, job)[place])
    needed = constants_at(least.stages, job)[place]
    if needed <= limit:
        return
    small = replace(_without_budgets(job.options), optimize=Optimize.SIZE)
    enough = flash_bytes(fastest_plan(meaning, replace(job, options=small)))
    raise FitError(
        f"the constants alone take {needed:,} bytes of {_name_of(place)}, "
        f"{needed - limit:,} more than {_flag(place, limit)} allows",
        _most_constants(least.stages),
        f"{_flag(place, enough)} --optimize size is enough, if RAM has no limit",
    )


def _smallest_weights(job: Job, graph: Graph, goal: Optimize) -> Lowered:
    """Returns the graph lowered with weights in their own width; no kernels need fewer constants."""
    compact = Decisions(compact=all_layers(graph))
    return Variant(graph, job.kernel_target, replace(job.options, optimize=goal), (), compact).lowered


def _most_constants(stages: Sequence[LoweredStage]) -> str:
    largest = max(stages, key=_constants_of)
    return f"most of it is the {_constants_of(largest):,} bytes of constants of {largest.op} {largest.name}"


def _constants_of(stage: LoweredStage) -> int:
    return sum(array.nbytes for array in stage.kernel.constants.values())


def _name_of(place: Place) -> str:
    role, region = place
    return region or role


def _flag(place: Place, size: int) -> str:
    """Returns the option that limits the memory to this size: --flash QSPI=65536."""
    role, region = place
    return f"--{role} {region}={size}" if region else f"--{role} {size}"


def _says(job: Job, limit: int) -> str:
    if job.options.ram_bytes == limit:
        return f"--ram {limit} allows"
    limits = arena_limits(job)
    if not limits:
        return f"the {limit:,} of --pool"
    pools = chosen_pools(job.kernel_target, job.options.pools, limits)
    others = [f"the {pool.bytes:,} bytes of {pool.name}" for pool in pools if pool.name not in limits]
    verb = "allow" if len(limits) + len(others) > 1 else "allows"
    return f"{' and '.join([_ram_flags(limits), *others])} {verb}"


def _ram_flags(limits: Mapping[str, int]) -> str:
    return " ".join(_flag(("ram", region), size) for region, size in limits.items())


def refusal(meaning: PassRun, job: Job) -> FitError:
    """Returns the error: how many bytes are missing, where, and the smallest possible budget."""
    limit = arena_limit(job)
    found = [(each, m) for each in _goals(meaning, job) for m in archive_of(meaning, each).by_cycles]
    least = min((m for _, m in found), key=lambda m: m.arena_bytes)
    if limit is not None and least.arena_bytes > limit:
        return _no_arena(least, job, limit)
    inside = [(each, m) for each, m in found if limit is None or m.arena_bytes <= limit]
    plans = [(m, checked_plan(meaning, m.placement, m.planned, each)) for each, m in inside]
    for place in limits_of(job):
        needs = ((_limit_at(plan, place), m) for m, plan in plans)
        least_kept, member = min(needs, key=lambda each: each[0].taken_bytes)
        if not least_kept.is_kept:
            return _no_place(least_kept, member, limit)
    return _no_memories(min((m for _, m in inside), key=lambda m: m.arena_bytes), job)


def _limit_at(plan: CompiledPlan, place: Place) -> KeptLimit:
    """Returns what constants and kernels take of a memory; the plan's arena is not in a memory yet."""
    return next(each for each in kept_limits(plan, False) if (each.role, each.region) == place)


def _no_place(kept: KeptLimit, member: Member, arena: int | None) -> FitError:
    """Returns the error if no plan has so few constants, or constants and kernels, in a memory."""
    place, needed = (kept.role, kept.region), kept.taken_bytes
    more = f"{needed - kept.limit_bytes:,} more than {_flag(place, kept.limit_bytes)} allows"
    stages = member.planned.variant.lowered.stages
    if kept.role == "ram":
        return FitError(
            f"the constants that --constants puts into {kept.region} take {needed:,} bytes at least, {more}",
            _most_constants(stages),
            f"{_flag(place, needed)} has room for them, if no part of the arena is there",
        )
    both = f" with an arena of {arena:,}" if arena is not None else ""
    return FitError(
        f"constants and kernels need about {needed:,} bytes of {_name_of(place)} at least{both}, {more}",
        _most_constants(stages),
        f"{_flag(place, needed)} is enough",
    )


def _no_memories(least: Member, job: Job) -> FitError:
    """Returns the error if the smallest plan does not fit the memories of --pool or --ram."""
    limits = arena_limits(job, least.planned.variant.lowered.stages)
    try:
        in_memories(least.planned, job)
    except FitError as error:
        if not limits:
            return error
    if not limits:
        return FitError("no plan fits the memories of --pool", hint=MORE_ROOM)
    there = _ram_flags(arena_limits(job)) + (" with the constants there" if job.options.constants else "")
    return FitError(
        f"the arena of {least.arena_bytes:,} bytes at least does not fit {there}",
        _live_at_peak(least),
        "\n".join(_enough(least, job)) or MORE_ROOM,
    )


def _no_arena(least: Member, job: Job, limit: int) -> FitError:
    arena, graph = least.arena_bytes, least.placement.graph
    inputs = sum(graph.types[value].bytes for value in graph.inputs)
    is_users = job.options.ram_bytes == limit
    enough = [f"--ram {arena} is enough"] if is_users else [*_enough(least, job)] or [MORE_ROOM]
    return FitError(
        f"the arena needs {arena:,} bytes at least, {arena - limit:,} more than {_says(job, limit)}",
        _live_at_peak(least),
        "\n".join([*enough, f"inputs take {inputs:,} of it; deploy inspect MODEL --memory shows the rest"]),
    )


def _live_at_peak(member: Member) -> str:
    plan, lowered = member.planned.plan, member.planned.variant.lowered
    stage = lowered.stages[plan.order[plan.peak_step]]
    origin = stage.node.origin if stage.node is not None else ""
    live = ", ".join(f"{name} {plan.buffers[name].bytes:,}" for name in plan.peak_buffers[:_SHOWN])
    return f"most is live at {stage.op} {origin}".rstrip() + f": {live} bytes"


def _enough(least: Member, job: Job) -> Iterator[str]:
    """Yields for each limited RAM about the least that suffices if the others stay. Each was planned."""
    limits = arena_limits(job)
    left = arena_limits(job, least.planned.variant.lowered.stages)
    pools = chosen_pools(job.kernel_target, job.options.pools, left)
    offered = sum(pool.bytes for pool in pools if pool.bytes is not None)
    for region in (each for each in job.target.by_speed("ram") if each.name in limits):
        needed = limits[region.name] + max(least.arena_bytes - offered, 0)
        for size in (needed + least.arena_bytes * n // _PARTS for n in range(_PARTS)):
            enlarged = {**limits, region.name: size}
            if size > region.bytes:
                break
            if _are_enough(least, job, enlarged):
                yield f"{_ram_flags(enlarged)} is enough"
                break


def _are_enough(member: Member, job: Job, limits: Mapping[str, int]) -> bool:
    ram = tuple(RegionLimit(region, size) for region, size in limits.items())
    try:
        in_memories(member.planned, replace(job, options=replace(job.options, ram=ram)))
    except FitError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Offer:
    """A plan that no other plan beats in arena, flash and cycles at once."""

    arena_bytes: int
    flash_bytes: int  # constants and kernels; kernels are estimated
    cycles: int
    bound_cycles: int  # lower bound for any plan of these kernels within this arena

    @property
    def gap(self) -> float:
        """Returns by how much a faster plan could be faster at most, as a fraction."""
        return self.cycles / self.bound_cycles - 1 if self.bound_cycles else 0.0


@dataclass(frozen=True, slots=True)
class Offers:
    source: str  # origin of the cycles
    each: tuple[Offer, ...]  # smallest arena first


def offers_for(job: Job) -> Offers:
    """Returns all plans in the archive of a job's model, for any budget. Raises ModelError."""
    meaning = with_regions(run_meaning(job.model.graph, job.options.left_out_passes), job)
    archive = archive_of(meaning, job)
    found = [
        Offer(
            member.arena_bytes,
            flash_bytes(checked_plan(meaning, member.placement, member.planned, job)),
            member.cycles,
            archive.bound_cycles(member.arena_bytes),
        )
        for member in archive.by_arena
    ]
    return Offers(cycle_table(job.kernel_target).source, _unbeaten(found))


def _unbeaten(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    kept: list[Offer] = []
    for offer in sorted(offers, key=lambda o: (o.arena_bytes, o.cycles, o.flash_bytes)):
        if not any(o.flash_bytes <= offer.flash_bytes and o.cycles <= offer.cycles for o in kept):
            kept.append(offer)
    return tuple(kept)
