"""The order of assembly: no register is read or written out of turn, and units of the pipeline alternate."""

from __future__ import annotations

from codegen.isa.asm_order import in_order
from codegen.isa.helium.pipeline import UNITS


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
    assert in_order(written, UNITS) == [
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
    assert in_order([*step, *more, *step], UNITS) == [
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
    assert in_order([*loop, "vldrb.8 q1, [%[w]]"], UNITS) == [*loop, "vldrb.8 q1, [%[w]]"]


def test_lines_under_a_predicate_stay_together() -> None:
    written = [
        "vpstt",
        "vldrbt.8 q1, [%[p], #16]",
        "vldrbt.8 q0, [%[p]]",
        "vldrb.8 q2, [%[w]], #5",
        "vmladav.s8 %[s00], q0, q2",
        "vldrb.8 q3, [%[w]], #5",
    ]
    ordered = in_order(written, UNITS)
    assert ordered[:3] == written[:3]
    assert ordered == written
