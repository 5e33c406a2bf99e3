"""Page, JSON and plot of the trade-off between RAM, flash and cycles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from deploy.cli.console import table

if TYPE_CHECKING:
    from codegen.fit.budgets import Offer, Offers

_WIDTH, _HEIGHT, _MARGIN = 720, 400, 60
_COLUMNS = ("arena", "flash, about", "cycles", "above the bound", "with more RAM, cycles less")


def offers_facts(offers: Offers) -> dict[str, Any]:
    return {
        "cycles_are": offers.source,
        "plans": [
            {
                "arena_bytes": each.arena_bytes,
                "flash_bytes_estimate": each.flash_bytes,
                "cycles": each.cycles,
                "bound_cycles": each.bound_cycles,
            }
            for each in offers.each
        ],
    }


def offers_page(offers: Offers) -> str:
    """Returns one row per plan; the last column shows the gain of the next larger arena."""
    rows = [
        (f"{o.arena_bytes:,}", f"{o.flash_bytes:,}", f"{o.cycles:,}", f"{o.gap:.1%}", _next(o, offers.each))
        for o in offers.each
    ]
    return "\n".join(
        [
            table(_COLUMNS, rows),
            f"cycles: {offers.source}; bound: the fastest kernels that fit the arena individually",
            "--ram and --flash choose the fastest plan within these limits",
        ]
    )


def _next(offer: Offer, offers: Sequence[Offer]) -> str:
    better = [o for o in offers if o.arena_bytes > offer.arena_bytes and o.cycles < offer.cycles]
    if not better:
        return "-"
    nearest = min(better, key=lambda o: (o.arena_bytes, o.cycles))
    return f"{nearest.arena_bytes - offer.arena_bytes:,} bytes: {offer.cycles - nearest.cycles:,}"


def offers_svg(offers: Offers) -> str:
    """Plots cycles over arena size as steps; points are labeled with their flash size."""
    arenas, cycles = ([getattr(o, name) for o in offers.each] for name in ("arena_bytes", "cycles"))
    across, down = _Scale(arenas, _MARGIN, _WIDTH - _MARGIN), _Scale(cycles, _HEIGHT - _MARGIN, _MARGIN)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            'font-family="sans-serif" font-size="11">',
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
            *_steps(offers, across, down),
            *_points(offers, across, down),
            *_axes(arenas, cycles, across, down),
            "</svg>\n",
        ]
    )


class _Scale:
    """Maps values to positions along an axis."""

    def __init__(self, values: Sequence[int], first: int, last: int) -> None:
        self.least, self.most, self.first, self.last = min(values), max(values), first, last

    def __call__(self, value: int) -> int:
        span = max(self.most - self.least, 1)
        return self.first + (self.last - self.first) * (value - self.least) // span


def _fastest(offers: Offers) -> Iterator[Offer]:
    """Yields the plans that are faster than all with a smaller arena."""
    least = None
    for each in offers.each:
        if least is None or each.cycles < least:
            least = each.cycles
            yield each


def _steps(offers: Offers, across: _Scale, down: _Scale) -> Iterator[str]:
    for one, other in pairwise(_fastest(offers)):
        x, y = across(one.arena_bytes), down(one.cycles)
        yield (
            f'<path d="M{x} {y}H{across(other.arena_bytes)}V{down(other.cycles)}" fill="none" stroke="#36c"/>'
        )


def _points(offers: Offers, across: _Scale, down: _Scale) -> Iterator[str]:
    for each in offers.each:
        says = f"{each.arena_bytes:,} bytes, {each.cycles:,} cycles, about {each.flash_bytes:,} of flash"
        x, y = across(each.arena_bytes), down(each.cycles)
        yield f'<circle cx="{x}" cy="{y}" r="3" fill="#36c"><title>{says}</title></circle>'


def _axes(arenas: Sequence[int], cycles: Sequence[int], across: _Scale, down: _Scale) -> Iterator[str]:
    bottom, left = _HEIGHT - _MARGIN // 2, _MARGIN // 6
    for value in dict.fromkeys((min(arenas), max(arenas))):
        yield f'<text x="{across(value)}" y="{bottom}" text-anchor="middle">{value:,}</text>'
    for value in dict.fromkeys((min(cycles), max(cycles))):
        yield f'<text x="{left}" y="{down(value)}">{value / 1e6:.2f} M</text>'
    yield f'<text x="{_WIDTH // 2}" y="{_HEIGHT - 8}" text-anchor="middle">bytes of arena</text>'
    yield f'<text x="{left}" y="{_MARGIN // 2}">cycles of a run</text>'
