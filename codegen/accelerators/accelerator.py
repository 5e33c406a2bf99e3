"""The part that an accelerator adds to the compiler, where the user asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from aot.ir.graph import Graph, Node
from aot.ir.region import DeviceRegion
from aot.passes.partition.claims import Claims
from codegen.formats import whole
from codegen.kernels.kernel import Site
from codegen.kernels.schedule import RowRequests, Schedule
from codegen.option_kinds import OptionKind

if TYPE_CHECKING:
    from codegen.accelerators.emulated import EmulatedDevice


@dataclass(frozen=True)
class Regions:
    """Regions of several nodes that a device runs in one go.

    `claims` is given the device's name and the graph: `claims_by_rules` takes patterns, `claims_by_node` asks
    for each node, a function of your own sees the whole graph. The schedules' sites are regions.
    """

    claims: Callable[[str, Graph], Claims]
    schedules: tuple[Schedule, ...]  # best first


@dataclass(frozen=True)
class AcceleratorOption:
    """One option, as in --accelerator NAME:option=value."""

    name: str
    kind: OptionKind[Any]
    default: Any
    help: str


@dataclass(frozen=True)
class Accelerator:
    """One line of the table. Its schedules come before all others, for the layers that they fit."""

    summary: str  # one line, for `deploy accelerators`
    schedules: Mapping[str, tuple[Schedule, ...]] = field(default_factory=dict)  # by op, best first
    regions: Regions | None = None
    options: tuple[AcceleratorOption, ...] = ()
    # What it is with these options: all of them, those that were not given at their defaults.
    configured: Callable[[Mapping[str, Any]], Accelerator] | None = None
    emulated: EmulatedDevice | None = None  # what emulated boards have of it


def region_of(site: Site) -> DeviceRegion:
    """The region that a site is."""
    op = site.node.op
    assert isinstance(op, DeviceRegion)
    return op


def inner_site(site: Site, node: Node) -> Site:
    """The site of a node within the region that a site is, as the node's own schedules see it."""
    graph = region_of(site).graph
    known = {
        n: graph.constants[v] for n, v in enumerate(node.inputs) if v is not None and v in graph.constants
    }
    return replace(
        site,
        node=node,
        inputs=graph.input_types(node),
        outputs=graph.output_types(node),
        constants=known,
    )


def whole_inputs(site: Site) -> RowRequests:
    """Requests each tensor in one piece, as a device takes those of a region."""
    return tuple(whole(tensor) for tensor in site.inputs if tensor is not None)
