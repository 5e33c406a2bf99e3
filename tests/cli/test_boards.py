"""deploy boards: those that suit, those that hold a model as `inspect` finds them, those from CMSIS packs."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from error_facts import require_facts
from graphs import GRAPHS
from model_checks import DSP, compiled

from aot.target import MemoryRegion, Optimize
from artifact.facts import facts_of
from boards.board import Board
from boards.board_text import boards_table
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job, import_model, read_job
from codegen.options import CompileOptions
from deploy.compiler.jobs import memory_hints
from deploy.devices.board_filter import Fit, fitting
from deploy.inspection.inspect_model import inspect_model
from platforms.board_files import all_boards, load_board

Run = Callable[..., Any]
PDSC = Path(__file__).parents[1] / "boards" / "mini.pdsc"


def names(run_deploy: Run, *words: object) -> set[str]:
    return {board["name"] for board in json.loads(run_deploy("boards", *words, "--json").out)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "among", "not_among"),
    [
        (["--core", "m4"], "nrf52840dk", "nucleo-f746zg"),
        (["--core", "cortex-m55"], "mps3-an547", "ek-ra8m1"),
        (["--min-ram", "256K"], "nrf52840dk", "metro-m4"),
        (["--min-flash", "1M"], "nrf52840dk", "nano-33-ble"),
        (["--has-platform", "arduino"], "metro-m4", "nrf52840dk"),
        (["--core", "m4", "--min-ram", "256K", "--has-platform", "arduino"], "nano-33-ble", "portenta-h7"),
    ],
)
def test_a_filter_leaves_the_boards_that_suit(words, among, not_among, run_deploy):
    found = names(run_deploy, "list", *words)
    assert among in found
    assert not_among not in found
    assert names(run_deploy, *words) == found  # "list" may be left out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--core", "cortex-m44"], 'core "cortex-m44" is not known - did you mean "cortex-m4"?'),
        (["--has-platform", "zefyr"], 'platform "zefyr" is not known - did you mean "zephyr"?'),
    ],
)
def test_a_filter_for_what_no_board_can_have_is_reported(words, message, run_deploy):
    outcome = run_deploy("boards", "list", *words)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: {message}\n  hint: known: ")


def test_a_board_without_the_verb_is_answered_with_show(run_deploy):
    outcome = run_deploy("boards", "nucleo-f446re")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == 'error: "nucleo-f446re" is not known\n  hint: deploy boards show nucleo-f446re\n'


@pytest.mark.parametrize(
    ("word", "name"), [("uno", "arduino-uno"), ("f446", "nucleo-f446re"), ("nucleo_f446re", "nucleo-f446re")]
)
def test_nicknames_without_the_verb_are_answered_with_boards_alike(word, name, run_deploy):
    outcome = run_deploy("boards", word)
    assert outcome.status == 2
    assert f"deploy boards show {name}\n" in outcome.err


def test_no_board_at_all_is_said_so(run_deploy):
    assert run_deploy("boards", "list", "--core", "m3", "--min-ram", "1024M").out == "no board matches\n"


@pytest.mark.slow
def test_boards_that_hold_a_model_are_listed_with_what_it_takes(model, run_deploy):
    outcome = run_deploy("boards", "list", "--core", "m4", "--fits", model)
    assert outcome.status == 0, outcome.err
    assert re.search(
        r"^nrf52840dk +cortex-m4 .*[\d,]+ of 262,144 +[\d,]+ of 1,048,576 +firmware$",
        outcome.out,
        re.MULTILINE,
    )
    assert re.search(r"^apollo4p-evb .* of 1,998,848 in MRAM +model alone$", outcome.out, re.MULTILINE)
    (found,) = [
        board
        for board in json.loads(run_deploy("boards", "--fits", model, "--json").out)
        if board["name"] == "nrf52840dk"
    ]
    inspected = json.loads(run_deploy("inspect", model, "--board", "nrf52840dk", "--json").out)
    assert found["memory"] == inspected["memory"]


@pytest.mark.slow
def test_a_board_without_room_for_the_model_is_left_out(model, run_deploy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "boards" / "host.toml").read_text(encoding="utf-8")
    (tmp_path / "boards").mkdir()
    tiny = text.replace("origin = 0x4000_0000\nbytes = 0x4000_0000", "origin = 0x4000_0000\nbytes = 100")
    assert tiny != text
    (tmp_path / "boards" / "tiny.toml").write_text(tiny, encoding="utf-8")
    fitting = names(run_deploy, "--fits", model)
    assert "host" in fitting
    assert "tiny" not in fitting
    assert "tiny" in names(run_deploy)


def test_memory_that_is_too_small_is_passed_over_for_the_next_fastest(model):
    """As a model larger than the DTCM of an STM32F7 goes into its SRAM."""
    from artifact.report import make_report

    target = load_board("nucleo-f746zg").target
    facts = facts_of(compile_job(read_job(model, target, CompileOptions())))
    small = tuple(replace(r, bytes=64) if r.name == "DTCM" else r for r in target.regions)
    in_dtcm, in_sram = make_report(facts), make_report(facts, replace(target, regions=small))
    assert [b.region.name for b in in_dtcm.memory if b.region.role == "ram"] == ["DTCM"]
    assert [b.region.name for b in in_sram.memory if b.region.role == "ram"] == ["SRAM"]


def test_code_depends_on_features_not_on_the_cores_name(model):
    """So that --fits may compile once for all boards with the same features."""
    target = load_board("nucleo-f446re").target
    of_m4, of_none = (
        compile_job(read_job(model, kind, CompileOptions()))
        for kind in (target, replace(target, core="", regions=()))
    )
    assert _below_the_heads(of_m4) == _below_the_heads(of_none)


def _below_the_heads(model: CompiledModel) -> dict[str, str]:
    """The sources without the comments on top, which say for what core they were made."""
    return {name: text.partition("*/")[2] for name, text in model.sources.items()}


def test_the_boards_are_given_as_a_table_for_the_readme(run_deploy):
    out = run_deploy("boards", "list", "--markdown").out
    assert out == boards_table(all_boards())
    facts = "Nordic nRF52840 DK | cortex-m4 | 256 KiB | 1 MiB | zephyr, baremetal | build-tested"
    assert f"| `nrf52840dk` | {facts} |" in out


def test_a_part_is_searched_and_made_a_board_of(run_deploy, tmp_path):
    found = run_deploy("boards", "search", "ac8", "--pack", PDSC)
    assert found.out.splitlines()[1:] == [
        "AC850  cortex-m55                 Acme.Mini_DFP 1.2.0",
        "AC890  cortex-m33, cortex-m0plus  Acme.Mini_DFP 1.2.0",
    ]
    words = ("boards", "add", "AC850", "--pack", PDSC, "-o", tmp_path / "my.toml")
    assert "features    dsp, fpu, mve, unaligned" in run_deploy(*words).out
    assert run_deploy("boards", "show", tmp_path / "my.toml").status == 0


def test_a_board_file_that_exists_is_left_alone(run_deploy, tmp_path):
    (tmp_path / "my.toml").write_text("# mine", encoding="utf-8")
    outcome = run_deploy("boards", "add", "AC850", "--pack", PDSC, "-o", tmp_path / "my.toml")
    assert outcome.status == 1
    assert outcome.err.startswith("error: the file exists and is not overwritten\n")
    assert (tmp_path / "my.toml").read_text(encoding="utf-8") == "# mine"


def test_a_board_file_ends_in_toml(run_deploy, tmp_path):
    wrong, right = tmp_path / "my.txt", tmp_path / "my.toml"
    outcome = run_deploy("boards", "add", "AC850", "--pack", PDSC, "-o", wrong)
    assert outcome.err == f"error: a board file's name ends in .toml\n  {wrong}\n  hint: -o {right}\n"


def test_a_word_that_no_part_has_is_reported(run_deploy):
    outcome = run_deploy("boards", "search", "zz", "--pack", PDSC)
    require_facts(outcome.err, f'"zz" part name {PDSC} search shorter')


def test_a_broken_file_is_reported_beside_the_list(tmp_path, monkeypatch, run_deploy):
    (tmp_path / "boards").mkdir()
    (tmp_path / "boards" / "broken.toml").write_text("core = \n")
    monkeypatch.chdir(tmp_path)
    for words in (("list",), ("list", "--json")):
        outcome = run_deploy("boards", *words)
        assert outcome.status == 0
        assert "nano-33-ble" in outcome.out
        assert "not a TOML file" in outcome.err
        assert "boards/broken.toml" in outcome.err


DIGITS = Path(__file__).parents[2] / "deploy" / "demo" / "digits.tflite"
OPTIONS = CompileOptions()


def with_memory(board: Board, **bytes_of: int) -> Board:
    """The board, with other sizes of some of its regions."""
    regions = tuple(replace(r, bytes=bytes_of.get(r.name, r.bytes)) for r in board.regions)
    sizes = " ".join(f"{name} {size}" for name, size in bytes_of.items())
    return replace(board, name=f"{board.name} {sizes}", regions=regions)


def spread(boards: Sequence[Board], most: int = 24) -> Sequence[Board]:
    """Boards of all sizes of RAM, evenly: each is compiled for by itself."""
    by_size = sorted(boards, key=lambda board: (board.target.ram_bytes, board.name))
    return by_size[:: max(1, len(by_size) // most)]


def inspected(boards: Sequence[Board], path: Path) -> dict[str, object]:
    model = import_model(path, OPTIONS)
    found = {board.name: inspect_model(model, board, OPTIONS) for board in boards}
    return {name: each.report.memory for name, each in found.items() if each.fits}


def listed(boards: Sequence[Board], path: Path) -> dict[str, object]:
    found: list[Fit] = fitting(boards, import_model(path, OPTIONS), OPTIONS)
    return {fit.board.name: fit.report.memory for fit in found}


@pytest.mark.slow
def test_boards_are_those_that_inspect_finds_room_on():
    """Boards of every core are tried, also of that whose kernels have measured points."""
    boards = all_boards()
    assert listed(boards, DIGITS) == inspected(boards, DIGITS)


@pytest.mark.slow
def test_boards_with_too_little_memory_in_one_piece_or_in_all_are_reported_alike():
    one, two = load_board("mps2-an386"), load_board("nucleo-f746zg")
    (ram,) = (region.name for region in one.target.by_speed("ram"))
    boards = [
        *(with_memory(one, **{ram: size}) for size in (900, 1300, 1500, 1700, 4000, 100_000)),
        *(with_memory(two, DTCM=dtcm, SRAM=sram) for dtcm in (1000, 13_000) for sram in (600, 1800)),
    ]
    found = listed(boards, DIGITS)
    assert 0 < len(found) < len(boards)
    assert found == inspected(boards, DIGITS)


@pytest.mark.slow
def test_a_goal_is_named_where_it_makes_the_code_fit():
    graph = GRAPHS["layers_alike"]()

    def flash_of(options: CompileOptions) -> int:
        made = compiled(graph, DSP, options, "m")
        return made.constants.bytes + made.code_bytes_estimate

    fast, small = (flash_of(CompileOptions(goal)) for goal in (Optimize.SPEED, Optimize.SIZE))
    assert small < fast
    job = Job(ImportedModel(graph, "m", "", "m"), DSP, OPTIONS)
    for size, hints in ((small, ["--optimize size makes it fit"]), (small - 1, [])):
        target = replace(DSP, regions=(MemoryRegion("FLASH", 0, size, "flash"),))
        assert memory_hints(replace(job, target=target), "flash") == hints


def test_no_option_is_tried_that_cannot_save_enough(monkeypatch):
    """A search of a large model takes many seconds; streams keep only inputs out of the arena."""
    monkeypatch.setattr("deploy.compiler.jobs.compile_job", lambda _: pytest.fail("a search began"))
    graph = GRAPHS["layers_alike"]()
    inputs = sum(graph.types[value].bytes for value in graph.inputs)
    assert memory_hints(Job(ImportedModel(graph, "m", "", "m"), DSP, OPTIONS), "ram", inputs + 1) == []


@pytest.mark.slow
def test_boards_for_a_shared_model_are_those_that_inspect_finds_room_on(shared_dir):
    path = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    boards = spread(all_boards())
    assert listed(boards, path) == inspected(boards, path)


def test_for_two_cores_boards_with_two_are_listed():
    options = replace(OPTIONS, cores=2)
    boards = [load_board(name) for name in ("mps2-an386", "mps2-an521", "nrf5340dk", "rpi-pico2")]
    assert [fit.board.name for fit in fitting(boards, import_model(DIGITS, options), options)] == [
        "mps2-an521"
    ]
