"""Groups the nodes that a job's accelerators run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from aot.ir.graph import Graph, Node
from aot.passes.goals import RegionGoal
from aot.passes.pipeline import PassRun, PassStep, region_passes, run_passes
from codegen.accelerators.table import asked_for
from codegen.job import Job
from codegen.lower.decisions import Decisions
from codegen.lower.sites import Sites

if TYPE_CHECKING:
    from codegen.accelerators.accelerator import Regions


def with_regions(meaning: PassRun, job: Job) -> PassRun:
    """Returns the graph with regions, after the previous passes. The first accelerator has priority.

    Raises ModelError if the claims are invalid.
    """
    graph, steps = meaning.graph, list[PassStep](meaning.steps)
    for name, accelerator in asked_for(job.options.accelerators).items():
        if accelerator.regions is None:
            continue
        regions = accelerator.regions
        goal = RegionGoal(name, partial(regions.claims, name), partial(_misfit, job, regions))
        run = run_passes(graph, region_passes(goal), job.options.left_out_passes)
        graph, steps = run.graph, [*steps, *run.steps]
    return PassRun(graph, tuple(steps))


def _misfit(job: Job, regions: Regions, graph: Graph, node: Node) -> str:
    """Returns why no strategy of the device fits the region; empty if one does."""
    sites = Sites(graph, job.kernel_target, job.options, Decisions())
    site, reasons = sites.of(node), list[str]()
    for strategy in regions.strategies:
        misfit = strategy.misfit(site)
        if not misfit:
            return ""
        reasons.append(misfit)
    return "; ".join(dict.fromkeys(reasons))
