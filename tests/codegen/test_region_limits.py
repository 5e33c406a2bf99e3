"""--ram and --flash by memory: what a model takes of each, what is refused, and what would be enough."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from error_facts import require_facts

import deploy
import deploy.demo
from aot.errors import BoardError, FitError
from codegen.compile import compile_job
from codegen.compile_kinds import Budget, RegionLimit
from codegen.fit.plan_job import plan_job
from codegen.fit.variant import CompiledPlan
from codegen.job import ImportedModel, Job, import_model
from codegen.model import KeptLimit
from codegen.option_kinds import WrongValueError
from codegen.options import CompileOptions, read_options
from platforms.board_files import load_board

DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
TWO_RAMS = "nucleo-f746zg"  # DTCM, and SRAM, which is slower
ONE_RAM = "nrf5340dk"


@pytest.fixture(scope="module")
def model() -> ImportedModel:
    return import_model(DIGITS, CompileOptions())


def job_of(model: ImportedModel, board: str = TWO_RAMS, **options: Any) -> Job:
    return Job(model, load_board(board).target, read_options(options), board=board)


def taken(model: ImportedModel, board: str = TWO_RAMS, **options: Any) -> dict[str, int]:
    """What the model takes of each limited memory; none is exceeded."""
    limits = compile_job(job_of(model, board, **options)).limits
    assert all(each.is_kept for each in limits)
    return {each.region: each.taken_bytes for each in limits}


def arenas(plan: CompiledPlan) -> dict[str, int]:
    return dict(plan.plan.pool_bytes)


@pytest.mark.parametrize(
    "given",
    [
        "DTCM=48K,SRAM=65,536",
        ["DTCM=48K", "SRAM=64K"],
        {"DTCM": "48K", "SRAM": 65536},
        [("DTCM", 49152), ("SRAM", "64KB")],
    ],
    ids=["one_word", "words", "mapping", "pairs"],
)
def test_limits_are_given_in_several_ways(given):
    assert Budget().read(given) == (RegionLimit("DTCM", 49152), RegionLimit("SRAM", 65536))


def test_of_sizes_alone_the_last_one_counts_as_with_every_option():
    assert Budget().read(["64K", "1,024"]) == 1024


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("64K,DTCM=48K", r"all memories together \(64K\) and single ones \(DTCM=48K\)"),
        (["DTCM=48K", 9], r"all memories together \(9\) and single ones \(DTCM=48K\)"),
        ("DTCM=48K,DTCM=40K", "limits DTCM to 49152 bytes and to 40960"),
        ("DTCM=48Q", '"48Q" is not a size'),
        ("=48K", "is not a memory with its limit, such as DTCM=48K"),
    ],
)
def test_contradictions_are_named(given, says):
    with pytest.raises(WrongValueError, match=says):
        Budget().read(given)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"ram": "DTCN=1K"}, '"DTCN" RAM "DTCM"? --ram accepts: DTCM, SRAM'),
        ({"ram": "FLASH=1K"}, '"FLASH" RAM --ram accepts: DTCM, SRAM --flash FLASH=1024'),
        ({"flash": "SRAM=1K"}, '"SRAM" flash --flash accepts: FLASH --ram SRAM=1024'),
        ({"flash": "QSPI=1K"}, '"QSPI" flash --flash accepts: FLASH'),
    ],
)
def test_a_memory_that_the_board_does_not_have_is_refused_with_those_it_has(model, options, says):
    with pytest.raises(BoardError) as refused:
        plan_job(job_of(model, **options))
    require_facts(refused.value, says)


def test_the_arena_lies_in_the_fastest_memory_whose_limit_has_room(model):
    least = taken(model, ONE_RAM, ram="RAM=800")["RAM"]
    assert taken(model, ram={"DTCM": 2048, "SRAM": 2048}) == {"DTCM": 884, "SRAM": 0}
    assert taken(model, ram={"DTCM": 0}) == {"DTCM": 0}
    assert arenas(plan_job(job_of(model, ram={"DTCM": 0}))) == {"SRAM": 884}
    assert least <= 800


def test_an_arena_that_no_limit_has_room_for_is_spread_and_each_part_keeps_to_its_limit(model):
    found = taken(model, ram={"DTCM": 600, "SRAM": 500})
    assert 0 < found["DTCM"] <= 600
    assert 0 < found["SRAM"] <= 500


def test_a_memory_without_a_limit_is_used_as_the_board_has_it(model):
    plan = plan_job(job_of(model, ram={"DTCM": 300}))
    assert arenas(plan)["DTCM"] <= 300
    assert arenas(plan)["SRAM"] > 0


def test_a_limit_of_the_only_memory_is_a_limit_of_the_arena(model):
    """The same plan and C, so that the arena can still be shared with other models."""
    limit = 800
    by_name, whole = (compile_job(job_of(model, ONE_RAM, ram=ram)) for ram in ({"RAM": limit}, limit))
    assert by_name.plan == whole.plan
    as_whole = {name: text.replace(f"RAM={limit}", str(limit)) for name, text in by_name.sources.items()}
    assert as_whole == whole.sources


def test_a_limit_of_the_only_flash_is_a_limit_of_flash(model):
    least = min_flash(model)
    by_name, whole = (plan_job(job_of(model, ONE_RAM, flash=flash)) for flash in ({"FLASH": least}, least))
    assert by_name.plan == whole.plan
    assert by_name.library == whole.library


def min_flash(model: ImportedModel) -> int:
    with pytest.raises(FitError) as refused:
        plan_job(job_of(model, ONE_RAM, flash={"FLASH": 5000}))
    assert re.search(
        r"about [\d,]+ bytes of FLASH at least, [\d,]+ more than --flash FLASH=5000 allows",
        refused.value.what,
    )
    return int(re.search(r"--flash FLASH=(\d+) is enough", refused.value.hint)[1])  # type: ignore[index]


@pytest.mark.parametrize("pattern", ["*", "dense", "conv2d"])
def test_constants_in_a_memory_count_there_and_leave_the_arena_the_rest(model, pattern):
    alone = plan_job(job_of(model, constants={pattern: "DTCM"}))
    constants = taken(model, constants={pattern: "DTCM"}, ram={"DTCM": "64K"})["DTCM"] - 884
    limit = constants + 500
    plan = plan_job(job_of(model, constants={pattern: "DTCM"}, ram={"DTCM": limit}))
    assert 0 < arenas(plan)["DTCM"] <= 500 < sum(arenas(plan).values())
    assert set(arenas(alone)) == {"arena"}


def test_constants_that_a_limit_has_no_room_for_are_refused_with_what_they_take(model):
    with pytest.raises(FitError) as refused:
        plan_job(job_of(model, constants={"*": "DTCM"}, ram={"DTCM": 1024}))
    require_facts(refused.value, "constants --constants DTCM 4,690 3,666 --ram DTCM=1024 DTCM=4690 dense")
    assert taken(model, constants={"*": "DTCM"}, ram={"DTCM": 4690}) == {"DTCM": 4690}


@pytest.mark.parametrize(
    ("board", "ram"),
    [
        (ONE_RAM, {"RAM": 300}),
        (TWO_RAMS, {"DTCM": 100, "SRAM": 200}),
        (TWO_RAMS, {"SRAM": 0, "DTCM": 791}),
    ],
)
def test_what_is_too_little_is_refused_with_the_layer_and_what_is_enough_for_each(model, board, ram):
    with pytest.raises(FitError) as refused:
        plan_job(job_of(model, board, ram=ram))
    error = refused.value
    missing = 792 - sum(ram.values())
    assert error.what.startswith(f"the arena needs 792 bytes at least, {missing} more than --ram ")
    assert error.where.startswith('most is live at max_pool2d MAX_POOL_2D #3 "max_pool_3": ')
    hints = re.findall("(.*) is enough", error.hint)
    assert len(hints) == len(ram)
    for hint in hints:
        limits = dict(word.split("=") for word in hint.replace("--ram ", "").split())
        assert sum(ram[region] != int(limit) for region, limit in limits.items()) == 1
        assert taken(model, board, ram=limits).keys() == limits.keys()


def test_constants_moved_for_speed_keep_to_a_limit(model):
    job = job_of(model, place=True)
    whole = plan_job(job)
    assert whole.placement is not None
    assert whole.placement.bytes > 1000
    limit = 884 + 1000
    compiled = compile_job(replace(job, options=replace(job.options, ram=(RegionLimit("DTCM", limit),))))
    assert compiled.planned.placement is not None
    assert 0 < compiled.planned.placement.bytes <= 1000
    assert compiled.limits == (KeptLimit("ram", "DTCM", limit, 884 + compiled.planned.placement.bytes),)


def test_an_archive_keeps_limits_and_every_page_shows_them(tmp_path, run_deploy):
    words = ("--board", TWO_RAMS, "--ram", "DTCM=2K,SRAM=1K", "--flash", "FLASH=100K")
    assert (
        run_deploy("compile", DIGITS, *words, "-o", tmp_path / "a.tar").out.count("  limit      fits: ") == 3
    )
    of_file, of_archive = (
        run_deploy("inspect", *given).out for given in ((DIGITS, *words), (tmp_path / "a.tar",))
    )
    says = "limit fits: 884 of 2,048 bytes that --ram allows in DTCM (arena and constants)"
    assert says in of_file
    assert says in of_archive
    found = deploy.inspect(DIGITS, board=TWO_RAMS, ram={"DTCM": "2K"}).as_json()["limits"]
    assert found == [{"role": "ram", "region": "DTCM", "limit_bytes": 2048, "taken_bytes": 884, "fits": True}]
    (board,) = deploy.report(DIGITS, board=TWO_RAMS, ram={"DTCM": "2K"}).as_json()["boards"]
    assert board["limits"] == found
    assert says.removeprefix("limit ") in board["verdict"]


def test_an_exploration_tells_which_memory_is_too_small():
    rows = deploy.explore(DIGITS, board=[ONE_RAM], jobs=1, vary={"ram": [{"RAM": 300}, {"RAM": 800}]}).results
    by_fit = {row["fits"]: row for row in rows}
    assert by_fit[False]["error"].endswith("more than --ram RAM=300 allows")
    assert by_fit[True]["options"] == "--ram RAM=800"


def test_a_limit_makes_no_plans_without_being_given(model, monkeypatch):
    """The pages ask for limits of every plan; without one, nothing is counted."""
    monkeypatch.setattr("codegen.fit.memory_use.constants_at", None)
    assert compile_job(job_of(model)).limits == ()


@pytest.mark.arm
@pytest.mark.qemu
def test_a_model_within_limits_of_two_memories_gives_the_reference_in_every_bit(run_deploy):
    words = ("--ram", "RAM=300,SRAM=4000", "--constants", "conv2d=SRAM")
    outcome = run_deploy("verify", DIGITS, "--board", "mps3-an547", *words)
    assert outcome.status == 0, outcome.err
    assert "outputs equal to the reference in every bit" in outcome.out
