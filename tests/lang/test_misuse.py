"""A mistake of any kind is told in a sentence, with the line of the program; none goes on as wrong code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from aot.errors import InputError
from deploy import lang

X = lang.placeholder("x", (4, 8), "i8")
W = lang.placeholder("w", (3, 8), "i8", constant=True)
ONES = np.ones((3, 8), np.int8)
BEYOND = "def f(x: input(i8[4]), y: output(i8[4])):\n    for i in range(9):\n        y[i] = x[i]"


def product() -> lang.Schedule:
    k = lang.reduce_axis("k", 8)
    y = lang.compute("y", (4, 3), lambda i, j: lang.sum(X[i, k] * W[j, k], k))
    return lang.schedule("product", [X, W], y)


def call(text: str) -> Any:
    return lang.instruction("def f(acc: local(i32[1])):\n    acc[0] = 0", text)


def other_kind(step: str) -> str:
    return f"s.{step}: an argument is of another kind than this step takes"


MISUSES: dict[str, tuple[Callable[[Any], object], str]] = {
    "order of none": (lambda s: s.reorder(), "reorder puts two loops or more into an order"),
    "order of one": (lambda s: s.reorder("i"), "reorder puts two loops or more into an order"),
    "times in words": (lambda s: s.unroll("k", "4"), other_kind("unroll('k', '4')")),
    "place in words": (lambda s: s.partition("i", "9"), other_kind("partition('i', '9')")),
    "note of a number": (lambda s: s.annotate("i", 3), other_kind("annotate('i', 3)")),
    "instruction in words": (lambda s: s.tensorize("k", "smlad"), other_kind("tensorize('k', 'smlad')")),
    "no instruction": (lambda s: s.tensorize("k"), "tensorize k: no instruction is given"),
    "no such local": (lambda s: s.privatize("j", "most"), "privatize j: product has no local most"),
    "no local": (lambda s: s.privatize("j"), "privatize j: no local is named"),
    "size of a part": (
        lambda s: lang.placeholder("x", (2.5,), "i8"),  # type: ignore[arg-type]
        "x has the shape (2.5,): a tuple of whole numbers is one",
    ),
    "shape without brackets": (
        lambda s: lang.placeholder("x", 4, "i8"),  # type: ignore[arg-type]
        "x has the shape 4: a tuple of whole numbers is one",
    ),
    "name of a number": (
        lambda s: lang.placeholder(3, (4,), "i8"),  # type: ignore[arg-type]
        '"3" is no name of a tensor',
    ),
    "body of a number": (
        lambda s: lang.compute("y", (4,), 3),  # type: ignore[arg-type]
        "the body of y is 3: it is to be a function of places",
    ),
    "half a place": (
        lambda s: lang.compute("y", (4,), lambda i: X[i, 0.5]),
        "0.5 is no place along axis 1 of x",
    ),
    "quotient": (lambda s: X[0, 0] / 2, "values are not divided"),
    "quotient of tensors": (lambda s: X / 2, "tensors are not divided"),
    "empty range": (lambda s: lang.clamp(X[0, 0], 5, 1), "nothing is between 5 and 1"),
    "type last": (
        lambda s: lang.cast(X[0, 0], "i8"),  # type: ignore[arg-type]
        'a type is a word such as "i8", ElementValue is none',
    ),
    "no condition": (lambda s: lang.where(1, 2, 3), "1 is no condition"),  # type: ignore[arg-type]
    "input in words": (lambda s: lang.schedule("p", ["x"], X), "'x' is no tensor"),  # type: ignore[list-item]
    "knob of a number": (
        lambda s: lang.Knobs({}).choose("n", 3),  # type: ignore[arg-type]
        "the knob n has the values 3: they are whole numbers",
    ),
    "divisor of a word": (
        lambda s: lang.Knobs({}).factor("n", "8"),  # type: ignore[arg-type]
        "the knob n divides '8', which is no whole number",
    ),
    "call of what is not there": (
        lambda s: call("{sum[0]} = 0;"),
        "the call of f has {sum[0]}, and its meaning no sum",
    ),
    "call of too much": (
        lambda s: call("{acc[3]} = 0;"),
        "the call of f has {acc[3]}, and acc has 1 elements",
    ),
    "call with half a brace": (
        lambda s: call("{acc[0] = 0;"),
        "the call of f is no text with names in braces: expected '}' before end of string",
    ),
    "beyond a buffer": (
        lambda s: lang.build(lang.parse(BEYOND), "host"),
        "f goes from element 0 to 8 of y, which has 4",
    ),
    "board's kernel in words": (
        lambda s: lang.build("product", "host"),  # type: ignore[arg-type]
        "str is neither a schedule nor a proc",
    ),
    "constant that lacks": (
        lambda s: lang.build(s, "host"),
        "w is a constant, and no array is given for it",
    ),
    "constant that is too long": (
        lambda s: lang.build(s, "host", {"w": np.ones((3, 9), np.int8)}),
        "the constant w has 24 elements, the array has 27",
    ),
    "constant that is too wide": (
        lambda s: lang.build(s, "host", {"w": ONES.astype(np.int32) * 500}),
        "the constant w holds 500, which i8 does not",
    ),
    "search of a word": (
        lambda s: lang.search("product", "mps2-an386"),  # type: ignore[arg-type]
        "str is neither a schedule nor a proc",
    ),
    "no trials": (
        lambda s: lang.search(s, "mps2-an386", 0),
        "0 trials find nothing: there must be 1 or more",
    ),
    "no such tuner": (
        lambda s: lang.search(s, "mps2-an386", 8, tuner="modle"),
        'there is no tuner "modle" - did you mean "model"?',
    ),
}


@pytest.mark.parametrize("name", MISUSES)
def test_a_mistake_is_told_with_its_line(name: str) -> None:
    ask, what = MISUSES[name]
    with pytest.raises(InputError) as caught:
        ask(product())
    assert caught.value.what == what
    assert caught.value.where.startswith(f"{__file__}:")


def test_a_text_that_is_none_is_told() -> None:
    with pytest.raises(InputError, match="NoneType is no text of a proc"):
        lang.parse(None)  # type: ignore[arg-type]
