"""Strategies: the ways to compute an op on some core, in order of preference.

A strategy states the features it needs, the sites it fits and the rows it requests, and makes the kernel. It
is chosen once for a site, so its requests always match its kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, TypeVar

from aot.ir.types import DType
from aot.ops.conv2d_add import Conv2dAdd
from aot.ops.rounding import RequantRounding
from aot.target import Feature, Optimize
from codegen.formats import RowFormat, RowRequest
from codegen.kernels.kernel import ANYWHERE, Kernel, MemoryDemand, PassedOver, Site
from codegen.kernels.requantised import Requantised

T = TypeVar("T")
RowRequests = tuple[RowRequest | None, ...]  # one per activation; None: any format


@dataclass(frozen=True)
class Condition(Generic[T]):
    """A condition of a strategy; its description is printed after "only for"."""

    description: str
    holds: Callable[[T], bool]


@dataclass(frozen=True, slots=True)
class RowFormats:
    """The final formats of a kernel's rows."""

    inputs: tuple[RowFormat, ...]
    output: RowFormat


def never(_site: Site) -> bool:
    return False


class UnfitRowsError(Exception):
    """Raised if a strategy cannot create its kernel for these rows. The next one is used."""


@dataclass(frozen=True)
class Strategy:
    """One way to compute an op."""

    name: str
    requests: Callable[[Site], RowRequests]
    lower: Callable[[Site, Sequence[RowFormat], RowFormat], Kernel]
    needs: frozenset[Feature] = frozenset()  # of the core
    fits: tuple[Condition[Site], ...] = ()
    # Conditions on rows beyond its requests. If one is not met, the next strategy is used.
    takes: tuple[Condition[RowFormats], ...] = ()
    # Returns why it cannot serve the site, after a trial. Its `lower` may then raise UnfitRowsError.
    refuses: Callable[[Site], str] | None = None
    reads_image_rows: Callable[[Site], bool] = never  # can read a flattened image row by row
    # Conditions under which its store should compute the next add; None: never.
    adds_in_store: tuple[Condition[Site], ...] | None = None
    demand: MemoryDemand = ANYWHERE  # on the memory of its kernel
    device: str = ""  # of the accelerator that it belongs to

    def misfit(self, site: Site) -> str:
        """Returns why it cannot serve the site; empty if it can."""
        missing = self.needs - site.target.features
        if missing:
            return f"the core has no {', '.join(sorted(missing))}"
        broken = _first_broken(self.fits, site)
        return broken or (self.refuses(site) if self.refuses is not None else "")

    @property
    def takes_any_rows(self) -> bool:
        return not self.takes and self.refuses is None

    def slow_sum(self, site: Site) -> str:
        """Returns why its store should not compute a sum; empty if it may."""
        if self.adds_in_store is None:
            return f"the strategy {self.name} computes no sums"
        broken = _first_broken(self.adds_in_store, site)
        return f"the strategy {self.name} computes sums {broken}" if broken else ""


def _first_broken(conditions: Sequence[Condition[T]], place: T) -> str:
    return next((f"only for {c.description}" for c in conditions if not c.holds(place)), "")


@dataclass(frozen=True)
class OpKernel:
    """The strategies of an op for any core. Instruction sets put theirs before them."""

    strategies: tuple[Strategy, ...]  # best first
    dtypes: frozenset[DType] = frozenset({DType.I8})  # of inputs and outputs


@dataclass(frozen=True)
class ChosenStrategy:
    """The strategy of a site, with substitutes for other row formats."""

    site: Site
    fitting: tuple[Strategy, ...]  # best first; the last one accepts any rows
    passed_over: tuple[PassedOver, ...]  # strategies before the first that fits

    @property
    def strategy(self) -> Strategy:
        return self.fitting[0]

    @cached_property
    def requests(self) -> RowRequests:
        """Returns the strategy's requests; for unpadded rows, without rows around the image.

        Targets with a separate address space for constants keep these rows, since they cannot share a
        constant row.
        """
        requests = self.strategy.requests(self.site)
        if not self.site.unpadded or self.site.target.constant_space:
            return requests
        return tuple(None if request is None else replace(request, top=0, bottom=0) for request in requests)

    @property
    def reads_image_rows(self) -> bool:
        return self.strategy.reads_image_rows(self.site)

    @property
    def slow_sum(self) -> str:
        return self.strategy.slow_sum(self.site)

    @property
    def demands_memory(self) -> bool:
        """Returns whether its tensors must be in the arena, at addresses that the plan guarantees."""
        return any(strategy.demand != ANYWHERE for strategy in self.fitting)

    def lower(self, site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        """Returns the kernel for these rows; `site` is the chosen one with the strategy's points."""
        rows, passed = RowFormats(tuple(inputs), output), list(self.passed_over)
        for strategy in self.fitting:
            reason = _first_broken(strategy.takes, rows)
            if not reason:
                try:
                    kernel = strategy.lower(site, inputs, output)
                    found = replace(kernel, passed_over=tuple(passed), demand=strategy.demand)
                    return replace(found, device=strategy.device)
                except UnfitRowsError as error:
                    reason = str(error)
            passed.append(PassedOver(strategy.name, reason))
        raise AssertionError(f"{site.node.op.name}: no strategy accepts any rows")


def choose_strategy(strategies: Sequence[Strategy], site: Site) -> ChosenStrategy:
    """Returns the first that fits, with later ones only as long as a substitute may be needed."""
    fitting: list[Strategy] = []
    passed: list[PassedOver] = []
    for strategy in strategies:
        reason = strategy.misfit(site)
        if not reason:
            fitting.append(strategy)
        elif not fitting and not any(site.target.can_never_have(need) for need in strategy.needs):
            passed.append(PassedOver(strategy.name, reason, strategy.device))
        if fitting and fitting[-1].takes_any_rows:
            return ChosenStrategy(site, tuple(fitting), tuple(passed))
    raise AssertionError(f"{site.node.op.name}: the last strategy must fit everywhere and accept any rows")


def _are_bytes(site: Site) -> bool:
    return {site.input(0).dtype, site.input(1).dtype, site.outputs[0].dtype} == {DType.I8}


def _have_bytes_as_weights(site: Site) -> bool:
    types = {site.input(0).dtype, site.outputs[0].dtype}
    return site.input(1).dtype is DType.I8 and types <= {DType.I8, DType.I16}


def _adds_nothing(site: Site) -> bool:
    return not isinstance(site.node.op, Conv2dAdd)


def _are_integers(site: Site) -> bool:
    return site.input(0).dtype in (DType.I8, DType.I16)


def _is_rounded_twice(site: Site) -> bool:
    return getattr(site.node.op, "rounding", None) is RequantRounding.DOUBLE


def sums_of_32_bits(tail_of: Callable[[Site], Requantised]) -> Condition[Site]:
    return Condition("sums of 32 bits", lambda site: tail_of(site).storing.sum_dtype is DType.I32)


def requantised_in_lanes_or_to_even(tail_of: Callable[[Site], Requantised]) -> Condition[Site]:
    """Returns the same condition for lanes with a shift that rounds halves to even."""

    def fits(site: Site) -> bool:
        requant = tail_of(site).requant
        return requant.fits_lanes and requant.parity != 1

    return Condition("sums of 32 bits, rounded once or twice, or by powers of two to even", fits)


def requantised_in_lanes(tail_of: Callable[[Site], Requantised]) -> Condition[Site]:
    """Returns the condition for 32-bit lanes; `tail_of` returns the tail of a site with 8-bit data."""
    fact = "sums of 32 bits, rounded once or twice, or by powers of two to even or odd"
    return Condition(fact, lambda site: tail_of(site).requant.fits_lanes)


F32_INPUTS = Condition[Site]("floats", lambda site: site.input(0).dtype is DType.F32)
NOT_FOR_SIZE = Condition[Site]("--optimize other than size", lambda site: site.optimize is not Optimize.SIZE)
INTEGERS = Condition("integers", _are_integers)
BYTES = Condition("data, weights and results of 8 bits", _are_bytes)
BYTES_AS_WEIGHTS = Condition(
    "data and results of 8 or 16 bits, with weights of 8 bits", _have_bytes_as_weights
)
ADDS_NOTHING = Condition("results without a fused addition", _adds_nothing)
AS_TFLM_ROUNDS = Condition("results that are rounded twice, as by --rounding tflm", _is_rounded_twice)


def by_dtype(integers: OpKernel, f32: OpKernel) -> OpKernel:
    """Returns a kernel with the float strategies for float inputs and the integer strategies for others."""
    of_f32 = tuple(replace(s, fits=(F32_INPUTS, *s.fits)) for s in f32.strategies)
    return OpKernel((*of_f32, *integers.strategies), integers.dtypes | f32.dtypes)


@dataclass(frozen=True)
class UserSchedules:
    """Schedules from one place outside of this source tree."""

    origin: str  # the file name as given, or the name of a schedule made in Python
    by_op: Mapping[str, tuple[Strategy, ...]] = field(repr=False, compare=False)  # best first
