"""docs/ops.md says what each op supports, in the words of the messages that refuse the rest."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from aot.frontend.onnx.importers import IMPORTERS as ONNX
from aot.frontend.onnx.importers import OF_DOMAIN
from aot.frontend.tflite.importers import IMPORTERS as TFLITE
from aot.ops import OPS
from aot.ops.op import Op
from deploy.op_facts import node_counts

INTRODUCTION = """\
# The ops and their limits

Written by `make golden` from the constraints in `aot/ops`: each limit is also the message to
whoever brings a model that breaks it. Element types are `i8` and `u8` (quantised), `i32`
and `f32`. Integer results are those of the reference in every bit; real ones differ in the last digits.
"""
ON_QUANTISED = """\
Between QuantizeLinear and DequantizeLinear integers are computed with, as in a TFLite model: sums are exact
and rounded by the integer multiplier of the mode. ONNX Runtime multiplies by a real number and rounds
halves to even: a layer's result may differ from its by one step. With `--rounding onnx` convolutions, dense
layers and products of matrices give its integers, too, unless the product is within a millionth of the
middle between two; sums, products and means of activations may still differ by one. QuantizeLinear of real
numbers rounds halves to even; what goes element by element (Sigmoid, LeakyRelu, other steps) is a table of
exact results; what only moves or compares elements is exact.
"""


def ops_page() -> str:
    sections = [section(name, op) for name, op in sorted(OPS.items())]
    return (
        "\n".join([INTRODUCTION, *sections, "\n".join(tflite_section()), "", "\n".join(onnx_section())])
        + "\n"
    )


def section(name: str, op: type[Op]) -> str:
    limits = "".join(f"- {constraint.rule}\n" for constraint in op.constraints)
    meaning = "\n\n".join(inspect.getdoc(thing) or "" for thing in (sys.modules[op.__module__], op))
    return f"## {name}\n\n{meaning}\n\n{limits}"


def tflite_section() -> Iterator[str]:
    yield "## TFLite's operators\n"
    yield "Those that are read: " + ", ".join(f"`{code}`" for code in sorted(TFLITE)) + "."


def onnx_section() -> Iterator[str]:
    yield "## ONNX's operators\n"
    names = ", ".join(f"`{name}`" for name in sorted(ONNX))
    yield f"Those that are read, of operator sets 7 and later: {names}."
    yield "Others are read where ONNX itself, or the file, defines them by these (functions)."
    for domain in ("ai.onnx.ml", "com.microsoft"):
        names = ", ".join(f"`{name}`" for name in sorted(OF_DOMAIN[domain]))
        yield f"Of the domain `{domain}`: {names}."
    yield from ON_QUANTISED.splitlines()
    yield "float64, float16, bfloat16 and narrower reals are computed in f32, rounded where the file casts."
    yield "uint16 is kept in i32, uint32 and uint64 (below 2**63) in i64, integers below 8 bits in 8."
    counts = node_counts()
    right, refused = (sum(each[kind] for each in counts.values()) for kind in ("right", "refused"))
    yield ""
    yield f"Of the {right + refused:,} node tests that the package `onnx` brings, compiled to C and run here,"
    yield f"{right:,} are right, {refused} are refused with a reason (texts, sequences, sizes that depend"
    yield "on the data, random numbers, training, nothing left to run), none is wrong. By first operator:"
    yield ""
    yield "| operator | right | refused |"
    yield "|---|---:|---:|"
    for operator, each in sorted(counts.items()):
        yield f"| {operator} | {each['right']} | {each['refused']} |"


def test_the_page_of_ops_is_current(repo_root: Path, generated: Callable[[Path, str], None]) -> None:
    generated(repo_root / "docs" / "ops.md", ops_page())
