"""The order of assembly: no register is read or written out of turn, and units of the pipeline alternate."""

import hashlib
import re
from collections.abc import Sequence
from itertools import product

from aot.ir.types import DType
from codegen.isa import asm
from codegen.isa.asm import AsmLine, Pipeline, Unit
from codegen.isa.dsp import dot_tile, winograd
from codegen.isa.dsp.dot_tile import SmladDotTile
from codegen.isa.dsp.needs import IN_PAIRS
from codegen.isa.helium import dots
from codegen.isa.helium.dots import HeliumDotTile
from codegen.isa.helium.pipeline import HELIUM

OPERAND = re.compile(r"%\[\w+\]|\bq[0-7]\b")
STAYS = re.compile(r"\d+:|bne|subs|vctp|mov ")
SUMS = ("smla", "vmladava")


def read(text: str) -> AsmLine:
    """A line by what stands in it."""
    name, _, operands = text.partition(" ")
    first, *others = OPERAND.findall(operands) or [""]
    if STAYS.match(text) or not first:
        under = text.count("t", 3) if text.startswith("vps") else 0
        return AsmLine(name, text, stays=not under, predicates=under)
    moved = others[-1:] if "]], #" in operands else []
    also = [first] if name.startswith(SUMS) else []
    return AsmLine(name, text, (first, *moved), (*also, *others))


def in_order(written: list[str], *pipelines: Pipeline) -> list[str]:
    return [line.text for line in asm.in_order([read(text) for text in written], *pipelines)]


def test_products_begin_between_loads():
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


def test_the_next_steps_load_begins_when_its_register_is_free():
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


def test_labels_and_jumps_stay_and_nothing_goes_over_them():
    loop = ["mov %[count], #3", "1:", "vldrb.8 q0, [%[p]], #16", "subs %[count], #1", "bne 1b"]
    assert in_order([*loop, "vldrb.8 q1, [%[w]]"], HELIUM) == [*loop, "vldrb.8 q1, [%[w]]"]


def test_lines_under_a_predicate_stay_together():
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


def pipeline(loads: int, sums: int, by_path: bool = False, late: int = 0) -> Pipeline:
    """Loads take three cycles until their result; moves have a unit of their own or that of the loads."""
    units = {
        "vldr": Unit("load", 1, 3, loads),
        "vstr": Unit("load", 1, 1, loads, late=late),
        "vmov": Unit("load|integer", 4, 1, 0),
        "vadd": Unit("integer", 1, 1, sums),
    }
    return Pipeline(1, units, by_path)


def test_the_ranks_with_the_fewest_cycles_are_taken():
    written = ["vadd q4, q5", "vadd q6, q5", "vldr q0, [%[p]]", "vadd q1, q0", "vadd q2, q1"]
    slow, fast = pipeline(loads=1, sums=0), pipeline(loads=0, sums=1)
    assert in_order(written, slow) == written
    loads_first = [written[2], *written[:2], *written[3:]]
    assert in_order(written, slow, fast) == in_order(written, fast, slow) == loads_first
    assert in_order([], slow, fast) == []


def test_of_equal_ranks_the_longest_path_comes_first():
    written = ["vadd q4, q5", "vadd q6, q5", "vldr q0, [%[p]]", "vadd q1, q0", "vadd q2, q1"]
    assert in_order(written, pipeline(0, 0)) == written
    assert in_order(written, pipeline(0, 0, by_path=True))[0] == written[2]


def test_an_instruction_takes_the_unit_that_is_free():
    written = ["vldr q0, [%[p]]", "vmov q1, q2", "vmov q3, q4", "vadd q5, q6", "vldr q7, [%[w]]"]
    ordered = in_order(written, pipeline(loads=1, sums=1))
    assert ordered[:2] == ["vmov q1, q2", "vmov q3, q4"]  # each holds another unit


def test_a_store_that_reads_late_waits_less():
    written = ["vldr q0, [%[p]]", "vstr [%[y]], q0", "vadd q1, q2", "vadd q3, q4"]
    assert in_order(written, pipeline(0, 1)) == [written[0], *written[2:], written[1]]
    assert in_order(written, pipeline(0, 1, late=2)) == written


def test_two_instructions_begin_together_and_a_word_is_loaded_when_its_register_is_free():
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


def test_a_group_begins_behind_all_that_it_writes_over():
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


def test_lines_write_and_read_the_registers_of_their_text(monkeypatch):
    ordered: list[AsmLine] = []

    def kept(lines: Sequence[AsmLine], pipeline: Pipeline) -> list[AsmLine]:
        ordered.extend(lines)
        return list(lines)

    monkeypatch.setattr(dots, "_asm_lines", dots._asm_lines.__wrapped__)  # it keeps what it has ordered
    for module in (dot_tile, dots, winograd):
        monkeypatch.setattr(module, "in_order", kept)
    for pixels, x_dtype, w_dtype in product((1, 2), (DType.I8, DType.I16), (DType.I8, DType.I16)):
        dot_tile.dot_text(SmladDotTile(pixels, 2, 8, 16, x_dtype, True, 4, w_dtype, in_pairs=True))
        dots.dot(HeliumDotTile(pixels, 4, 3, pixels, 40, 16, 24, x_dtype is DType.I8))
        dots.dot(HeliumDotTile(pixels, 2, 3, 3, 200, 500, 24, False))
    winograd.products_of_pair.__wrapped__(8, 8, in_pairs=True)
    winograd.products_of_pair.__wrapped__(32, 16, in_pairs=True)
    names = {"ldr", "sxtb16", "smlad", "smuad", "add", "vpst", "vldrbt.8", "vldrw.32", "vmladava.s8", "1:"}
    assert names <= {line.name for line in ordered}
    for line in ordered:
        found = read(line.text)
        kinds = line.name, line.stays, line.predicates
        assert (found.name, found.stays, found.predicates) == kinds, line.text
        assert set(found.writes) == set(line.writes), line.text
        assert set(found.reads) == set(line.reads), line.text
