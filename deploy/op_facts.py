"""What is supported, out of the tables that do it: ops, element types, roundings, operators of formats."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from aot.frontend.onnx.importers import IMPORTERS as ONNX_IMPORTERS
from aot.frontend.tflite.importers import IMPORTERS
from aot.ops import OPS
from aot.ops.op import Op
from aot.ops.rounding import MODES, ROUNDING
from codegen.kernels.table import KERNELS
from deploy.console import table

Counts = Mapping[str, Mapping[str, int]]


def op_facts() -> dict[str, Any]:
    """For machines."""
    formats = {
        "tflite": _operators(set(IMPORTERS), suite_counts()),
        "onnx": _operators(set(ONNX_IMPORTERS) | set(node_counts()), node_counts()),
    }
    return {"ops": [_op(name, op) for name, op in sorted(OPS.items())], "formats": formats}


def _operators(codes: set[str], counts: Counts) -> list[dict[str, Any]]:
    return [{"operator": code, **counts.get(code, {})} for code in sorted(codes)]


def suite_counts() -> Counts:
    """Operator -> how many cases of public kernel tests give the right result, and how many are refused."""
    return _stored("suite_counts.json")


def node_counts() -> Counts:
    """The same of ONNX's node tests."""
    return _stored("onnx_counts.json")


def _stored(name: str) -> Counts:
    counts: Counts = json.loads(files("deploy").joinpath(name).read_text(encoding="utf-8"))
    return counts


def _op(name: str, op: type[Op]) -> dict[str, Any]:
    kernel, roundings = KERNELS.get(name), ROUNDING.get(name)
    return {
        "name": name,
        "means": inspect.getdoc(op) or "",
        "elements": sorted(d.value for d in kernel.dtypes) if kernel is not None else ["any"],
        "limits": [constraint.rule for constraint in op.constraints],
        "rounding": {mode: roundings[mode].value for mode in MODES} if roundings is not None else {},
    }


def op_text() -> str:
    """For people: a table of ops, and one of each format's operators."""
    facts = op_facts()
    ops = [(o["name"], " ".join(o["elements"]), _rounding(o["rounding"])) for o in facts["ops"]]
    tflite, onnx = (_counted(facts["formats"][name]) for name in ("tflite", "onnx"))
    return "\n\n".join(
        (
            table(("op", "element types", "rounding"), ops),
            table(("TFLite operator", "cases right", "refused"), tflite),
            table(("ONNX operator", "node tests right", "refused"), onnx),
            "The limits of each op are in docs/ops.md, and with --json.",
        )
    )


def _counted(operators: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(o["operator"], str(o.get("right", "-")), str(o.get("refused", "-"))) for o in operators]


def _rounding(roundings: Mapping[str, str]) -> str:
    return ", ".join(f"{mode}: {how}" for mode, how in roundings.items()) or "as the op says"
