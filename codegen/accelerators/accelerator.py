"""The parts that an accelerator adds to the compiler if the user requests it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from aot.errors import did_you_mean
from aot.ir.graph import Graph, Node
from aot.ir.region import DeviceRegion
from aot.passes.partition.claims import Claims
from codegen.formats import whole
from codegen.kernels.kernel import Site
from codegen.kernels.strategy import RowRequests, Strategy
from codegen.option_kinds import OptionKind, WrongValueError

if TYPE_CHECKING:
    from codegen.accelerators.emulated import EmulatedDevice


@dataclass(frozen=True)
class Regions:
    """Regions of several nodes that a device runs at once.

    `claims` gets the device's name and the graph: `claims_by_rules` uses patterns, `claims_by_node` decides
    node by node, and a custom function can analyze the whole graph. The strategies' sites are regions.
    """

    claims: Callable[[str, Graph], Claims]
    strategies: tuple[Strategy, ...]  # best first


@dataclass(frozen=True)
class AcceleratorOption:
    """One option, as in --accelerator NAME:option=value."""

    name: str
    kind: OptionKind[Any]
    default: Any
    help: str


@dataclass(frozen=True)
class Accelerator:
    """One row of the table. Its strategies precede all others, for the layers that they fit."""

    summary: str  # one line, for `deploy accelerators`
    strategies: Mapping[str, tuple[Strategy, ...]] = field(default_factory=dict)  # by op, best first
    regions: Regions | None = None
    options: tuple[AcceleratorOption, ...] = ()
    # Returns the accelerator for these options: all of them, with defaults for those not given.
    configured: Callable[[Mapping[str, Any]], Accelerator] | None = None
    emulated: EmulatedDevice | None = None  # its device on emulated boards


def region_of(site: Site) -> DeviceRegion:
    """Returns the region of a site."""
    return site.op_as(DeviceRegion)


def inner_site(site: Site, node: Node) -> Site:
    """Returns the site of a node inside a region's site, as the node's strategies see it."""
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
    """Requests contiguous tensors, as a device needs them for a region."""
    return tuple(whole(tensor) for tensor in site.inputs if tensor is not None)


def read_settings(device: str, options: Sequence[AcceleratorOption], words: str) -> Mapping[str, Any]:
    """Returns the value of each option. Raises WrongValueError for an unknown option or a wrong value."""
    known = {option.name: option for option in options}
    found: dict[str, Any] = {}
    for word in words.split(",") if words else ():
        name, separator, value = word.partition("=")
        if name not in known:
            raise WrongValueError(
                f'"{device}:{words}": {device} has no option "{name}"{did_you_mean(name, known)}',
                f"it has {_describe(options)}",
            )
        if not separator:
            raise WrongValueError(
                f'"{device}:{words}": "{name}" has no value', f"it has {_describe(options)}"
            )
        if name in found:
            raise WrongValueError(f'"{device}:{words}": "{name}" is given twice')
        found[name] = _read(device, words, known[name], value)
    return {option.name: found.get(option.name, option.default) for option in options}


def _read(device: str, words: str, option: AcceleratorOption, value: str) -> Any:
    try:
        return option.kind.read(value)
    except WrongValueError as error:
        raise WrongValueError(f'"{device}:{words}": {option.name} {error.what}', error.hint) from None


def _describe(options: Sequence[AcceleratorOption]) -> str:
    return ", ".join(f"{option.name}={option.kind.metavar}" for option in options) or "none"
