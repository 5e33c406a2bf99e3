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
measures on {BOARD}, for every shared model that can be compiled. In bytes: the arena with inputs and
outputs in it, for `--optimize ram`, how much of it is above the floor, which no placement of these rings
can go below (*least*: nor below this, as the solver of `--exact` has proven), and for `speed`; the bound
that no planner of whole tensors can beat; what of the `speed` arena lies beside the tensors themselves at the
layer with most of it (copies in another format, 16-bit rows, padding, sums): `speed` is never above the
bound and that together; TensorFlow Lite Micro's arena; the C stack of a run at most. *Rows cost*:
instructions more than over whole tensors with the same option; for `ram`, also what the kernels of so small
an arena cost. A line stands where a model does not fit this board.

Where rows do not help: vectors (autoencoders, recurrent and keyword models of one row) have none; there the
arena is the bound, or less where results are computed in place. What is transposed between two layers is
there whole, as itself or transposed. A gate over all channels (squeeze and excite) keeps the tensor it
scales. The floor is what is live at once, or what rings that turn at the same time, and so cannot share a
byte, take together.

"""


def memory_report(results: Sequence[MemoryResult]) -> str:
    arenas = _others_arenas()
    lines = [_HEAD, ("---", *["---:"] * (len(_HEAD) - 1)), *(_row(result, arenas) for result in results)]
    return _HOW + "".join(f"| {' | '.join(line)} |\n" for line in lines)


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
