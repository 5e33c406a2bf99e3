"""What budgets buy: the plans of a model with arena, flash and cycles, and how far from a bound they are."""

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
    """A plan that no other beats in arena, flash and cycles at once."""

    arena_bytes: int
    flash_bytes: int  # constants and kernels, the kernels by estimate
    cycles: int
    bound_cycles: int  # no plan of these kernels within this arena takes fewer

    @property
    def gap(self) -> float:
        """The share by which a faster plan might still be faster, at most."""
        return self.cycles / self.bound_cycles - 1 if self.bound_cycles else 0.0


@dataclass(frozen=True, slots=True)
class Offers:
    source: str  # where the cycles are from
    each: tuple[Offer, ...]  # the smallest arena first


def offers_for(job: Job) -> Offers:
    """All plans of the archive of a job's model, whatever its budgets. Raises ModelError."""
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
