"""What is supported, out of the tables that do it: ops, element types, roundings, operators of formats."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from aot.frontend.tflite.importers import IMPORTERS
from aot.ops import OPS
from aot.ops.op import Op
from aot.ops.rounding import MODES, ROUNDING
from codegen.kernels.table import KERNELS
from deploy.console import table


def op_facts() -> dict[str, Any]:
    """For machines."""
    counts = suite_counts()
    operators = [{"operator": code, **counts.get(code, {})} for code in sorted(IMPORTERS)]
    return {"ops": [_op(name, op) for name, op in sorted(OPS.items())], "formats": {"tflite": operators}}


def suite_counts() -> Mapping[str, Mapping[str, int]]:
    """Operator -> how many cases of public kernel tests give the right result, and how many are refused."""
    counts: Mapping[str, Mapping[str, int]] = json.loads(
        files("deploy").joinpath("suite_counts.json").read_text(encoding="utf-8")
    )
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
    """For people: two tables."""
    facts = op_facts()
    ops = [(o["name"], " ".join(o["elements"]), _rounding(o["rounding"])) for o in facts["ops"]]
    tflite = [
        (o["operator"], str(o.get("right", "-")), str(o.get("refused", "-")))
        for o in facts["formats"]["tflite"]
    ]
    return "\n\n".join(
        (
            table(("op", "element types", "rounding"), ops),
            table(("TFLite operator", "cases right", "refused"), tflite),
            "The limits of each op are in docs/ops.md, and with --json.",
        )
    )


def _rounding(roundings: Mapping[str, str]) -> str:
    return ", ".join(f"{mode}: {how}" for mode, how in roundings.items()) or "as the op says"
