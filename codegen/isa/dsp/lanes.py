"""Four bytes per register: maxima and minima by SSUB8 and SEL; sums, differences and bit operations."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.types import DType
from codegen.isa.dsp.needs import ANY_WORDS
from codegen.lang.instruction import instruction
from codegen.loops.ir import Instruction, ScalarFunction
from codegen.loops.lanes import Lanes

_NEEDS = tuple(sorted(ANY_WORDS))
_BYTES = "local(i8[4], vector_type='uint32_t')"
_WORD_OF = ScalarFunction(
    "word_of_bytes",
    DType.U32,
    """\
/* The four bytes from p on, as a word. */
static inline uint32_t word_of_bytes(const int8_t *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}
""",
    lambda *_bytes: 0,  # called by definitions only
    includes=("string.h",),
)
_EXTREME = """\
/* The {says} of each byte of two words: SSUB8 notes where the first is not less, SEL chooses. */
static inline uint32_t {name}_bytes(uint32_t a, uint32_t b)
{{
    uint32_t result;
    __asm__("ssub8 %0, %1, %2\\n\\tsel %0, {chosen}" : "=&r"(result) : "r"(a), "r"(b) : "cc");
    return result;
}}
"""
_SUM = """\
/* {opcode} of four bytes of two words: each stays in its own byte. */
static inline void {name}_bytes(int8_t *y, const int8_t *a, const int8_t *b)
{{
    uint32_t result;
    __asm__("{opcode} %0, %1, %2" : "=r"(result) : "r"(word_of_bytes(a)), "r"(word_of_bytes(b)) : "cc");
    memcpy(y, &result, 4);
}}
"""


def _begun(name: str, value: int) -> Instruction:
    byte = value & 0xFF
    return instruction(
        f"def {name}(acc: {_BYTES}):\n    for i in range(4):\n        acc[i] = {value}",
        f"{{acc}} = UINT32_C(0x{byte:02x}{byte:02x}{byte:02x}{byte:02x});",
        needs=_NEEDS,
    )


def _grown(name: str, op: str, chosen: str, says: str) -> Instruction:
    made = instruction(
        f"def {name}_bytes(acc: {_BYTES}, x: input(i8[4])):\n"
        f"    for i in range(4):\n        acc[i] = {op}(acc[i], x[i])",
        f"{{acc}} = {name}_bytes({{acc}}, word_of_bytes({{x}}));",
        _EXTREME.format(name=name, chosen=chosen, says=says),
        needs=_NEEDS,
    )
    return replace(made, calls=(_WORD_OF,))


def _of_two(name: str, op: str, opcode: str) -> Instruction:
    made = instruction(
        f"def {name}_bytes(y: output(i8[4]), a: input(i8[4]), b: input(i8[4])):\n"
        f"    for i in range(4):\n        y[i] = a[i] {op} b[i]",
        f"{name}_bytes({{y}}, {{a}}, {{b}});",
        _SUM.format(name=name, opcode=opcode),
        includes=("string.h",),
        needs=_NEEDS,
    )
    return replace(made, calls=(_WORD_OF,))


_STORE = instruction(
    f"def store_bytes(y: output(i8[4]), acc: {_BYTES}):\n    for i in range(4):\n        y[i] = acc[i]",
    "memcpy({y}, &{acc}, 4);",
    includes=("string.h",),
    needs=_NEEDS,
)
LANES = Lanes(
    "dsp",
    4,
    DType.I8,
    (
        _begun("least_bytes", -128),
        _begun("most_bytes", 127),
        _grown("greater", "max", "%1, %2", "greater"),
        _grown("lesser", "min", "%2, %1", "lesser"),
        _STORE,
        _of_two("sum_of", "+", "sadd8"),
        _of_two("difference_of", "-", "ssub8"),
        _of_two("bits_of_both", "&", "and"),
        _of_two("bits_of_either", "|", "orr"),
        _of_two("bits_of_one", "^", "eor"),
    ),
)
