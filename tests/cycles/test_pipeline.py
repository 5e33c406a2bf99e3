"""What short rows of instructions take in the pipelines of Cortex-M7, M55 and M85, as LLVM's models say."""

import numpy as np
import pytest

from aot.ops.rounding import RequantRounding
from boards.cores import CorePipeline, core_names, load_core
from codegen.isa.asm import AsmLine
from codegen.isa.helium.dot_row import DotRow, _asm_lines
from codegen.isa.helium.dots import HeliumDotTile
from codegen.isa.helium.requantise import RequantTile
from codegen.isa.plain.requantise import Requant
from platforms.cycles.estimate import estimate
from platforms.cycles.instruction import MachineInstruction
from platforms.cycles.pipeline import IDLE, through
from platforms.cycles.thumb import decode
from platforms.cycles.trace import Trace

# Cycles from each instruction to the one before it.
M7 = {
    "ldr r0,[r1]; ldr r2,[r3]: two loads": ("6808 681a", (0, 0)),
    "ldr r0,[r1]; ldr r2,[r0]: an address is read early": ("6808 6802", (0, 2)),
    "ldr r0,[r1]; adds r0,#4": ("6808 3004", (0, 1)),
    "ldrb r0,[r1]; adds r0,#4: a byte comes later": ("7808 3004", (0, 2)),
    "ldrd r0,r1,[r2]; adds r3,#4: nothing beside a pair": ("e9d2 0100 3304", (0, 1)),
    "adds r3,#4; adds r4,#4; adds r5,#4": ("3304 3404 3504", (0, 0, 1)),
    "adds r1,#4; ldr r0,[r1]": ("3104 6808", (0, 2)),
    "smlad r0,r1,r2,r0; smlad r3,r1,r2,r3: one multiplier": ("fb21 0002 fb21 3302", (0, 1)),
    "smlad r0,r1,r2,r0; smlad r0,r4,r5,r0: a sum is read late": ("fb21 0002 fb24 0005", (0, 1)),
    "smlad; ldr; smlad; ldr": ("fb21 0002 6823 fb21 5502 6866", (0, 0, 1, 0)),
    "smlad r0,r1,r2,r0; str r0,[r3]": ("fb21 0002 6018", (0, 1)),
    "smlad r0,r1,r2,r0; adds r0,#1": ("fb21 0002 3001", (0, 2)),
    "sxtb16 r3,r4; smlad r0,r1,r2,r0": ("fa2f f384 fb21 0002", (0, 0)),
    "smlad r0,r1,r2,r0; sxtb16 r3,r4: only the first of two": ("fb21 0002 fa2f f384", (0, 1)),
    "stmia r0!,{r1-r4}; adds r5,#4": ("c01e 3504", (1, 1)),
}
M55 = {
    "vldrb; vmladava; vldrb; vmladava: units take turns": (
        "ecb0 1e10 eef0 2f22 ecb1 3e10 eef0 4f22",
        (0, 1, 1, 1),
    ),
    "vldrb; vldrb; vmladava; vmladava: a unit is held": (
        "ecb0 1e10 ecb1 3e10 eef0 2f22 eef0 4f22",
        (0, 2, 1, 2),
    ),
    "vmladava.s8 r2,q0,q1; vmov q2[2],q2[0],r2,r4": ("eef0 2f22 ec14 4f02", (0, 2)),
    "vqmovnb.s32 q0,q1; vstrb.8 q0,[r0]": ("ee37 0e03 ed80 1e00", (0, 2)),
    "ldr r0,[r1]; adds r0,#4": ("6808 3004", (0, 2)),
    "adds r0,#4; adds r1,#4; adds r2,#4": ("3004 3104 3204", (0, 0, 1)),
    "muls r0,r1,r0; adds r2,#4": ("4348 3204", (0, 0)),
    "muls r0,r1,r0; ands r4,r5: neither is light": ("4348 402c", (0, 1)),
    "add.w r0,r0,#4; adds r2,#4: a long one is alone": ("f100 0004 3204", (0, 1)),
    "vpush {d8-d15}": ("ed2d 8b10", (7,)),
    "adds r2,#4; le: the loop's end takes nothing": ("3204 f00f c003", (0, 0)),
}
M85 = {
    "vldrb; vmladava; vldrb; vmladava: units take turns": (
        "ecb0 1e10 eef0 2f22 ecb1 3e10 eef0 4f22",
        (0, 1, 1, 1),
    ),
    "vldrb; vldrb: both halves of the loads' unit": ("ecb0 1e10 ecb1 3e10", (0, 2)),
    "vmladava.s8 r2,q0,q1; vmov q2[2],q2[0],r2,r4": ("eef0 2f22 ec14 4f02", (0, 4)),
    "ldr r0,[r1]; ldr r2,[r3]: two loads": ("6808 681a", (0, 0)),
    "ldrb r0,[r1]; adds r0,#4: a byte comes later": ("7808 3004", (0, 2)),
    "add.w r0,r0,#4; adds r2,#4: a long one is not alone": ("f100 0004 3204", (0, 0)),
    "smlad r0,r1,r2,r0; smlad r3,r1,r2,r3: one multiplier": ("fb21 0002 fb21 3302", (0, 1)),
    "adds r2,#4; le: the loop's end takes nothing": ("3204 f00f c003", (0, 0)),
}
CASES = [
    pytest.param(core, code, cycles, id=f"{core}: {text}")
    for core, table in {"cortex-m7": M7, "cortex-m55": M55, "cortex-m85": M85}.items()
    for text, (code, cycles) in table.items()
]


@pytest.fixture(autouse=True)
def _capstone(require_capstone_of_helium):
    """Decodes all of this."""


def pipeline_of(name: str) -> CorePipeline:
    pipeline = load_core(name).pipeline
    assert pipeline is not None
    return pipeline


def code_of(half_words: str) -> bytes:
    return b"".join(int(half, 16).to_bytes(2, "little") for half in half_words.split())


@pytest.mark.parametrize(("core", "code", "cycles"), CASES)
def test_instructions_begin_as_the_pipeline_lets_them(core, code, cycles):
    assert through(decode(code_of(code), 0x100), IDLE, pipeline_of(core))[0] == cycles


def test_what_a_block_leaves_behind_holds_the_next_one_up():
    pipeline = pipeline_of("cortex-m55")
    load, product = decode(code_of("ecb0 1e10 eef0 2f22"), 0x100)
    _, after = through((product,), IDLE, pipeline)
    assert through((product,), after, pipeline)[0] == (2,)
    assert through((load,), after, pipeline)[0] == (1,)
    assert through((product,), after.later(3), pipeline)[0] == (0,)


def test_a_trace_takes_its_blocks_in_the_state_that_the_one_before_left():
    """Three rounds of: smlad r0,r1,r2,r0; smlad r3,r1,r2,r3; b. Jumps are foreseen."""
    trace = Trace(
        machine="arm",
        addresses=np.array([0x100]),
        code=(code_of("fb21 0002 fb21 3302 e7fa"),),
        order=np.zeros(3, np.int64),
        flash_reads=np.zeros(0, np.int64),
        reads_before=np.zeros(3, np.int64),
        misaligned=np.zeros((0, 2), np.int64),
        layer_ends=np.zeros((0, 2), np.int64),
    )
    run = estimate(trace, pipeline_of("cortex-m7"), None).run
    assert (run.instructions, run.parts["products"], run.parts["branches"]) == (9, 5, 0)


@pytest.mark.parametrize("core", [name for name in core_names() if load_core(name).pipeline])
def test_every_instruction_has_a_row_and_every_row_units_that_there_are(core):
    pipeline = pipeline_of(core)
    assert (pipeline.rows[-1].names, pipeline.rows[-1].bytes) == (("",), 0)
    named = {unit for row in pipeline.rows for choice in row.units for unit in choice.split("|")}
    assert named == set(pipeline.units)


@pytest.mark.parametrize("length", [16, 32, 64, 128])
def test_a_loop_over_pixels_takes_little_more_than_a_cycle_an_instruction_on_helium(length):
    """Requantization fills the cycles in which the multiplier holds a product."""
    requant = Requant(-128, -128, 127, RequantRounding.DOUBLE, (3, 22), True, scaled_fits_16_bits=True)
    sums = HeliumDotTile(2, 4, 1, 1, length, length, 0, x_aligned=True)
    lines = _asm_lines(DotRow(sums, RequantTile(2, 4, 64, 1), 24, requant))
    texts = [line.text for line in lines]
    body = [_machine(line) for line in lines[texts.index("1:") + 1 : texts.index("le lr, 1b")]]
    state = IDLE
    for _ in range(4):  # until the state repeats
        cycles, state = through(body, state, pipeline_of("cortex-m55"))
    assert sum(cycles) <= 1.06 * len(body)


def _machine(line: AsmLine) -> MachineInstruction:
    kind = {"vl": "load", "ld": "load", "vs": "store", "st": "store"}.get(line.name[:2], "")
    kind = "" if line.name.startswith("vsh") else kind
    address_of = frozenset(r for r in line.reads if f"[{r}" in line.text)
    return MachineInstruction(
        0, 4, line.name, kind, 1, frozenset(line.reads), frozenset(line.writes), address_of
    )
