"""Any mistake is reported in a sentence, with the line of the program; none goes on as wrong code."""

# mypy: disable-error-code="arg-type, call-arg, list-item, dict-item, operator, misc"

from __future__ import annotations

from collections.abc import Callable
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


def call(said: str) -> Any:
    return lang.instruction(ACC, said)


def text(*stores: str) -> str:
    return "\n    ".join(["def f(x: input(i8[2]), y: output(i8[2])):", *stores])


def twice(size: int) -> lang.Schedule:
    x = lang.placeholder("x", (size,), "i8")
    return lang.schedule("twice", [x], lang.compute("z", (size,), lambda k: x[k] * 2))


MISUSES: dict[str, tuple[Callable[[Any], object], str]] = {
    "order of none": (lambda s: s.reorder(), "reorder needs at least two loops"),
    "order of one": (lambda s: s.reorder("i"), "reorder needs at least two loops"),
    "no instruction": (lambda s: s.tensorize("k"), "tensorize k: no instruction given"),
    "no such local": (lambda s: s.privatize("j", "most"), "privatize j: product has no local most"),
    "no local": (lambda s: s.privatize("j"), "privatize j: no local is given"),
    "half a place": (
        lambda s: lang.compute("y", (4,), lambda i: X[i, 0.5]),
        "0.5 is not a position along axis 1 of x",
    ),
    "quotient": (lambda s: X[0, 0] / 2, "values are not divided by /"),
    "quotient of tensors": (lambda s: X / 2, "tensors are not divided by /"),
    "empty range": (lambda s: lang.clamp(X[0, 0], 5, 1), "no value is between 5 and 1"),
    "call of what is not there": (
        lambda s: call("{sum[0]} = 0;"),
        "the call of f has {sum[0]}, but its meaning has no sum",
    ),
    "call of too much": (
        lambda s: call("{acc[3]} = 0;"),
        "the call of f has {acc[3]}, and acc has 1 elements",
    ),
    "call with half a brace": (
        lambda s: call("{acc[0] = 0;"),
        "the call of f is not text with names in braces: expected '}' before end of string",
    ),
    "beyond a buffer": (
        lambda s: lang.build(lang.parse(BEYOND), "host"),
        "f goes from element 0 to 8 of y, which has 4",
    ),
    "constant that lacks": (
        lambda s: lang.build(s, "host"),
        "w is a constant without an array",
    ),
    "constant that is too long": (
        lambda s: lang.build(s, "host", {"w": np.ones((3, 9), np.int8)}),
        "the constant w has 24 elements, the array has 27",
    ),
    "constant that is too wide": (
        lambda s: lang.build(s, "host", {"w": ONES.astype(np.int32) * 500}),
        "the constant w holds 500, which does not fit i8",
    ),
    "no trials": (
        lambda s: lang.search(s, "mps2-an386", 0),
        "0 trials: at least 1 is needed",
    ),
    "no such tuner": (
        lambda s: lang.search(s, "mps2-an386", 8, tuner="modle"),
        'tuner "modle" is not known - did you mean "model"?',
    ),
    "no such loop": (lambda s: s.loops["zz"], "product has no loop zz"),
    "no such block": (lambda s: s.blocks["zz"], "product has no block zz"),
    "split of a list": (lambda s: s.split(["i"], 2), "split: loop is ['i'], but must be a string"),
    "factor in words": (
        lambda s: s.split("i", "2"),
        "split: factor is '2', but must be a whole number or a tuple of 2",
    ),
    "half a factor": (
        lambda s: s.split("i", 2.5),
        "split: factor is 2.5, but must be a whole number or a tuple of 2",
    ),
    "factor of True": (
        lambda s: s.split("i", True),
        "split: factor is True, but must be a whole number or a tuple of 2",
    ),
    "factor below nothing": (
        lambda s: s.split("i", (-2, None)),
        "-2 is not a factor of i: it must be at least 1",
    ),
    "outer factor of more than there is": (
        lambda s: s.split("i", (99, None)),
        "i has 4 iterations, fewer than a factor of 99",
    ),
    "order in a list": (
        lambda s: s.reorder(["j", "i"]),
        "reorder: loops is ['j', 'i'], but must be a string",
    ),
    "times in words": (
        lambda s: s.unroll("k", "4"),
        "unroll: times is '4', but must be a whole number or None",
    ),
    "half a time": (lambda s: s.unroll("k", 1.5), "unroll: times is 1.5, but must be a whole number or None"),
    "times of more than there are": (lambda s: s.unroll("k", 100), "k has 8 iterations, fewer than 100"),
    "half a statement": (
        lambda s: s.unroll("k", statements=8.5),
        "unroll: statements is 8.5, but must be a whole number or None",
    ),
    "place in words": (lambda s: s.partition("i", "9"), "partition: at is '9', but must be a whole number"),
    "note of a number": (lambda s: s.annotate("i", 3), "annotate: note is 3, but must be a string"),
    "note in two lines": (
        lambda s: s.annotate("i", "a\rb"),
        "the note 'a\\rb' does not fit a one-line C comment",
    ),
    "note that opens another": (
        lambda s: s.annotate("i", "a /* b"),
        "s.annotate('i', 'a /* b'): the note 'a /* b' does not fit a one-line C comment",
    ),
    "instruction in words": (
        lambda s: s.tensorize("k", "smlad"),
        "tensorize: instructions is 'smlad', but must be an instruction(...)",
    ),
    "local of another loop": (lambda s: s.privatize("k", "sum"), "privatize k: no loop k declares sum"),
    "multiple of nothing": (lambda s: s.pad_reduction("k", 0, "w"), "k has no multiple of 0 iterations"),
    "tensor for its name": (
        lambda s: s.compute_at(X, "i"),
        "compute_at: tensor is TensorExpression(n...e, is_stored=False), but must be a string",
    ),
    "lanes in a list": (
        lambda s: s.vectorize("k", ["dsp"]),
        "vectorize: isa is ['dsp'], but must be a string",
    ),
    "steps on nothing": (lambda s: s.replay(None), "replay: other is None, but must be a schedule or a proc"),
    "steps on another shape": (
        lambda s: (s.split("k", 8), s.replay(twice(4))),
        "k has 4 iterations, fewer than a factor of 8",
    ),
    "too few arguments": (lambda s: s.split("i"), "split: missing a required argument: 'factor'"),
    "too many arguments": (lambda s: s.fuse("i", "j", "k"), "fuse: too many positional arguments"),
    "no such argument": (
        lambda s: s.unroll("k", budget=4),
        "unroll: got an unexpected keyword argument 'budget'",
    ),
    "schedule of a text": (
        lambda s: lang.Schedule("def f(): pass"),
        "Schedule: proc is 'def f(): pass', but must be a proc",
    ),
    "size of a part": (
        lambda s: lang.placeholder("x", (2.5,), "i8"),
        "placeholder: shape is (2.5,), but must be a list of which each is a whole number",
    ),
    "size of True": (
        lambda s: lang.placeholder("x", (True,), "i8"),
        "placeholder: shape is (True,), but must be a list of which each is a whole number",
    ),
    "shape without brackets": (
        lambda s: lang.placeholder("x", 4, "i8"),
        "placeholder: shape is 4, but must be a list of which each is a whole number",
    ),
    "more than C counts": (
        lambda s: lang.placeholder("x", (10**12,), "i8"),
        "x has 1,000,000,000,000 elements, the limit is 2,147,483,647",
    ),
    "name of a number": (
        lambda s: lang.placeholder(3, (4,), "i8"),
        "placeholder: name is 3, but must be a string",
    ),
    "name that Python has": (
        lambda s: lang.placeholder("class", (4,), "i8"),
        '"class" is not a valid name for a tensor',
    ),
    "tensor without a name": (
        lambda s: lang.compute("a b", (4,), lambda i: X[i, 0]),
        '"a b" is not a valid name for a tensor',
    ),
    "kernel without a name": (
        lambda s: lang.schedule("a b", [X], X * 2),
        '"a b" is not a valid name for a kernel',
    ),
    "type of NumPy": (
        lambda s: lang.placeholder("x", (4,), np.int8),
        "placeholder: dtype is <class 'numpy.int8'>, but must be a string or quantized(...)",
    ),
    "axis of a number": (lambda s: lang.reduce_axis(3, 8), "reduce_axis: name is 3, but must be a string"),
    "extent in words": (
        lambda s: lang.reduce_axis("k", "8"),
        "reduce_axis: extent is '8', but must be a whole number",
    ),
    "extent of a part": (
        lambda s: lang.reduce_axis("k", 8.0),
        "reduce_axis: extent is 8.0, but must be a whole number",
    ),
    "body of a number": (lambda s: lang.compute("y", (4,), 3), "compute: body is 3, but must be a function"),
    "body that says nothing": (
        lambda s: lang.compute("y", (4,), max),
        "the body of y does not name its indices",
    ),
    "type last": (
        lambda s: lang.cast(X[0, 0], "i8"),
        "cast: dtype is ElementValue(expr=...ons=(), scale=None), but must be a string",
    ),
    "no condition": (
        lambda s: lang.where(1, 2, 3),
        "where: condition is 1, but must be a value such as x[i, j] < 3",
    ),
    "both parts of a quotient": (lambda s: divmod(X[0, 0], 2), "values are not divided by divmod"),
    "division by nothing": (lambda s: X[0, 0] // 0, "a division by 0"),
    "remainder of nothing": (lambda s: X[0, 0] % 0, "a division by 0"),
    "division by what can be nothing": (
        lambda s: X[0, 0] // X[0, 1],
        "a division by -128 to 127, which includes 0",
    ),
    "tensors divided": (lambda s: 100 % X, "a division by -128 to 127, which includes 0"),
    "least number by -1": (
        lambda s: lang.sum(X[0, K], K) // -1,
        "a division of -2,147,483,648 by -1, outside the 32 bits of i32",
    ),
    "shift to the other side": (lambda s: X[0, 0] >> -2, "a shift by -2: i32 can be shifted by 0 to 31"),
    "shift beyond 32 bits": (lambda s: X[0, 0] << 32, "a shift by 32: i32 can be shifted by 0 to 31"),
    "shift by anything": (
        lambda s: X[0, 0] << X[0, 1],
        "a shift by -128 to 127: i32 can be shifted by 0 to 31",
    ),
    "shift of bytes out of 32 bits": (
        lambda s: X[0, 0] << 25,
        "a result can reach -4,294,967,296 to 4,261,412,864, outside the 32 bits of i32",
    ),
    "shift of a float": (lambda s: R[0] >> 2, "floats are not shifted"),
    "shift by a half": (lambda s: X[0, 0] >> 0.5, "floats are not shifted"),
    "rest of a float": (lambda s: R[0] % 2, "floats are not divided with a rest"),
    "bits of a float": (lambda s: R & 2, "floats are not combined bit by bit"),
    "bits of what stands for a real value": (
        lambda s: FAR[0] & 3,
        "a value of scale 1e+30 is not combined bit by bit: it represents a float",
    ),
    "bits of a word": (lambda s: X[0, 0] & "mask", "'mask' is not a value"),
    "opposite of a comparison": (
        lambda s: ~((X[0, 0] < 3) & (X[0, 1] <= 3)),
        "~ inverts all bits, but a comparison is 1 or 0",
    ),
    "numbers with and without a sign": (
        lambda s: U[0] + X[0, 0],
        "u32 and what can be less than 0 cannot be combined",
    ),
    "choice with and without a sign": (
        lambda s: lang.where(X[0, 0] < 3, U[0], -1),
        "u32 and -1 cannot be combined",
    ),
    "index beyond a table": (
        lambda s: R[X[0, 0]],
        "a computed index of r ranges from -128 to 127, but its last axis has 8 elements",
    ),
    "index that is none": (lambda s: R[R[0]], "the computed index of r is a float"),
    "shifts side by side": (
        lambda s: halves().vectorize("i", "dsp"),
        "s.vectorize('i', 'dsp'): dsp has no instruction for what i does to h",
    ),
    "longer sum of what is not 0": (
        lambda s: lang.schedule("q", [X, W], SUMS).pad_reduction("q", 4, "w"),
        "s.pad_reduction('q', 4, 'w'): loop q does not add up products with w: zeros would change the sum",
    ),
    "amount": (lambda s: abs(X[0, 0]), "values are not made positive by abs"),
    "product of tensors": (lambda s: X @ W, "tensors are not multiplied by @"),
    "comparison of tensors": (lambda s: X < 3, "tensors are not compared as a whole"),
    "choice while it is made": (
        lambda s: lang.compute("y", (4,), lambda i: 1 if X[i, 0] == 2 else 0),
        "a value is not known while the expression is built",
    ),
    "choice of places": (
        lambda s: lang.compute("y", (4,), lambda i: 1 if i == 2 else 0),
        "a value is not known while the expression is built",
    ),
    "remainder of a place": (
        lambda s: lang.compute("y", (4,), lambda i: X[i % 2, 0]),
        "axis 0 of x has a computed index",
    ),
    "part of a place": (
        lambda s: lang.compute("y", (4,), lambda i: X[i * 0.5, 0]),
        "a position can be multiplied by a number, not by float",
    ),
    "number beyond 64 bits": (lambda s: X[0, 0] * 10**20, "100000000000000000000 does not fit 64 bits"),
    "more than 32 bits": (
        lambda s: X[0, 0] * 1000000 * 1000000,
        "a result can reach -128,000,000,000,000 to 127,000,000,000,000, outside the 32 bits of i32",
    ),
    "place beyond 32 bits": (
        lambda s: lang.compute("y", (4,), lambda i: i + 2**31),
        "a position from 2,147,483,648 to 2,147,483,651 does not fit 32 bits",
    ),
    "axis twice": (lambda s: lang.sum(X[0, 0], K, K), "a reduction has the axis k twice"),
    "start of a greatest": (
        lambda s: lang.max(X[0, 0], K, start=3),
        "max: got an unexpected keyword argument 'start'",
    ),
    "function of nothing": (
        lambda s: lang.function("f", "i8", None, int),
        "function: c is None, but must be a string",
    ),
    "function without a name": (
        lambda s: lang.function("a b", "i8", "", int),
        '"a b" is not a valid name for a function',
    ),
    "rounding of a type": (
        lambda s: lang.quantized("i8", 0.5, rounding="up"),
        "quantized: got an unexpected keyword argument 'rounding'",
    ),
    "rounding without a type": (
        lambda s: lang.compute("y", (4,), lambda i: X[i, 0], rounding="up"),
        'there is no rounding "up"',
    ),
    "scale in words": (
        lambda s: lang.quantized("i8", "0.5"),
        "quantized: scale is '0.5', but must be a number",
    ),
    "scale without end": (
        lambda s: lang.quantized("i8", float("inf")),
        "the scale must be finite and more than 0, not inf",
    ),
    "part of a zero point": (
        lambda s: lang.quantized("i8", 0.5, 0.5),
        "quantized: zero_point is 0.5, but must be a whole number",
    ),
    "scales too far apart": (
        lambda s: lang.compute("y", (4,), lambda i: FAR[i], lang.quantized("i8", 1e-30)),
        "a value of scale 1e+30 is 1e+60 times the scale 1e-30 of y",
    ),
    "input in words": (
        lambda s: lang.schedule("p", ["x"], X),
        "schedule: inputs is ['x'], but must be a list of which each is a tensor",
    ),
    "output of a number": (
        lambda s: lang.schedule("p", [X], 3),
        "schedule: output is 3, but must be a tensor or a list of which each is a tensor",
    ),
    "meaning of nothing": (
        lambda s: lang.instruction(None, "x"),
        "instruction: meaning is None, but must be a string",
    ),
    "meaning with a fault": (
        lambda s: lang.instruction("def f(a: local(i32[1]):", "x"),
        "not Python: invalid syntax, in line 1",
    ),
    "meaning beyond a buffer": (
        lambda s: lang.instruction(ACC.replace("acc[0]", "acc[3]"), "{acc[0]} = 0;"),
        "f goes from element 3 to 3 of acc, which has 1",
    ),
    "call of a whole local": (
        lambda s: call("{acc} = 0;"),
        "the call of f has {acc}, and acc is local: name its elements",
    ),
    "call of what lies before": (
        lambda s: call("{acc[-1]} = 0;"),
        "the call of f has {acc[-1]}, and acc is local: name its elements",
    ),
    "needs in a word": (
        lambda s: lang.instruction(ACC, "{acc[0]} = 0;", needs="dsp"),
        "instruction: needs is 'dsp', but must be a list of which each is a string",
    ),
    "text of nothing": (lambda s: lang.parse(None), "parse: text is None, but must be a string"),
    "text without a function": (lambda s: lang.parse(""), "the text of a proc must be one function"),
    "text with two of a name": (
        lambda s: lang.parse("def f(x: input(i8[4]), x: input(i8[4])):\n    pass"),
        "x is already defined, in line 1: def f(x: input(i8[4]), x: input(i8[4])):",
    ),
    "elements in words": (
        lambda s: lang.parse("def f(x: input(i8['a'])):\n    pass"),
        "a buffer cannot have 'a' elements or rows, in line 1: def f(x: input(i8['a'])):",
    ),
    "text that is too deep": (
        lambda s: lang.parse(text("y[0] = " + " + ".join(["x[0]"] * 3000))),
        "an expression is nested too deeply",
    ),
    "text with a decorator": (
        lambda s: lang.parse("@f\ndef g(): pass"),
        "a proc must have no decorators and no return type, in line 2: def g(): pass",
    ),
    "print of a schedule": (
        lambda s: lang.print_proc(s),
        "print_proc: proc is <Schedule of product, 0 steps>, but must be a proc",
    ),
    "store into an input": (
        lambda s: lang.build(lang.parse(text("x[0] = 3")), "host"),
        "f writes x, which is an input",
    ),
    "sum on nothing": (
        lambda s: lang.build(lang.parse(text("y[0] += x[0]")), "host"),
        "f reads element 0 of y before it is written",
    ),
    "half an output": (
        lambda s: lang.build(lang.parse(text("y[0] = x[0]")), "host"),
        "f does not write element 1 of y",
    ),
    "read before it is written": (
        lambda s: lang.search(lang.parse(text("y[0] = y[1]", "y[1] = x[0]")), "host", 1),
        "f reads element 1 of y before it is written",
    ),
    "kernel that C cannot name": (
        lambda s: lang.build(lang.schedule("int", [X], X * 2), "host"),
        '"int" is not a valid C name',
    ),
    "board's kernel in words": (
        lambda s: lang.build("product", "host"),
        "build: kernel is 'product', but must be a schedule or a proc",
    ),
    "board that is none": (
        lambda s: lang.build(s, "mps2-an38"),
        'board "mps2-an38" not found - did you mean "mps2-an383", "mps2-an385" or "mps2-an386"?',
    ),
    "feature that is none": (
        lambda s: lang.build(s, "cortex-m4+dps"),
        'a cortex-m4 has no "dps" - did you mean "dsp"?',
    ),
    "call without a board": (
        lambda s: lang.build(s, "cortex-m4", {"w": ONES})(np.zeros((4, 8), np.int8)),
        "cortex-m4 is a target without a board: models can be compiled for it, but not run",
    ),
    "array of another shape": (
        lambda s: lang.build(s, "cortex-m4", {"w": ONES})(np.zeros((8, 4), np.int8)),
        '"x" has shape [8, 4], the model needs [4, 8]',
    ),
    "reference of another type": (
        lambda s: lang.build(s, "cortex-m4", {"w": ONES}).reference(np.zeros((4, 8))),
        'input "x" is float64[4, 8], the model needs int8[4, 8]',
    ),
    "run without a board": (
        lambda s: lang.build(s, "cortex-m4+fpu,ram=256K", {"w": ONES}).time(),
        "cortex-m4+fpu,ram=256K is a target without a board: models can be compiled for it, but not run",
    ),
    "search without a board": (
        lambda s: lang.search(s, "cortex-m0", 8),
        "cortex-m0 is a target without a board: models can be compiled for it, but not run",
    ),
    "board of a number": (lambda s: lang.build(s, 3), "build: board is 3, but must be a string"),
    "constants in a list": (
        lambda s: lang.build(s, "host", [1, 2]),
        "build: constants is [1, 2], but must be a mapping, such as a dict or None",
    ),
    "constant that lies across": (
        lambda s: lang.build(s, "host", {"w": np.ones((8, 3), np.int8)}),
        "the constant w has the shape [3, 8], the array has [8, 3]",
    ),
    "constant of words": (
        lambda s: lang.build(s, "host", {"w": "abc"}),
        "the constant w has 24 elements, the array has 1",
    ),
    "constant that is not a number": (
        lambda s: lang.build(s, "host", {"w": ONES * np.nan}),
        "the constant w holds nan, which does not fit i8",
    ),
    "constant with gaps": (
        lambda s: lang.build(s, "host", {"w": [[1, 2], [3]]}),
        "the constant w is not an array of numbers",
    ),
    "search of a word": (
        lambda s: lang.search("product", "mps2-an386"),
        "search: kernel is 'product', but must be a schedule or a proc",
    ),
    "half a trial": (
        lambda s: lang.search(s, "mps2-an386", 2.5),
        "search: trials is 2.5, but must be a whole number",
    ),
    "seed below nothing": (
        lambda s: lang.search(s, "mps2-an386", 8, seed=-1),
        "a seed must be 0 or more, not -1",
    ),
    "template of a number": (
        lambda s: lang.search(s, "mps2-an386", 8, template=3),
        "search: template is 3, but must be a function or None",
    ),
    "template without knobs": (
        lambda s: lang.search(s, "mps2-an386", 8, template=lambda s: None),
        "<lambda> has 1 parameter, a template needs two",
    ),
    "knob of a number": (
        lambda s: lang.Knobs({}).choose("n", 3),
        "choose: values is 3, but must be a list of which each is a whole number",
    ),
    "knob of half numbers": (
        lambda s: lang.Knobs({}).choose("n", (1.5,)),
        "choose: values is (1.5,), but must be a list of which each is a whole number",
    ),
    "knob with a value twice": (
        lambda s: lang.Knobs({}).choose("n", (1, 1)),
        "the knob n has a value twice: 1, 1",
    ),
    "knob of another value": (
        lambda s: lang.Knobs({"n": 7}).choose("n", (1, 2)),
        "the knob n must be one of 1, 2, not 7",
    ),
    "divisor of a word": (
        lambda s: lang.Knobs({}).factor("n", "8"),
        "factor: extent is '8', but must be a whole number",
    ),
    "order of a loop twice": (
        lambda s: lang.Knobs({}).order("n", "i", "i"),
        "the knob n orders a loop twice: i, i",
    ),
    "nothing that is done": (
        lambda s: lang.Knobs({}).annotate("n", s, "i", ("none", "unrol")),
        '"unrol" is not a loop transformation',
    ),
    "layers of a function": (
        lambda s: lang.layer_schedule(max),
        "layer_schedule: ops is <built-in function max>, but must be a string",
    ),
    "half a group": (
        lambda s: lang.layer_schedule("dense", group=2.5),
        "layer_schedule: group is 2.5, but must be a whole number",
    ),
    "schedule of a number": (
        lambda s: lang.layer_schedule("dense")(3),
        "layer_schedule: template is 3, but must be a function",
    ),
}


@pytest.mark.parametrize("name", MISUSES)
def test_a_mistake_is_reported_with_its_line(name: str) -> None:
    ask, what = MISUSES[name]
    with pytest.raises((InputError, BoardError)) as caught:
        ask(product())
    assert caught.value.what == what
    assert caught.value.where.splitlines()[-1].startswith(f"{__file__}:")
