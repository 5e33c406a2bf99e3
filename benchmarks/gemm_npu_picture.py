"""Draws the queues of gemm-npu over time: one convolution, with one virtual thread and with two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from extensions.gemm_npu.encoding import ALU_OPERATIONS, MEMORY_NAMES, QUEUES, NpuCommand
from extensions.gemm_npu.tiles import Tiling
from extensions.gemm_npu.timing import Event, TimedRun, timed
from extensions.gemm_npu.window import Clip, NpuWindow
from extensions.gemm_npu.window_tiles import instructions

# A layer of the size that MobileNets have in their middle: 1x1, 128 channels to 128.
LAYER = NpuWindow((6, 6, 128), (6, 6, 128), clip=Clip(-128))
TILING = Tiling(rows=6, columns=6, blocks=1, keeps_weights=True)
_INK, _FAINT, _GRID = "#22262b", "#6b7480", "#e3e8ee"
_COLOURS = {
    "load of pixels": "#4477aa",
    "load of weights": "#66ccee",
    "load of scales and micro-code": "#aa3377",
    "GEMM": "#228833",
    "ALU": "#ccbb44",
    "store": "#ee8866",
}
_LEFT, _WIDTH, _RIGHT, _LANE, _BAR = 86, 820, 24, 30, 20
_TOP, _BETWEEN, _BELOW = 64, 62, 26


def draw() -> str:
    """The picture as SVG."""
    programs = {threads: instructions(LAYER, TILING, threads) for threads in (1, 2)}
    runs = {threads: timed(program) for threads, program in programs.items()}
    longest = max(run.cycles for run in runs.values())
    height = _TOP + 2 * 3 * _LANE + _BETWEEN + _BELOW
    width = _LEFT + _WIDTH + _RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="Inter, Helvetica, Arial, DejaVu Sans, sans-serif" font-size="13" '
        f'fill="{_INK}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_legend(),
    ]
    for number, threads in enumerate(runs):
        top = _TOP + number * (3 * _LANE + _BETWEEN)
        parts += _run(programs[threads], runs[threads], threads, top, longest)
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> Iterator[str]:
    at = _LEFT
    for name, colour in _COLOURS.items():
        yield f'<rect x="{at}" y="14" width="12" height="12" rx="2" fill="{colour}"/>'
        yield f'<text x="{at + 17}" y="24.5">{escape(name)}</text>'
        at += 40 + 7 * len(name)


def _run(program: Sequence[NpuCommand], run: TimedRun, threads: int, top: int, longest: int) -> Iterator[str]:
    bottom = top + 3 * _LANE
    said = "one virtual thread" if threads == 1 else "two virtual threads"
    yield f'<text x="{_LEFT}" y="{top - 10}" font-weight="600">{said}: {run.cycles:,} cycles</text>'
    for tick in range(0, longest + 1, 1000):
        x = _x(tick, longest)
        yield f'<line x1="{x}" y1="{top}" x2="{x}" y2="{bottom}" stroke="{_GRID}"/>'
        place = f'x="{x}" y="{bottom + 16}" fill="{_FAINT}" font-size="11" text-anchor="middle"'
        yield f"<text {place}>{tick:,}</text>"
    for lane, queue in enumerate(QUEUES):
        y = top + lane * _LANE + _LANE / 2
        yield f'<text x="{_LEFT - 12}" y="{y + 4.5}" text-anchor="end">{queue}</text>'
        yield f'<line x1="{_LEFT}" y1="{y}" x2="{_LEFT + _WIDTH}" y2="{y}" stroke="{_GRID}"/>'
    for event in run.events:
        yield _bar(program[event.number], event, top, longest)


def _bar(one: NpuCommand, event: Event, top: int, longest: int) -> str:
    begin, end = _x(event.begin, longest), _x(event.end, longest)
    y = top + QUEUES.index(event.queue) * _LANE + (_LANE - _BAR) / 2
    title = f"{event.number}: {_title(one)}, cycles {event.begin:,} to {event.end:,}"
    return (
        f'<rect x="{begin}" y="{y}" width="{max(round(end - begin - 0.6, 1), 0.8)}" height="{_BAR}" '
        f'fill="{_COLOURS[_kind(one)]}"><title>{escape(title)}</title></rect>'
    )


def _title(one: NpuCommand) -> str:
    if one.operation == "ALU":
        return f"ALU {ALU_OPERATIONS[one['alu']]}"
    return f"LOAD {MEMORY_NAMES[one['memory']]}" if one.operation == "LOAD" else one.operation


def _kind(one: NpuCommand) -> str:
    if one.operation != "LOAD":
        return "store" if one.operation == "STORE" else one.operation
    kinds = {"INPUT": "load of pixels", "WEIGHT": "load of weights"}
    return kinds.get(MEMORY_NAMES[one["memory"]], "load of scales and micro-code")


def _x(cycle: int, longest: int) -> float:
    return round(_LEFT + cycle * _WIDTH / longest, 1)
