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
from codegen.c.constants import collect_constants
from codegen.c.estimate import estimate_kernel_bytes
from codegen.c.kernel_library import Sharing, kernel_library
from codegen.fit.device_regions import with_regions
from codegen.fit.layer_cycles import cycle_table
from codegen.fit.placement_search import checked_plan, fastest_plan, fastest_variant, in_memories, starts
from codegen.fit.variant import MORE_ROOM, CompiledPlan, Variant
from codegen.job import Job
from codegen.lower.decisions import Decisions, all_layers, decisions_for
from codegen.lower.stages import Lowered, LoweredStage
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
Accepts = Callable[[CompiledPlan], bool]


def has_budget(job: Job) -> bool:
    """Returns whether the options limit the arena or the flash, or minimize RAM."""
    options = job.options
    limits = arena_limit(job), options.flash_bytes
    return options.optimize is Optimize.RAM or any(limit is not None for limit in limits)


def arena_limit(job: Job) -> int | None:
    """Returns the limit of the arena in bytes, from the options or as the sum of their pools, or None."""
    pools = chosen_pools(job.kernel_target, job.options.pools)
    sizes = [pool.bytes for pool in pools if pool.bytes is not None]
    offered = [sum(sizes)] if pools and len(sizes) == len(pools) else []
    given = [job.options.ram_bytes] if job.options.ram_bytes is not None else []
    return min((*given, *offered), default=None)


def flash_bytes(plan: CompiledPlan) -> int:
    """Returns the flash for constants and kernels; kernels are estimated."""
    return _constant_bytes(plan.lowered, plan.job) + estimate_kernel_bytes(plan.library, plan.job.target)


def _constant_bytes(lowered: Lowered, job: Job) -> int:
    external = job.options.weights_external
    return collect_constants(job.model.name, lowered.stages, external=external).bytes


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
        if _keeps_to_flash(plan) and accepts(plan):
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
    limit = job.options.flash_bytes
    if limit is None or job.options.optimize is Optimize.SIZE:
        yield job
        return
    if _least_flash(meaning.graph, job) <= limit:
        yield job
    yield replace(job, options=replace(job.options, optimize=Optimize.SIZE))


def _least_flash(graph: Graph, job: Job) -> int:
    """Returns about the least flash for constants and kernels, if all layers use one way."""
    from codegen.fit.choices import WAYS, uniform

    variant = Variant(graph, job.kernel_target, job.options, (), decisions_for(graph, Optimize.SPEED))
    lowered = [uniform(variant, way).lowered for way in WAYS]
    kernels = (kernel_library(each.stages, Sharing.PARAMETRIC) for each in lowered)
    constants = min(_constant_bytes(each, job) for each in lowered)
    return constants + min(estimate_kernel_bytes(each, job.target) for each in kernels)


def _keeps_to_flash(plan: CompiledPlan) -> bool:
    limit = plan.job.options.flash_bytes
    return limit is None or flash_bytes(plan) <= limit


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
    return replace(options, ram_bytes=None, flash_bytes=None, pools=(), place=False, optimize=goal)


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
    limit = job.options.flash_bytes
    if limit is None:
        return
    both = (_smallest_weights(job, meaning.graph, goal) for goal in (Optimize.SIZE, Optimize.SPEED))
    least = min(both, key=lambda lowered: _constant_bytes(lowered, job))
    needed = _constant_bytes(least, job)
    if needed <= limit:
        return
    small = replace(_without_budgets(job.options), optimize=Optimize.SIZE)
    enough = flash_bytes(fastest_plan(meaning, replace(job, options=small)))
    raise FitError(
        f"the constants alone take {needed:,} bytes of flash, {needed - limit:,} more than --flash {limit} "
        "allows",
        _most_constants(least.stages),
        f"--flash {enough} --optimize size is enough, if RAM has no limit",
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


def _says(job: Job, limit: int) -> str:
    is_users = job.options.ram_bytes == limit
    return f"--ram {limit} allows" if is_users else f"the {limit:,} of --pool"


def refusal(meaning: PassRun, job: Job) -> FitError:
    """Returns the error: how many bytes are missing, where, and the smallest possible budget."""
    limit, flash = arena_limit(job), job.options.flash_bytes
    found = [(each, m) for each in _goals(meaning, job) for m in archive_of(meaning, each).by_cycles]
    least = min((m for _, m in found), key=lambda m: m.arena_bytes)
    if limit is not None and least.arena_bytes > limit:
        return _no_arena(least, job, limit)
    inside = [(each, m) for each, m in found if limit is None or m.arena_bytes <= limit]
    if flash is None:
        return _no_memories([m for _, m in inside], job)
    sizes = {flash_bytes(checked_plan(meaning, m.placement, m.planned, each)): m for each, m in inside}
    needed = min(sizes)
    if needed <= flash:
        return _no_memories([m for _, m in inside], job)
    both = f" with an arena of {limit:,}" if limit is not None else ""
    return FitError(
        f"constants and kernels need about {needed:,} bytes of flash at least{both}, "
        f"{needed - flash:,} more than --flash {flash} allows",
        _most_constants(sizes[needed].planned.variant.lowered.stages),
        f"--flash {needed} is enough",
    )


def _no_memories(members: Sequence[Member], job: Job) -> FitError:
    """Returns the error if the smallest plan does not fit the memories of --pool."""
    try:
        in_memories(min(members, key=lambda m: m.arena_bytes).planned, job)
    except FitError as error:
        return error
    return FitError("no plan fits the memories of --pool", hint=MORE_ROOM)


def _no_arena(least: Member, job: Job, limit: int) -> FitError:
    plan, lowered, graph = least.planned.plan, least.planned.variant.lowered, least.placement.graph
    stage = lowered.stages[plan.order[plan.peak_step]]
    origin = stage.node.origin if stage.node is not None else ""
    live = ", ".join(f"{name} {plan.buffers[name].bytes:,}" for name in plan.peak_buffers[:_SHOWN])
    inputs = sum(graph.types[value].bytes for value in graph.inputs)
    is_users = job.options.ram_bytes == limit
    return FitError(
        f"the arena needs {plan.arena_bytes:,} bytes at least, "
        f"{plan.arena_bytes - limit:,} more than {_says(job, limit)}",
        f"most is live at {stage.op} {origin}".rstrip() + f": {live} bytes",
        (f"--ram {plan.arena_bytes} is enough\n" if is_users else f"{MORE_ROOM}\n")
        + f"inputs take {inputs:,} of it; deploy inspect MODEL --memory shows the rest",
    )


# Lists a model's plans with arena, flash and cycles, and their distance to a lower bound.


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
