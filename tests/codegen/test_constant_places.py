"""Constants: which there are, in which memory each is placed, and what is put into RAM for speed."""

from dataclasses import replace
from itertools import chain, combinations

import pytest
from graphs import Draft
from hypothesis import given, settings
from hypothesis import strategies as st
from model_checks import DSP, OPTIONS

from aot.errors import BoardError, InputError
from aot.frontend.load import load_model
from aot.ir.graph import Graph, Node
from aot.target import FIRMWARE_RAM_BYTES, FlashReads, MemoryRegion, Target
from artifact.facts import facts_of
from artifact.metadata import make_metadata, read_metadata
from artifact.report import make_report
from codegen.compile import CompiledModel, compile_job
from codegen.compile_kinds import ConstantRule
from codegen.fit.placed_constants import most_valuable
from codegen.fit.plan_job import plan_job
from codegen.job import ImportedModel, Job, read_job
from codegen.model import PlacementInRam
from codegen.options import CDialect, CompileOptions
from deploy.inspection.placement_page import placement_lines

MODELS = ("tiny_ad_fc_int8", "tiny_ic_resnet8_int8", "tiny_kws_dscnn_int8", "tiny_vww_mbv1_int8")
WEIGHTED = {"conv2d", "conv2d+add", "dense", "depthwise_conv2d"}
PER_CHANNEL = 4 + 4 + 4  # bytes: bias, multiplier, and an addend or a shift, in words where kernels load them
MOST = 1.03  # what packing may add


def needed_bytes(graph: Graph) -> int:
    return sum(_needed_by(graph, node) for node in graph.nodes if node.op.name in WEIGHTED)


def _needed_by(graph: Graph, node: Node) -> int:
    weights, channels = graph.types[node.inputs[1] or ""], graph.types[node.outputs[0]].shape[-1]
    return weights.bytes + channels * PER_CHANNEL


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_constants_are_little_more_than_the_live_weights_and_tables(name, shared_dir):
    job = read_job(shared_dir / "models" / name / "model.tflite", DSP, OPTIONS["speed"])
    transformed = sum(stage.kernel.extra_bytes for stage in plan_job(job).lowered.stages)
    model = compile_job(job)
    most = needed_bytes(model.graph) * MOST + transformed
    assert model.constants.bytes <= most  # less where tables are equal


@pytest.mark.slow
def test_dead_weights_are_not_counted_as_needed(shared_dir):
    model = compile_job(
        read_job(shared_dir / "models/tiny_vww_mbv1_int8/model.tflite", DSP, OPTIONS["speed"])
    )
    assert needed_bytes(model.graph) < 42_000 < 219_072  # what the file holds


REGIONS = (
    MemoryRegion("FLASH", 0, 1 << 20, "flash"),
    MemoryRegion("QSPI", 1 << 28, 1 << 24, "flash", speed=1),
    MemoryRegion("ITCM", 1 << 29, 1 << 16, "ram"),
)
TARGET = Target("host", regions=REGIONS, pointer_bytes=8)


@pytest.fixture
def graph(tiny_file):
    return load_model(tiny_file("classifier", "classifier.tflite"))


def placed(graph: Graph, *rules: tuple[str, str], target: Target = TARGET) -> CompiledModel:
    options = CompileOptions(constants=tuple(ConstantRule(*rule) for rule in rules))
    return compile_job(Job(ImportedModel(graph, "t", "0" * 64, "net"), target, options))


def in_sections(model: CompiledModel) -> dict[str, set[str]]:
    """Region -> layers whose weights are defined there."""
    found: dict[str, set[str]] = {}
    for line in model.sources["net_weights.c"].splitlines():
        if line.startswith("CONSTANT") and "_w[" in line:
            region = line.split("(")[1].split(")")[0] if line.startswith("CONSTANT_IN") else ""
            found.setdefault(region, set()).add(line.split("net_")[1].split("_w[")[0])
    return found


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ((), {"": {"conv2d_0", "dense_3"}}),
        ((("conv2d", "ITCM"),), {"ITCM": {"conv2d_0"}, "": {"dense_3"}}),
        ((("layer3", "QSPI"),), {"QSPI": {"dense_3"}, "": {"conv2d_0"}}),
        ((("conv*", "ITCM"), ("*", "QSPI")), {"ITCM": {"conv2d_0"}, "QSPI": {"dense_3"}}),
    ],
)
def test_the_first_rule_that_names_a_layer_counts(rules, expected, graph):
    assert in_sections(placed(graph, *rules)) == expected


def test_without_rules_no_section_is_spoken_of(graph):
    assert "section" not in placed(graph).sources["net_weights.c"]


def test_what_lies_elsewhere_is_counted_there(graph):
    alone, model = placed(graph), placed(graph, ("conv2d", "ITCM"), ("dense", "QSPI"))
    itcm, qspi = model.constants.bytes_in["ITCM"], model.constants.bytes_in["QSPI"]
    assert model.constants.bytes == alone.constants.bytes == itcm + qspi + _rest(model)
    uses = {use.region.name: dict(use.parts) for use in make_report(facts_of(model)).memory}
    assert uses["ITCM"]["constants in ITCM"] == itcm
    assert uses["QSPI"] == {"constants in QSPI": qspi}
    assert uses["FLASH"]["constants"] == itcm + _rest(model), "what RAM is filled with comes from flash"


def _rest(model: CompiledModel) -> int:
    return model.constants.bytes - sum(model.constants.bytes_in.values())


@pytest.mark.parametrize(
    ("rule", "target", "kind", "says"),
    [
        (
            ("dense", "QSPY"),
            TARGET,
            BoardError,
            'error: "QSPY" is not a memory of this board - did you mean "QSPI"?\n'
            "  hint: --constants accepts: FLASH, QSPI, ITCM",
        ),
        (
            ("softmax", "QSPI"),
            TARGET,
            InputError,
            'error: no layer with constants is called "softmax"\n  layers with constants: conv2d, dense\n'
            "  hint: give an op, a layer's name or layer3, with * as a wildcard; deploy inspect MODEL "
            "--layers lists them",
        ),
        (
            ("dense", "RAM"),
            Target("avr", regions=REGIONS, constant_space="__flash"),
            BoardError,
            "error: the constants of this board's core must be in flash",
        ),
    ],
)
def test_a_rule_that_cannot_be_kept_is_reported(rule, target, kind, says, graph):
    with pytest.raises(kind) as refused:
        placed(graph, rule, target=target)
    assert str(refused.value) == says


def test_constants_whose_memory_is_named_are_stored_as_they_are():
    """Winograd's are transformed where their place is free: 16 half words take the place of nine bytes."""
    d = Draft()
    wide = d.graph(d.conv("y", d.input("x", 1, 8, 8, 32), 8))
    core = replace(DSP, regions=REGIONS)
    assert weight_bytes(placed(wide, target=core)) == 8 * (32 * 16 * 2 + 9)
    assert weight_bytes(placed(wide, ("conv2d", "QSPI"), target=core)) == 8 * (32 * 9 + 9)


def weight_bytes(model: CompiledModel) -> int:
    return sum(layer.weight_bytes for layer in model.layers)


KB = 1024
FLASH = MemoryRegion("FLASH", 0, 1 << 20, "flash")
DTCM = MemoryRegion("DTCM", 1 << 29, 64 * KB, "ram")
SRAM = MemoryRegion("SRAM", 1 << 30, 256 * KB, "ram", speed=1)
SLOW = FlashReads(line_bytes=32, wait_cycles=23, sets=1, ways=8)
SLOW_FLASH = Target("cortex-m4", regions=(FLASH, DTCM, SRAM), flash_reads=SLOW)
RULES = (ConstantRule("dense", "FLASH"),)


def compiled(graph: Graph, target: Target = SLOW_FLASH, **options: object) -> CompiledModel:
    chosen = CompileOptions(place=True, **options)  # type: ignore[arg-type]
    return compile_job(Job(ImportedModel(graph, "t", "0" * 64, "net"), target, chosen))


def placement(model: CompiledModel) -> PlacementInRam:
    assert model.planned.placement is not None
    return model.planned.placement


def with_ram(left: int, model: CompiledModel) -> Target:
    """The target with so many bytes of DTCM beside what that model takes of it, its constants not counted."""
    (use,) = (b for b in make_report(facts_of(model)).memory if b.region.name == "DTCM")
    taken = use.needed_bytes - model.constants.bytes_in.get("DTCM", 0) + FIRMWARE_RAM_BYTES
    return replace(SLOW_FLASH, regions=(FLASH, replace(DTCM, bytes=taken + left), SRAM))


def test_with_room_all_layers_that_wait_lie_in_the_fastest_ram(graph):
    model = compiled(graph)
    placed = placement(model)
    assert [(each.layer, each.region) for each in placed.layers] == [(1, "DTCM"), (3, "DTCM")]
    assert placed.bytes == sum(-(-array.nbytes // 4) * 4 for array in model.constants.arrays.values()), (
        "in words"
    )
    assert placed.notes == ()
    assert model.sources["net_weights.c"].count("\nCONSTANT_IN(DTCM)") == len(model.constants.arrays)


def test_what_is_left_is_what_arena_stack_and_firmware_leave(graph):
    model = compiled(graph)
    (use,) = (b for b in make_report(facts_of(model)).memory if b.region.name == "DTCM")
    others = use.needed_bytes - model.constants.bytes_in["DTCM"]
    placed = placement(model)
    assert placed.rooms["DTCM"] == (DTCM.bytes - others - FIRMWARE_RAM_BYTES) // 4 * 4
    assert placed.left_in("DTCM") == placed.rooms["DTCM"] - placed.bytes


def test_a_slower_memory_takes_nothing(graph):
    assert list(placement(compiled(graph)).rooms) == ["DTCM"]


def test_where_one_fits_it_is_the_one_that_saves_most(graph):
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


def test_without_room_nothing_is_placed_and_it_still_fits(graph):
    model = compiled(graph, with_ram(3, compiled(graph)))
    assert not placement(model).layers
    assert not model.constants.bytes_in
    assert make_report(facts_of(model)).fits
    assert "layers 1, 3 stay in flash: they do not fit the 0 bytes of DTCM" in placement(model).notes[0]


def test_what_the_user_names_lies_where_he_says(graph):
    placed = placement(compiled(graph, constants=RULES))
    assert [each.layer for each in placed.layers] == [1]
    assert placed.notes == ("layer 3 placed by --constants",)


@pytest.mark.parametrize(
    ("target", "options", "why"),
    [
        (
            replace(SLOW_FLASH, flash_reads=replace(SLOW, wait_cycles=0)),
            {},
            "the flash of this board has no wait states at its clock",
        ),
        (
            replace(SLOW_FLASH, flash_reads=None),
            {},
            "the flash wait states of this board are not known",
        ),
        (replace(SLOW_FLASH, regions=(FLASH,)), {}, "the target has no RAM size"),
        (
            replace(SLOW_FLASH, constant_space="__flash"),
            {},
            "the constants of this core must be in flash",
        ),
        (SLOW_FLASH, {"dialect": CDialect.STRICT}, "standard C cannot choose the section of a constant"),
    ],
)
def test_where_nothing_can_be_saved_it_is_said(target, options, why, graph):
    model = compiled(graph, target, **options)
    assert placement(model) == PlacementInRam({}, (), 0, (why,))
    assert "section" not in model.sources["net_weights.c"]
    assert list(placement_lines(facts_of(model))) == [
        "placed             0 bytes of constants in RAM",
        f"           {why}",
    ]


def test_the_page_says_what_lies_where_and_what_it_saves(graph):
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


def test_an_archive_says_it_too(graph):
    facts = facts_of(compiled(graph, constants=RULES))
    read, _ = read_metadata(make_metadata(facts, 0, {}, has_runtime=False).encode(), "net.tar")
    assert read.placement == facts.placement
    assert read.options.place


def test_the_copy_is_counted_by_words_and_lines(graph):
    placed = placement(compiled(graph))
    assert placed.copy_cycles == placed.bytes // 4 * 7 + -(-placed.bytes // 32) * 23


def test_without_the_option_nothing_is_said(graph):
    model = compile_job(Job(ImportedModel(graph, "t", "0" * 64, "net"), SLOW_FLASH, CompileOptions()))
    assert model.planned.placement is None
    assert not list(placement_lines(facts_of(model)))


def test_constants_that_lie_elsewhere_anyway_cannot_be_placed(graph):
    with pytest.raises(InputError, match="--place moves some of them to RAM"):
        compiled(graph, weights_external=True)
    with pytest.raises(InputError, match="--place moves constants to RAM, but a table contains them"):
        compiled(graph, tables=True)


THINGS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 50)), max_size=7)


def best(things: list[tuple[int, int]], room: int) -> int:
    every = chain.from_iterable(combinations(things, n) for n in range(len(things) + 1))
    return max(sum(v for _, v in some) for some in every if sum(4 * s for s, _ in some) <= room)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(things=THINGS, room=st.integers(0, 120))
def test_no_other_choice_that_fits_is_worth_more(things, room):
    chosen = most_valuable([4 * size for size, _ in things], [value for _, value in things], room)
    assert list(chosen) == sorted(set(chosen))
    assert sum(4 * things[n][0] for n in chosen) <= room
    assert sum(things[n][1] for n in chosen) == best(things, room)


def test_by_the_byte_is_not_always_best():
    """The densest thing would keep out two that are worth more together."""
    assert most_valuable([24, 20, 20], [13, 10, 10], 40) == (1, 2)


def test_in_a_large_room_sizes_are_rounded_up():
    room = 8 << 20  # bytes: units of 128
    assert most_valuable([room - 128, 129], [9, 1], room) == (0,)
    assert most_valuable([room - 256, 129], [9, 1], room) == (0, 1)


def test_a_room_is_measured_by_its_65536th():
    """Finer, two of them would fit; a table of so many columns for each layer is what a search may take."""
    room = 8 << 20  # bytes: units of 128
    assert most_valuable([room - 192, 129, room], [9, 1, 1], room) == (0,)
    assert most_valuable([room - 256, 128, room], [9, 1, 1], room) == (0, 1)
