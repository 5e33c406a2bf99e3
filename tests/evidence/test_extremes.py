"""Sums at the ends of the input range, run and computed with intervals: no overflow but written wraps."""

from dataclasses import replace
from itertools import combinations_with_replacement, product
from operator import and_, lshift
from pathlib import Path

import numpy as np
import pytest
from extremes_run import artifact_of_file
from strict_archives import artifact, changed

import deploy
from aot.errors import MissingToolError
from aot.ir.types import Array, DType
from codegen.kernels.kernel import Kernel
from codegen.loops.affine import variable
from codegen.loops.interpret import run_proc
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Buffer,
    Cast,
    Choose,
    Const,
    Declare,
    Element,
    Expr,
    For,
    Index,
    Load,
    Proc,
    Role,
    Store,
    at,
    load,
)
from codegen.options import CompileOptions
from deploy.proving import interval_walk as layer_walk
from deploy.proving.chapter import Standing
from deploy.proving.extremes import examine_extremes, reason_of
from deploy.proving.interval_walk import examine_intervals
from deploy.proving.intervals.cells import BINARY, Cells, Hull, Interval, Notes, limits_of
from deploy.proving.intervals.program import IntervalProgram
from deploy.proving.subject import About, Subject, subject_of
from deploy.proving.sum_range import ProductSums


@pytest.mark.cc
@pytest.mark.parametrize("name", ["classifier", "residual"])
def test_small_networks_overflow_nowhere(name, require_tool):
    require_tool("clang")
    found = examine_extremes(Subject(artifact(name)))
    assert found.verdict is Standing.EXCEPTIONS, found.summary
    assert found.summary.startswith("7 inputs, nothing undefined and no wrap that is not written as such")
    inputs, reports = found.tables
    assert ("the greatest sum of the first layer",) in inputs.rows
    assert all(row[-1] != "none" for row in reports.rows)


@pytest.mark.cc
@pytest.mark.slow
def test_sums_of_16_bits_that_wrap_are_written_so(shared_dir, require_tool):
    require_tool("clang")
    made = artifact_of_file(shared_dir / "models" / "tflm_kw_scrambled_16x8", "tflm")
    found = examine_extremes(Subject(made))
    assert found.verdict is Standing.EXCEPTIONS, found.summary
    (wrap,) = (row for row in found.tables[1].rows if str(row[3]).startswith("unsigned integer overflow"))
    assert wrap[2] == "return (int32_t)((uint32_t)a + (uint32_t)b);"


@pytest.mark.cc
@pytest.mark.parametrize(
    ("pattern", "by", "says"),
    [
        (r"(sum\d?) \+= x\[", r"\1 += 3000000 * x[", "signed integer overflow"),
        (r"\n    return \w+_OK;\n", "\n    static unsigned none;\n    none = none - 1u;\n    return 0;\n",
         "unsigned integer overflow: 0 - 1"),
        (r"\n    return \w+_OK;\n", "\n    static volatile int8_t v = 100;\n    v = v * 2;\n    return 0;\n",
         "implicit conversion from type 'int' of value 200"),
    ],
)  # fmt: skip
def test_what_is_put_there_is_found(pattern, by, says, require_tool):
    require_tool("clang")
    found = examine_extremes(Subject(changed(artifact("dense"), pattern, by)))
    assert found.verdict is Standing.FAILED
    assert says in found.summary


@pytest.mark.cc
def test_outputs_that_differ_fail(require_tool):
    require_tool("clang")
    found = examine_extremes(Subject(changed(artifact("dense"), r"(sum\d?) \+= x\[", r"\1 -= x[")))
    assert (found.verdict, found.summary) == (Standing.FAILED, "the outputs are not those of the reference")


def test_without_clang_the_chapter_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        MissingToolError, match="clang is not installed, and the checks of integers are its alone"
    ):
        examine_extremes(Subject(artifact("dense")))


def test_inline_assembly_does_not_run_here():
    assert examine_extremes(Subject(artifact("conv", CompileOptions()))).verdict is Standing.NOT_RUN


def test_a_wrap_has_to_be_written_as_such():
    wraps = "unsigned integer overflow: 1 + 4294967295 cannot be represented in type 'unsigned int'"
    assert reason_of(wraps, "return (int32_t)((uint32_t)a + (uint32_t)b);")
    assert not reason_of(wraps, "row = row + step;")
    assert not reason_of("signed integer overflow: 1", "return (int32_t)((uint32_t)a + b);")


DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
X = Buffer("x", DType.I8, 2, Role.INPUT)
W = Buffer("w", DType.I8, 4, Role.CONSTANT)
Y = Buffer("y", DType.I32, 2, Role.OUTPUT)
SUM = Buffer("sum", DType.I32, 1, Role.LOCAL)
O, K = variable("o"), variable("k")  # noqa: E741


def proc_of(value: Expr) -> Proc:
    """Two sums over two inputs of what the value is."""
    body = (
        For("o", 2, (
            Declare(SUM),
            Store(at(SUM), Const(7)),
            For("k", 2, (Accumulate(at(SUM), value),)),
            Store(at(Y, O), load(SUM)),
        )),
    )  # fmt: skip
    return Proc("sums", (X, W, Y), body)


def cells(buffer: Buffer, values: list[Interval]) -> Cells:
    return Cells(values, Hull(buffer.name, limits_of(buffer.dtype)))


def walked(proc: Proc, weights: list[int], inputs: tuple[int, int]) -> tuple[Cells, list[Hull], Notes]:
    notes = Notes()
    program = IntervalProgram(proc, notes)
    out = cells(Y, [limits_of(DType.I32)] * 2)
    program.run([cells(X, [inputs] * 2), cells(W, [(w, w) for w in weights]), out])
    return out, program.hulls, notes


X_K, W_OK = load(X, K), load(W, O * 2 + K)
EXPRESSIONS: dict[str, Expr] = {
    "product": Binary("*", X_K, W_OK),
    "difference": Binary("-", Binary("*", X_K, Const(-3)), W_OK),
    "minimum": Binary("min", X_K, W_OK),
    "maximum": Binary("max", Binary("+", X_K, Index(K)), W_OK),
    "comparison": Binary("<", X_K, W_OK),
    "equality": Binary("==", X_K, Const(1)),
    "cast": Cast(DType.I8, Binary("*", X_K, Const(2))),
    "choice": Choose(Binary("<", X_K, Const(0)), Const(-9), W_OK),
    "table": Element(at(W), Binary("+", X_K, Const(2))),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_no_input_leaves_the_interval_and_its_ends_are_reached(name):
    """Against the loop interpreter on all inputs; each expression has each of its variables once."""
    proc, weights = proc_of(EXPRESSIONS[name]), [5, -7, 11, 2]
    out, hulls, notes = walked(proc, weights, (-2, 1))
    found = []
    for given in product(range(-2, 2), repeat=2):
        y = np.zeros(2, np.int32)
        run_proc(proc, {"x": [np.array(given, np.int8)], "w": [np.array(weights, np.int8)], "y": [y]})
        found.append(y)
    least, greatest = np.min(found, 0).tolist(), np.max(found, 0).tolist()
    assert out.at == list(zip(least, greatest, strict=True))
    (hull,) = hulls
    assert hull.is_sum
    assert hull.least <= min(least) <= max(greatest) <= hull.greatest
    assert not notes.sentences


def test_a_value_that_may_leave_its_type_is_noted():
    big = Binary("*", Binary("*", X_K, Const(2**20)), Const(64))
    _, _, notes = walked(proc_of(big), [1] * 4, (-128, 127))
    assert "a * in it may reach -8,589,934,592 to 8,522,825,728" in notes.sentences
    wide = Binary("*", Cast(DType.I64, X_K), Const(2**26))
    _, _, notes = walked(proc_of(wide), [1] * 4, (-128, 127))
    assert any(each.startswith("the sum in sum may reach") for each in notes.sentences)
    beyond = Element(at(W), Binary("+", X_K, Const(3)))
    _, _, notes = walked(proc_of(beyond), [1, 2, 3, 4], (-1, 1))
    assert list(notes.sentences) == ["the number of w may reach 2 to 4"]


def test_an_index_outside_a_buffer_is_an_error():
    with pytest.raises(IndexError):
        walked(proc_of(Load(at(X, K + 1))), [1] * 4, (0, 1))


@pytest.fixture(scope="module")
def subject():
    return subject_of(deploy.compile(DIGITS, "mps2-an386"), About(), CompileOptions())


@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547", "host"])
def test_the_walk_over_digits_finds_the_ranges_of_the_chapter_on_sums(board):
    found = examine_intervals(subject_of(deploy.compile(DIGITS, board), About(), CompileOptions()))
    assert found.verdict is Standing.PROVEN, found.summary
    assert found.summary == (
        "of 5 computing layers 5 stay within their types by the walk; "
        "4 have the range that the chapter on sums computes"
    )
    (table,) = found.tables
    (softmax,) = (row for row in table.rows if row[1] == "softmax")
    assert softmax[3:7] == (32, 0, 10 << 19, 10 << 19)  # each of ten shares is 2^19 at most


def test_a_range_of_its_own_fails(subject, monkeypatch):
    right = vars(ProductSums)["greatest"].fget
    monkeypatch.setattr(ProductSums, "greatest", property(lambda self: right(self) + 1))
    found = examine_intervals(subject)
    assert found.verdict is Standing.FAILED
    assert "dense_5" in found.summary
    assert "which is not the range of the chapter on sums" in found.summary


def test_loops_that_read_another_weight_fail(subject, monkeypatch):
    """The walk takes the weights from what the kernel reads, and the chapter on sums from the graph."""
    real = layer_walk._part

    def other(kernel: Kernel, name: str, step: int) -> Array:
        data: Array = real(kernel, name, step).copy()
        if name == "w" and data.dtype == np.int8:
            data[0] = data[0] // 2 + 1
        return data

    monkeypatch.setattr(layer_walk, "_part", other)
    assert examine_intervals(subject).verdict is Standing.FAILED


def test_an_archive_has_no_loops(subject):
    found = examine_intervals(replace(subject, compiled=None))
    assert found.verdict is Standing.NOT_RUN
    assert found.summary.startswith("an archive holds C and no loops: name the model file")


@pytest.mark.slow
def test_what_is_a_call_is_an_exception():
    compiled = deploy.compile(DIGITS, "mps2-an386", accelerator=["gemm-npu"])
    found = examine_intervals(subject_of(compiled, About(), CompileOptions()))
    assert found.verdict is Standing.EXCEPTIONS
    assert any("is computed by a function that has no loops here" in each for each in found.exceptions)


@pytest.mark.parametrize(("op", "least_right"), [("&", -4), ("<<", 0)])
def test_bits_and_shifts_lie_in_their_intervals(op, least_right):
    meaning = {"&": and_, "<<": lshift}[op]
    lefts, rights = (list(combinations_with_replacement(range(low, 5), 2)) for low in (-4, least_right))
    for a, b in product(lefts, rights):
        found = BINARY[op](a, b)
        assert found is not None
        results = [meaning(x, y) for x in range(a[0], a[1] + 1) for y in range(b[0], b[1] + 1)]
        assert found[0] <= min(results)
        assert max(results) <= found[1]
        assert len(results) > 1 or found[0] == found[1]
