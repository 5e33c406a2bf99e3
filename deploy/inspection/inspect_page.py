"""The page printed by `deploy inspect`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aot.ir.types import TensorType
from artifact.facts import ModelFacts
from artifact.memory_map import rows_text, shortened
from artifact.report import LayerRow, Report
from codegen.fit.layer_cycles import RunCycles
from codegen.fit.memory_use import MemoryUse
from codegen.model import COPIES, LayerInfo, LayerPart, TensorInfo
from deploy.cli.console import table
from deploy.compiler.fit import layer_name, role_name
from deploy.inspection.inspect_facts import operators, window_lines
from deploy.inspection.placement_page import limit_lines, placement_lines

if TYPE_CHECKING:
    from boards.board import Board

_MOST_SHOWN = 5
_MORE_EXACT = "deploy bench --emulated is more exact"
_WIDEST_NAME = 60
_ALL_DIGITS_MS = 100  # from here, milliseconds are shown without decimals
FITS = {True: "fits", False: "the model alone fits"}  # by whether the firmware around the model is counted


def summary(report: Report, board: Board | None) -> str:
    """Returns the page without layers and memory map."""
    memory = [_memory_use(use) for use in report.memory] or [_needs(report.facts)]
    limits = "\n".join(f"limit {line}" for line in limit_lines(report.facts))
    asked = report.facts.options.accelerators
    devices = [devices_table(report)] if asked else []
    placed = "\n".join(placement_lines(report.facts))
    cycles, name = report.facts.cycles, board.name if board else None
    time = time_lines(cycles, board.clock_hz if board else 0) if cycles else ""
    parts = [_head(report.facts, name), *devices, *memory, limits, placed, time, _peak(report)]
    return "\n\n".join(part for part in parts if part)


def time_lines(cycles: RunCycles, clock_hz: int) -> str:
    """Returns the time of a run and what it was estimated from. With a clock of 0, only cycles are known."""
    kind = "estimated" if cycles.is_of_core else "a rough estimate"
    lines = [f"time  {_time(cycles.cycles, clock_hz)}{kind}: {cycles.cycles:,} cycles if flash never waits"]
    model = " by its cycle model" if cycles.is_of_core else ""
    if cycles.measured:
        lines.append(f"      {cycles.measured:>11,} cycles in kernels {cycles.source}{model}")
    if cycles.measured < cycles.cycles:
        why = "by a formula" if cycles.measured or cycles.is_of_core else cycles.source
        lines.append(f"      {cycles.cycles - cycles.measured:>11,} cycles {why}; {_MORE_EXACT}")
    return "\n".join(lines)


def _time(cycles: int, clock_hz: int) -> str:
    if not clock_hz:
        return "     "
    milliseconds = cycles / clock_hz * 1e3
    # 1,530 ms, not 1.53e+03
    shown = f"{milliseconds:,.0f}" if milliseconds >= _ALL_DIGITS_MS else f"{milliseconds:.3g}"
    return f"{shown:>11} ms at {clock_hz / 1e6:,.4g} MHz, "


def time_facts(cycles: RunCycles, clock_hz: int) -> dict[str, Any]:
    """Returns the estimated time of a run, as for time_lines; without a clock the seconds are None."""
    return {
        "time_s": cycles.cycles / clock_hz if clock_hz else None,
        "clock_hz": clock_hz,
        "cycles": cycles.cycles,
        "measured_cycles": cycles.measured,
        "is_of_core": cycles.is_of_core,
        "source": cycles.source,
    }


def _needs(facts: ModelFacts) -> str:
    """Returns the memory that a model needs if no board is given."""
    ram = facts.arena_bytes + facts.io_bytes_beside + facts.stack_bytes_estimate
    flash = facts.constants_bytes + facts.code_bytes_estimate
    return (
        f"RAM   {ram:>11,} bytes: arena {facts.arena_bytes:,}"
        + (f", inputs and outputs {facts.io_bytes_beside:,}" if facts.io_bytes_beside else "")
        + f", stack about {facts.stack_bytes_estimate:,}\n"
        f"flash {flash:>11,} bytes: constants {facts.constants_bytes:,}, "
        f"code about {facts.code_bytes_estimate:,}\n"
        "the model alone; --board B checks whether firmware with it fits\n"
        "(deploy boards list --fits MODEL lists boards with enough memory)"
    )


def _head(facts: ModelFacts, board_name: str | None) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in operators(facts).most_common())
    where = f"for {board_name}" if board_name else f"for a {facts.target.core}"
    return "\n".join(
        [
            f"{facts.name} ({facts.source_name}) {where}",
            f"  layers     {len(facts.layers)}: {counts}",
            f"  MACs       {facts.macs:,}{_removed(facts)}",
            *(f"  window     {said}" for said in window_lines(facts)),
            *(f"  input      {_tensor(tensor)}" for tensor in facts.inputs),
            *(f"  output     {_tensor(tensor)}" for tensor in facts.outputs),
        ]
    )


def _removed(facts: ModelFacts) -> str:
    """Lists the MACs that passes removed; without them a model would look too small."""
    removed = [f"{macs:,} by {name}" for name, macs in facts.removed_macs.items()]
    return f"; removed: {', '.join(removed)}" if removed else ""


def _tensor(tensor: TensorInfo) -> str:
    return f'"{tensor.name}" {_type(tensor.type)}'


def _type(tensor: TensorType) -> str:
    text = f"{tensor.dtype.numpy}{list(tensor.shape)}"
    if tensor.quant is None or tensor.quant.is_per_channel:
        return text
    return f"{text}, scale {tensor.quant.scale:.6g}, zero point {tensor.quant.zero_point}"


def _memory_use(use: MemoryUse) -> str:
    region, needed = use.region, use.needed_bytes
    share = f"{needed / region.bytes:.1%}".replace("%", " %")
    by_estimate = " by estimate" if use.fits_but_for_estimates else ""
    too_many = f"does not fit{by_estimate}: {needed - region.bytes:,} bytes missing"
    verdict = FITS[use.counts_firmware] if use.fits else too_many
    whole = f"{region.bytes:,} bytes of {region.name}"
    head = f"{role_name(region.role):5} {needed:>11,} of {whole} ({share}): {verdict}"
    return "\n".join([head, *(f"      {size:>11,} {name}" for name, size in use.parts)])


def _peak(report: Report) -> str:
    memory, peak = report.facts.memory, report.peak
    largest = [(shortened(name, _WIDEST_NAME), size) for name, size in peak.buffers[:_MOST_SHOWN]]
    shown = [f"      {size:>11,} {name}" for name, size in largest]
    more = len(peak.buffers) - len(shown)
    if more > 0:
        shown.append(f"      {sum(size for _, size in peak.buffers[_MOST_SHOWN:]):>11,} in {more} more")
    whole = f"; whole tensors need at least {memory.whole_tensor_bound_bytes:,}"
    above = memory.arena_bytes - memory.bound_bytes
    least = (
        "proven minimal in this order"
        if memory.is_least
        else f"{above:,} above the lower bound, not proven minimal"
    )
    if memory.is_crowded and not memory.is_least:
        least += ": too many buffers are live at once to search for a smaller arena"
    spread = " + ".join(f"{size:,} in {pool}" for pool, size in memory.pool_bytes.items())
    taken = f"{memory.arena_bytes:,} bytes" if len(memory.pool_bytes) == 1 else f"{spread}: most used first"
    arena = f"the arena takes {taken}, {least}{whole if memory.is_below_whole_tensors else ''}"
    return "\n".join([f"peak  {peak.bytes:>11,} bytes in use at {layer_name(report)}", *shown, arena])


def devices_table(report: Report) -> str:
    """Lists for each node the processor that runs it, and why accelerators did not accept it."""
    nodes = list(_nodes(report))
    elsewhere = sum(layer.device != "" for layer, _ in nodes)
    rows = [_where(layer, part) for layer, part in nodes]
    head = f"{elsewhere} of {len(nodes)} nodes run on accelerators"
    return "\n".join([head, table(("layer", "op", "runs on", "node"), rows)])


def _nodes(report: Report) -> Iterator[tuple[LayerInfo, LayerPart]]:
    """Yields the graph's nodes with the layers that compute them. Layers that only copy have no node."""
    for layer in (row.layer for row in report.layers):
        if layer.parts:
            yield from ((layer, part) for part in layer.parts)
        elif layer.op not in COPIES:
            yield layer, LayerPart(layer.name, layer.op, layer.origin)


def _where(layer: LayerInfo, part: LayerPart) -> tuple[str, ...]:
    place = layer.device or "CPU"
    why = f" ({'; '.join(layer.stays)})" if layer.stays else ""
    return str(layer.index), part.op, place, f"{part.origin or part.name}{why}"


def layers_table(report: Report) -> str:
    heads = ("", "op", "shapes", "kernel", "MACs", "weights", "live", "output held", "origin")
    shown = table(heads, [_layer(row) for row in report.layers])
    return "\n".join([shown, "* peak of memory", *_passed_over(report)])


def _passed_over(report: Report) -> Iterator[str]:
    """Yields a line for each rejected strategy, with the reason and the layers."""
    layers: dict[str, list[str]] = {}
    for row in report.layers:
        for strategy_and_why in row.layer.passed_over:
            layers.setdefault(strategy_and_why, []).append(str(row.layer.index))
    if layers:
        yield "\nstrategies that were tried first but do not fit, with their layers"
    for strategy_and_why, numbers in layers.items():
        yield f"  {strategy_and_why} ({', '.join(numbers)})"


def _layer(row: LayerRow) -> tuple[str, ...]:
    layer = row.layer
    number = f"{layer.index}{'*' if row.is_peak else ''}"
    costs = (f"{layer.macs:,}", f"{layer.weight_bytes:,}", f"{row.live_bytes:,}")
    return (number, layer.op, layer.shapes, layer.kernel, *costs, rows_text(row.output), layer.origin)
