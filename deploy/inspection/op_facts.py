"""Lists supported ops, element types, roundings and format operators, from the compiler's tables."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from importlib.resources import files
from textwrap import fill
from types import MappingProxyType
from typing import Any

from aot.frontend.onnx.importers import IMPORTERS as ONNX_IMPORTERS
from aot.frontend.tflite.importers import IMPORTERS
from aot.ops import OPS
from aot.ops.combine import Combination
from aot.ops.compare import Relation
from aot.ops.op import Op
from aot.ops.reduce import Reduction
from aot.ops.rounding import MEANINGS, MODES, ROUNDING
from aot.ops.unary_math import MathFunction
from deploy.cli.console import table

# Lists the functions of ops that implement several, under the names of format operators.

_WIDTH = 80
_FUNCTIONS: Mapping[str, type[Enum]] = MappingProxyType(
    {"combine": Combination, "compare": Relation, "reduce": Reduction, "unary_math": MathFunction}
)


def function_lines(ops: Iterable[str]) -> Iterator[str]:
    """Yields the functions of each such op, wrapped at 80 columns."""
    for op in ops:
        if op in _FUNCTIONS:
            names = ", ".join(each.value.replace("_", " ") for each in _FUNCTIONS[op])
            yield fill(f"{op} is one of: {names}", _WIDTH, subsequent_indent="  ")


Counts = Mapping[str, Mapping[str, int]]


def op_facts() -> dict[str, Any]:
    """Returns the facts as JSON data."""
    formats = {
        "tflite": _operators(set(IMPORTERS), suite_counts()),
        "onnx": _operators(set(ONNX_IMPORTERS) | set(node_counts()), node_counts()),
    }
    return {"ops": [_op(name, op) for name, op in sorted(OPS.items())], "formats": formats}


def _operators(codes: set[str], counts: Counts) -> list[dict[str, Any]]:
    return [{"operator": code, **counts.get(code, {})} for code in sorted(codes)]


def suite_counts() -> Counts:
    """Returns passed and refused cases of public kernel tests, by TFLite operator."""
    return _stored("suite_counts.json")


def node_counts() -> Counts:
    """Returns passed and refused node tests of ONNX, by ONNX operator."""
    return _stored("onnx_counts.json")


def _stored(name: str) -> Counts:
    counts: Counts = json.loads(_text(name))
    return counts


def _text(name: str) -> str:
    return files("deploy.inspection").joinpath(name).read_text(encoding="utf-8")


def _op(name: str, op: type[Op]) -> dict[str, Any]:
    rows = ROUNDING[name]
    return {
        "name": name,
        "means": inspect.getdoc(op) or "",
        "elements": list(dict.fromkeys(elements.split(",")[0] for elements in rows)),
        "limits": [constraint.rule for constraint in op.constraints],
        "rounding": {e: {mode: row[mode].value for mode in MODES} for e, row in rows.items()},
        **sources_of(name),
    }


def op_sources() -> Mapping[str, Mapping[str, Any]]:
    """Returns by format and op: the operators converted to it, and the number of passed tests."""
    sources: Mapping[str, Mapping[str, Any]] = json.loads(_text("op_sources.json"))
    return sources


def op_meanings() -> Mapping[str, Mapping[str, str]]:
    """Returns for each computing op an example and its loops before scheduling."""
    meanings: Mapping[str, Mapping[str, str]] = json.loads(_text("op_meanings.json"))
    return meanings


def sources_of(op_name: str) -> Mapping[str, Any]:
    """Returns an op's operators and tests in each format; empty for a new op."""
    return {form: found.get(op_name, {"operators": [], "cases": 0}) for form, found in op_sources().items()}


def rounding_rows(op_name: str) -> list[tuple[str, ...]]:
    """Groups element types with the same rounding, with the rounding of each mode."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for elements, row in ROUNDING[op_name].items():
        alike.setdefault(tuple(row[mode].value for mode in MODES), []).append(elements)
    return [("; ".join(elements), *values) for values, elements in alike.items()]


def op_text() -> str:
    """Formats the facts: a table of ops, and one of each format's operators."""
    facts = op_facts()
    ops = [(name, *row) for name in sorted(OPS) for row in rounding_rows(name)]
    tflite, onnx = (_counted(facts["formats"][name]) for name in ("tflite", "onnx"))
    return "\n\n".join(
        (
            table(("op", "elements", *MODES), ops),
            "\n".join(function_lines(sorted(OPS))),
            "\n".join(f"{rounding.value}: {meaning}" for rounding, meaning in MEANINGS.items()),
            table(("TFLite operator", "cases right", "refused"), tflite),
            table(("ONNX operator", "node tests right", "refused"), onnx),
            "For the limits of each op, see deploy docs ops, or use --json.",
        )
    )


def _counted(operators: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(o["operator"], str(o.get("right", "-")), str(o.get("refused", "-"))) for o in operators]
