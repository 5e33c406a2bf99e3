"""The decisions of `--place`, and what is taken of limited memories, as text and as JSON data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from artifact.facts import ModelFacts
from codegen.model import PlacementInRam


def placement_lines(facts: ModelFacts) -> Iterator[str]:
    """Yields lines about constants in RAM, the remaining space, and why no more were placed."""
    placed = facts.placement
    if placed is None:
        return
    if placed.layers:
        yield (
            f"placed     {placed.bytes:>9,} bytes of constants in RAM: "
            f"each run saves an estimated {placed.cycles:,} cycles of flash waits"
        )
        yield from (f"           {line}" for line in _layer_lines(facts, placed))
        yield f"           copied from flash at the start, in about {placed.copy_cycles:,} cycles"
        yield from (f"           {placed.left_in(name):,} bytes of {name} are left" for name in placed.rooms)
    else:
        yield "placed             0 bytes of constants in RAM"
    yield from (f"           {note}" for note in placed.notes)


def _layer_lines(facts: ModelFacts, placed: PlacementInRam) -> Iterator[str]:
    for each in placed.layers:
        layer = facts.layers[each.layer]
        yield f"layer {each.layer} {layer.op}: {each.bytes:,} bytes in {each.region}, {each.cycles:,} cycles"


def placement_facts(placed: PlacementInRam) -> dict[str, Any]:
    return {
        "bytes": placed.bytes,
        "cycles_saved_estimate": placed.cycles,
        "copy_cycles_estimate": placed.copy_cycles,
        "layers": [
            {
                "index": each.layer,
                "region": each.region,
                "bytes": each.bytes,
                "cycles_saved_estimate": each.cycles,
            }
            for each in placed.layers
        ],
        "left": [{"region": region, "bytes": placed.left_in(region)} for region in placed.rooms],
        "notes": list(placed.notes),
    }


def limit_lines(facts: ModelFacts) -> Iterator[str]:
    """Yields what the model takes of each memory that `--ram` or `--flash` limits by name."""
    for each in facts.limits:
        about, what = ("", "arena") if each.role == "ram" else ("about ", "kernels")
        share = f"{about}{each.taken_bytes:,} of {each.limit_bytes:,} bytes"
        verdict = "fits" if each.is_kept else "does not fit"
        yield f"{verdict}: {share} that --{each.role} allows in {each.region} ({what} and constants)"


def limits_json(facts: ModelFacts) -> dict[str, Any]:
    """Returns the same; nothing if no single memory is limited."""
    limits = [
        {
            "role": each.role,
            "region": each.region,
            "limit_bytes": each.limit_bytes,
            "taken_bytes": each.taken_bytes,
            "fits": each.is_kept,
        }
        for each in facts.limits
    ]
    return {"limits": limits} if limits else {}
