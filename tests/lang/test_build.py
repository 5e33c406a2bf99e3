"""A proc is built for any board, runs there as it means, and what cannot be built is told."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import deploy
from aot.errors import BoardError, InputError
from aot.ir.types import Array
from aot.ops import OPS
from deploy import lang

pytestmark = pytest.mark.usefixtures("own_folders")
W = np.random.default_rng(1).integers(-128, 128, (5, 9), np.int8)
BOARDS = {
    "host": ("gcc",),
    "mps2-an386": ("arm-none-eabi-gcc", "qemu-system-arm"),
    "mps3-an547": ("arm-none-eabi-gcc", "qemu-system-arm"),
    "qemu-riscv32": ("riscv64-unknown-elf-gcc", "qemu-system-riscv32"),
}


def numbers(seed: int) -> Array:
    return np.random.default_rng(seed).integers(-128, 128, (4, 9), np.int8)


def product() -> lang.Schedule:
    x = lang.placeholder("x", (4, 9), "i8")
    w = lang.placeholder("w", (5, 9), "i8", constant=True)
    k = lang.reduce_axis("k", 9)
    c = lang.compute("c", (4, 5), lambda i, j: lang.sum(x[i, k] * w[j, k], k))
    return lang.schedule("product", [x, w], c)


def scheduled() -> lang.Schedule:
    s = product()
    _, _, ii, ji = s.tile("i", "j", 2, 2)
    s.privatize(ji, "sum")
    s.privatize(ii, "sum")
    s.reorder("k", ii, ji)
    s.cache_read("x", "i_o")
    s.pack("w", "j_o", "j_o_tail", "k", "ji", "j_i")
    s.unroll(ii)
    s.unroll(ji)
    return s


@pytest.mark.cc
@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("board", BOARDS)
def test_a_schedule_runs_on_every_board(board, require_tool):
    for tool in BOARDS[board]:
        require_tool(tool)
    x = numbers(2)
    wanted = x.astype(np.int32) @ W.T.astype(np.int32)
    for make in (product, scheduled):
        kernel = lang.build(make(), board, {"w": W})
        assert np.array_equal(kernel(x), wanted)
        assert np.array_equal(kernel.reference(x), wanted)
        kernel.verify()


@pytest.mark.arm
@pytest.mark.qemu
def test_what_a_run_takes_is_counted():
    plain, fast = (lang.build(make(), "mps2-an386", {"w": W}) for make in (product, scheduled))
    counts = [kernel.time(number=2, repeat=2).count for kernel in (plain, fast)]
    assert [count.std for count in counts] == [0, 0]
    assert counts[1].mean < counts[0].mean
    assert counts[1].mean < fast.cycles < plain.cycles
    longer = fast.time(min_repeat_ms=2)
    assert longer.count == counts[1]
    assert longer.number * longer.seconds.mean >= 2e-3
    assert repr(fast) == "<product for mps2-an386>"
    assert "static KERNEL void product_kernel(" in fast.view.c
    assert "product" in fast.view.asm


@pytest.mark.arm
def test_a_target_without_a_board_has_c_and_assembly():
    kernel = lang.build(scheduled(), "cortex-m4+fpu,ram=256K", {"w": W})
    assert repr(kernel) == "<product for cortex-m4+fpu,ram=256K>"
    assert "static KERNEL void product_kernel(" in kernel.view.c
    assert "product" in kernel.view.asm
    assert np.array_equal(kernel.reference(numbers(2)), numbers(2).astype(np.int32) @ W.T.astype(np.int32))
    for ask in (lambda: kernel.cycles, lambda: kernel(numbers(2)), kernel.verify):
        with pytest.raises(BoardError) as caught:
            ask()
        assert "such as mps2-an386, which is emulated and has a cortex-m4" in caught.value.hint


@pytest.mark.cc
def test_a_tensor_between_two_nests_lies_in_the_arena():
    x, k = lang.placeholder("x", (4, 9), "i8"), lang.reduce_axis("k", 9)
    total = lang.compute("total", (4,), lambda i: lang.sum(x[i, k], k))
    y = lang.compute("y", (4, 9), lambda i, j: lang.clamp(x[i, j] * 9 - total[i], -128, 127), dtype="i8")
    kernel = lang.build(lang.schedule("centred", [x], y), "host")
    a = numbers(3)
    wanted = np.clip(a.astype(int) * 9 - a.astype(int).sum(axis=1, keepdims=True), -128, 127)
    assert np.array_equal(kernel(a), wanted)
    assert kernel.compiled.arena_bytes >= 16 + 36 + 36


@pytest.mark.cc
def test_names_of_inputs_do_not_meet_the_results():
    y = lang.placeholder("y", (4,), "i32")
    x = lang.compute("x", (4,), lambda row: y[row] + row)
    kernel = lang.build(lang.proc("run", [y], x), "host")
    assert kernel(np.arange(4, dtype=np.int32)).tolist() == [0, 2, 4, 6]


@pytest.mark.cc
def test_loops_and_tensors_may_be_called_as_the_result_is_in_kernels():
    y_, image = lang.placeholder("y_", (3, 4), "i8"), lang.placeholder("image", (3, 4), "i8")
    found = lang.compute("out", (3, 4), lambda y, x: image[y, x] * 2 + y_[y, x] + y)
    kernel = lang.build(lang.schedule("sums", [image, y_], found), "host")
    a, b = numbers(4)[:3, :4], numbers(5)[:3, :4]
    assert np.array_equal(kernel(a, b), a.astype(int) * 2 + b + np.arange(3)[:, None])


@pytest.mark.cc
def test_functions_of_one_name_are_told_apart_by_their_kernels():

    def plus(number: int) -> Callable[..., Any]:
        c = f"static int32_t moved(int32_t v) {{ return v + {number}; }}\n"
        return lang.function("moved", "i32", c, lambda v: v + number)

    x = lang.placeholder("x", (4,), "i8")
    one, two = plus(1), plus(2)
    tensors = (lang.compute("z", (4,), lambda i: one(x[i])), lang.compute("z", (4,), lambda i: two(x[i])))
    kernels = [lang.build(lang.proc("p", [x], tensor), "host") for tensor in tensors]
    a = np.arange(4, dtype=np.int8)
    for number, kernel in zip((1, 2), kernels, strict=True):
        assert kernel(a).tolist() == kernel.reference(a).tolist() == [number + n for n in range(4)]
    both = lang.proc("p", [x], lang.compute("z", (4,), lambda i: one(x[i]) + two(x[i])))
    with pytest.raises(InputError, match="two functions are named moved"):
        lang.build(both, "host")


@pytest.mark.cc
def test_a_kernel_of_a_model_is_built_alone(repo_digits):
    """What Solder has chosen for a layer is a proc like any other."""
    found = deploy.inspect(repo_digits, board="host")
    assert found.compiled is not None
    dense = next(layer for layer in found.compiled.layers if layer.op == "softmax")
    code = found.layer(dense.index).code
    prefix = f"{found.compiled.name}_digit_"
    stored = {name.removeprefix(prefix): array for name, array in found.compiled.constants.arrays.items()}
    (proc,) = code.procs
    kernel = lang.build(proc, "host", {p.name: stored[p.name] for p in proc.params if p.name in stored})
    assert kernel(np.arange(10, dtype=np.int8)).shape == (10,)
    kernel.verify()


@pytest.fixture
def repo_digits(repo_root):
    return str(repo_root / "deploy" / "demo" / "digits.tflite")


def test_what_cannot_be_built_is_reported():
    for constants, what in (
        (None, "w is a constant without an array"),
        ({"w": W, "v": W}, "v is not a constant"),
        ({"w": W[1:]}, "the constant w has 45 elements, the array has 36"),
        (
            {"w": W.astype(int) * 3},
            f"the constant w holds {W.astype(int).ravel()[0] * 3}, which does not fit i8",
        ),
    ):
        with pytest.raises(InputError) as caught:
            lang.build(product(), "host", constants)
        assert caught.value.what == what
    x = lang.placeholder("short", (4,), "i8")
    with pytest.raises(InputError, match='"short" is not a valid C name'):
        lang.build(lang.proc("p", [x], x + 1), "host")
    with pytest.raises(InputError, match="p has no output"):
        lang.build(lang.parse("def p(x: input(i8[1])):\n    pass\n"), "host")
    many = (
        "def p(x: rows(i8[4], rows=3), y: output(i8[4])):\n    for i in range(4):\n        y[i] = x[2][i]\n"
    )
    with pytest.raises(InputError, match="x has 3 rows: a kernel built alone needs inputs of one row"):
        lang.build(lang.parse(many), "host")


def test_an_instruction_needs_its_core():
    needy = lang.instruction(
        "def needy(acc: local(i32[1]), x: input(i8[1]), w: constant(i8[1])):\n"
        "    for i in range(1):\n        acc[0] += x[i] * w[i]\n",
        "{acc[0]} += *{x} * *{w};",
        needs=["dsp"],
    )
    s = product()
    s.tensorize(s.split("k", 1)[1], needy)
    with pytest.raises(InputError, match="needy needs dsp, which mps2-an385's cortex-m3 lacks"):
        lang.build(s, "mps2-an385", {"w": W})


@pytest.mark.cc
def test_c_that_does_something_else_than_its_meaning_is_found():
    wrong = lang.instruction(
        "def wrong(acc: local(i32[1]), x: input(i8[3]), w: constant(i8[3])):\n"
        "    for i in range(3):\n        acc[0] += x[i] * w[i]\n",
        "{acc[0]} += {x}[0] * {w}[0];",
    )
    s = product()
    s.tensorize(s.split("k", 3)[1], wrong)
    kernel = lang.build(s, "host", {"w": W})
    with pytest.raises(InputError, match="the board's result differs from the meaning of product: 20 of 20"):
        kernel.verify()
    for _ in range(2):  # a call that was not as it means does not prove the next
        with pytest.raises(InputError, match="the board's result differs from the meaning of product"):
            kernel(numbers(2))


def test_tables_of_ops_are_as_they_were():
    before = {*OPS}
    lang.build(product(), "mps2-an386", {"w": W})
    with pytest.raises(InputError):
        lang.build(product(), "mps2-an386")
    assert {*OPS} == before


@pytest.mark.cc
def test_inputs_are_counted():
    kernel = lang.build(product(), "host", {"w": W})
    with pytest.raises(InputError) as caught:
        kernel()
    assert caught.value.what == "product has 1 input, 0 arrays are given"
    assert caught.value.hint == "in this order: x"
    with pytest.raises(InputError, match="product has 1 input, 2 arrays are given"):
        kernel.reference(W, W)


def test_what_a_type_does_not_hold_is_reported():
    x = lang.placeholder("x", (20,), "i8")
    s = lang.schedule("twice", [x], lang.compute("t", (20,), lambda i: x[i] * 2, dtype="i8"), check=True)
    kernel = lang.build(s, "host")
    with pytest.raises(InputError) as caught:
        kernel.reference(np.full(20, 100, np.int8))
    assert caught.value.what == "twice is not defined for these inputs: 200 does not fit t, i8"
    assert caught.value.where.endswith(": kernel.reference(np.full(20, 100, np.int8))")
    assert caught.value.hint == "a wider type, or clamp(value, low, high)"
    with pytest.raises(InputError, match=r"s\.unroll\('i'\) cannot be checked: -?\d+ does not fit t, i8"):
        s.unroll("i")


@pytest.mark.cc
def test_a_maximum_of_floats_begins_below_all_of_them():
    x = lang.placeholder("x", (4, 9), "f32")
    k = lang.reduce_axis("k", 9)
    y = lang.compute("y", (4,), lambda i: lang.max(x[i, k], k))
    kernel = lang.build(lang.schedule("largest", [x], y), "host")
    given = -np.random.default_rng(3).random((4, 9), np.float32)
    given[2] = -np.inf
    assert np.array_equal(np.ravel(kernel(given)), given.max(axis=1))
    assert "-INFINITY" in kernel.compiled.artifact.sources["largest.c"]
