"""Draws the pictures of ARCHITECTURE.md: the way of the data, rows in rings, and a plan over time.

`python docs/pictures/draw_pictures.py` writes them beside this file; a test says when they are out of date.
The network of the last two is the smallest that shows all there is to see: three convolutions and a sum.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.binary import Add
from aot.ops.conv2d import Conv2d
from aot.target import Optimize, Target
from artifact.facts import ModelFacts, facts_of
from artifact.memory_map import BufferLife, MemoryMap
from artifact.memory_svg import draw_memory_svg
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

FOLDER = Path(__file__).parent
_INK, _FAINT, _PAPER, _BOX, _DATA = "#22262b", "#6b7480", "#ffffff", "#eef3f8", "#4477aa"
_COLOURS = ("#4477aa", "#ee8866", "#228833", "#aa3377", "#ccbb44")
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" '
    'font-family="Inter, Helvetica, Arial, DejaVu Sans, sans-serif" font-size="13" fill="' + _INK + '">'
)


@dataclass(frozen=True, slots=True)
class Room:
    """A package at its place in the picture, with what it does."""

    package: str
    does: str
    column: int
    row: int


@dataclass(frozen=True, slots=True)
class Way:
    """What goes from one room to another."""

    start: str
    end: str
    carries: str


ROOMS = (
    Room("aot.frontend", "reads TFLite and ONNX", 0, 0),
    Room("aot.passes", "rewrites, verifies, explains", 1, 0),
    Room("codegen.fit", "chooses between variants", 2, 0),
    Room("codegen.lower", "a kernel for every node", 3, 0),
    Room("codegen.kernels", "loop nests of the ops", 4, 0),
    Room("codegen.isa", "instructions and strategies", 4, 1),
    Room("aot.plan", "order, rings, places, proof", 3, 1),
    Room("codegen.c", "the C of kernels and order", 2, 1),
    Room("artifact", "facts, reports, the archive", 1, 1),
    Room("platforms", "projects from templates", 0, 1),
    Room("platforms.runners", "emulators and flashers", 0, 2),
    Room("platforms.rpc", "the serial line", 1, 2),
    Room("platforms.tuning", "measures other kernels", 2, 2),
    Room("deploy", "commands and Python", 3, 2),
    Room("boards", "boards and cores as data", 4, 2),
)
WAYS = (
    Way("aot.frontend", "aot.passes", "Graph"),
    Way("aot.passes", "codegen.fit", "Graph"),
    Way("codegen.fit", "codegen.lower", "variant"),
    Way("codegen.kernels", "codegen.lower", "kernels"),
    Way("codegen.isa", "codegen.kernels", "strategies"),
    Way("codegen.lower", "aot.plan", "stages"),
    Way("aot.plan", "codegen.c", "Plan"),
    Way("codegen.c", "artifact", "C files"),
    Way("artifact", "platforms", "archive"),
    Way("boards", "codegen.isa", "target"),
    Way("platforms", "platforms.runners", "firmware"),
    Way("platforms.runners", "platforms.rpc", "bytes"),
    Way("platforms.rpc", "platforms.tuning", "times"),
    Way("platforms.tuning", "deploy", "records"),
)
_CELL, _TALL, _WIDE, _HIGH, _EDGE = 236, 124, 176, 58, 20


def draw_way_of_the_data() -> str:
    """Rooms in the order in which data meets them, line by line like a snake."""
    missing = [room.package for room in ROOMS if find_spec(room.package) is None]
    assert not missing, f"the picture names packages that are not there: {missing}"
    rooms = {room.package: room for room in ROOMS}
    width, height = 5 * _CELL + 2 * _EDGE - (_CELL - _WIDE), 3 * _TALL + 2 * _EDGE - (_TALL - _HIGH)
    parts = [_HEAD.format(w=width, h=height), f'<rect width="100%" height="100%" fill="{_PAPER}"/>', _ARROW]
    parts += [part for way in WAYS for part in _way(rooms[way.start], rooms[way.end], way.carries)]
    parts += [part for room in ROOMS for part in _room(room)]
    return "\n".join([*parts, "</svg>\n"])


_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{_DATA}"/></marker></defs>'
)


def _corner(room: Room) -> tuple[int, int]:
    return _EDGE + room.column * _CELL, _EDGE + room.row * _TALL


def _room(room: Room) -> Iterator[str]:
    x, y = _corner(room)
    yield f'<rect x="{x}" y="{y}" width="{_WIDE}" height="{_HIGH}" rx="6" fill="{_BOX}" stroke="{_FAINT}"/>'
    middle = x + _WIDE // 2
    yield f'<text x="{middle}" y="{y + 25}" text-anchor="middle" font-weight="bold">{room.package}</text>'
    yield (
        f'<text x="{middle}" y="{y + 44}" text-anchor="middle" font-size="12" fill="{_FAINT}">'
        f"{escape(room.does)}</text>"
    )


def _way(start: Room, end: Room, carries: str) -> Iterator[str]:
    """Along a line of rooms, or down or up to the next line."""
    (x, y), (to_x, to_y) = _corner(start), _corner(end)
    if y == to_y:
        step = 1 if to_x > x else -1
        first, last = (x + _WIDE, to_x - 2) if step > 0 else (x, to_x + _WIDE + 2)
        middle = y + _HIGH // 2
        yield _line(first, middle, last, middle)
        yield _label((first + last) // 2, middle - 7, carries, "middle")
        return
    down = to_y > y
    first, last = (y + _HIGH, to_y - 2) if down else (y, to_y + _HIGH + 2)
    from_x, at_x = x + _WIDE // 2, to_x + _WIDE // 2
    yield _line(from_x, first, at_x, last)
    yield _label((from_x + at_x) // 2 + 9, (first + last) // 2 + 4, carries, "start")


def _line(x: int, y: int, to_x: int, to_y: int) -> str:
    return (
        f'<path d="M{x} {y}L{to_x} {to_y}" stroke="{_DATA}" stroke-width="1.6" fill="none" '
        'marker-end="url(#arrow)"/>'
    )


def _label(x: int, y: int, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="12" fill="{_DATA}">{escape(text)}</text>'


# ---- rows and rings -------------------------------------------------------------------------------------


def small_network() -> Graph:
    """Three 3x3 convolutions of an image of ten rows; the first result is added to the last."""
    image = TensorType(DType.I8, (1, 10, 10, 8), Quant((0.05,), (0,)))
    weights = TensorType(DType.I8, (8, 3, 3, 8), Quant((0.01,) * 8, (0,) * 8, 0))
    bias = TensorType(DType.I32, (8,), Quant((0.0005,) * 8, (0,) * 8, 0))
    chance = np.random.default_rng(1)
    types, constants, nodes = {"image": image}, dict[str, Array](), list[Node]()
    for name, source in (("a", "image"), ("b", "a"), ("c", "b")):
        types |= {name: image, f"{name}_w": weights, f"{name}_bias": bias}
        constants[f"{name}_w"] = chance.integers(-127, 128, weights.shape).astype(np.int8)
        constants[f"{name}_bias"] = chance.integers(-99, 100, 8).astype(np.int32)
        op = Conv2d(padding=((1, 1), (1, 1)))
        nodes.append(Node(name, op, (source, f"{name}_w", f"{name}_bias"), (name,)))
    types["sum"] = image
    nodes.append(Node("sum", Add(), ("a", "c"), ("sum",)))
    return Graph("small", ("image",), ("sum",), tuple(nodes), types, constants)


def compiled_small_network() -> CompiledModel:
    model = ImportedModel(small_network(), "small.tflite", "00" * 32, "small")
    target = Target("cortex-m3")
    return compile_job(Job(model, target, CompileOptions(optimize=Optimize.RAM)))


_SLOT_WIDE, _SLOT_HIGH, _LEFT, _TOP = 22, 18, 150, 84


def draw_rows_and_rings(facts: ModelFacts) -> str:
    """For each tensor the places of its ring, and which row each holds after each step."""
    memory = facts.memory
    inner = [buffer for buffer in memory.buffers if buffer.kind == "inner"]
    steps = len(memory.order)
    lines = sum(buffer.rows_held for buffer in inner)
    width = _LEFT + steps * _SLOT_WIDE + _EDGE
    height = _TOP + lines * _SLOT_HIGH + len(inner) * 26 + 50
    parts = [
        _HEAD.format(w=width, h=height),
        f'<rect width="100%" height="100%" fill="{_PAPER}"/>',
        '<text x="20" y="30" font-size="18" font-weight="bold">Rows in rings</text>',
        f'<text x="20" y="52" fill="{_FAINT}">Each column is one step: one layer computes one row. A cell is '
        "a row of memory with the number of the row it holds.</text>",
    ]
    parts += _steps(facts, memory)
    top = _TOP
    for number, buffer in enumerate(inner):
        parts += _ring(buffer, top, _COLOURS[number % len(_COLOURS)])
        top += buffer.rows_held * _SLOT_HIGH + 26
    return "\n".join([*parts, "</svg>\n"])


def _steps(facts: ModelFacts, memory: MemoryMap) -> Iterator[str]:
    for time, layer in enumerate(memory.order):
        x = _LEFT + time * _SLOT_WIDE + _SLOT_WIDE // 2
        yield (
            f'<text x="{x}" y="{_TOP - 8}" text-anchor="middle" font-size="11" fill="{_FAINT}">'
            f"{escape(facts.layers[layer].name)}</text>"
        )


def _ring(buffer: BufferLife, top: int, colour: str) -> Iterator[str]:
    rows = f"{buffer.rows_held} of {buffer.rows} rows"
    middle = top + buffer.rows_held * _SLOT_HIGH // 2
    yield f'<text x="20" y="{middle}" font-weight="bold" fill="{colour}">{escape(buffer.name)}</text>'
    yield f'<text x="20" y="{middle + 15}" font-size="11" fill="{_FAINT}">{rows}</text>'
    for span in buffer.spans:
        position = span.row % buffer.rows_held
        x, y = _LEFT + span.first * _SLOT_WIDE, top + position * _SLOT_HIGH
        wide = (span.last - span.first + 1) * _SLOT_WIDE
        yield (
            f'<rect x="{x}" y="{y}" width="{wide - 2}" height="{_SLOT_HIGH - 2}" rx="3" fill="{colour}" '
            'fill-opacity="0.22"/>'
        )
        middle = x + wide // 2 - 1
        yield f'<text x="{middle}" y="{y + 13}" text-anchor="middle" font-size="11">{span.row}</text>'


def pictures() -> Mapping[str, str]:
    """File name -> SVG."""
    facts = facts_of(compiled_small_network())
    return {
        "way-of-the-data.svg": draw_way_of_the_data(),
        "rows-and-rings.svg": draw_rows_and_rings(facts),
        "plan-over-time.svg": draw_memory_svg(facts),
    }


def main(words: Sequence[str]) -> None:
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
        sys.stdout.write(f"docs/pictures/{name}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
