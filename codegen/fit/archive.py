"""The Pareto front of a model's plans: none is worse than another in arena, flash and cycles.

The search does not know the budget, and its work is counted, not timed. A budget is a query: the plan with
the fewest cycles within it. A larger budget contains all plans of a smaller one, so its answer is never
slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from sys import maxsize

from aot.passes.pipeline import PassRun
from aot.plan.planner import CAREFUL, QUICK, floor_like
from codegen.fit.choices import COMPACT, FASTEST, LEAST, Choices, State, choices_of
from codegen.fit.effects import Effect, Effects
from codegen.fit.layer_cycles import CycleTable
from codegen.fit.placement_search import Start
from codegen.fit.variant import PlannedVariant, Variant

_ROWS_OF_A_CHANGE = 3_000  # of them, for each single change of a state
_RUNGS = 24  # arena sizes between the smallest and largest for which states are proposed
_FLASH_RUNGS = 8
_SETS_OF = 4  # layers with transformed weights: sixteen sets of them
_TRIED_AROUND = 4  # sums of changes around a plan, and single changes: the most promising ones
_SINGLES_AROUND = 4
_STEPS_DOWN = 12
_CLIMBS = 8
_PART_FOR_CARE = 6  # of the work, to pack the plans found with more effort
_NEIGHBOURS = 3  # plans on either side whose orders are tried
_TURNS = 3  # of three expansions, one is for flash
_WORTH = 0.999  # of the cycles; plans that save less are not expanded
_ROWS_OF_A_LOOK = 2  # evaluating a change costs half as much as a plan


@dataclass(frozen=True)
class Member:
    """A plan with its costs. Flash counts only the bytes that transformed weights add."""

    planned: PlannedVariant
    placement: PassRun
    cycles: int
    flash_bytes: int
    state: State
    number: int  # in the order of planning

    @property
    def arena_bytes(self) -> int:
        return self.planned.plan.arena_bytes

    @property
    def rank(self) -> tuple[int, bool, int, int, int]:
        """Returns the sort key: best first; among equals, the plan without a budget."""
        return self.cycles, self.number > 0, self.arena_bytes, self.flash_bytes, self.number

    def is_no_worse(self, arena_bytes: int, flash_bytes: int, cycles: int) -> bool:
        return self.arena_bytes <= arena_bytes and self.flash_bytes <= flash_bytes and self.cycles <= cycles


@dataclass
class Archive:
    """The plans found so far; `add` drops dominated ones."""

    members: list[Member] = field(default_factory=list)
    choices: list[Choices] = field(default_factory=list)  # of each placement
    rows: int = 0  # planned so far
    made: int = 1  # plans
    fastest: int = 0  # without measured cycles: a lower bound assumed for any plan
    least: Member | None = None  # the smallest plan whose sequences are split at no cost

    @property
    def by_cycles(self) -> Sequence[Member]:
        """Returns the plans, fastest first."""
        return sorted(self.members, key=lambda m: m.rank)

    @property
    def by_arena(self) -> Sequence[Member]:
        """Returns the plans, smallest first; among equals, fastest first."""
        return sorted(self.members, key=lambda m: (m.arena_bytes, m.rank))

    def within(self, arena_bytes: int, flash_bytes: int = maxsize) -> Member | None:
        """Returns the plan with the fewest cycles within the budgets, or None."""
        inside = (m for m in self.members if m.arena_bytes <= arena_bytes and m.flash_bytes <= flash_bytes)
        return min(inside, key=lambda m: m.rank, default=None)

    def bound_cycles(self, arena_bytes: int) -> int:
        """Returns a lower bound of the cycles of any plan of these kernels within that arena."""
        return min((each.bound_cycles(arena_bytes) for each in self.choices), default=0)

    def add(self, member: Member) -> None:
        figures = member.arena_bytes, member.flash_bytes, member.cycles
        if any(m.is_no_worse(*figures) for m in self.members):
            return
        self.members = [m for m in self.members if not _beats(member, m)] + [member]
        self.members.sort(key=lambda m: (m.arena_bytes, m.rank))

    def arena_to_beat(self, flash_bytes: int, cycles: int) -> int:
        """Returns the arena below which a plan with these figures would be kept."""
        return min(
            (m.arena_bytes for m in self.members if m.is_no_worse(maxsize, flash_bytes, cycles)),
            default=maxsize,
        )


def _flash_of(member: Member) -> int:
    return member.flash_bytes


def _arena_of(member: Member) -> int:
    return member.arena_bytes


def _beside_gaps(members: Sequence[Member], memory: Callable[[Member], int]) -> Sequence[Member]:
    """Returns the plans that are fastest in their memory, arena or flash, starting at the widest gaps."""
    front: list[Member] = []
    for member in sorted(members, key=lambda m: (memory(m), m.rank)):
        if not front or member.cycles < front[-1].cycles * _WORTH:
            front.append(member)
    gaps = list[tuple[int, int, Member]]()
    for lower, upper in pairwise(front):
        gap = (memory(upper) - memory(lower)) * (lower.cycles - upper.cycles)
        gaps += [(-gap, m.number, m) for m in (upper, lower)]
    return [m for _, _, m in sorted(gaps, key=lambda each: each[:2])]


def _beats(member: Member, other: Member) -> bool:
    figures = other.arena_bytes, other.flash_bytes, other.cycles
    return other.number > 0 and member.is_no_worse(*figures)  # the plan without a budget stays


@dataclass
class ArchiveSearch:
    """Fills an archive with plans of one placement of a graph."""

    archive: Archive
    start: Start
    table: CycleTable
    most_rows: int
    times: int = 1  # as many rows, for a thorough search
    tried: set[State] = field(default_factory=set)
    expanded: set[State] = field(default_factory=set)
    choices: Choices = field(init=False)
    variants: dict[State, Variant] = field(default_factory=dict)
    first: Member | None = None  # the plan without a budget, as a state of these choices
    last_row: int = 0  # of all that may be planned before the search ends

    @property
    def _has_time(self) -> bool:
        return self.archive.rows < self.last_row

    @property
    def _own(self) -> Sequence[Member]:
        """Returns the plans of this placement with known states, smallest first."""
        spread = self.variant.decisions.spread
        members = [
            self.first if self.first is not None and m.number == 0 else m for m in self.archive.by_arena
        ]
        return [
            m
            for m in members
            if m.state
            and m.placement is self.start.placement
            and m.planned.variant.decisions.spread == spread
        ]

    @property
    def variant(self) -> Variant:
        return self.start.variant

    def run(self) -> None:
        self.choices = choices_of(self.variant, self.table)
        most_rows = self.times * min(self.most_rows, _ROWS_OF_A_CHANGE * self.choices.count)
        whole = self.archive.rows + most_rows
        self.last_row = whole - most_rows // _PART_FOR_CARE
        self.archive.choices.append(self.choices)
        self.first = self._without_budget()
        seeds = list(dict.fromkeys(self.choices.state_like(way) for way in _SEEDS))
        for state in seeds:
            self._try(state, list(self.archive.members), effort=CAREFUL)
        for state in self._transformed():
            self._try(state, self.archive.members[:1])
        while self._has_time:
            member = self._next_to_expand()
            if member is None:
                break
            self.expanded.add(member.state)
            self._expand(member)
        self.last_row = whole
        self._try_orders()

    def _without_budget(self) -> Member | None:
        """Returns the plan without a budget as a state of these choices, if all layers use their fastest way.

        Returns None if such a plan would need more memory, or if its graph is a different one.
        """
        (first,) = (m for m in self.archive.members if m.number == 0)
        if first.placement.graph.nodes != self.start.placement.graph.nodes:
            return None
        state = self.choices.state_like(FASTEST)
        variant = self._variant(state)
        planned = variant.like(first.planned, first.arena_bytes)
        if planned is None:
            return None
        figures = self._cycles(variant), extra_bytes(variant)
        return Member(planned, self.start.placement, *figures, state, first.number)

    def _transformed(self) -> Iterator[State]:
        """Yields states in which some of the heaviest transformed weights are stored untransformed."""
        fastest, compact = (self.choices.state_like(way) for way in (FASTEST, COMPACT))
        extra = {
            at: extra
            for at, layer in enumerate(self.choices.ways)
            if (extra := self.choices.extra_bytes[layer])
        }
        heaviest = sorted(extra, key=lambda at: (-extra[at], at))[:_SETS_OF]
        for count in range(1, len(heaviest) + 1):
            for chosen in combinations(heaviest, count):
                yield tuple(
                    c if at in chosen else f for at, (f, c) in enumerate(zip(fastest, compact, strict=True))
                )

    def _next_to_expand(self) -> Member | None:
        """Returns the next plan whose changes have not been evaluated: the smallest, then those at wide gaps.

        Gaps of arenas come first; every third time, those of flash.
        """
        members = self._own
        if members and members[0].state not in self.expanded:
            return members[0]  # if RAM is the goal, its cycles matter
        is_flash = len(self.expanded) % _TURNS == _TURNS - 1
        by_arena, by_flash = (_beside_gaps(members, of) for of in (_arena_of, _flash_of))
        found = [*by_flash, *by_arena] if is_flash else [*by_arena, *by_flash]
        return next((m for m in (*found, *members) if m.state not in self.expanded), None)

    def _expand(self, member: Member) -> None:
        """Plans the most promising states according to the effects of changes around a plan."""
        self.variants.clear()
        effects = self._effects(member)
        arenas = [m.arena_bytes for m in self.archive.members]
        least, most = min(arenas), max(arenas)
        budgets = [(least + (most - least) * n // _RUNGS, maxsize // 2) for n in range(_RUNGS + 1)]
        flashes = [m.flash_bytes for m in self.archive.members]
        lowest, highest = min(flashes), max(flashes)
        rooms = [lowest + (highest - lowest) * n // _FLASH_RUNGS for n in range(_FLASH_RUNGS)]
        budgets += [(most, room - member.flash_bytes) for room in rooms if highest > lowest]
        sums = [effects.within(*budget) for budget in budgets]
        self._try_best(member, effects, [each for each in sums if len(each) > 1], _TRIED_AROUND, True)
        self._try_best(member, effects, [(one,) for one in effects.changes], _SINGLES_AROUND, False)
        self._climb(member, effects)
        self._descend(member, effects)

    def _climb(self, member: Member, effects: Effects) -> None:
        """Applies changes that save cycles, greatest first, then gives the memory that the next ones need."""
        best, taken = member, dict[int, Effect]()  # by layer
        limit, least = member.arena_bytes, self.archive.by_arena[0].arena_bytes
        needs = {effect: effect.floor for effect in effects.changes}
        for _ in range(_CLIMBS):
            effort = CAREFUL if limit <= least else QUICK
            for effect in _saving(effects, taken):
                if needs[effect] > limit or effect.cycles >= _cycles_taken(taken, effect.layer):
                    continue
                grown = self._changed_within(best, effect.layer, effect.way, limit, effort)
                if grown is None:
                    needs[effect] = limit + self._rung
                else:
                    best, taken[effect.layer] = grown, effect
            left = _saving(effects, taken)
            limit = max(min((needs[e] for e in left), default=maxsize), limit + self._rung)
            known, possible = self.archive.within(limit), best.cycles + _rest(left, taken)
            if not self._has_time or known is None or known.cycles * _WORTH <= possible:
                break

    @property
    def _rung(self) -> int:
        """Returns the bytes between two arena sizes, equally spaced from the smallest to the largest."""
        arenas = [m.arena_bytes for m in self.archive.members]
        return max((max(arenas) - min(arenas)) // _RUNGS, 1)

    def _descend(self, member: Member, effects: Effects) -> None:
        """Applies changes that shrink the arena one after the other, cheapest per byte first."""
        smaller = [e for e in effects.changes if e.floor < member.arena_bytes]
        smaller.sort(key=lambda e: (e.cycles / (member.arena_bytes - e.floor), e.layer, e.way))
        best = member
        for effect in smaller[:_STEPS_DOWN]:
            if best.state[effect.layer] == member.state[effect.layer]:
                best = self._changed_within(best, effect.layer, effect.way, best.arena_bytes - 1) or best

    def _changed_within(
        self, member: Member, layer: int, way: int, limit: int, effort: tuple[int, int] = QUICK
    ) -> Member | None:
        """Plans one more change in the same order; returns None if it exceeds the limit."""
        state = (*member.state[:layer], way, *member.state[layer + 1 :])
        if not self._has_time:
            return None
        variant = self._variant(state)
        self.archive.rows += len(member.planned.plan.order) // _ROWS_OF_A_LOOK
        planned = variant.like(member.planned, limit, effort=effort)
        if planned is None:
            return None
        self.tried.add(state)
        self.archive.rows += len(member.planned.plan.order)
        return self._add(planned, variant, state)

    def _try_best(
        self, member: Member, effects: Effects, sums: Iterable[Sequence[Effect]], most: int, is_searched: bool
    ) -> None:
        promised = {_changed(member.state, each): self._promise(member, effects, each) for each in sums}
        best = sorted((p, state) for state, p in promised.items() if p < 0 and state not in self.tried)
        for _, state in best[:most]:
            self._try(state, [member], is_searched)

    def _promise(self, member: Member, effects: Effects, changes: Sequence[Effect]) -> float:
        """Returns the gap that the changes would fill (arena times cycles), negated for sorting."""
        cycles = member.cycles + sum(each.cycles for each in changes)
        flash = member.flash_bytes + sum(each.flash_bytes for each in changes)
        arena = effects.arena_bytes(changes)
        known = self.archive.within(arena, flash)
        saved = (known.cycles if known else max(m.cycles for m in self.archive.members)) * _WORTH - cycles
        bytes_saved = (
            min(self.archive.arena_to_beat(flash, cycles), max(m.arena_bytes for m in self.archive.members))
            - arena
        )
        return -saved * max(bytes_saved, 0) if saved > 0 else 0.0

    def _effects(self, member: Member) -> Effects:
        """Computes the effect of each single change in the order of a plan."""
        like, order = member.planned.grouped.request, member.planned.plan.order
        _, base = floor_like(like, like, order)
        found = []
        for layer, way in self.choices.changes(member.state):
            if not self._has_time:
                break
            state = (*member.state[:layer], way, *member.state[layer + 1 :])
            changed = self._variant(state)
            floor, live = floor_like(changed.grouped.request, like, order)
            self.archive.rows += len(order) // _ROWS_OF_A_LOOK
            cycles = self._cycles(changed) - member.cycles
            found.append(Effect(layer, way, cycles, extra_bytes(changed) - member.flash_bytes, live, floor))
        return Effects(base, member.arena_bytes - max(base.values(), default=0), tuple(found))

    def _cycles(self, variant: Variant) -> int:
        return max(self.table.run(variant.lowered), self.archive.fastest)

    def _variant(self, state: State) -> Variant:
        """Returns the variant of a state. The variants around one plan are lowered once."""
        if state not in self.variants:
            decided = self.choices.decided(state, self.variant.decisions)
            self.variants[state] = replace(self.variant, decisions=decided)
        return self.variants[state]

    def _try(
        self,
        state: State,
        parents: Sequence[Member],
        is_searched: bool = True,
        effort: tuple[int, int] = QUICK,
    ) -> None:
        """Plans a state, unless it cannot improve the archive."""
        if state in self.tried or not self._has_time:
            return
        self.tried.add(state)
        variant = self._variant(state)
        cycles, flash = self._cycles(variant), extra_bytes(variant)
        limit = self.archive.arena_to_beat(flash, cycles)
        found: PlannedVariant | None = None
        for parent in parents:
            again = variant.like(parent.planned, limit - 1, effort=QUICK, is_least=True)
            self.archive.rows += len(parent.planned.plan.order)
            if again is not None:
                found, limit = again, again.plan.arena_bytes
        if is_searched:
            found = variant.below(limit, effort) or found
            self.archive.rows += 2 * sum(len(stage.steps) for stage in variant.request.stages)
        if found is not None:
            self._add(found, variant, state)

    def _add(self, planned: PlannedVariant, variant: Variant, state: State) -> Member:
        member = Member(
            planned,
            self.start.placement,
            self._cycles(variant),
            extra_bytes(variant),
            state,
            self.archive.made,
        )
        self.archive.made += 1
        self.archive.add(member)
        return member

    def _try_orders(self) -> None:
        """Packs each plan again with more effort, in its order and in those of its neighbors."""
        for member in self._own:
            members = self._own
            at = next((n for n, m in enumerate(members) if m is member), None)
            if at is None:
                continue
            for other in members[max(at - _NEIGHBOURS, 0) : at + 1 + _NEIGHBOURS]:
                if not self._has_time:
                    return
                again = member.planned.variant.like(other.planned, member.arena_bytes - 1)
                self.archive.rows += len(other.planned.plan.order)
                if again is not None:
                    member = replace(member, planned=again)
                    self.archive.add(member)


_SEEDS = (frozenset({"frugal"}), LEAST, COMPACT, FASTEST, frozenset({"widened", "frugal"}))


def _cycles_taken(taken: Mapping[int, Effect], layer: int) -> int:
    return taken[layer].cycles if layer in taken else 0


def _saving(effects: Effects, taken: Mapping[int, Effect]) -> Sequence[Effect]:
    """Returns the changes that save cycles beyond those that are taken, greatest first."""
    found = (e for e in effects.changes if e.cycles < _cycles_taken(taken, e.layer))
    return sorted(found, key=lambda e: (e.cycles, e.layer, e.way))


def _rest(left: Sequence[Effect], taken: Mapping[int, Effect]) -> int:
    """Returns what all these changes could save, negated: of each layer, the best."""
    best = {e.layer: e.cycles - _cycles_taken(taken, e.layer) for e in reversed(left)}
    return sum(best.values())


def _changed(state: State, effects: Iterable[Effect]) -> State:
    found = list(state)
    for effect in effects:
        found[effect.layer] = effect.way
    return tuple(found)


def extra_bytes(variant: Variant) -> int:
    """Returns the bytes that transformed weights need beyond untransformed ones."""
    return sum(stage.kernel.extra_bytes for stage in variant.lowered.stages)
