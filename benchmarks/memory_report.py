"""Memory as a Markdown table: arena by rows, the bound of whole tensors, TFLM's arena, and what rows cost."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.cases import OTHERS_NAMES, SHARED
from benchmarks.memory import BOARD, Goal, MemoryResult

_HEAD = (
    "model",
    "ram",
    "above the floor",
    "speed",
    "bound",
    "beside",
    "TFLM's",
    "stack",
    "instructions, ram",
    "rows cost",
    "instructions, speed",
    "rows cost",
)
_HOW = f"""\
# Memory

Printed by `python -m benchmarks memory` from `memory.json`, which `python -m benchmarks measure-memory`
measures on {BOARD}, for every shared model that can be compiled. All sizes are in bytes:

- the arena, including inputs and outputs, for `--optimize ram` and for `speed`;
- how much of it is above the floor, the lower bound for every placement of these rings (*least*: the solver
  of `--exact` proved that this is the smallest);
- the bound of planners of whole tensors;
- the part of the `speed` arena that is not tensors, at the layer with the most of it: copies in another
  format, 16-bit rows, padding, sums. `speed` never exceeds the bound and this part together;
- TensorFlow Lite Micro's arena, and the largest C stack of a run.

*Rows cost* is the increase in instructions over whole tensors with the same option; for `ram`, it includes
the slower kernels of such a small arena. A dash marks a model that does not fit this board.

Rows do not help in some models. Vectors (autoencoders, recurrent and keyword models of one row) have no
rows: the arena equals the bound, or less if results are computed in place. A tensor that is transposed
between two layers exists whole. A gate over all channels (squeeze and excite) keeps the tensor that it
scales. The floor is the largest number of bytes live at once, or the size of all rings that turn at the
same time and therefore cannot share a byte.

"""


_HEAD_OF_ATTENTION = ("model", "ram", "speed", "largest tensor", "scores", "whole tensors", "bound")
_ATTENTION = """
## Attention

The arenas of all shared models with attention, next to their largest tensor, to the scores of all pairs of
vectors, and to plans of whole tensors: this planner's with the same kernels, and the bound of all.

"""


def memory_report(results: Sequence[MemoryResult]) -> str:
    arenas = _others_arenas()
    attention = [_attention_row(result) for result in results if result.scores_bytes]
    every = _table(_HEAD, [_row(result, arenas) for result in results])
    return _HOW + every + _ATTENTION + _table(_HEAD_OF_ATTENTION, attention)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---", *["---:"] * (len(head) - 1)), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _attention_row(result: MemoryResult) -> tuple[str, ...]:
    sizes = (
        result.ram.arena_bytes,
        result.speed.arena_bytes,
        result.largest_bytes,
        result.scores_bytes,
        result.speed.whole_arena_bytes,
        result.bound_bytes,
    )
    return (result.model, *(f"{size:,}" for size in sizes))


def _others_arenas() -> dict[str, int]:
    path = SHARED / "baselines.json"
    if not path.exists():
        return {}
    arenas: dict[str, int] = json.loads(path.read_text())["arena_bytes"]["tflm_cmsis_nn"]["m4"]
    return arenas


def _row(result: MemoryResult, arenas: dict[str, int]) -> tuple[str, ...]:
    ram, speed = result.ram, result.speed
    theirs = arenas.get(OTHERS_NAMES.get(result.model, ""))
    return (
        result.model,
        f"{ram.arena_bytes:,}",
        _above(ram),
        f"{speed.arena_bytes:,}",
        f"{result.bound_bytes:,}",
        f"{speed.beside_bytes:,}",
        "-" if theirs is None else f"{theirs:,}",
        _number(ram.run_stack_bytes),
        _number(ram.instructions),
        _share(ram.more_instructions),
        _number(speed.instructions),
        _share(speed.more_instructions),
    )


def _above(goal: Goal) -> str:
    above = goal.arena_bytes - goal.floor_bytes
    return f"{above:,}{', least' if above and goal.is_least else ''}"


def _number(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _share(more: float | None) -> str:
    return "-" if more is None else f"{more:+.1%}"
