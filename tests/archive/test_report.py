"""What is shown of a compiled model: its layers, its peak, and whether it fits."""

from dataclasses import replace

import pytest
from tiny_models import TINY

from aot.frontend.load import parse_model
from aot.target import MemoryRegion, Target
from artifact.facts import facts_of
from artifact.report import Report, make_report
from codegen.c.part_sizes import core_kind
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions


@pytest.fixture(scope="module")
def report(compiled):
    return make_report(facts_of(compiled))


def test_there_is_a_row_for_each_layer(report, compiled):
    assert tuple(row.layer for row in report.layers) == compiled.layers
    assert sum(row.steps for row in report.layers) == len(compiled.plan.order)
    assert all(row.output.name == row.layer.output for row in report.layers)
    assert all(row.first_step <= row.last_step for row in report.layers)


def test_the_peak_is_in_one_layer_and_names_it(report):
    (at_peak,) = [row for row in report.layers if row.is_peak]
    assert report.peak.layer == at_peak.layer
    assert report.peak.bytes == at_peak.live_bytes == max(row.live_bytes for row in report.layers)
    assert sum(size for _, size in report.peak.buffers) >= report.peak.bytes


def test_macs_are_those_of_both_convolutions(report):
    assert report.facts.macs == 2 * 8 * 8 * 4 * 4 * 3 * 3 + _additions(report)


def _additions(report: Report) -> int:
    return sum(row.layer.macs for row in report.layers if row.layer.op == "add")


def test_what_is_needed_is_put_beside_what_there_is(report, compiled):
    ram, flash = report.memory
    assert (ram.region.name, flash.region.name) == ("RAM", "FLASH")
    assert ram.needed_bytes == compiled.plan.arena_bytes + compiled.planned.stack_bytes
    assert flash.needed_bytes == compiled.constants.bytes + compiled.code_bytes_estimate
    assert report.fits == (ram.needed_bytes <= 4096 and flash.needed_bytes <= 8192)


def test_pointers_to_rows_are_as_wide_as_the_core_has_them():
    graph = parse_model(TINY["residual"](), "residual.tflite")
    target = Target("cortex-m0plus")
    stacks = [
        compile_job(Job(ImportedModel(graph, "", "", "residual"), made, CompileOptions())).planned.stack_bytes
        for made in (target, replace(target, pointer_bytes=8))
    ]
    # A convolution of three rows is the hungriest; the factor is for a pointer of four bytes.
    assert stacks[1] - stacks[0] == pytest.approx(3 * core_kind(target).stack.row_pointer, abs=1)


@pytest.mark.parametrize(("spare", "fits"), [(0, True), (-1, False)])
def test_a_region_is_enough_to_the_byte(spare, fits, report):
    needed = report.memory[0].needed_bytes
    target = Target("cortex-m4", regions=(MemoryRegion("RAM", 0, needed + spare, "ram"),))
    assert make_report(report.facts, target).fits is fits


@pytest.mark.parametrize(("dtcm_bytes", "chosen"), [(16, "SDRAM"), (1 << 20, "DTCM")])
def test_the_fastest_region_with_room_is_the_one_to_fit_into(report, dtcm_bytes, chosen):
    regions = (MemoryRegion("SDRAM", 0, 1 << 20, "ram", speed=2), MemoryRegion("DTCM", 0, dtcm_bytes, "ram"))
    (ram,) = make_report(report.facts, Target("cortex-m7", regions=regions)).memory
    assert (ram.region.name, ram.fits) == (chosen, True)


def test_where_no_region_has_room_the_largest_is_named(report):
    regions = (MemoryRegion("SDRAM", 0, 32, "ram", speed=2), MemoryRegion("DTCM", 0, 16, "ram"))
    (ram,) = make_report(report.facts, Target("cortex-m7", regions=regions)).memory
    assert (ram.region.name, ram.fits) == ("SDRAM", False)


def test_a_target_without_regions_has_no_budgets(report):
    bare = replace(report.facts, target=Target("host"))
    assert make_report(bare).memory == ()
    assert make_report(bare).fits
