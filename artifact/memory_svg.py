"""Draws the memory map as SVG: addresses over time, rings with reused addresses, and the peak."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate, groupby, pairwise
from math import cos, pi, sin

from artifact.facts import ModelFacts
from artifact.memory_map import BufferLife, MemoryMap, rows_text, shortened

_COLOURS = (
    "#4477aa", "#ee8866", "#228833", "#aa3377", "#ccbb44", "#44bb99",
    "#7f63b8", "#ee6677", "#66b7dd", "#8c6d46", "#99a83a", "#c97bb0",
)  # fmt: skip
INK, FAINT, PAPER, GROUND = "#22262b", "#5f6873", "#ffffff", "#f3f5f7"  # a page may override these
PEAK = "#c22a26"  # this, too
_WIDTH, _LEFT, _PLOT, _GAP = 1280, 76, 800, 28
_TEXT_AT = _LEFT + _PLOT + _GAP
_TOP, _LINE = 86, 17
_LEAST_MAP, _LIVE = 380, 110
_LETTER = 6.0  # approximate width of a letter
_LONGEST_NAME = 24
_MOST_SEGMENTS = 12
_TYPESET = {ord("-"): None, ord(">"): "→", ord("x"): "\N{MULTIPLICATION SIGN}"}
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _Panel:
    """A rectangle of the picture: time from left to right, another quantity from bottom to top."""

    top: float
    height: float
    steps: int
    most: int

    def x(self, time: float) -> float:
        return _LEFT + time * _PLOT / self.steps

    def y(self, value: float) -> float:
        return self.top + self.height * (1 - value / self.most)

    def box(self, first: int, last: int, low: int, size: int) -> str:
        """Returns the path data of a rectangle over whole steps."""
        x, y = self.x(first), self.y(low + size)
        width, height = self.x(last + 1) - x, self.y(low) - y
        return f"M{_n(x)} {_n(y)}h{_n(width)}v{_n(height)}h{_n(-width)}z"


def draw_memory_svg(facts: ModelFacts) -> str:
    """Returns a stand-alone SVG; the same text for the same model."""
    memory = facts.memory
    steps = len(memory.order)
    map_height = max(_LEAST_MAP, _LINE * len(memory.buffers))
    where = _Panel(_TOP, map_height, steps, memory.arena_bytes)
    most = max(memory.arena_bytes, memory.whole_tensor_bound_bytes)
    live = _Panel(where.top + where.height + 60, _LIVE, steps, most)
    layers = _Panel(live.top + live.height + 40, _LINE * len(facts.layers), steps, len(facts.layers))
    colours = {buffer.name: _COLOURS[n % len(_COLOURS)] for n, buffer in enumerate(memory.buffers)}
    height = layers.top + layers.height + 40
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_n(height)}" width="{_WIDTH}" '
            f'height="{_n(height)}" font-family="Inter, Helvetica, Arial, DejaVu Sans, sans-serif" '
            f'font-size="11" fill="{INK}" data-left="{_LEFT}" data-plot="{_PLOT}" data-top="{_TOP}" '
            f'data-bottom="{_n(layers.top + layers.height)}">',
            f'<rect width="100%" height="100%" fill="{PAPER}"/>',
            *_title(facts),
            *_map(memory, where, colours),
            *_legend(memory, colours),
            *_live_bytes(memory, live),
            *_step_order(facts, layers, colours),
            *_peak(memory, where, live, layers),
            "</svg>\n",
        ]
    )


def _title(facts: ModelFacts) -> Iterator[str]:
    memory = facts.memory
    yield _text(_LEFT, 34, facts.name, size=20, weight="bold")
    taken = f"{memory.arena_bytes:,} bytes of arena"
    if memory.is_below_whole_tensors:
        taken += f"; whole tensors need at least {memory.whole_tensor_bound_bytes:,}"
    yield _text(_LEFT, 56, taken, size=13, fill=FAINT)
    yield _text(_LEFT, _TOP - 8, "address", anchor="end", dx=-8, fill=FAINT)


def _map(memory: MemoryMap, panel: _Panel, colours: Mapping[str, str]) -> Iterator[str]:
    yield from _ground(panel)
    bases = _pool_bases(memory)
    buffers = [(buffer, bases[buffer.pool], colours[buffer.name]) for buffer in memory.buffers]
    for buffer, base, colour in buffers:
        yield from _rows(buffer, base, panel, colour)
    for buffer, base, colour in buffers:
        if buffer.is_ring:
            outline = panel.box(buffer.first_step, buffer.last_step, base + buffer.offset, buffer.bytes)
            yield (
                f'<path {_of(buffer)} d="{outline}" fill="none" stroke="{colour}" stroke-dasharray="4 2"/>'
            )
    yield from _labels(memory.buffers, bases, panel)
    if len(bases) > 1:
        yield from _pools(bases, panel)
    yield from _address_axis(panel)
    yield from _time_axis(panel)


def _pool_bases(memory: MemoryMap) -> Mapping[str, int]:
    """Returns the address at which each pool begins in the picture; pools are stacked."""
    return dict(zip(memory.pool_bytes, accumulate(memory.pool_bytes.values(), initial=0), strict=False))


def _pools(bases: Mapping[str, int], panel: _Panel) -> Iterator[str]:
    """Draws a line at the start of each memory, with its name above."""
    for pool, base in bases.items():
        y = panel.y(base)
        yield _line(_LEFT, y, _LEFT + _PLOT, y, INK)
        yield _text(_LEFT + _PLOT, y - 4, pool, anchor="end", dx=-4, weight="bold")


def _rows(buffer: BufferLife, base: int, panel: _Panel, colour: str) -> Iterator[str]:
    """Draws a rectangle for each stay of a row in memory; every other turn of a ring is lighter."""
    seam = ' stroke="#fff" stroke-width="0.6"' if panel.height * buffer.row_bytes / panel.most > 2.5 else ""
    for lighter, opacity in ((False, 0.9), (True, 0.55)):
        data = "".join(
            panel.box(span.first, span.last, base + span.address, span.bytes)
            for span in buffer.spans
            if (span.row // buffer.rows_held % 2 == 1) == lighter
        )
        if data:
            title = f"<title>{_xml(f'{buffer.name}: {rows_text(buffer)}')}</title>"
            look = f'fill="{colour}" fill-opacity="{opacity}"{seam}'
            yield f'<path {_of(buffer)} d="{data}" {look}>{title}</path>'


def _labels(buffers: Sequence[BufferLife], bases: Mapping[str, int], panel: _Panel) -> Iterator[str]:
    """Writes names in the middle of their buffers, largest first, if there is space."""
    halo = f'stroke="{PAPER}" stroke-width="3" stroke-opacity="0.75" paint-order="stroke"'
    taken: list[tuple[float, float, float]] = []  # x and y of the center, width
    for buffer in sorted(buffers, key=_area, reverse=True):
        name = shortened(buffer.name, _LONGEST_NAME)
        width = _LETTER * len(name) + 8
        time, address = _middle(buffer)
        x, y = panel.x(time), panel.y(bases[buffer.pool] + address)
        if _has_room(buffer, panel, width) and not any(
            abs(x - other_x) < (width + other_width) / 2 and abs(y - other_y) < _LINE - 3
            for other_x, other_y, other_width in taken
        ):
            taken.append((x, y, width))
            yield _text(x, y + 4, name, anchor="middle", more=halo)


def _area(buffer: BufferLife) -> int:
    return sum(span.bytes * (span.last + 1 - span.first) for span in buffer.spans)


def _middle(buffer: BufferLife) -> tuple[float, float]:
    """Returns the time and address at the center of a buffer's rectangles."""
    area = max(1, _area(buffer))
    weights = [(span, span.bytes * (span.last + 1 - span.first) / area) for span in buffer.spans]
    time = sum((span.first + span.last + 1) / 2 * weight for span, weight in weights)
    return time, sum((span.address + span.bytes / 2) * weight for span, weight in weights)


def _has_room(buffer: BufferLife, panel: _Panel, width: float) -> bool:
    wide = panel.x(buffer.last_step + 1) - panel.x(buffer.first_step) >= width
    return wide and panel.height * buffer.bytes / panel.most >= _LINE - 4


def _legend(memory: MemoryMap, colours: Mapping[str, str]) -> Iterator[str]:
    for n, buffer in enumerate(memory.buffers):
        y = _TOP + _LINE * n + 9
        yield f"<g {_of(buffer)}>"
        yield _legend_symbol(buffer, _TEXT_AT + 6, y, colours[buffer.name])
        yield _text(_TEXT_AT + 18, y + 4, shortened(buffer.name, _LONGEST_NAME))
        size = f"{buffer.bytes:,} bytes"
        yield _text(_TEXT_AT + 252, y + 4, size, anchor="end")
        rows = rows_text(buffer).replace(" rows", "").replace("ring of ", "↻ ")
        yield _text(_TEXT_AT + 260, y + 4, rows, fill=FAINT)
        yield "</g>"


def _legend_symbol(buffer: BufferLife, x: float, y: float, colour: str) -> str:
    """Draws a ring with one segment for each row held, or a square for a whole tensor."""
    if not buffer.is_ring:
        return f'<rect x="{_n(x - 5)}" y="{_n(y - 5)}" width="10" height="10" rx="1.5" fill="{colour}"/>'
    segments = min(buffer.rows_held, _MOST_SEGMENTS)
    gap = min(0.5, 0.8 * pi / segments) if segments > 1 else 0.0  # less than half a segment
    ends = [2 * pi * n / segments for n in range(segments + 1)]
    arcs = "".join(_arc(x, y, 4.5, start, end - gap) for start, end in pairwise(ends))
    return f'<path d="{arcs}" fill="none" stroke="{colour}" stroke-width="3"/>'


def _arc(x: float, y: float, radius: float, start: float, end: float) -> str:
    """Draws a circle as two arcs, because SVG draws nothing for an arc that ends at its start."""
    points = [(x + radius * sin(a), y - radius * cos(a)) for a in (start, (start + end) / 2, end)]
    begin, *others = [f"{_n(px)} {_n(py)}" for px, py in points]
    return f"M{begin}" + "".join(f"A{radius} {radius} 0 0 1 {point}" for point in others)


def _live_bytes(memory: MemoryMap, panel: _Panel) -> Iterator[str]:
    yield from _ground(panel)
    yield _text(_LEFT, panel.top - 8, "bytes needed", fill=FAINT)
    steps = "".join(f"V{_n(panel.y(size))}H{_n(panel.x(t + 1))}" for t, size in enumerate(memory.live_bytes))
    floor = _n(panel.y(0))
    yield f'<path d="M{_LEFT} {floor}{steps}V{floor}z" fill="#5d7387" fill-opacity="0.75"/>'
    yield from _level(panel, memory.arena_bytes, "arena")
    if panel.y(memory.arena_bytes) - panel.y(memory.whole_tensor_bound_bytes) > _LINE:
        yield from _level(panel, memory.whole_tensor_bound_bytes, "whole tensors, at least")


def _level(panel: _Panel, size: int, says: str) -> Iterator[str]:
    y = panel.y(size)
    yield _line(_LEFT, y, _LEFT + _PLOT, y, INK, "1 3")
    yield _text(_TEXT_AT, y + 4, f"{size:,}  {says}")


def _step_order(facts: ModelFacts, panel: _Panel, colours: Mapping[str, str]) -> Iterator[str]:
    """Draws a line for each layer, marked at the steps in which it computes rows."""
    yield from _ground(panel)
    yield _text(_LEFT, panel.top - 8, "layer", anchor="end", dx=-8, fill=FAINT)
    marks = _marks(facts.memory.order)
    for layer in facts.layers:
        low = len(facts.layers) - 1 - layer.index
        data = "".join(panel.box(first, last, low, 1) for first, last in marks.get(layer.index, ()))
        yield f'<path d="{data}" fill="{colours[layer.output]}"/>'
        middle = panel.y(low + 0.5) + 4
        yield _text(_LEFT, middle, str(layer.index), anchor="end", dx=-8, fill=FAINT)
        yield _text(_TEXT_AT, middle, f"{layer.op}  {layer.shapes.translate(_TYPESET)}")


def _marks(order: Sequence[int]) -> Mapping[int, list[tuple[int, int]]]:
    """Maps each layer to the time ranges in which it runs without interruption."""
    marks: dict[int, list[tuple[int, int]]] = {}
    time = 0
    for layer, steps in groupby(order):
        end = time + sum(1 for _ in steps)
        marks.setdefault(layer, []).append((time, end - 1))
        time = end
    return marks


def _peak(memory: MemoryMap, where: _Panel, live: _Panel, layers: _Panel) -> Iterator[str]:
    x = where.x(memory.peak_step + 0.5)
    yield _line(x, where.top - 4, x, layers.top + layers.height, PEAK, "5 3")
    near_end = x > _LEFT + _PLOT / 2
    label = f"peak: {memory.peak_bytes:,} bytes"
    anchor, dx = ("end", 4.0) if near_end else ("start", -4.0)
    yield _text(x, where.top - 8, label, anchor=anchor, dx=dx, fill=PEAK, weight="bold")
    yield f'<circle cx="{_n(x)}" cy="{_n(live.y(memory.peak_bytes))}" r="3.5" fill="{PEAK}"/>'


def _ground(panel: _Panel) -> Iterator[str]:
    place = f'x="{_LEFT}" y="{_n(panel.top)}" width="{_PLOT}" height="{_n(panel.height)}"'
    yield f'<rect {place} fill="{GROUND}"/>'


def _address_axis(panel: _Panel) -> Iterator[str]:
    for value in (*_ticks(panel.most), panel.most):
        y = panel.y(value)
        yield _line(_LEFT - 4, y, _LEFT, y, FAINT)
        yield _text(_LEFT - 8, y + 4, f"{value:,}", anchor="end", fill=FAINT)


def _time_axis(panel: _Panel) -> Iterator[str]:
    y = panel.top + panel.height
    for value in (*_ticks(panel.steps), panel.steps):
        yield _line(panel.x(value), y, panel.x(value), y + 4, FAINT)
        yield _text(panel.x(value), y + 16, f"{value:,}", anchor="middle", fill=FAINT)
    yield _text(_TEXT_AT, y + 16, "rows computed so far", fill=FAINT)


def _ticks(most: int) -> Iterable[int]:
    """Returns about five round numbers from 0, none too close to `most`, which gets its own tick."""
    step = next(s for power in range(20) for s in (10**power, 2 * 10**power, 5 * 10**power) if s * 6 >= most)
    return range(0, max(1, most - step // 2), step)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}" stroke="{colour}" fill="none"{dashed}/>'


def _text(
    x: float, y: float, text: str, anchor: str = "start", dx: float = 0.0, size: int = 11,
    fill: str = INK, weight: str = "normal", more: str = "",
) -> str:  # fmt: skip
    place = f'x="{_n(x + dx)}" y="{_n(y)}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size}" font-weight="{weight}" fill="{fill}" {more}>{_xml(text)}</text>'


def _of(buffer: BufferLife) -> str:
    """Returns the attribute with a shape's buffer, for pages that show one buffer and dim the others."""
    return f'data-buffer="{_xml(buffer.name)}"'


def _xml(text: str) -> str:
    """Escapes a name from the model file: markup, and characters that XML cannot hold."""
    return escape(_NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
