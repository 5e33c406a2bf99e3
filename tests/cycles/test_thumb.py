"""Instructions as the disassembler tells them: kinds, registers, parts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from aot.errors import ToolError
from boards.cores import KINDS
from platforms.cycles.instruction import MachineInstruction
from platforms.cycles.parts import part_of
from platforms.cycles.thumb import decode


@pytest.fixture(autouse=True)
def _capstone(require_package: Callable[..., None]) -> None:
    require_package("capstone")


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
def test_an_instruction_has_its_kind_and_part(
    code: str, name: str, kind: str, registers: int, part: str
) -> None:
    found = one(code)
    assert (found.name, found.kind, found.registers, part_of(found)) == (name, kind, registers, part)


def test_an_address_is_made_of_base_and_index_only() -> None:
    assert one("42f82310").address_of == {"r2", "r3"}  # str.w r1,[r2,r3,lsl #2]
    assert one("1ec8").address_of == {"r0"}  # ldmia r0!,{r1-r4}
    assert one("0844").address_of == frozenset()  # add r0,r1


def test_what_is_not_an_instruction_is_named() -> None:
    with pytest.raises(ToolError, match="capstone knows no instruction ffffffff"):
        decode(bytes.fromhex("0868ffffffff"), 0x100)
