"""The committed pages of figures are complete, keep their bars, and show what their commands compute."""

import random

import pytest

from benchmarks import (
    backends,
    ethos_u,
    gemm_npu,
    half_weights,
    host,
    pytorch,
    refined,
    vision,
    wide_activations,
)
from benchmarks.__main__ import COMMANDS, main
from benchmarks.branching import FAMILIES
from benchmarks.orders import excess, order_row
from benchmarks.pages import BY_HAND, HELD, HERE, PAGES, table_lines, unstamped
from benchmarks.passes import pass_rows
from benchmarks.pytorch_networks import NETWORKS
from benchmarks.vision_networks import FOMO_96, MOBILENET_V2_224
from codegen.accelerators.names import ACCELERATORS
from extensions.ethos_u.program import NpuProgram


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|\n").split("|")]


def committed(page: str, head: str) -> list[list[str]]:
    """The table below this head in a page of benchmarks, row by row."""
    return [cells(line) for line in table_lines((HERE / page).read_text(encoding="utf-8"), head)]


def number(text: str) -> int:
    return int(text.replace(",", ""))


def are_all(found_of_tried: str) -> bool:
    found, tried = found_of_tried.split(" of ")
    return found == tried != "0"


@pytest.mark.parametrize("argv", [[], ["--help"], ["measured"]])
def test_the_commands_are_named(argv, capsys):
    assert main(argv) == 2
    usage = f"usage: python -m benchmarks COMMAND [MODEL|BOARD ...]\n  {', '.join(COMMANDS)}\n"
    assert capsys.readouterr().err == usage


def test_every_page_of_figures_is_held_by_a_test_or_names_its_commit(repo_root):
    assert list(unstamped(repo_root / "docs")) == []
    assert {path.name for path in HERE.glob("*.md")} == {*PAGES, *HELD, *BY_HAND}
    assert all((repo_root / test).is_file() for test in HELD.values())
    assert set(PAGES.values()) <= set(COMMANDS)


def test_each_accelerator_computes_every_model_with_the_same_bits():
    rows = committed("backends.md", backends.HEAD)
    assert [tuple(row[:2]) for row in rows] == [(m, a) for m in backends.MODELS for a in ACCELERATORS]
    assert tuple(sorted(backends.ASKED)) == tuple(sorted(ACCELERATORS))
    assert [row[:2] for row in rows if not are_all(row[3])] == []


def test_the_tensor_accelerator_saves_nine_cycles_of_ten_of_models_with_convolutions():
    rows = committed("backends.md", backends.HEAD)
    times = {row[0]: number(row[6]) for row in rows if row[1] == "gemm-npu" and row[0] in gemm_npu.MODELS}
    assert set(times) == set(gemm_npu.MODELS)
    assert min(times.values()) >= 10


def test_the_files_of_accelerators_are_those_of_their_folders():
    names = [row[0] for row in committed("backends.md", backends.HEAD_OF_FILES)]
    assert names == list(ACCELERATORS)
    assert len(list(backends.file_rows())) == len(names)


def test_all_results_on_ethos_u_are_equal(repo_root):
    page = (repo_root / "docs" / "ethos-u.md").read_text(encoding="utf-8")
    rows = [cells(line) for line in page.partition(ethos_u.HEAD)[2].partition("\n\n")[0].splitlines()]
    assert len(rows) >= 20
    assert [row[0] for row in rows if not are_all(row[6])] == []


def test_gemm_npu_is_ten_times_faster_with_equal_results():
    rows = committed("gemm-npu.md", gemm_npu.HEAD)
    assert tuple(row[0] for row in rows) == gemm_npu.MODELS
    assert all(are_all(row[2]) and number(row[5]) >= 10 for row in rows)
    assert all(number(row[7]) < number(row[6]) for row in rows)


def test_half_weights_take_half_the_bytes_and_change_no_output():
    rows = committed("half_weights.md", half_weights.HEAD)
    assert [row[0] for row in rows[::2]] == list(half_weights.BOARDS.values())
    for single, half in zip(rows[::2], rows[1::2], strict=True):
        assert number(half[2]) < 0.51 * number(single[2])
        assert half[5] == "yes"


def test_no_model_takes_more_instructions_here_than_in_tflite_micro():
    rows = committed("host.md", host.HEAD)
    assert rows
    assert not [name for name, ours, theirs, *_ in rows if number(ours) > number(theirs)]


def test_networks_are_within_a_ten_thousandth_of_pytorch():
    rows = committed("pytorch.md", pytorch.HEAD)
    assert [row[0] for row in rows] == list(NETWORKS)
    assert all(float(row[4]) < 1e-4 for row in rows)


def test_rows_show_counts_ratios_and_free_places():
    row = backends.BackendRow("kws", "vanilla", 5, 12, 36, 36, (4000, None), (10, 2000), (30, 40))
    assert str(row) == "| kws | vanilla | 5 of 12 | 36 of 36 | 4,000 |  |  | 10 | 2,000 | 30 | 40 |\n"
    row = backends.BackendRow("kws", "gemm-npu", 5, 12, 36, 36, (4000, 30), (10, 2000), (30, 40))
    assert "| 4,000 | 30 | 133 | 10 |" in str(row)
    program = NpuProgram(bytes(1200), bytes(32), 640, (0,), (320,), 1500, 500_000_000)
    of_regions = ethos_u.NpuRow("kws", 5, 6, (program, program), 99, 100, 7000)
    assert str(of_regions) == "| kws | 5 of 6 | 2 | 2,400 | 64 | 640 | 99 of 100 | 3,000 | 7,000 |\n"
    of_layers = gemm_npu.GemmNpuRow("kws", 11, 12, 36, 36, 4000, 40, {1: 100, 2: 90}, 8, 64, 32)
    said = "| kws | 11 of 12 | 36 of 36 | 4,000 | 40 | 100 | 100 | 90 | 10 % | 130 | 8 | 64 | 32 |\n"
    assert str(of_layers) == said
    here = host.HostRow("kws", {"ours": 1500, "tflm": 6000}, {"ours": 2e-6, "tflm": 3e-6})
    assert str(here) == "| kws | 1,500 | 6,000 | 0.25 | 2.0 | 3.0 | 0.67 |\n"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_planners_order_is_the_best_where_the_exact_search_reaches(family):
    found = [excess(FAMILIES[family](random.Random(seed))) for seed in range(8)]
    known = [each for each in found if each is not None]
    assert len(known) >= 6
    assert sum(each.planner for each in known) / len(known) < 0.005
    assert sum(each.beam for each in known) / len(known) < 0.02
    assert all(each.planner <= each.given for each in known)


def test_a_row_tells_how_many_graphs_were_solved():
    assert order_row("U-Nets", 3).startswith("| U-Nets | 3 | ")


@pytest.mark.slow
def test_a_pass_that_rewrites_has_a_row_of_differences(shared_dir):
    (row,) = pass_rows("tflm_hello_world_int8")
    model, without, arena, *_ = cells(row)
    assert (model, without) == ("tflm_hello_world_int8", "remove-dead-channels")
    assert int(arena) > 0, "the channels that stay take room"


@pytest.mark.slow
def test_refined_weights_lose_less_on_other_clips(shared_dir, require_package):
    require_package("onnxruntime")
    rows = [cells(row) for row in refined.refined_rows()]
    assert [row[:3] for row in committed("refined.md", refined.HEAD)] == [row[:3] for row in rows]
    for plain, better in (rows[1:3], rows[3:5]):
        before, after, told = (float(cell) for cell in (plain[3], better[3], better[4]))
        assert after > before + 3
        assert told == pytest.approx(after, abs=1)


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.qemu
def test_more_values_of_16_bits_lose_less(shared_dir, require_package):
    require_package("onnxruntime")
    rows = [cells(row) for row in wide_activations.wide_rows()]
    assert [row[:2] for row in committed("wide_activations.md", wide_activations.HEAD)] == [
        row[:2] for row in rows
    ]
    losses = [float(row[3]) for row in rows]
    assert losses == sorted(losses)
    assert losses[-1] > losses[0] + 10


@pytest.fixture(scope="module")
def fomo():
    return vision.vision_row(FOMO_96)


@pytest.mark.slow
def test_a_row_of_vision_is_what_is_measured_now(fomo):
    page = (HERE / "vision.md").read_text(encoding="utf-8")
    assert page.startswith(vision.HEAD)
    assert str(fomo) in page
    assert all(str(published) in page for published in vision.PUBLISHED)


@pytest.mark.slow
def test_each_row_of_a_vision_network_is_made_once(fomo):
    assert fomo.macs_done == fomo.macs
    assert fomo.streamed < fomo.arena < fomo.whole


def test_multiplications_of_vision_networks_are_those_that_are_published():
    """MobileNetV2's are 300 million; the page counts those that dead channels leave."""
    x, size = 3, MOBILENET_V2_224.size // 2
    macs = size * size * 9 * x * MOBILENET_V2_224.first
    x = MOBILENET_V2_224.first
    for block in MOBILENET_V2_224.blocks:
        macs += size * size * x * block.inner * (block.inner != x)
        size //= block.stride
        macs += size * size * block.inner * (block.kernel**2 + block.outputs)
        x = block.outputs
    macs += size * size * x * 1280 + 1280 * 1000
    assert round(macs / 1e6) == 301
