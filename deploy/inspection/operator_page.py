"""The page about a format's operator or an op: support, conversion and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import Any

from aot.errors import InputError, did_you_mean
from aot.ops.rounding import MODES
from deploy.cli.command_result import Answer
from deploy.cli.console import table
from deploy.inspection.op_facts import function_lines, op_facts, op_meanings, op_sources, rounding_rows

_WIDTH = 80
_LIMITS = "deploy ops {} shows its limits, and so on."
_FORMATS = {"tflite": ("TFLite", "cases of public kernel tests"), "onnx": ("ONNX", "of ONNX's node tests")}


def operator_answer(name: str, meaning: bool = False) -> Answer:
    """Returns facts about all operators and ops with this name, ignoring case. Raises InputError.

    With `meaning`, returns the loops of an example instead of the limits.
    """
    facts = op_facts()
    found = {
        form: [o for o in operators if o["operator"].lower() == name.lower()]
        for form, operators in facts["formats"].items()
    }
    known = {op["name"]: op for op in facts["ops"]}
    names = [op for op in known if op == name.lower() or _comes_of(op, found)]
    if not names and not any(found.values()):
        everything = [*known, *(o["operator"] for each in facts["formats"].values() for o in each)]
        raise InputError(
            f'operator "{name}" is not known{did_you_mean(name, everything)}',
            hint="list all with deploy ops, or those of a model with deploy ops MODEL",
        )
    own = name.lower() if name.lower() in known else None
    shown = [_op_page(known[own])] if own else [_table_of(names), _LIMITS.format(names[0])] if names else []
    ops = [own] if own else names
    answer: dict[str, Any] = {"ops": [known[op] for op in ops], "formats": found}
    if meaning:
        answer["meanings"] = {op: op_meanings()[op] for op in ops if op in op_meanings()}
        shown = [_meaning(op) for op in ops]
    return Answer(answer, "\n\n".join((*_format_lines(found, names), *shown)))


def _meaning(op: str) -> str:
    """Returns an example's loops before scheduling."""
    found = op_meanings().get(op)
    if found is None:
        return f"{op}: a view of the same rows; nothing is computed"
    return f"{op}, such as\n\n{found['example']}\n\nmeans\n\n{found['loops'].rstrip()}"


def _comes_of(op: str, found: Mapping[str, list[dict[str, Any]]]) -> bool:
    return any(
        operator["operator"] in op_sources()[form].get(op, {"operators": []})["operators"]
        for form, operators in found.items()
        for operator in operators
    )


def _format_lines(found: Mapping[str, list[dict[str, Any]]], ops: list[str]) -> Iterator[str]:
    lines = []
    for form, operators in found.items():
        title, cases = _FORMATS[form]
        for each in operators:
            right, refused = each.get("right", 0), each.get("refused", 0)
            tried = f": {right} {cases} right, {refused} refused" if right or refused else ""
            becomes = f"; becomes {', '.join(ops)}" if ops else ""
            lines.append(fill(f"{title} {each['operator']}{tried}{becomes}", _WIDTH, subsequent_indent="  "))
    if lines:
        yield "\n".join(lines)


def _table_of(ops: list[str]) -> str:
    rows = table(("op", "elements", *MODES), [(op, *row) for op in ops for row in rounding_rows(op)])
    return "\n\n".join((rows, *function_lines(ops)))


def _op_page(op: Mapping[str, Any]) -> str:
    limits = "\n".join(fill(f"- {rule}", _WIDTH, subsequent_indent="  ") for rule in op["limits"])
    means = "\n\n".join(fill(paragraph, _WIDTH) for paragraph in op["means"].split("\n\n"))
    return f"{means}\n\n{_table_of([op['name']])}\n\nlimits\n{limits}"
