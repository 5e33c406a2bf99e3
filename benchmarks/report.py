"""The results as Markdown tables, beside the others' figures where these are at hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.cases import BOARDS, OPTIMIZED_FOR, OTHERS_NAMES, SHARED
from benchmarks.results import Result

# The core that stands for each board in the others' figures.
_OTHERS_CORES = {"mps2-an386": "m4", "mps2-an500": "m7", "mps2-an505": "m33", "mps3-an547": "m55"}
_HEAD = (
    "model",
    "instructions",
    "per MAC",
    "TFLM + CMSIS-NN",
    "arena",
    "TFLM's",
    "stack",
    "code",
    "constants",
)


def report(results: Sequence[Result]) -> str:
    others = _others()
    parts = ["# Measured\n", _how(results)]
    for board in BOARDS:
        for goal in OPTIMIZED_FOR.get(board, ("speed",)):
            rows = [r for r in results if (r.board, r.optimize) == (board, goal)]
            parts.append(f"## {board}, --optimize {goal}\n")
            parts.append(_table([_row(r, others) for r in rows]))
    return "\n".join(parts)


def _how(results: Sequence[Result]) -> str:
    compilers = ", ".join(sorted({r.compiler for r in results}))
    return (
        "Printed by `python -m benchmarks report` from `results.json`, which `make bench` measures:\n"
        "instructions of one inference, counted exactly in QEMU; bytes of arena (inputs and outputs in\n"
        "it), of stack as painted on the board (the timing loop's share in it), of code (a firmware that\n"
        "only runs the model, C library and startup in it, constants not) and of constants.\n\n"
        f"Compiler: {compilers}, with the board's flags.\n\n"
        "The others' figures are those of TensorFlow Lite Micro of August 2026 with CMSIS-NN, gcc 12.2 -O3,\n"
        "measured in the same way.\n"
    )


def _others() -> dict[str, Any]:
    path = SHARED / "baselines.json"
    facts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return facts


def _row(result: Result, others: dict[str, Any]) -> tuple[str, ...]:
    return (
        result.model,
        f"{result.instructions:,}",
        f"{result.instructions / result.macs:.2f}",
        _other(others, ("instructions", "tflm_cmsis_nn"), result),
        f"{result.arena_bytes:,}",
        _other(others, ("arena_bytes", "tflm_cmsis_nn"), result),
        f"{result.stack_bytes:,}" if result.stack_bytes is not None else "-",
        f"{result.code_bytes:,}",
        f"{result.constants_bytes:,}",
    )


def _other(others: dict[str, Any], path: tuple[str, ...], result: Result) -> str:
    found: Any = others
    for key in (*path, _OTHERS_CORES.get(result.board, ""), OTHERS_NAMES[result.model]):
        found = found.get(key) if isinstance(found, dict) else None
    return f"{found:,}" if found is not None else "-"


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = [_HEAD, ("---", *["---:"] * (len(_HEAD) - 1)), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
