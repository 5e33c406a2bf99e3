"""What the automatic scheduler brings: nests as they are meant, and the best schedule that it measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from textwrap import fill

from deploy import lang

WITHOUT_LANES = "qemu-riscv32"  # it takes one element with an instruction
BOARDS = ("mps2-an386", WITHOUT_LANES)
BAR = 2.5
TRIALS = 128
HEAD = (
    f"Instructions of unscheduled loop nests, and of the best of {TRIALS} trials by `lang.search`.\n"
    "Printed by `python -m benchmarks searches`, in a quarter of an hour.\n\n"
    "| board | nest | unscheduled | found | times |\n"
    "| --- | --- | ---: | ---: | ---: |\n"
)


def _matmul() -> lang.Schedule:
    x = lang.placeholder("x", (16, 64), "i8")
    w = lang.placeholder("w", (16, 64), "i8", constant=True)
    k = lang.reduce_axis("k", 64)
    y = lang.compute("y", (16, 16), lambda i, j: lang.sum(x[i, k] * w[j, k], k))
    return lang.schedule("matmul", [x, w], y)


def _conv() -> lang.Schedule:
    x = lang.placeholder("x", (10, 10, 8), "i8")
    w = lang.placeholder("w", (8, 3, 3, 8), "i8", constant=True)
    r, t, c = lang.reduce_axis("r", 3), lang.reduce_axis("t", 3), lang.reduce_axis("c", 8)
    y = lang.compute("y", (8, 8, 8), lambda i, j, o: lang.sum(x[i + r, j + t, c] * w[o, r, t, c], r, t, c))
    return lang.schedule("conv", [x, w], y)


def _depthwise() -> lang.Schedule:
    x = lang.placeholder("x", (10, 10, 8), "i8")
    w = lang.placeholder("w", (3, 3, 8), "i8", constant=True)
    r, t = lang.reduce_axis("r", 3), lang.reduce_axis("t", 3)
    y = lang.compute("y", (8, 8, 8), lambda i, j, c: lang.sum(x[i + r, j + t, c] * w[r, t, c], r, t))
    return lang.schedule("depthwise", [x, w], y)


def _pool(window: int, stride: int) -> lang.Schedule:
    size = (16 - window) // stride + 1
    x = lang.placeholder("x", (16, 16, 8), "i8")
    r, t = lang.reduce_axis("r", window), lang.reduce_axis("t", window)
    y = lang.compute(
        "y", (size, size, 8), lambda i, j, c: lang.max(x[i * stride + r, j * stride + t, c], r, t), "i8"
    )
    return lang.schedule(f"pool{window}s{stride}", [x], y)


NESTS: Mapping[str, Callable[[], lang.Schedule]] = {
    "matmul 16x64 by 64x16": _matmul,
    "conv 3x3, 8 to 8 channels": _conv,
    "depthwise 3x3": _depthwise,
    "max pool 2x2, stride 2": lambda: _pool(2, 2),
    "max pool 3x3, stride 1": lambda: _pool(3, 1),
}


APART = "max pool 2x2, stride 2"  # the nest whose windows have nothing in common
_OF_WORDS = 13  # in C without branches: a difference without borrows, the signs, a mask, the choice
_READ, _SIZE = 4, 8 * 8 * 8  # elements of such a window, and windows


def search_rows() -> Iterator[str]:
    """A row for each board and nest, and the floor of the one that stays above the bar."""
    floor = ""
    for board in BOARDS:
        for name, nest in NESTS.items():
            found = lang.search(nest(), board, trials=TRIALS, seed=1)
            yield f"| {board} | {name} | {found.naive:,} | {found.best:,} | {found.speedup:.2f} |\n"
            if (board, name) == (WITHOUT_LANES, APART):
                floor = _floor(found.naive)
    yield floor


def _floor(naive: int) -> str:
    """Explains the fewest instructions of maxima if windows share nothing and elements come one by one."""
    each = _READ + (_READ - 1) + 1
    count, words = each * _SIZE, ((_READ - 1) * _OF_WORDS + _READ + 1) / 4
    text = (
        f"The windows of {APART} share nothing, and {WITHOUT_LANES} handles one element per instruction. "
        f"{_READ} loads, {_READ - 1} comparisons and a store make {each} instructions for each of {_SIZE} "
        f"elements, {count:,} in total, before any value is moved. So no loop order is more than "
        f"{naive / count:.2f} times as fast as the unscheduled nest; {BAR} times would need "
        f"{naive / BAR / _SIZE:.1f} instructions per element. Four bytes in a word do not help: without "
        f"instructions for bytes side by side, the greater of each needs {_OF_WORDS} instructions, and an "
        f"element {words:.0f}."
    )
    return f"\n{fill(text, 118)}\n"
