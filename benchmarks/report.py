"""The results as Markdown tables, beside the others' figures where these are at hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.cases import BOARDS, OTHERS_NAMES, OTHERS_NAMES_F32, SHARED, TFLM, TOO_LARGE, goals
from benchmarks.results import Result

# The core that stands for each board in the others' figures.
_OTHERS_CORES = {
    "mps2-an386": "m4",
    "mps2-an500": "m7",
    "mps2-an505": "m33",
    "mps3-an547": "m55",
}
_HEAD = (
    "model",
    "instructions",
    "per MAC",
    "cycles",
    "TFLM",
    "with CMSIS-NN",
    "arena",
    "TFLM's",
    "stack",
    "code",
    "constants",
)


_FLOAT_BOARD = "mps2-an386"
_FLOAT_HEAD = ("model", "instructions", "per MAC", "onnx2c")


def report(results: Sequence[Result]) -> str:
    others = _others()
    parts = ["# Measured\n", _how(results)]
    for board in BOARDS:
        for goal in goals(board):
            rows = [r for r in results if (r.board, r.optimize) == (board, goal)]
            parts.append(f"## {board}, --optimize {goal}\n")
            parts.append(_table(_HEAD, [_row(r, others) for r in rows]))
    real = [r for r in results if r.board == _FLOAT_BOARD and r.model in OTHERS_NAMES_F32]
    parts.append(f"## {_FLOAT_BOARD}, float32 beside onnx2c\n")
    parts.append(_table(_FLOAT_HEAD, [_float32_row(r, others) for r in real]))
    parts.append("## Not counted\n")
    parts.append(_table(("model", "board", "why"), [(*where, why) for where, why in TOO_LARGE.items()]))
    return "\n".join(parts)


def _how(results: Sequence[Result]) -> str:
    compilers = ", ".join(sorted({r.compiler for r in results}))
    return (
        "Printed by `python -m benchmarks report` from `results.json`, which `make bench` measures. The\n"
        "columns are instructions of one inference, counted exactly in QEMU, and cycles by the model of\n"
        "the core, if there is one (docs/cycles.md), for memory without wait states. Sizes are in bytes:\n"
        "arena (with inputs and outputs), stack as painted on the board (with the timing loop), code\n"
        "(firmware that only runs the model, with C library and startup, without constants) and\n"
        "constants.\n\n"
        f"Compiler: {compilers}, with the board's flags.\n\n"
        "For comparison: TensorFlow Lite Micro of August 2026 with gcc 12.2 -O3, measured in the same\n"
        "way, with its own kernels and with those of CMSIS-NN, which are made for cores with DSP or\n"
        "Helium. See `tflm.json` for the method on Cortex-M0+, M3, M4 and RISC-V. All shared models are\n"
        "measured on Cortex-M4 and M55, the first ones on other cores too. Models that do not fit are\n"
        "listed at the end.\n"
    )


def _others() -> dict[str, Any]:
    path = SHARED / "baselines.json"
    facts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return facts | {"tflm": json.loads(TFLM.read_text())}


def _row(result: Result, others: dict[str, Any]) -> tuple[str, ...]:
    return (
        result.model,
        f"{result.instructions:,}",
        f"{result.instructions / result.macs:.2f}" if result.macs else "-",
        f"{result.cycles:,}" if result.cycles is not None else "-",
        _tflm(others, result),
        _other(others, ("instructions", "tflm_cmsis_nn"), result),
        f"{result.arena_bytes:,}",
        _other(others, ("arena_bytes", "tflm_cmsis_nn"), result),
        f"{result.stack_bytes:,}" if result.stack_bytes is not None else "-",
        f"{result.code_bytes:,}",
        f"{result.constants_bytes:,}",
    )


def _float32_row(result: Result, others: dict[str, Any]) -> tuple[str, ...]:
    onnx2c = ("instructions", "onnx2c_float", "m4", OTHERS_NAMES_F32[result.model])
    per_mac = f"{result.instructions / result.macs:.2f}"
    return result.model, f"{result.instructions:,}", per_mac, _number(others, onnx2c)


def _tflm(others: dict[str, Any], result: Result) -> str:
    """With its own kernels."""
    counted = _number(others, ("tflm", "instructions", result.board, result.model))
    return counted if counted != "-" else _other(others, ("instructions", "tflm_reference"), result)


def _other(others: dict[str, Any], path: tuple[str, ...], result: Result) -> str:
    return _number(others, (*path, _OTHERS_CORES.get(result.board, ""), OTHERS_NAMES.get(result.model, "")))


def _number(others: dict[str, Any], path: Sequence[str]) -> str:
    found: Any = others
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return f"{found:,}" if found is not None else "-"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ("---", *["---:"] * (len(head) - 1)), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
