"""Any mistake is reported in a sentence, with the line of the program; none goes on as wrong code."""

# mypy: disable-error-code="arg-type, call-arg, list-item, dict-item, operator, misc"

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from aot.errors import BoardError, InputError
from deploy import lang

X = lang.placeholder("x", (4, 8), "i8")
W = lang.placeholder("w", (3, 8), "i8", constant=True)
ONES = np.ones((3, 8), np.int8)
K = lang.reduce_axis("k", 8)
R = lang.placeholder("r", (8,), "f32")
U = lang.placeholder("u", (8,), "u32")
Q = lang.reduce_axis("q", 6)
SUMS = lang.compute("y", (4, 3), lambda i, j: lang.sum(X[i, Q] ^ W[j, Q], Q))
FAR = lang.placeholder("far", (4,), lang.quantized("i8", 1e30))
ACC = "def f(acc: local(i32[1])):\n    acc[0] = 0"
BEYOND = "def f(x: input(i8[4]), y: output(i8[4])):\n    for i in range(9):\n        y[i] = x[i]"


def product() -> lang.Schedule:
    k = lang.reduce_axis("k", 8)
    y = lang.compute("y", (4, 3), lambda i, j: lang.sum(X[i, k] * W[j, k], k))
    return lang.schedule("product", [X, W], y)


def halves() -> lang.Schedule:
    x = lang.placeholder("x", (4,), "i8")
    return lang.schedule("halves", [x], lang.compute("h", (4,), lambda i: x[i] >> 1))


def call(target: str) -> Any:
    return lang.instruction(ACC, target)


def text(*stores: str) -> str:
    return "\n    ".join(["def f(x: input(i8[2]), y: output(i8[2])):", *stores])


def built(proc: str) -> object:
    return lang.build(lang.parse(proc), "host")


def element(body: Callable[[Any], object]) -> object:
    return lang.compute("y", (4,), body)


def twice(size: int) -> lang.Schedule:
    x = lang.placeholder("x", (size,), "i8")
    return lang.schedule("twice", [x], lang.compute("z", (size,), lambda k: x[k] * 2))


# A mistake, and the facts of its error: names, numbers and the words that tell it from other errors.
MISTAKES: tuple[tuple[Callable[[Any], object], str], ...] = (
    # Loops and steps
    (lambda s: s.reorder(), "reorder two loops"),
    (lambda s: s.reorder("i"), "reorder two loops"),
    (lambda s: s.tensorize("k"), "tensorize k no instruction"),
    (lambda s: s.privatize("j", "most"), "privatize j product no local most"),
    (lambda s: s.privatize("j"), "privatize j no local given"),
    (lambda s: s.privatize("k", "sum"), "privatize k no loop declares sum"),
    (lambda s: s.loops["zz"], "product no loop zz"),
    (lambda s: s.blocks["zz"], "product no block zz"),
    (lambda s: s.split("i", (-2, None)), "-2 factor i at least 1"),
    (lambda s: s.split("i", (99, None)), "i 4 iterations 99"),
    (lambda s: s.unroll("k", 100), "k 8 iterations 100"),
    (lambda s: s.annotate("i", "a\rb"), "'a\\rb' one-line comment"),
    (lambda s: s.annotate("i", "a /* b"), "s.annotate('i', /* one-line comment"),
    (lambda s: s.pad_reduction("k", 0, "w"), "k multiple 0"),
    (lambda s: (s.split("k", 8), s.replay(twice(4))), "k 4 iterations 8"),
    (lambda s: halves().vectorize("i", "dsp"), "s.vectorize('i', dsp no instruction h"),
    (lambda s: lang.schedule("q", [X, W], SUMS).pad_reduction("q", 4, "w"), "q 4, products with w zeros"),
    # Names and sizes
    (lambda s: lang.placeholder("x", (10**12,), "i8"), "x 1,000,000,000,000 2,147,483,647"),
    (lambda s: lang.placeholder("class", (4,), "i8"), '"class" name tensor'),
    (lambda s: lang.compute("a b", (4,), lambda i: X[i, 0]), '"a b" name tensor'),
    (lambda s: lang.schedule("a b", [X], X * 2), '"a b" name kernel'),
    (lambda s: lang.function("a b", "i8", "", int), '"a b" name function'),
    (lambda s: lang.build(lang.schedule("int", [X], X * 2), "host"), '"int" C name'),
    (lambda s: lang.compute("y", (4,), max), "body y indices"),
    # Values
    (lambda s: element(lambda i: X[i, 0.5]), "0.5 position axis 1 x"),
    (lambda s: X[0, 0] / 2, "values not divided /"),
    (lambda s: X / 2, "tensors not divided /"),
    (lambda s: divmod(X[0, 0], 2), "values not divided divmod"),
    (lambda s: lang.clamp(X[0, 0], 5, 1), "between 5 1"),
    (lambda s: X[0, 0] // 0, "division 0"),
    (lambda s: X[0, 0] % 0, "division 0"),
    (lambda s: X[0, 0] // X[0, 1], "division -128 127, includes 0"),
    (lambda s: 100 % X, "division -128 127, includes 0"),
    (lambda s: lang.sum(X[0, K], K) // -1, "-2,147,483,648 -1, 32 bits i32"),
    (lambda s: X[0, 0] >> -2, "shift -2: i32 0 31"),
    (lambda s: X[0, 0] << 32, "shift 32: i32 0 31"),
    (lambda s: X[0, 0] << X[0, 1], "shift -128 127: i32 0 31"),
    (lambda s: X[0, 0] << 25, "-4,294,967,296 4,261,412,864, 32 bits i32"),
    (lambda s: R[0] >> 2, "floats not shifted"),
    (lambda s: X[0, 0] >> 0.5, "floats not shifted"),
    (lambda s: R[0] % 2, "floats not divided"),
    (lambda s: R & 2, "floats not bit by bit"),
    (lambda s: FAR[0] & 3, "scale 1e+30 not bit by bit float"),
    (lambda s: X[0, 0] & "mask", "'mask' not a value"),
    (lambda s: ~((X[0, 0] < 3) & (X[0, 1] <= 3)), "~ bits comparison 1 or 0"),
    (lambda s: U[0] + X[0, 0], "u32 less than 0 cannot be combined"),
    (lambda s: lang.where(X[0, 0] < 3, U[0], -1), "u32 -1 cannot be combined"),
    (lambda s: R[X[0, 0]], "r -128 127, axis 8 elements"),
    (lambda s: R[R[0]], "index r float"),
    (lambda s: abs(X[0, 0]), "values abs"),
    (lambda s: X @ W, "tensors not multiplied @"),
    (lambda s: X < 3, "tensors not compared"),
    (lambda s: element(lambda i: 1 if X[i, 0] == 2 else 0), "value not known"),
    (lambda s: element(lambda i: 1 if i == 2 else 0), "value not known"),
    (lambda s: element(lambda i: X[i % 2, 0]), "axis 0 x computed index"),
    (lambda s: element(lambda i: X[i * 0.5, 0]), "position multiplied not float"),
    (lambda s: element(lambda i: i + 2**31), "position 2,147,483,648 2,147,483,651 32 bits"),
    (lambda s: X[0, 0] * 10**20, "100000000000000000000 64 bits"),
    (lambda s: X[0, 0] * 1000000 * 1000000, "-128,000,000,000,000 127,000,000,000,000, 32 bits i32"),
    (lambda s: lang.sum(X[0, 0], K, K), "axis k twice"),
    # Quantized types
    (lambda s: lang.compute("y", (4,), lambda i: X[i, 0], rounding="up"), 'rounding "up"'),
    (lambda s: lang.quantized("i8", float("inf")), "scale finite more than 0, inf"),
    (lambda s: lang.compute("y", (4,), lambda i: FAR[i], lang.quantized("i8", 1e-30)), "1e+30 1e+60 1e-30 y"),
    # Instructions and texts of kernels
    (lambda s: call("{sum[0]} = 0;"), "call f {sum[0]}, no sum"),
    (lambda s: call("{acc[3]} = 0;"), "call f {acc[3]}, acc 1 elements"),
    (lambda s: call("{acc[0] = 0;"), "call f braces: '}'"),
    (lambda s: call("{acc} = 0;"), "call f {acc}, local: elements"),
    (lambda s: call("{acc[-1]} = 0;"), "call f {acc[-1]}, local: elements"),
    (lambda s: lang.instruction("def f(a: local(i32[1]):", "x"), "Python: syntax, line 1"),
    (lambda s: lang.instruction(ACC.replace("acc[0]", "acc[3]"), "{acc[0]} = 0;"), "f 3 acc, 1"),
    (lambda s: lang.parse(""), "proc one function"),
    (
        lambda s: lang.parse("def f(x: input(i8[4]), x: input(i8[4])):\n    pass"),
        "x already line 1: def f(x:",
    ),
    (lambda s: lang.parse("def f(x: input(i8['a'])):\n    pass"), "'a' elements line 1: def f(x:"),
    (lambda s: lang.parse(text("y[0] = " + " + ".join(["x[0]"] * 3000))), "nested too deeply"),
    (lambda s: lang.parse("@f\ndef g(): pass"), "no decorators line 2: def g():"),
    (lambda s: built(BEYOND), "f element 0 8 y, 4"),
    (lambda s: built(text("x[0] = 3")), "f writes x, input"),
    (lambda s: built(text("y[0] += x[0]")), "f reads element 0 y before written"),
    (lambda s: built(text("y[0] = x[0]")), "f does not write element 1 y"),
    (lambda s: lang.search(lang.parse(text("y[0] = y[1]", "y[1] = x[0]")), "host", 1), "f reads element 1 y"),
    # Constants and arrays
    (lambda s: lang.build(s, "host"), "w constant without array"),
    (lambda s: lang.build(s, "host", {"w": np.ones((3, 9), np.int8)}), "w 24 elements, 27"),
    (lambda s: lang.build(s, "host", {"w": ONES.astype(np.int32) * 500}), "w 500, i8"),
    (lambda s: lang.build(s, "host", {"w": np.ones((8, 3), np.int8)}), "w shape [3, 8], [8, 3]"),
    (lambda s: lang.build(s, "host", {"w": "abc"}), "w 24 elements, 1"),
    (lambda s: lang.build(s, "host", {"w": ONES * np.nan}), "w nan, i8"),
    (lambda s: lang.build(s, "host", {"w": [[1, 2], [3]]}), "w not array of numbers"),
    (lambda s: lang.build(s, "cortex-m4", {"w": ONES})(np.zeros((8, 4), np.int8)), '"x" [8, 4], [4, 8]'),
    (
        lambda s: lang.build(s, "cortex-m4", {"w": ONES}).reference(np.zeros((4, 8))),
        '"x" float64[4, 8], int8[4, 8]',
    ),
    # Boards
    (lambda s: lang.build(s, "mps2-an38"), 'board "mps2-an38" "mps2-an383", "mps2-an385" "mps2-an386"?'),
    (lambda s: lang.build(s, "cortex-m4+dps"), 'cortex-m4 "dps" "dsp"?'),
    (lambda s: lang.build(s, "cortex-m4", {"w": ONES})(np.zeros((4, 8), np.int8)), "cortex-m4 without board"),
    (lambda s: lang.build(s, "cortex-m4+fpu,ram=256K", {"w": ONES}).time(), "cortex-m4+fpu,ram=256K board"),
    (lambda s: lang.search(s, "cortex-m0", 8), "cortex-m0 without board"),
    # Search
    (lambda s: lang.search(s, "mps2-an386", 0), "0 trials at least 1"),
    (lambda s: lang.search(s, "mps2-an386", 8, tuner="modle"), 'tuner "modle" "model"?'),
    (lambda s: lang.search(s, "mps2-an386", 8, seed=-1), "seed 0 -1"),
    (lambda s: lang.search(s, "mps2-an386", 8, template=lambda s: None), "<lambda> 1 template two"),
    (lambda s: lang.Knobs({}).choose("n", (1, 1)), "n twice: 1, 1"),
    (lambda s: lang.Knobs({"n": 7}).choose("n", (1, 2)), "n 1, 2, 7"),
    (lambda s: lang.Knobs({}).order("n", "i", "i"), "n loop twice: i, i"),
    (lambda s: lang.Knobs({}).annotate("n", s, "i", ("none", "unrol")), '"unrol" loop transformation'),
    # Arguments that a function does not have, or of another kind
    (lambda s: s.split("i"), "split: missing argument: 'factor'"),
    (lambda s: s.fuse("i", "j", "k"), "fuse: too many arguments"),
    (lambda s: s.unroll("k", budget=4), "unroll: argument 'budget'"),
    (lambda s: lang.max(X[0, 0], K, start=3), "max: argument 'start'"),
    (lambda s: lang.quantized("i8", 0.5, rounding="up"), "quantized: argument 'rounding'"),
    (lambda s: s.split("i", "2"), "split: factor '2', whole number tuple of 2"),
    (lambda s: s.split("i", 2.5), "split: factor 2.5, whole number tuple of 2"),
    (lambda s: s.split("i", True), "split: factor True, whole number tuple of 2"),
    (lambda s: s.unroll("k", 1.5), "unroll: times 1.5, whole number or None"),
    (lambda s: s.reorder(["j", "i"]), "reorder: loops ['j', 'i'], a string"),
    (lambda s: s.compute_at(X, "i"), "compute_at: tensor TensorExpression( a string"),
    (lambda s: lang.placeholder("x", (2.5,), "i8"), "shape (2.5,), list each a whole number"),
    (lambda s: lang.placeholder("x", (True,), "i8"), "shape (True,), list each a whole number"),
    (lambda s: lang.placeholder("x", 4, "i8"), "shape 4, list each a whole number"),
    (lambda s: lang.placeholder("x", (4,), np.int8), "dtype numpy.int8 a string or quantized(...)"),
    (lambda s: lang.instruction(ACC, "{acc[0]} = 0;", needs="dsp"), "needs 'dsp', list each a string"),
    (lambda s: lang.quantized("i8", 0.5, 0.5), "zero_point 0.5, a whole number"),
    (lambda s: lang.build(s, "host", [1, 2]), "build: constants [1, 2], a mapping None"),
    (lambda s: lang.layer_schedule("dense")(3), "layer_schedule: template 3, a function"),
)


def require_report(mistake: Callable[[Any], object], *facts: str) -> None:
    with pytest.raises((InputError, BoardError)) as caught:
        mistake(product())
    assert not [fact for fact in facts if fact not in caught.value.what], caught.value.what
    assert caught.value.where.splitlines()[-1].startswith(f"{__file__}:")


@pytest.mark.parametrize(("mistake", "facts"), MISTAKES, ids=[facts for _, facts in MISTAKES])
def test_a_mistake_is_reported_with_its_line(mistake, facts):
    require_report(mistake, *facts.split())


def functions() -> list[tuple[str, Callable[..., Any]]]:
    """Returns the functions of the language by name, with the methods of a schedule and of knobs."""
    named = [(name, getattr(lang, name)) for name in lang.__all__ if inspect.isfunction(getattr(lang, name))]
    methods = [
        pair for of in (product(), lang.Knobs({})) for pair in inspect.getmembers(of, inspect.ismethod)
    ]
    return [*named, *(pair for pair in methods if not pair[0].startswith("_"))]


def test_each_function_checks_the_kinds_of_its_arguments():
    for name, function in functions():
        parameters = inspect.signature(function).parameters.values()
        if needed := [each.name for each in parameters if each.default is inspect.Parameter.empty]:
            call_wrongly = partial(function, *[object()] * len(needed))
            require_report(lambda s, wrong=call_wrongly: wrong(), f"{name}: ", "object object at")
