"""RISC-V: instructions as the disassembler tells them, Hazard3's pipeline, the jump that it foresees."""

import numpy as np
import pytest

from aot.errors import ToolError
from boards.cores import KINDS, load_core
from platforms.cycles.block_log import trace_of
from platforms.cycles.estimate import estimate
from platforms.cycles.parts import part_of
from platforms.cycles.pipeline import IDLE, through
from platforms.cycles.riscv import decode
from platforms.cycles.trace import Trace, TracePoints
from platforms.elf import Segment


@pytest.fixture(autouse=True)
def _capstone(require_capstone_of_helium):
    """Decodes all of this, by the version that knows the extensions."""


@pytest.fixture
def hazard3():
    pipeline = load_core("hazard3").pipeline
    assert pipeline is not None
    return pipeline


@pytest.fixture
def esp32_c3():
    pipeline = load_core("esp32-c3").pipeline
    assert pipeline is not None
    return pipeline


@pytest.mark.parametrize(
    ("code", "name", "kind", "part"),
    [
        ("c841", "lw", "load", "loads"),  # lw a0,4(a1), short
        ("83873500", "lb", "load", "loads"),  # lb a5,3(a1)
        ("06c6", "sw", "store", "stores"),  # sw ra,12(sp), short
        ("3305f502", "mul", "multiply", "products"),  # mul a0,a0,a5
        ("3315f502", "mulh", "multiply_long", "requantisation"),  # mulh a0,a0,a5
        ("33e5c50a", "max", "", "requantisation"),  # max a0,a1,a2
        ("13954560", "sext_b", "", "widening"),  # sext.b a0,a1
        ("33a5c520", "sh1add", "", "other"),  # sh1add a0,a1,a2
        ("79dd", "beqz", "compare_branch", "branches"),
        ("8280", "jr", "branch_register", "branches"),  # ret
    ],
)
def test_instructions_are_told_apart(code, name, kind, part):
    (found,) = decode(bytes.fromhex(code), 0x100)
    assert (found.name, found.kind, part_of(found)) == (name, kind, part)
    assert found.kind in {*KINDS, ""}


def test_registers_are_reported():
    load, store = decode(bytes.fromhex("8387350088c1"), 0)  # lb a5,3(a1); sw a0,0(a1)
    assert [load.reads, load.writes, load.address_of] == [
        frozenset(each) for each in (("a1",), ("a5",), ("a1",))
    ]
    assert [store.reads, store.writes, store.address_of] == [
        frozenset(e) for e in (("a0", "a1"), (), ("a1",))
    ]


def test_what_is_not_an_instruction_is_reported():
    with pytest.raises(ToolError, match="capstone knows no instruction ffffffff"):
        decode(b"\xff" * 4, 0)


@pytest.mark.parametrize(
    ("code", "cycles"),
    [
        pytest.param("c841 0100", (0, 1), id="lw a0,4(a1); nop"),
        pytest.param("c841 3305f502", (0, 2), id="lw a0,4(a1); mul a0,a0,a5: a load's value comes later"),
        pytest.param("c841 88c1", (0, 1), id="lw a0,4(a1); sw a0,0(a1): a store reads it later"),
        pytest.param("c841 1041", (0, 2), id="lw a0,4(a1); lw a2,0(a0): an address does not"),
        pytest.param("3305f502 3e95", (0, 1), id="mul a0,a0,a5; add a0,a0,a5"),
        pytest.param("33c5c502 0100", (0, 18), id="div a0,a1,a2; nop: nothing goes past a division"),
        pytest.param(
            "33a5c520 2e95", (0, 1), id="sh1add a0,a1,a2; add a0,a0,a1: it is not a store of a half-word"
        ),
    ],
)
def test_hazard3_takes_an_instruction_a_cycle_but_for_these(hazard3, code, cycles):
    assert through(decode(bytes.fromhex(code), 0x100), IDLE, hazard3)[0] == cycles


@pytest.mark.parametrize(
    ("code", "cycles"),
    [
        pytest.param("c841 88c1", (0, 2), id="lw a0,4(a1); sw a0,0(a1): a store waits, too"),
        pytest.param("3315f502 0100", (0, 2), id="mulh a0,a0,a5; nop"),
        pytest.param("33c5c502 0100", (0, 10), id="div a0,a1,a2; nop"),
    ],
)
def test_an_esp32_c3_takes_longer_for_these(esp32_c3, code, cycles):
    assert through(decode(bytes.fromhex(code), 0x100), IDLE, esp32_c3)[0] == cycles


# loop: addi a0,a0,-1; bnez a0,loop
LOOP, BEHIND = bytes.fromhex("7d15 7dfd"), bytes.fromhex("0100")  # nop


def turns_of(order: list[int]) -> Trace:
    """Block 0 is the loop, block 1 what stands behind it."""
    return Trace(
        machine="riscv",
        addresses=np.array([0x100, 0x104]),
        code=(LOOP, BEHIND),
        order=np.array(order),
        flash_reads=np.zeros(0, np.int64),
        reads_before=np.zeros(len(order), np.int64),
        misaligned=np.zeros((0, 2), np.int64),
        layer_ends=np.zeros((0, 2), np.int64),
    )


@pytest.mark.parametrize(
    ("order", "lost"),
    [
        pytest.param([0, 1], 0, id="not taken, and not foreseen"),
        pytest.param([0, 0, 1], 2, id="taken for the first time, then foreseen in vain"),
        pytest.param([0, 0, 0, 0, 0, 1], 2, id="foreseen thrice between them"),
        pytest.param([0, 0, 1, 0, 1], 2, id="forgotten since it was not taken"),
        pytest.param([0, 0, 1, 0, 0, 1], 4, id="taken for the first time once more"),
    ],
)
def test_the_jump_back_that_was_taken_last_is_foreseen(hazard3, order, lost):
    run = estimate(turns_of(order), hazard3, None).run
    between = run.instructions - 1  # cycles from the first instruction to the last, where nothing is lost
    assert run.instructions == len(LOOP) // 2 * order.count(0) + order.count(1)
    assert run.count == between + lost


def test_an_esp32_c3_foresees_no_jump_back(esp32_c3):
    run = estimate(turns_of([0, 0, 0, 1]), esp32_c3, None).run
    assert run.count == run.instructions - 1 + 2 * 2, "two of three are taken, two cycles more each"


def test_blocks_of_qemus_log_end_at_jumps():
    segments = (Segment(range(0x100, 0x106), LOOP + BEHIND),)
    log = [
        f"Trace 0: 0x7f60b40d3e80 [00000000/{at:08x}/00000131/ff000200] \n" for at in (0x100, 0x100, 0x104)
    ]
    trace = trace_of(log[:2], (), TracePoints(0x100, None, range(0x1000)), segments, "riscv")
    assert [(int(trace.addresses[n]), len(trace.code[n])) for n in trace.order] == [(0x100, 4)] * 2
