"""Memory as a Markdown table: arena by rows, the bound of whole tensors, TFLM's arena, and what rows cost."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.cases import OTHERS_NAMES, SHARED
from benchmarks.memory import BOARD, MemoryResult

_HEAD = (
    "model",
    "ram",
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
outputs in it, for `--optimize ram` and `speed`; the bound that no planner of whole tensors can beat; what
of the `speed` arena lies beside the tensors themselves at the layer with most of it (copies in another
format, 16-bit rows, margins, sums): `speed` is never above the bound and that together; TensorFlow Lite
Micro's arena; the C stack of a run at most. *Rows cost*: instructions more than with the same kernels over
whole tensors.

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
        f"{speed.arena_bytes:,}",
        f"{result.bound_bytes:,}",
        f"{speed.beside_bytes:,}",
        "-" if theirs is None else f"{theirs:,}",
        "-" if ram.run_stack_bytes is None else f"{ram.run_stack_bytes:,}",
        f"{ram.instructions:,}",
        f"{ram.more_instructions:+.1%}",
        f"{speed.instructions:,}",
        f"{speed.more_instructions:+.1%}",
    )
