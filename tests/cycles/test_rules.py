"""What short rows of instructions take, held against what Arm's manuals say of them."""

import pytest

from aot.errors import ToolError
from boards.cores import KINDS, load_core
from platforms.cycles.instruction import MachineInstruction
from platforms.cycles.parts import part_of
from platforms.cycles.refills import refill_of
from platforms.cycles.rules import cycles_of
from platforms.cycles.thumb import decode

# Cortex-M4: the first five are the manual's own examples.
M4 = {
    "ldr r0,[r1]; ldr r1,[r2]": ("6808 6811", (2, 1)),
    "ldr r0,[r1,r2]; str r0,[r3,#20]": ("5888 6158", (2, 1)),
    "ldr r0,[r1,r2]; str r1,[r3,r2]": ("5888 5099", (2, 1)),
    "ldr r0,[r1,r5]; ldr r1,[r2]; ldr r2,[r3,#4]": ("5948 6811 685a", (2, 1, 1)),
    "ldr r0,[r1]; ldr r2,[r0]": ("6808 6802", (2, 2)),
    "str r1,[r3,r2] alone": ("5099", (2,)),
    "str r0,[r1]; ldr r2,[r3]": ("6008 681a", (1, 2)),
    "add r0,r0,#4; ldr r1,[r0]: a late address": ("f100 0004 6801", (1, 3)),
    "add r0,r0,#4; ldr r1,[r3]": ("f100 0004 6819", (1, 2)),
    "mla r0,r1,r2,r3; ldr r4,[r0]": ("fb01 3002 6804", (1, 3)),
    "ldrd r0,r1,[r2]; ldr r0,[r1]": ("e9d2 0100 6808", (3, 2)),
    "strd r0,r1,[r2,#8]": ("e9c2 0102", (3,)),
    "ldmia r0!,{r1-r4}": ("c81e", (5,)),
    "push {r4-r7,lr}": ("b5f0", (6,)),
    "smlad r0,r1,r2,r3; smlad r0,r4,r5,r0": ("fb21 3002 fb24 0005", (1, 1)),
    "umlal; smull; mul": ("fbe2 0103 fb82 0103 fb01 f000", (1, 1, 1)),
    "sdiv r0,r1,r2": ("fb91 f0f2", (7,)),
    "vmul.f32 s0,s1,s2; vadd.f32 s3,s0,s4: a late number": ("ee20 0a81 ee70 1a02", (1, 2)),
    "vfma.f32 s0,s1,s2": ("eea0 0a81", (3,)),
    "vldr s0,[r0]; vldmia r1!,{s0-s3}": ("ed90 0a00 ecb1 0a04", (2, 5)),
}
M3 = {
    "mla r0,r1,r2,r3": ("fb01 3002", (2,)),
    "umlal; smull; mul": ("fbe2 0103 fb82 0103 fb01 f000", (6, 4, 1)),
    "ldr r0,[r1]; ldr r1,[r2]": ("6808 6811", (2, 1)),
}
M0PLUS = {
    "ldr r0,[r1]; ldr r1,[r2]: nothing overlaps": ("6808 6811", (2, 2)),
    "str r1,[r3,r2]": ("5099", (2,)),
    "ldmia r0!,{r1-r4}": ("c81e", (5,)),
    "push {r4-r7,lr}": ("b5f0", (6,)),
}
CASES = [
    pytest.param(core, code, cycles, id=f"{core}: {text}")
    for core, table in {"cortex-m4": M4, "cortex-m3": M3, "cortex-m0plus": M0PLUS}.items()
    for text, (code, cycles) in table.items()
]
# The last instruction of a block, where it goes, and what it takes then.
JUMPS = [
    ("cortex-m4", "d1fe", "4770", 0x100, 2),  # bne to a short instruction
    ("cortex-m4", "d1fe", "f1000004", 0x100, 2),  # to a long one in one word
    ("cortex-m4", "d1fe", "f1000004", 0x102, 3),  # to a long one across two
    ("cortex-m4", "f7fffffe", "4770", 0x100, 2),  # bl
    ("cortex-m4", "4770", "4770", 0x100, 3),  # bx lr
    ("cortex-m4", "bdf0", "4770", 0x100, 8),  # pop {r4-r7,pc}
    ("cortex-m4", "e8dff000", "4770", 0x100, 6),  # tbb [pc,r0]
    ("cortex-m0plus", "d1fe", "4770", 0x100, 2),
    ("cortex-m0plus", "f7fffffe", "4770", 0x100, 3),
    ("cortex-m0plus", "4770", "4770", 0x100, 2),
    ("cortex-m0plus", "bdf0", "4770", 0x100, 8),
]


@pytest.fixture(autouse=True)
def _capstone(require_package):
    require_package("capstone")


def half_words(text: str) -> bytes:
    """Code as a listing shows it: half-words, the highest digit first."""
    digits = text.replace(" ", "")
    return b"".join(bytes.fromhex(digits[at : at + 4])[::-1] for at in range(0, len(digits), 4))


@pytest.mark.parametrize(("core", "code", "cycles"), CASES)
def test_a_row_takes_what_the_manual_says(core, code, cycles):
    timing = load_core(core).timing
    assert timing is not None
    assert cycles_of(decode(half_words(code), 0x100), timing) == cycles


@pytest.mark.parametrize(("core", "jump", "target", "address", "cycles"), JUMPS)
def test_a_jump_refills_the_pipeline(core, jump, target, address, cycles):
    timing = load_core(core).timing
    assert timing is not None
    block, (there, *_) = decode(half_words(jump), 0x200), decode(half_words(target), address)
    assert sum(cycles_of(block, timing)) + refill_of(block[-1], there, timing) == cycles


def test_an_empty_block_takes_nothing():
    timing = load_core("cortex-m4").timing
    assert timing is not None
    assert cycles_of((), timing) == ()


def one(code: str) -> MachineInstruction:
    (found,) = decode(bytes.fromhex(code), 0)
    assert found.kind in {*KINDS, ""}
    return found


@pytest.mark.parametrize(
    ("code", "name", "kind", "registers", "part"),
    [
        ("0868", "ldr", "load", 1, "loads"),  # ldr r0,[r1]
        ("42f82310", "str", "store_indexed", 1, "stores"),  # str.w r1,[r2,r3,lsl #2]
        ("f0b5", "push", "store_many", 5, "stores"),  # push {r4-r7,lr}
        ("1ec8", "ldm", "load_many", 4, "loads"),  # ldmia r0!,{r1-r4}
        ("b1ec040a", "vldmia", "load_many", 4, "loads"),  # vldmia r1!,{s0-s3}
        ("90ed000b", "vldr", "load_many", 2, "loads"),  # vldr d0,[r0]
        ("21fb0230", "smlad", "", 1, "products"),  # smlad r0,r1,r2,r3
        ("51fb1230", "smmlar", "", 1, "requantisation"),  # smmlar r0,r1,r2,r3
        ("2ffa91f0", "sxtb16", "", 1, "widening"),  # sxtb16 r0,r1,ror #8
        ("00f30703", "ssat", "", 1, "requantisation"),  # ssat r3,#8,r0
        ("fed1", "b", "branch", 1, "branches"),  # bne
        ("8746", "mov", "move_pc", 1, "branches"),  # mov pc,r0
        ("0844", "add", "", 1, "other"),  # add r0,r1
    ],
)
def test_an_instruction_has_its_kind_and_part(code, name, kind, registers, part):
    found = one(code)
    assert (found.name, found.kind, found.registers, part_of(found)) == (name, kind, registers, part)


def test_an_address_is_made_of_base_and_index_only():
    assert one("42f82310").address_of == {"r2", "r3"}  # str.w r1,[r2,r3,lsl #2]
    assert one("1ec8").address_of == {"r0"}  # ldmia r0!,{r1-r4}
    assert one("0844").address_of == frozenset()  # add r0,r1


def test_what_is_not_an_instruction_is_named():
    with pytest.raises(ToolError, match="capstone knows no instruction ffffffff"):
        decode(bytes.fromhex("0868ffffffff"), 0x100)
