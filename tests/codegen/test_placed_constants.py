"""--place: what is put into RAM, how much of it is left, and the reasons where nothing is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tiny_models import TINY

from aot.errors import InputError
from aot.frontend.load import load_model
from aot.ir.graph import Graph
from aot.target import FIRMWARE_RAM_BYTES, FlashReads, MemoryRegion, Target
from artifact.facts import facts_of
from artifact.metadata import make_metadata, read_metadata
from artifact.report import make_report
from codegen.compile import compile_job
from codegen.compile_kinds import ConstantRule
from codegen.job import ImportedModel, Job
from codegen.model import CompiledModel, PlacementInRam
from codegen.options import CDialect, CompileOptions
from deploy.inspection.placement_page import placement_lines

KB = 1024
FLASH = MemoryRegion("FLASH", 0, 1 << 20, "flash")
DTCM = MemoryRegion("DTCM", 1 << 29, 64 * KB, "ram")
SRAM = MemoryRegion("SRAM", 1 << 30, 256 * KB, "ram", speed=1)
SLOW = FlashReads(line_bytes=32, wait_cycles=23, sets=1, ways=8)
TARGET = Target("cortex-m4", regions=(FLASH, DTCM, SRAM), flash_reads=SLOW)
RULES = (ConstantRule("dense", "FLASH"),)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    path = tmp_path / "classifier.tflite"
    path.write_bytes(TINY["classifier"]())
    return load_model(path)


def compiled(graph: Graph, target: Target = TARGET, **options: object) -> CompiledModel:
    chosen = CompileOptions(place=True, **options)  # type: ignore[arg-type]
    return compile_job(Job(ImportedModel(graph, "t", "0" * 64, "net"), target, chosen))


def placement(model: CompiledModel) -> PlacementInRam:
    assert model.placement is not None
    return model.placement


def with_ram(left: int, model: CompiledModel) -> Target:
    """The target with so many bytes of DTCM beside what that model takes of it, its constants not counted."""
    (use,) = (b for b in make_report(facts_of(model)).memory if b.region.name == "DTCM")
    taken = use.needed_bytes - model.constants_in.get("DTCM", 0) + FIRMWARE_RAM_BYTES
    return replace(TARGET, regions=(FLASH, replace(DTCM, bytes=taken + left), SRAM))


def test_with_room_all_layers_that_wait_lie_in_the_fastest_ram(graph: Graph) -> None:
    model = compiled(graph)
    placed = placement(model)
    assert [(each.layer, each.region) for each in placed.layers] == [(1, "DTCM"), (3, "DTCM")]
    assert placed.bytes == sum(-(-array.nbytes // 4) * 4 for array in model.parameters.values()), "in words"
    assert placed.notes == ()
    assert model.sources["net_weights.c"].count("\nCONSTANT_IN(DTCM)") == len(model.parameters)


def test_what_is_left_is_what_arena_stack_and_firmware_leave(graph: Graph) -> None:
    model = compiled(graph)
    (use,) = (b for b in make_report(facts_of(model)).memory if b.region.name == "DTCM")
    others = use.needed_bytes - model.constants_in["DTCM"]
    placed = placement(model)
    assert placed.rooms["DTCM"] == (DTCM.bytes - others - FIRMWARE_RAM_BYTES) // 4 * 4
    assert placed.left_in("DTCM") == placed.rooms["DTCM"] - placed.bytes


def test_a_slower_memory_takes_nothing(graph: Graph) -> None:
    assert list(placement(compiled(graph)).rooms) == ["DTCM"]


def test_where_one_fits_it_is_the_one_that_saves_most(graph: Graph) -> None:
    whole = compiled(graph)
    first, second = placement(whole).layers
    best = max((first, second), key=lambda each: each.cycles)
    placed = placement(compiled(graph, with_ram(max(first.bytes, second.bytes), whole)))
    assert [each.layer for each in placed.layers] == [best.layer]
    other = second if best is first else first
    room = placed.rooms["DTCM"]
    assert placed.notes == (
        f"layer {other.layer} stays in flash: it does not fit the {room:,} bytes of DTCM left by arena, "
        "stack and "
        "firmware",
    )


def test_without_room_nothing_is_placed_and_it_still_fits(graph: Graph) -> None:
    model = compiled(graph, with_ram(3, compiled(graph)))
    assert not placement(model).layers
    assert not model.constants_in
    assert make_report(facts_of(model)).fits
    assert "layers 1, 3 stay in flash: they do not fit the 0 bytes of DTCM" in placement(model).notes[0]


def test_what_the_user_names_lies_where_he_says(graph: Graph) -> None:
    placed = placement(compiled(graph, constants=RULES))
    assert [each.layer for each in placed.layers] == [1]
    assert placed.notes == ("layer 3 placed by --constants",)


@pytest.mark.parametrize(
    ("target", "options", "why"),
    [
        (
            replace(TARGET, flash_reads=replace(SLOW, wait_cycles=0)),
            {},
            "the flash of this board has no wait states at its clock",
        ),
        (
            replace(TARGET, flash_reads=None),
            {},
            "the flash wait states of this board are not known",
        ),
        (replace(TARGET, regions=(FLASH,)), {}, "the target has no RAM size"),
        (
            replace(TARGET, constant_space="__flash"),
            {},
            "the constants of this core must be in flash",
        ),
        (TARGET, {"dialect": CDialect.STRICT}, "standard C cannot choose the section of a constant"),
    ],
)
def test_where_nothing_can_be_saved_it_is_said(
    target: Target, options: dict[str, object], why: str, graph: Graph
) -> None:
    model = compiled(graph, target, **options)
    assert placement(model) == PlacementInRam({}, (), 0, (why,))
    assert "section" not in model.sources["net_weights.c"]
    assert list(placement_lines(facts_of(model))) == [
        "placed             0 bytes of constants in RAM",
        f"           {why}",
    ]


def test_the_page_says_what_lies_where_and_what_it_saves(graph: Graph) -> None:
    model = compiled(graph)
    placed = placement(model)
    first, second = placed.layers
    assert list(placement_lines(facts_of(model))) == [
        f"placed     {placed.bytes:>9,} bytes of constants in RAM: "
        f"each run saves an estimated {placed.cycles:,} cycles of flash waits",
        f"           layer 1 conv2d: {first.bytes:,} bytes in DTCM, {first.cycles:,} cycles",
        f"           layer 3 dense: {second.bytes:,} bytes in DTCM, {second.cycles:,} cycles",
        f"           copied from flash at the start, in about {placed.copy_cycles:,} cycles",
        f"           {placed.left_in('DTCM'):,} bytes of DTCM are left",
    ]


def test_an_archive_says_it_too(graph: Graph) -> None:
    facts = facts_of(compiled(graph, constants=RULES))
    read, _ = read_metadata(make_metadata(facts, 0, {}, has_runtime=False).encode(), "net.tar")
    assert read.placement == facts.placement
    assert read.options.place


def test_the_copy_is_counted_by_words_and_lines(graph: Graph) -> None:
    placed = placement(compiled(graph))
    assert placed.copy_cycles == placed.bytes // 4 * 7 + -(-placed.bytes // 32) * 23


def test_without_the_option_nothing_is_said(graph: Graph) -> None:
    model = compile_job(Job(ImportedModel(graph, "t", "0" * 64, "net"), TARGET, CompileOptions()))
    assert model.placement is None
    assert not list(placement_lines(facts_of(model)))


def test_constants_that_lie_elsewhere_anyway_cannot_be_placed(graph: Graph) -> None:
    with pytest.raises(InputError, match="--place moves some of them to RAM"):
        compiled(graph, weights_external=True)
    with pytest.raises(InputError, match="--place moves constants to RAM, but a table contains them"):
        compiled(graph, tables=True)
