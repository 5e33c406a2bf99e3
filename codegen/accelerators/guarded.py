"""Reports errors in the Python code of external accelerators, with the node and the line of code."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from aot.errors import DeployError, ExtensionError
from aot.ir.graph import Graph
from aot.passes.partition.claims import Claims
from codegen.accelerators.accelerator import Accelerator, Regions
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import Strategy, UnfitRowsError

T = TypeVar("T")


def guarded(name: str, accelerator: Accelerator) -> Accelerator:
    """Returns the accelerator with errors of its functions converted to ExtensionErrors."""
    regions = accelerator.regions
    return replace(
        accelerator,
        strategies={op: _strategies(name, each) for op, each in accelerator.strategies.items()},
        regions=regions and Regions(_claims(name, regions), _strategies(name, regions.strategies)),
    )


def _claims(name: str, regions: Regions) -> Callable[[str, Graph], Claims]:
    def claims(owner: str, graph: Graph) -> Claims:
        made = _told(name, f"claiming nodes of {graph.name}", regions.claims, owner, graph)
        return _of_kind(name, f"claims of nodes of {graph.name}", made, Claims)

    return claims


def _strategies(name: str, strategies: tuple[Strategy, ...]) -> tuple[Strategy, ...]:
    return tuple(_strategy(name, strategy) for strategy in strategies)


def _strategy(name: str, known: Strategy) -> Strategy:
    def lower(site: Site, *formats: Any) -> Kernel:
        made = _told(name, f'lowering "{site.node.name}"', known.lower, site, *formats)
        return _of_kind(name, f'the kernel for "{site.node.name}"', made, Kernel)

    def asked(function: Callable[[Site], Any]) -> Callable[[Site], Any]:
        return lambda site: _told(name, f'answering about "{site.node.name}"', function, site)

    return replace(
        known,
        requests=asked(known.requests),
        lower=lower,
        fits=tuple(replace(condition, holds=asked(condition.holds)) for condition in known.fits),
        refuses=known.refuses and asked(known.refuses),
    )


def _told(name: str, done: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function. Raises ExtensionError if it fails."""
    try:
        return function(*arguments)
    except (DeployError, UnfitRowsError):
        raise
    except Exception as error:  # an external function may raise anything
        line = traceback.extract_tb(error.__traceback__)[-1]
        raise ExtensionError(
            f"the accelerator {name} failed while {done}: {type(error).__name__}: {error}",
            f"{line.filename}:{line.lineno}: {line.line}",
        ) from error


def _of_kind(name: str, what: str, made: object, kind: type[T]) -> T:
    if not isinstance(made, kind):
        raise ExtensionError(
            f"the accelerator {name} is wrong: {what} must be {kind.__name__}, not {type(made).__name__}",
            hint="deploy docs adding-an-accelerator",
        )
    return made
