"""Lists a model's plans with arena, flash and cycles, and their distance to a lower bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aot.passes.pipeline import run_meaning
from codegen.fit.budgets import archive_of, flash_bytes
from codegen.fit.device_regions import with_regions
from codegen.fit.layer_cycles import cycle_table
from codegen.fit.placement_search import checked_plan
from codegen.job import Job


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
