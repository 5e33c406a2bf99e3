"""What a proc reads must be stored before, and all that it gives: exactly, for every turn of its loops."""

import pytest

from codegen.loops.defined import undefined
from codegen.loops.parse import parse_proc

CASES = {
    "whole": ("for i in range(4):\n  y[i] = x[i]", ""),
    "half": ("for i in range(3):\n  y[i] = x[i]", "f does not write element 3 of y"),
    "gaps": ("for i in range(2):\n  y[i * 2] = x[i]", "f does not write element 1 of y"),
    "two_halves": ("for i in range(2):\n  y[i * 2] = x[i]\n  y[i * 2 + 1] = x[i]", ""),
    "sum_without_a_start": (
        "for i in range(4):\n  y[i] += x[i]",
        "f reads element 0 of y before it is written",
    ),
    "sum_with_a_start": ("for i in range(4):\n  y[i] = 0\n  for k in range(4):\n    y[i] += x[k]", ""),
    "start_in_a_loop_before": (
        "for i in range(4):\n  y[i] = 0\nfor k in range(4):\n  for j in range(4):\n    y[j] += x[k]",
        "",
    ),
    "start_too_late": (
        "for i in range(4):\n  y[i] = x[i]\n  s[i] += x[i]\nfor j in range(4):\n  s[j] = 0",
        "f reads element 0 of s before it is written",
    ),
    "what_the_turn_before_stored": ("y[0] = 0\nfor i in range(3):\n  y[i + 1] = y[i]", ""),
    "what_the_next_turn_stores": (
        "y[3] = 0\nfor i in range(3):\n  y[i] = y[i + 1]",
        "f reads element 1 of y before it is written",
    ),
    "local_of_the_turn_before": (
        "for i in range(4):\n  a: local(i32[1])\n  for k in range(2):\n    y[i] = a[0]\n    a[0] = x[i]",
        "f reads element 0 of a before it is written",
    ),
    "local": (
        "for i in range(4):\n  a: local(i32[1])\n  a[0] = 0\n"
        "  for k in range(4):\n    a[0] += x[k]\n  y[i] = a[0]",
        "",
    ),
    "given": ("for i in range(4):\n  y[i] = 0\nx[0] = 3", "f writes x, which is an input"),
    "table_that_nobody_stored": (
        "for i in range(4):\n  y[i] = s[0:][x[i]]",
        "f reads element 0 of s before it is written",
    ),
    "loop_without_turns": ("for i in range(0):\n  s[0] += x[0]\nfor j in range(4):\n  y[j] = 0", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_read_is_stored_before(name):
    body, said = CASES[name]
    head = "def f(x: input(i8[4]), s: scratch(i32[4]), y: output(i32[4])):\n"
    proc = parse_proc(head + "".join(f"    {line}\n" for line in body.splitlines()))
    assert undefined(proc) == said
