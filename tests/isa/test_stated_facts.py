"""What helpers state of their C is what stands there: an independent look at the text of each."""

import re
from collections.abc import Iterator

import pytest
from instruction_tiles import TILES, variations
from model_checks import DSP, MVE
from op_case import OpCase
from test_references import CASES

from aot.errors import ModelError
from aot.target import Feature, Target
from codegen.c.kernel_library import collect_helpers
from codegen.c.tree import AnyHelper
from codegen.fit.plan_job import plan_job
from codegen.isa.dsp.depthwise import DepthwiseRow
from codegen.isa.rvv.row_block import RowBlock
from codegen.job import ImportedModel, Job
from codegen.lang.instruction import facts_of
from codegen.loops.ir import Instruction
from codegen.options import CompileOptions

PLAIN = Target("cortex-m0plus", machine="arm")
FUSED = Target("cortex-m4", frozenset({Feature.FPU}), machine="arm")
RVV = Target("rv32imac-zve32x", frozenset({Feature.VECTORS}), machine="riscv", registers=26)
# Lines of assembly or functions of vectors in the text of an instruction, and of what it is made of.
_ASM_LINE = '\\n\\t"'
COUNTS = {
    "mve dot": (1, 0),
    "mve row": (1, 0),
    "mve blocks": (1, 0),
    "mve channels": (1, 60),  # and what loads constants, requantises and stores
    "mve depthwise": (2, 0),
}


def wrong_in(helper: AnyHelper) -> list[str]:
    """Compares what it states with its text."""
    found = facts_of(helper.name, helper.definition)
    compared: dict[str, tuple[object, object]] = {"is_inline": (helper.is_inline, found.is_inline)}
    if isinstance(helper, Instruction) and helper.body:  # others are parts of such
        compared["is_asm"] = (helper.is_asm, found.is_asm)
        compared["own_registers"] = (helper.own_registers, found.own_registers)
    return [f"{helper.name}: {fact} {said}" for fact, said in compared.items() if said[0] != said[1]]


def every_tile(name: str) -> Iterator[Instruction]:
    tile, made = TILES[name]
    for _, each in (("", tile), *variations(tile)):
        if isinstance(each, DepthwiseRow) and each.outputs < each.turns:
            continue
        yield made(each)


@pytest.mark.parametrize("name", TILES)
def test_instructions_state_what_stands_in_their_c(name):
    for made in every_tile(name):
        assert not [wrong for helper in collect_helpers([made]).every for wrong in wrong_in(helper)]


@pytest.mark.parametrize("name", COUNTS)
def test_lines_of_assembly_are_counted(name):
    times, beside = COUNTS[name]
    for made in every_tile(name):
        assert made.machine_instructions == times * lines_of(made) + beside, made.name


def lines_of(made: Instruction) -> int:
    """Counts its lines of assembly, or those of its parts if it is no statement itself."""
    parts = [part for part in made.calls if isinstance(part, Instruction)]
    texts = [made.definition] if made.is_asm else [made.definition, *(part.definition for part in parts)]
    return sum(text.count(_ASM_LINE) for text in texts)


@pytest.mark.parametrize("name", [name for name, (tile, _) in TILES.items() if isinstance(tile, RowBlock)])
def test_functions_of_vectors_are_counted(name):
    for made in every_tile(name):
        stores, *parts = made.calls
        assert isinstance(stores, Instruction)
        each = len(re.findall(r"__riscv_v(?!reinterpret)", stores.definition))
        assert stores.machine_instructions == each
        texts = [part.definition for part in parts if isinstance(part, Instruction)] or [made.definition]
        assert made.machine_instructions == sum(
            text.count("__riscv_v") + text.count(f"{stores.name}(") * each + text.count("vwmacc_vx")
            for text in texts
        ), made.name


@pytest.mark.slow
@pytest.mark.parametrize("target", [PLAIN, FUSED, DSP, MVE, RVV], ids=lambda target: target.core)
def test_helpers_of_every_op_state_what_stands_in_their_c(target):
    wrong = [
        found for case in CASES.values() for helper in helpers_for(case, target) for found in wrong_in(helper)
    ]
    assert not wrong


def helpers_for(case: OpCase, target: Target) -> tuple[AnyHelper, ...]:
    model = ImportedModel(case.graph, "case", "00" * 32, "case")
    try:
        return plan_job(Job(model, target, CompileOptions())).library.helpers.every
    except ModelError:  # some ops are for other passes than these
        return ()
