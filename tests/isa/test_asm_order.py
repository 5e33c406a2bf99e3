"""The order of assembly: no register is read or written out of turn, and units of the pipeline alternate."""

from __future__ import annotations

import hashlib
import re

from codegen.isa.asm_order import in_order
from codegen.isa.dsp.pipeline import IN_PAIRS
from codegen.isa.helium.pipeline import HELIUM


def test_products_begin_between_loads() -> None:
    written = [
        "vldrb.8 q1, [%[p], #16]",
        "vldrb.8 q0, [%[p]], #16",
        "vldrb.8 q2, [%[w]], #16",
        "vmladava.s8 %[s00], q0, q2",
        "vmladava.s8 %[s10], q1, q2",
        "vldrb.8 q3, [%[w]], #16",
        "vmladava.s8 %[s01], q0, q3",
        "vmladava.s8 %[s11], q1, q3",
    ]
    assert in_order(written, HELIUM) == [
        "vldrb.8 q1, [%[p], #16]",
        "vldrb.8 q0, [%[p]], #16",
        "vldrb.8 q2, [%[w]], #16",
        "vmladava.s8 %[s00], q0, q2",
        "vldrb.8 q3, [%[w]], #16",
        "vmladava.s8 %[s10], q1, q2",
        "vmladava.s8 %[s01], q0, q3",
        "vmladava.s8 %[s11], q1, q3",
    ]


def test_the_next_steps_load_begins_when_its_register_is_free() -> None:
    step = ["vldrb.8 q0, [%[p]], #16", "vldrb.8 q2, [%[w]], #16", "vmladava.s8 %[s00], q0, q2"]
    more = ["vldrb.8 q3, [%[w]], #16", "vmladava.s8 %[s01], q0, q3"]
    assert in_order([*step, *more, *step], HELIUM) == [
        *step[:2],
        step[2],
        more[0],
        more[1],
        step[0],
        step[1],
        step[2],
    ]


def test_labels_and_jumps_stay_and_nothing_goes_over_them() -> None:
    loop = ["mov %[count], #3", "1:", "vldrb.8 q0, [%[p]], #16", "subs %[count], #1", "bne 1b"]
    assert in_order([*loop, "vldrb.8 q1, [%[w]]"], HELIUM) == [*loop, "vldrb.8 q1, [%[w]]"]


def test_lines_under_a_predicate_stay_together() -> None:
    written = [
        "vpstt",
        "vldrbt.8 q1, [%[p], #16]",
        "vldrbt.8 q0, [%[p]]",
        "vldrb.8 q2, [%[w]], #5",
        "vmladav.s8 %[s00], q0, q2",
        "vldrb.8 q3, [%[w]], #5",
    ]
    ordered = in_order(written, HELIUM)
    assert ordered[:3] == written[:3]
    assert ordered == written


def test_two_instructions_begin_together_and_a_word_is_loaded_when_its_register_is_free() -> None:
    """Products are one a cycle: whatever is loaded or widened begins beside them."""
    written = [
        "ldr %[p], [%[x]], #4",
        "sxtb16 %[e], %[a]",
        "smlad %[s0], %[p], %[e], %[s0]",
        "smlad %[s1], %[q], %[e], %[s1]",
        "ldr %[p], [%[x]], #4",
        "sxtb16 %[a], %[b]",
        "smlad %[s0], %[p], %[a], %[s0]",
    ]
    assert in_order(written, IN_PAIRS) == [
        "sxtb16 %[e], %[a]",
        "ldr %[p], [%[x]], #4",
        "sxtb16 %[a], %[b]",
        "smlad %[s0], %[p], %[e], %[s0]",
        "smlad %[s1], %[q], %[e], %[s1]",
        "ldr %[p], [%[x]], #4",
        "smlad %[s0], %[p], %[a], %[s0]",
    ]


def test_a_group_begins_behind_all_that_it_writes_over() -> None:
    """Whatever the order, each register has for each reader the value that it had in the written one."""
    step = ["ldr %[a], [%[w]], #8", "ldr %[b], [%[w], #-4]", "sxtb16 %[e], %[a]", "sxtb16 %[a], %[a], ror #8"]
    step += ["ldr %[p], [%[x]], #4", "smlad %[s0], %[p], %[e], %[s0]", "smlad %[s1], %[b], %[a], %[s1]"]
    written = step * 5
    ordered = in_order(written, IN_PAIRS)
    assert ordered != written
    assert _meanings(ordered) == _meanings(written)


def _meanings(lines: list[str]) -> dict[str, str]:
    """What each register holds at the end, as a text of what it was made of."""
    held: dict[str, str] = {}
    for line in lines:
        name, _, operands = line.partition(" ")
        registers = re.findall(r"%\[(\w+)\]", operands)
        target, sources = registers[0], registers if name == "smlad" else registers[1:]
        made = f"{name}({','.join(held.get(each, each) for each in sources)})"
        if "]], #" in line:
            held[registers[-1]] = f"{held.get(registers[-1], registers[-1])}+"
        held[target] = hashlib.sha256(f"{made}{'ror' in line}{'-4' in line}".encode()).hexdigest()
    return held
