"""Cycles in `deploy bench` and `deploy run`: by the model, or the reason why there are none."""

import json

import pytest
from error_facts import require_facts

from platforms.cycles.parts import PARTS

pytestmark = [pytest.mark.arm, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _tools(require_package):
    require_package("unicorn", "capstone")


def test_cycles_of_an_emulated_board_add_up_over_parts_and_layers(model, run_deploy):
    words = ("bench", model, "--board", "mps2-an386", "--runner", "unicorn", "--layers", "--json")
    (facts,) = json.loads(run_deploy(*words).out)
    told = facts["cycle_model"]
    assert facts["instructions"] < told["cycles"] < 2 * facts["instructions"]
    assert facts["time_s"] == told["cycles"] / told["clock_hz"]
    assert facts["time_source"] == "cycle model"
    assert "time_s" not in told, "one time"
    assert tuple(told["parts"]) == PARTS
    assert sum(told["parts"].values()) == told["cycles"]
    assert told["parts"]["flash waits"] == 0
    layers = [layer["cycle_model"]["cycles"] for layer in facts["layers"]]
    assert min(layers) > 0
    assert abs(sum(layers) / told["cycles"] - 1) < 0.3, "the build that reports each row takes some more"


def test_a_board_that_is_not_here_is_emulated_with_its_flash(model, run_deploy):
    words = ("bench", model, "--board", "nucleo-l4r5zi", "mps2-an386", "--runner", "unicorn", "--emulated")
    here, bare = json.loads(run_deploy(*words, "--json").out)
    assert here["instructions"] == bare["instructions"]
    waits = here["cycle_model"]["parts"].pop("flash waits")
    assert waits > 0
    assert here["cycle_model"]["cycles"] - waits == pytest.approx(bare["cycle_model"]["cycles"], rel=0.01)


def test_layers_say_what_they_waited_before_constants_were_placed(model, run_deploy):
    words = ("bench", model, "--board", "nucleo-l4r5zi", "--emulated", "--layers", "--place")
    heads, *rows = run_deploy(*words).out.partition("(in a build that")[2].splitlines()[1:]
    assert "flash waits  without --place  share" in heads
    now, before = (heads.index(head) + len(head) for head in ("flash waits", "without --place"))
    waits = [[int(row[:end].split()[-1].replace(",", "")) for end in (now, before)] for row in rows]
    assert all(after <= earlier for after, earlier in waits)
    assert sum(after for after, _ in waits) < sum(earlier for _, earlier in waits)


def test_the_table_says_where_cycles_are_from(model, run_deploy, require_tool):
    require_tool("riscv64-unknown-elf-gcc", "qemu-system-arm", "qemu-system-riscv32")
    outcome = run_deploy("bench", model, "--board", "mps2-an386", "qemu-riscv32")
    heads, first, second, *_ = outcome.out.splitlines()
    assert heads.split()[2:4] == ["instructions", "cycles"]
    assert (first.split()[3] == "-", second.split()[3]) == (False, "-")
    assert (first.split()[4] == "-", second.split()[4]) == (False, "-"), "no cycles, no time"
    assert (
        "cycles on mps2-an386: a model of cortex-m4 at 25 MHz and memory without wait states; " in outcome.out
    )
    assert "cycles on qemu-riscv32: there is no table of instruction cycles for a rv32imac" in outcome.out


@pytest.mark.parametrize(
    ("board", "core", "error"),
    [
        ("mps2-an500", "cortex-m7", "not compared with silicon"),
        ("mps3-an547", "cortex-m55", "off by 8 % on average, 18 % at most (4 held-out points: Apollo510 at "),
    ],
)
def test_cores_that_begin_several_instructions_at_once_go_through_their_pipeline(
    board, core, error, model, run_deploy, require_tool, require_capstone_of_helium
):
    require_tool("qemu-system-arm")
    (facts,) = json.loads(run_deploy("bench", model, "--board", board, "--layers", "--json").out)
    told = facts["cycle_model"]
    assert 0.5 * facts["instructions"] < told["cycles"] < 2 * facts["instructions"]
    assert f"a model of {core} at " in told["model"]
    assert told["model"].partition("; ")[2].startswith(error)
    layers = [layer["cycle_model"]["cycles"] for layer in facts["layers"]]
    assert min(layers) > 0
    assert abs(sum(layers) / told["cycles"] - 1) < 0.3, "the build that reports each row takes some more"


@pytest.mark.parametrize(
    ("board", "core", "tools"),
    [
        ("ek-ra8m1", "cortex-m85", ["qemu-system-arm"]),
        ("rpi-pico2-riscv", "hazard3", ["riscv64-unknown-elf-gcc", "qemu-system-riscv32"]),
        ("esp32-c3-devkitm-1", "esp32-c3", ["riscv64-unknown-elf-gcc", "qemu-system-riscv32"]),
    ],
)
def test_boards_whose_core_qemu_alone_executes_are_recorded_there(
    board, core, tools, model, run_deploy, require_tool, require_capstone_of_helium
):
    """Every instruction that QEMU counted is in the record."""
    require_tool(*tools)
    (facts,) = json.loads(run_deploy("bench", model, "--board", board, "--emulated", "--json").out)
    told = facts["cycle_model"]
    assert 0.9 * facts["instructions"] < told["cycles"] < 1.5 * facts["instructions"]
    assert f"a model of {core} at " in told["model"]
    assert min(told["parts"][part] for part in ("loads", "products", "requantisation", "stores")) > 0


def test_a_core_that_nothing_executes_is_refused(model, run_deploy):
    outcome = run_deploy("bench", model, "--board", "feather-s2", "--emulated")
    assert outcome.status == 1
    require_facts(outcome.err, "feather-s2 QEMU xtensa-lx7 emulated neither unicorn --emulated")


def test_without_the_packages_the_table_says_how_to_get_them(model, run_deploy, monkeypatch):
    monkeypatch.setattr("platforms.cycles.model.find_spec", lambda _name: None)
    out = run_deploy("bench", model, "--board", "mps2-an386", "--runner", "unicorn").out
    assert "cycles on mps2-an386: needs the Python packages unicorn and capstone" in out
    assert "(pip install 'solder-mcu[cycles]')" in out


def test_the_clock_of_emulated_boards_can_be_said(model, run_deploy):
    words = ("bench", model, "--board", "nucleo-l4r5zi", "--emulated", "--json", "--clock")
    (slow,), (fast,) = (json.loads(run_deploy(*words, hz).out) for hz in (16_000_000, 120_000_000))
    assert (slow["cycle_model"]["clock_hz"], fast["cycle_model"]["clock_hz"]) == (16_000_000, 120_000_000)
    assert slow["cycle_model"]["parts"]["flash waits"] == 0 < fast["cycle_model"]["parts"]["flash waits"]
    assert "flash of 5 wait states; off by " in fast["cycle_model"]["model"]


def test_a_board_that_is_measured_has_its_own_clock(model, run_deploy):
    outcome = run_deploy("bench", model, "--board", "mps2-an386", "--clock", 16_000_000)
    assert outcome.status == 1
    require_facts(outcome.err, "--clock --emulated needs connected boards HZ")


def test_time_is_reported_at_the_boards_clock_with_the_models_error(model, inputs, tmp_path, run_deploy):
    words = ("run", model, "--board", "mps2-an386", "--runner", "unicorn", "--inputs", inputs)
    facts = json.loads(run_deploy(*words, "--json").out)
    told = facts["cycle_model"]
    assert facts["instructions"]["min"] < told["cycles"] < 2 * facts["instructions"]["max"]
    assert told["time_s"] == told["cycles"] / 25_000_000
    lines = run_deploy(*words, "--output", tmp_path / "out.npz").out.splitlines()
    cycles, by = lines[-4:-2]
    assert cycles == f"first sample: {told['cycles']:,} cycles, {told['time_s'] * 1e3:,.4f} ms"
    assert (
        by == "(by a model of cortex-m4 at 25 MHz and memory without wait states; not compared with silicon)"
    )


def test_a_core_without_a_table_is_named(model, inputs, tmp_path, run_deploy, require_tool):
    require_tool("riscv64-unknown-elf-gcc", "qemu-system-riscv32")
    words = ("run", model, "--board", "qemu-riscv32", "--inputs", inputs)
    assert "cycle_model" not in json.loads(run_deploy(*words, "--json").out)
    assert "time_s" not in json.loads(run_deploy(*words, "--json").out)
    counts, why = run_deploy(*words, "--output", tmp_path / "out.npz").out.splitlines()[-4:-2]
    assert counts.split()[0] == "instructions"
    assert why == "(no time: there is no table of instruction cycles for a rv32imac)"


def test_the_trace_is_of_the_run_and_not_of_the_recording(model, inputs, tmp_path, run_deploy):
    words = ("run", model, "--board", "mps2-an386", "--runner", "unicorn", "--inputs", inputs)
    assert run_deploy(*words, "--trace", tmp_path / "trace").status == 0
    assert (tmp_path / "trace").read_text(encoding="utf-8").count("-> run") == 3
