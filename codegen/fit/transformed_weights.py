"""Chooses the layers that keep transformed weights, which are faster, as far as flash suffices.

Transformed are Winograd's weights, and floats that 4 bits could represent.

An application needs flash for other code. If the model exceeds its share of the flash, layers lose their
transformed weights, starting with those that save the least work per byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from aot.target import Target
from codegen.c.constants import collect_constants
from codegen.c.estimate import estimate_kernel_bytes
from codegen.fit.constant_places import WITH_THE_CODE
from codegen.fit.variant import CompiledPlan
from codegen.lower.decisions import work_of

_MODELS_SHARE = Fraction(3, 4)  # of the largest flash, for a model's constants and code


def layers_to_compact(plan: CompiledPlan) -> frozenset[str]:
    """Returns the layers whose transformed weights do not fit, or whose memory the user chose."""
    if not any(stage.kernel.extra_bytes for stage in plan.lowered.stages):
        return frozenset()
    found, missing = set(_placed_by_name(plan)), _missing(plan)
    for name, extra in _least_saving_first(plan):
        if missing <= 0:
            break
        if name not in found:
            found.add(name)
            missing -= extra
    return frozenset(found)


def _missing(plan: CompiledPlan) -> int:
    """Returns the bytes by which the model exceeds its share of the flash, or 0 if the flash is unknown."""
    share = models_share(plan.job.target)
    if share is None:
        return 0
    stages, external = plan.lowered.stages, plan.job.options.weights_external
    constants = collect_constants(plan.job.model.name, stages, external=external).bytes
    return constants + estimate_kernel_bytes(plan.library, plan.job.target) - share


def models_share(target: Target) -> int | None:
    """Returns the bytes of flash for a model with transformed weights; None if no flash is known."""
    flash = [region.bytes for region in target.by_speed("flash")]
    return int(max(flash) * _MODELS_SHARE) if flash else None


def _placed_by_name(plan: CompiledPlan) -> Iterator[str]:
    """Yields the layers with transformed weights whose memory the user has chosen."""
    for stage, region in zip(plan.lowered.stages, plan.constant_regions, strict=True):
        if stage.kernel.extra_bytes and stage.node is not None and region != WITH_THE_CODE:
            yield stage.node.name


def _least_saving_first(plan: CompiledPlan) -> list[tuple[str, int]]:
    """Returns layers with transformed weights and their extra bytes, least work saved per byte first."""
    work, stages = work_of(plan.graph), plan.lowered.stages
    extra = {s.node.name: s.kernel.extra_bytes for s in stages if s.node is not None and s.kernel.extra_bytes}
    return sorted(extra.items(), key=lambda each: (Fraction(work[each[0]], each[1]), each[0]))
