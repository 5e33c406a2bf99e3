"""The table of cycles: it has the kernels of the models that it was measured for, and estimates others."""

from statistics import median

import pytest

from aot.passes.pipeline import run_meaning
from benchmarks.costs import BOARDS, corners
from codegen.c.arenas import ANY_REGION
from codegen.fit.layer_cycles import CycleTable, Measured, cycle_table
from codegen.fit.variant import Variant
from codegen.job import import_model
from codegen.options import CompileOptions
from platforms.board_files import load_board

MOST_OFF = 0.15  # of the cycles of a kernel that was not measured


def measured() -> dict[str, Measured]:
    return dict(cycle_table(load_board("mps2-an386").target).measured)


@pytest.mark.slow
@pytest.mark.parametrize("board", [board for boards in BOARDS.values() for board in boards])
@pytest.mark.parametrize(
    "name", ["tiny_ic_resnet8_int8", "tiny_kws_dscnn_int8", "tiny_vww_mbv1_int8", "tiny_ad_fc_int8"]
)
def test_all_kernels_of_a_benchmark_are_measured(name, board, shared_dir):
    """Keys change with the kernels: a table that was not measured again would not have them."""
    target, options = load_board(board).target, CompileOptions()
    model = import_model(next((shared_dir / "models" / name).glob("model.*")), options)
    graph = run_meaning(model.graph).graph
    table, missing = cycle_table(target), set[str]()
    for goal, decided in corners(graph):
        assert goal is options.optimize
        lowered = Variant(graph, target, options, (ANY_REGION,), decided).lowered
        stages = lowered.stages
        missing |= {s.name for s in stages if not table.of(s, lowered.tensors).is_measured}
    assert not missing, "python -m benchmarks costs measures them"


@pytest.mark.parametrize(
    ("board", "source"),
    [
        ("rpi-pico2-riscv", "measured on hazard3"),
        ("esp32-c3-devkitm-1", "measured on hazard3: no measurements for esp32-c3"),
        ("nrf5340dk", "measured on cortex-m4: no measurements for cortex-m33"),
        ("qemu-riscv32-vectors", "counted from loops: no measurements for rv32imac-zve32x"),
        ("mps2-an385", "counted from loops: no measurements for cortex-m3"),
    ],
)
def test_a_core_without_measurements_has_those_of_a_core_with_the_same_kernels_and_says_so(board, source):
    table = cycle_table(load_board(board).target)
    assert (table.source, table.is_of_core) == (source, ":" not in source)
    assert bool(table.measured) == source.startswith("measured")


def test_a_kernel_that_was_not_measured_is_estimated_from_others_of_its_kind():
    kinds: dict[str, list[Measured]] = {}
    for key, each in measured().items():
        kinds.setdefault(key.partition(" | ")[0], []).append(each)
    errors = []
    for kind in ("conv2d smlad step i16", "conv2d smlad step i16 bare", "conv2d smlad step i8 paired"):
        for number, (cycles, work) in enumerate(kinds[kind]):
            others = [each for at, each in enumerate(kinds[kind]) if at != number]
            table = CycleTable("", {f"{kind} | {at}": each for at, each in enumerate(others)})
            errors.append(abs(work.cycles(table.factors_of(kind)) / cycles - 1))
    assert median(errors) < MOST_OFF / 3
    assert sum(error > MOST_OFF for error in errors) < len(errors) / 10
