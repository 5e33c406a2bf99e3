"""docs/ops.md says what each op supports, in the words of the messages that refuse the rest."""

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from aot.frontend.onnx.importers import IMPORTERS as ONNX
from aot.frontend.onnx.importers import OF_DOMAIN
from aot.frontend.tflite.importers import IMPORTERS as TFLITE
from aot.ops import OPS
from aot.ops.op import Op
from aot.ops.rounding import MEANINGS, MODES
from deploy.inspection.op_facts import (
    Counts,
    node_counts,
    op_sources,
    rounding_rows,
    sources_of,
    suite_counts,
)

INTRODUCTION = """\
# Operators and their limits

`deploy ops MODEL` shows whether Solder supports each operator of your model. This page lists each op with its limits; each limit is
also the text of the error for a model that exceeds it. Element types are integers (`i8`, `i16`, `i32`, `i64`, `u8`, `u32`, `u64`),
`bool` and `f32`; `i8`, `i16` and `u8` may be quantized. A `u8` tensor is computed as `i8` with another zero point. Integer results equal
the reference bit for bit; floats differ in the last digits. `make golden` writes this page from `aot/ops`.
"""
MATRIX = """\
## Types, rounding and sources of each op

The columns `tflm`, `litert-ref` and `onnx` show how `--rounding` rounds results, by the type of the first input. Unscaled integer
operations are exact, except division. Next are the operators that become the op, alone or with others, in our test models, and how
many public one-operator cases (TFLite) and node tests (ONNX) contain the op and give the right result. The last two tables
show what each operator becomes.
"""
MOST_NAMED = 8
ON_COUNTS = """\
**NonMaxSuppression** outputs as many rows as there can be (`max_output_boxes_per_class`, or all boxes, for each class of each batch).
The model gets an additional output, `<name>_count`; rows after that count are 0. Nodes that compute each row independently may read
these rows; nodes that mix or count rows are not supported. `deploy inspect` marks the output that is a count, and
`deploy verify --oracle ort` compares the valid rows.
"""
ON_QUANTISED = """\
**Quantized models.** Between QuantizeLinear and DequantizeLinear, layers compute with integers, as in a TFLite model. Sums are exact and
rounded by the integer multiplier of the mode. ONNX Runtime multiplies by a float and rounds halves to even, so a layer may
differ by one step. With `--rounding onnx`, the default for such files, convolutions, dense layers, matrix products, means, sums and
products of activations match it. Exceptions are results within a few millionths of the middle between two integers: there ONNX Runtime
itself differs between optimization levels. A quantized softmax may differ by one. QuantizeLinear of floats rounds
halves to even. Elementwise functions are exact tables, and moves and comparisons are exact.
"""
ON_SMALL_WEIGHTS = """
**Integer weights between floats** (hybrid models, dynamic range quantization) are multiplied by their scale, and sums are floats.
Activations are not quantized, unlike in LiteRT's hybrid kernels, so results are nearer to the float model. With
`--rounding litert-ref`, dense layers with int8 weights quantize each vector, and convolutions each image, and match LiteRT's reference
kernels bit for bit (not XNNPACK). Convolutions of several images or channel groups, and other layers, do not.

In flash, int8 weights of dense layers without zero points stay bytes. Weights of other layers, and all of float16, become f32: four
bytes each, which is four or two times the file's size. `deploy inspect --board` shows the total.
"""

ON_COMPLEX = """
Complex numbers are supported between the operators of a model, not as its inputs or outputs. They are made by RFFT2D and read by
COMPLEX_ABS, REAL and IMAG. RESHAPE, SQUEEZE and EXPAND_DIMS may be between them. COMPLEX_ABS squares in f32: magnitudes above 1e19
overflow.
"""


def ops_page() -> str:
    sections = [section(name, op) for name, op in sorted(OPS.items())]
    formats = ("\n".join(tflite_section()), "", "\n".join(onnx_section()))
    return "\n".join([INTRODUCTION, "\n".join(matrix()), "", *sections, *formats]) + "\n"


def section(name: str, op: type[Op]) -> str:
    limits = "".join(f"- {constraint.rule}\n" for constraint in op.constraints)
    meaning = "\n\n".join(inspect.getdoc(thing) or "" for thing in (sys.modules[op.__module__], op))
    return f"## {name}\n\n{meaning}\n\n{limits}"


def matrix() -> Iterator[str]:
    yield MATRIX
    yield f"| op | elements | {' | '.join(MODES)} | from TFLite | right | from ONNX | right |"
    yield "|---|---|---|---|---|---|---:|---|---:|"
    for name in sorted(OPS):
        sources = sources_of(name).values()
        found = [cell for source in sources for cell in (named(source), source["cases"])]
        for number, row in enumerate(rounding_rows(name)):
            first, last = ("", [""] * len(found)) if number else (name, found)
            yield f"| {' | '.join(map(str, (first, *row, *last)))} |"
    yield ""
    for rounding, meaning in MEANINGS.items():
        yield f"- *{rounding.value}*: {meaning}"


def named(source: Mapping[str, Any]) -> str:
    names = source["operators"]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def counted(format_name: str, counts: Counts, read: Iterable[str], what: str) -> Iterator[str]:
    """A table of a format's operators: which ops they become, how many cases are right and refused."""
    yield f"| operator | becomes | {what} right | refused |"
    yield "|---|---|---:|---:|"
    sources = op_sources()[format_name]
    for operator in sorted({*counts, *read}):
        ops = ", ".join(op for op, source in sources.items() if operator in source["operators"])
        each = counts.get(operator, {})
        yield f"| {operator} | {ops} | {each.get('right', '-')} | {each.get('refused', '-')} |"


def tflite_section() -> Iterator[str]:
    yield "## TFLite's operators\n"
    yield "Supported: " + ", ".join(f"`{code}`" for code in sorted(TFLITE)) + "."
    counts = suite_counts()
    right, refused = totals(counts)
    yield ""
    yield f"Of {right + refused} public cases of one operator, compiled to C and run here, {right} are right"
    yield f"in every bit of their integers, {refused} are refused with a reason, none is wrong. A dash"
    yield "means that no case has the operator. An operator without an op leaves nothing to compute, or is in no test model.\n"
    yield from counted("tflite", counts, TFLITE, "cases")
    yield ON_COMPLEX.rstrip()
    yield ON_SMALL_WEIGHTS.rstrip()


def totals(counts: Counts) -> tuple[int, int]:
    right, refused = (sum(each[kind] for each in counts.values()) for kind in ("right", "refused"))
    return right, refused


def onnx_section() -> Iterator[str]:
    yield "## ONNX's operators\n"
    names = ", ".join(f"`{name}`" for name in sorted(ONNX))
    yield f"Supported, from operator sets 7 and later: {names}."
    yield "Others are supported if ONNX or the file defines them with these, as functions."
    for domain in ("ai.onnx.ml", "com.microsoft"):
        names = ", ".join(f"`{name}`" for name in sorted(OF_DOMAIN[domain]))
        yield f"From the domain `{domain}`: {names}."
    yield from ON_QUANTISED.splitlines()
    yield "float64, float16, bfloat16 and narrower floats are computed in f32, rounded where the file casts;"
    yield "functions of bfloat16, such as Attention, are rounded at each step."
    yield "uint16 is kept in i32, uint32 and uint64 (below 2**63) in i64, integers below 8 bits in 8."
    yield ""
    yield from ON_COUNTS.splitlines()
    counts = node_counts()
    right, refused = totals(counts)
    yield ""
    yield f"Of the {right + refused:,} node tests of the package `onnx`, compiled to C and run here,"
    yield f"{right:,} are right, {refused} are refused with a reason, none is wrong. Reasons are texts, pictures in"
    yield "files, random numbers, float64 by its bits, and that nothing is left to run. Two tests are left out:"
    yield "they expect another `align_corners` of a fractional size than ONNX Runtime and PyTorch have."
    yield "By first operator:"
    yield ""
    yield from counted("onnx", counts, ONNX, "tests")


def test_the_page_of_ops_is_current(repo_root, generated):
    generated(repo_root / "docs" / "ops.md", ops_page())
