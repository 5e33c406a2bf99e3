"""A user's C comes in by two doors, and what estimates need to know of it is read there."""

import pytest

from codegen.lang.instruction import FactsOfC, facts_of, instruction
from codegen.lang.value import function
from codegen.loops.ir import Apply

_PLAIN = "static inline float f(float a)\n{\n    return a;\n}\n"
_TWINS = """\
static float f(float a)
{
#ifdef FEW_REGISTERS
    __asm__ volatile("" : "=&r"(a));
#else
    __asm__ volatile("" : "=&r"(a), "=&r"(b));
#endif
}
"""


@pytest.mark.parametrize(
    ("c", "facts"),
    [
        (_PLAIN, FactsOfC(True, False, 0)),
        (_PLAIN.replace(" inline", ""), FactsOfC(False, False, 0)),
        (_TWINS, FactsOfC(False, True, 2)),
        (_TWINS.replace("#else", ""), FactsOfC(False, True, 3)),
        ("", FactsOfC(True, False, 0)),
    ],
)
def test_facts_are_read_from_the_text(c, facts):
    assert facts_of("f", c) == facts


def test_both_doors_read_them():
    made = instruction("def f(y: output(i8[1])):\n    y[0] = 1", "f({y});", _TWINS)
    assert (made.is_inline, made.is_asm, made.own_registers, made.is_c) == (False, True, 2, False)
    applied = function("f", "f32", _PLAIN.replace("return a", "return tanhf(a)"), lambda a: a)(1.0).expr
    assert isinstance(applied, Apply)
    assert (applied.function.library_calls, applied.function.is_inline) == (frozenset({"tanhf"}), True)
