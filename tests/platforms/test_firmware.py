"""Firmware really built and really run: on every board, with every compiler, in every emulator."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from boards.board import Board
from platforms.base import BuildChoices, Firmware, platform_of
from platforms.board_files import load_board
from platforms.build import compile_argv, object_of, project_sources
from platforms.elf import function_at, line_at, place_at, sizes, symbols
from platforms.project import App, ProjectSource
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.failures import DeviceCrashedError
from platforms.rpc.messages import Expected
from platforms.rpc.session import Session
from platforms.stack_depth import stack_usage
from platforms.toolchains import find_toolchain
from platforms.transport.base import LineClosedError

HASH = bytes(range(1, 9))
DEADLINES = Deadlines(
    hello_s=60.0, answer_s=60.0, run_s=60.0, device_run_s=5.0, retry_s=4.0, retry_most_s=60.0
)
SOON_RESET = replace(DEADLINES, device_run_s=0.2)  # of a model that hangs: an emulator is busy until then
ARM_BOARDS = (
    *("mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "mps2-an521", "mps3-an547"),
    "qemu-netduinoplus2",
)
WITHOUT_CAUSES = "qemu-microbit"  # a Cortex-M0 has no registers that tell why it faults
UNICORN_BOARDS = ("mps2-an383", *(name for name in ARM_BOARDS if "unicorn" in load_board(name).runners))
# What a test with this compiler or runner needs, as ("tool" or "package", name).
NEEDS = {
    "arm-none-eabi-gcc": ("tool", "arm-none-eabi-gcc"),
    "gcc": ("tool", "gcc"),
    "clang": ("tool", "clang"),
    "riscv64-unknown-elf-gcc": ("tool", "riscv64-unknown-elf-gcc"),
    "zig": ("package", "ziglang"),
    "qemu": ("tool", "qemu-system-arm"),
    "qemu-riscv32": ("tool", "qemu-system-riscv32"),
    "unicorn": ("package", "unicorn"),
}


@pytest.fixture
def need(require_tool, require_package):
    """need("zig", "qemu"): skips by name where one is missing."""

    def check(*names: str) -> None:
        for name in names:
            kind, what = NEEDS[name]
            (require_tool if kind == "tool" else require_package)(what)

    return check


@dataclass(frozen=True)
class Builder:
    """Builds one model's firmware for boards, each kind once."""

    root: Path

    def __call__(
        self, source: ProjectSource, board: Board, compiler: str, app: App = App.RPC, profile: bool = False
    ) -> Firmware:
        platform = platform_of(board)
        directory = self.root / f"{len(source.sources['tiny.c'])}-{board.name}-{app.value}-{compiler}"
        if not directory.exists():
            platform.generate(source, directory, board, app)
        return platform.build(directory, board, BuildChoices(compiler, profile))


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return Builder(tmp_path_factory.mktemp("projects"))


@contextmanager
def session(
    firmware: Firmware, board: Board, runner: str | None = None, deadlines: Deadlines = DEADLINES
) -> Iterator[Session]:
    line = platform_of(board).open_line(firmware, board, runner)
    opened = Session(line, deadlines, locate=lambda pc: place_at(firmware.elf, pc))
    try:
        yield opened
    finally:
        opened.close()


def run_once(firmware: Firmware, board: Board, runner: str | None = None) -> bytes:
    with session(firmware, board, runner) as device:
        device.hello()
        model = device.find_model(Expected("tiny", HASH))
        device.write_input(model, 0, bytes([1, 2, 127, 255]))
        device.run(model)
        return device.read_output(model, 0)


def instructions(firmware: Firmware, board: Board, runner: str) -> set[int]:
    """The instructions of each of five runs, without what an empty run takes."""
    with session(firmware, board, runner) as device:
        device.hello()
        timing = device.time(device.describe()[0], 1, 5)
        return {board.counter.instructions(ticks - timing.empty_ticks) for ticks in timing.ticks}


@pytest.mark.cc
@pytest.mark.parametrize("compiler", ["gcc", "clang", "zig"])
def test_the_host_serves_the_model(tiny, build, need, compiler):
    need(compiler)
    board = load_board("host")
    assert run_once(build(tiny, board, compiler), board) == bytes([2, 3, 128, 0])


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "zig"])
@pytest.mark.parametrize("name", [*ARM_BOARDS, WITHOUT_CAUSES])
def test_a_board_in_qemu_serves_the_model(tiny, build, need, name, compiler):
    need(compiler, "qemu")
    board = load_board(name)
    assert run_once(build(tiny, board, compiler), board, "qemu") == bytes([2, 3, 128, 0])


@pytest.mark.arm
@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "zig"])
@pytest.mark.parametrize("name", UNICORN_BOARDS)
def test_a_board_in_unicorn_serves_the_model(tiny, build, need, name, compiler):
    need(compiler, "unicorn")
    board = load_board(name)
    assert run_once(build(tiny, board, compiler), board, "unicorn") == bytes([2, 3, 128, 0])


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("compiler", ["riscv64-unknown-elf-gcc", "zig"])
def test_a_risc_v_board_serves_the_model_and_counts_instructions(tiny, build, need, compiler):
    need(compiler, "qemu-riscv32")
    board = load_board("qemu-riscv32")
    firmware = build(tiny, board, compiler)
    assert run_once(firmware, board) == bytes([2, 3, 128, 0])
    counted = instructions(firmware, board, "qemu-riscv32")
    assert len(counted) == 1
    assert 20 < counted.pop() < 100


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "zig"])
@pytest.mark.parametrize("name", ["mps2-an386", "mps2-an505"])
def test_both_emulators_count_the_same_instructions(tiny, build, need, name, compiler):
    need(compiler, "qemu", "unicorn")
    board = load_board(name)
    firmware = build(tiny, board, compiler)
    counted = instructions(firmware, board, "qemu")
    assert counted == instructions(firmware, board, "unicorn")
    assert len(counted) == 1
    assert 20 < counted.pop() < 100


@pytest.mark.arm
@pytest.mark.qemu
def test_a_profile_build_measures_layers(tiny, build, need):
    need("arm-none-eabi-gcc", "qemu")
    board = load_board("mps2-an386")
    with session(build(tiny, board, "arm-none-eabi-gcc", profile=True), board, "qemu") as device:
        device.hello()
        (layer,) = device.profile(device.describe()[0], [bytes(4)])
    assert board.counter.instructions(layer.ticks) > 0


LONG_RUNS = (
    ("mps3-an547", "arm-none-eabi-gcc", "qemu"),
    ("qemu-riscv32", "riscv64-unknown-elf-gcc", "qemu-riscv32"),
)
_LONG = replace(DEADLINES, device_run_s=2000.0)
_SPIN = '{\n    for (uint32_t left = (uint32_t)in->x[0] << 23; left > 0; left--) { __asm__ volatile(""); }'


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize(("name", "compiler", "runner"), LONG_RUNS)
def test_a_run_longer_than_its_counters_period_is_counted_whole(tiny, build, need, name, compiler, runner):
    need(compiler, runner)
    board = load_board(name)
    text = tiny.sources["tiny.c"].replace("{", _SPIN, 1)
    spinning = replace(tiny, sources={**tiny.sources, "tiny.c": text})
    with session(build(spinning, board, compiler, profile=True), board, runner, _LONG) as device:
        device.hello()
        model = device.describe()[0]

        def ticks(spins: int) -> int:
            device.write_input(model, 0, bytes([spins, 0, 0, 0]))
            return device.run(model).net_ticks[0]

        of_one = (ticks(9) - ticks(1)) // 8
        spins = (1 << board.counter.bits) // of_one + 5
        whole = ticks(spins)
        (layer,) = device.profile(model, [bytes([spins, 0, 0, 0])])
    assert whole >> board.counter.bits == 1
    assert whole == pytest.approx(of_one * spins, rel=1e-4)
    assert layer.ticks == pytest.approx(whole, rel=1e-4)


CRASHES = (
    (1, "bus fault"),
    (2, "stack overflow"),
    (3, "usage fault"),
    (4, "watchdog reset"),
)
CRASH_BOARDS = (
    *((name, "qemu") for name in ARM_BOARDS),
    *((name, "unicorn") for name in ("mps2-an383", "mps2-an386", "mps2-an505")),
    ("qemu-riscv32", "qemu-riscv32"),
)
HOST_CRASHES = (
    (1, "memory protection fault"),
    (2, "stack overflow"),
    (3, "usage fault"),
    (4, "watchdog reset"),
)


def crash(firmware: Firmware, board: Board, runner: str | None, how: int, cause: str) -> None:
    """Crashes the model, sees the fault named with its place, and the device back."""
    with session(firmware, board, runner, SOON_RESET) as device:
        device.hello()
        model = device.describe()[0]
        device.write_input(model, 0, bytes([how, 0, 0, 0]))
        with pytest.raises(DeviceCrashedError, match=cause) as caught:
            device.run(model)
        place = r": [a-z ]+ in (crash|tiny_run|depth) \(tiny\.c:\d+\), (pc|call) 0x"
        assert re.search(place, caught.value.what), caught.value.what
        after = device.hello()
        assert (after.boots, after.fault is not None) == (2, True)
        assert after.fault is not None
        device.write_input(model, 0, bytes(4))
        device.run(model)
        assert device.read_output(model, 0) == bytes([1, 1, 1, 1])


@pytest.mark.arm
@pytest.mark.parametrize(("how", "cause"), CRASHES)
@pytest.mark.parametrize(("name", "runner"), CRASH_BOARDS)
def test_a_crash_on_a_board_comes_back_as_a_named_fault(crashing, build, need, name, runner, how, cause):
    compiler = "riscv64-unknown-elf-gcc" if runner == "qemu-riscv32" else "arm-none-eabi-gcc"
    need(compiler, runner)
    board = load_board(name)
    crash(build(crashing, board, compiler), board, runner, how, cause)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize(
    ("how", "cause"), [(2, "stack overflow"), (3, "hard fault"), (4, "watchdog reset")]
)  # and not 1: QEMU's nRF51 has something at that address
def test_a_crash_without_a_cause_is_a_hard_fault_with_its_place(crashing, build, need, how, cause):
    need("arm-none-eabi-gcc", "qemu")
    board = load_board(WITHOUT_CAUSES)
    crash(build(crashing, board, "arm-none-eabi-gcc"), board, "qemu", how, cause)


@pytest.mark.cc
@pytest.mark.parametrize(("how", "cause"), HOST_CRASHES)
def test_a_crash_of_the_host_process_comes_back_as_a_named_fault(crashing, build, need, how, cause):
    need("gcc")
    board = load_board("host")
    crash(build(crashing, board, "gcc"), board, None, how, cause)


_COMPUTES = """
#include <time.h>
static void compute(int32_t milliseconds)
{
    const clock_t end = clock() + (clock_t)milliseconds * (CLOCKS_PER_SEC / 1000);
    while (clock() < end) {
    }
}
int32_t tiny_run("""


@pytest.mark.cc
def test_a_deadline_of_milliseconds_is_kept_on_the_host(tiny, build, need):
    """By time that the process computes, so that no other program makes a run late."""
    need("gcc")
    text = tiny.sources["tiny.c"].replace("int32_t tiny_run(", _COMPUTES, 1)
    text = text.replace("(void)arena;", "(void)arena;\n    compute((uint8_t)in->x[0]);")
    firmware = build(replace(tiny, sources={**tiny.sources, "tiny.c": text}), load_board("host"), "gcc")
    with session(firmware, load_board("host"), None, replace(DEADLINES, device_run_s=0.02)) as device:
        for milliseconds in (17, 23) * 3:
            device.hello()
            model = device.describe()[0]
            device.write_input(model, 0, bytes([milliseconds, 0, 0, 0]))
            if milliseconds < 20:
                device.run(model)
                continue
            with pytest.raises(DeviceCrashedError, match="watchdog reset"):
                device.run(model)


def printed(firmware: Firmware, board: Board, runner: str | None) -> tuple[bytes, str]:
    """All that a standalone program prints, and how it ended."""
    line = platform_of(board).open_line(firmware, board, runner)
    out = b""
    try:
        while part := line.read(256, 10.0):
            out += part
    except LineClosedError as end:
        return out, end.what
    finally:
        line.close()
    return out, "still running"


STANDALONE = (
    ("host", "gcc", "exec"),
    ("mps2-an386", "arm-none-eabi-gcc", "qemu"),
    ("mps2-an386", "zig", "unicorn"),
    ("mps3-an547", "arm-none-eabi-gcc", "qemu"),
    ("qemu-riscv32", "riscv64-unknown-elf-gcc", "qemu-riscv32"),
)


@pytest.mark.cc
@pytest.mark.arm
@pytest.mark.parametrize(("name", "compiler", "runner"), STANDALONE)
def test_a_standalone_program_prints_its_outputs_and_ends(tiny, build, need, name, compiler, runner):
    need(compiler, *({runner} & NEEDS.keys()))
    board = load_board(name)
    out, end = printed(build(tiny, board, compiler, App.STANDALONE), board, runner)
    assert out == b"y: 1 1 1 1\n"
    assert end.endswith("ended: exit status 0")


@pytest.mark.arm
def test_a_standalone_program_reads_nothing_from_its_line(tiny, build, need):
    need("arm-none-eabi-gcc")
    reading = {"solder_port_read", "solder_server_run", "solder_session_receive"}
    for app, expected in ((App.RPC, reading), (App.STANDALONE, set[str]())):
        program = build(tiny, load_board("mps2-an386"), "arm-none-eabi-gcc", app).elf
        assert reading & {symbol.name for symbol in symbols(program)} == expected


def renamed(tiny: ProjectSource, x: str, y: str) -> ProjectSource:
    """The model with other names for its input and output."""
    words = {"*x;": f"*{x};", "*y;": f"*{y};", "->x": f"->{x}", "->y": f"->{y}"}
    words |= {"_X_": f"_{x.upper()}_", "_Y_": f"_{y.upper()}_"}

    def written(files: Mapping[str, str]) -> dict[str, str]:
        texts = dict(files)
        for old, new in words.items():
            texts = {name: text.replace(old, new) for name, text in texts.items()}
        return texts

    return replace(
        tiny,
        sources=written(tiny.sources),
        headers=written(tiny.headers),
        inputs=(replace(tiny.inputs[0], c_name=x),),
        outputs=(replace(tiny.outputs[0], c_name=y),),
    )


@pytest.mark.cc
@pytest.mark.parametrize(
    ("x", "y"), [("in", "out"), ("i", "error"), ("out", "i"), ("memset", "print_text"), ("row", "stream")]
)
def test_tensors_may_have_the_names_that_main_uses_itself(tiny, tmp_path, need, x, y):
    need("gcc")
    board = load_board("host")
    firmware = Builder(tmp_path)(renamed(tiny, x, y), board, "gcc", App.STANDALONE)
    assert printed(firmware, board, None)[0] == f"{y}: 1 1 1 1\n".encode()


@pytest.mark.arm
@pytest.mark.parametrize("runner", ["qemu", "unicorn"])
def test_a_standalone_program_that_crashes_ends_with_status_70(crashing, build, need, runner):
    need("arm-none-eabi-gcc", runner)
    board = load_board("mps2-an386")
    firmware = build(crashing, board, "arm-none-eabi-gcc", App.STANDALONE)
    main = firmware.directory / "src/main.c"
    zeros = "memset(&solder_arena[TINY_X_OFFSET], "
    main.write_text(main.read_text().replace(f"{zeros}0,", f"{zeros}1,"))
    firmware = build(crashing, board, "arm-none-eabi-gcc", App.STANDALONE)
    assert printed(firmware, board, runner)[1].endswith("ended: exit status 70")


WARNINGS = [("host", name) for name in ("gcc", "clang", "zig")]
WARNINGS += [(board, name) for board in ("mps2-an386", "mps3-an547") for name in ("arm-none-eabi-gcc", "zig")]
WARNINGS += [("qemu-riscv32", name) for name in ("riscv64-unknown-elf-gcc", "zig")]


@pytest.mark.cc
@pytest.mark.arm
@pytest.mark.parametrize("app", [App.RPC, App.STANDALONE])
@pytest.mark.parametrize(("name", "compiler"), WARNINGS)
def test_every_file_of_a_project_compiles_without_a_warning(tiny, tmp_path, need, name, compiler, app):
    need(compiler)
    board = load_board(name)
    platform_of(board).generate(tiny, tmp_path / "p", board, app)
    chain = find_toolchain(board.target, compiler)
    for source in project_sources(tmp_path / "p"):
        (tmp_path / "p" / object_of(source, True)).parent.mkdir(parents=True, exist_ok=True)
        argv = (*compile_argv(chain, source, profile=True), "-Werror", "-pedantic")
        done = subprocess.run(argv, cwd=tmp_path / "p", capture_output=True, text=True, check=False)
        assert (source, done.stderr) == (source, "")


@pytest.mark.cc
@pytest.mark.arm
@pytest.mark.parametrize(("name", "compiler"), [("host", "gcc"), ("mps2-an386", "arm-none-eabi-gcc")])
def test_make_builds_the_same_program_without_solder(tiny, tmp_path, need, require_tool, name, compiler):
    need(compiler)
    require_tool("make")
    board = load_board(name)
    programs = []
    for how in ("make", "deploy"):
        platform_of(board).generate(tiny, tmp_path / "p", board, App.RPC)
        if how == "make":
            subprocess.run(("make", f"CC={compiler}"), cwd=tmp_path / "p", check=True, capture_output=True)
            program = platform_of(board).program(tmp_path / "p")
        else:
            program = platform_of(board).build(tmp_path / "p", board, BuildChoices(compiler)).elf
        programs.append(program.read_bytes())
        (tmp_path / "p").rename(tmp_path / how)
    assert programs[0] == programs[1]


@pytest.mark.arm
@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "zig"])
def test_sizes_are_those_of_the_sections(tiny, build, need, compiler):
    need(compiler)
    firmware = build(tiny, load_board("mps2-an386"), compiler)
    found = sizes(firmware.elf)
    assert 1000 < found.code < 10_000
    assert found.flash == found.code + found.data
    stack = {symbol.name: symbol.address for symbol in symbols(firmware.elf)}
    assert found.zeroed > stack["board_stack_high"] - stack["board_stack_low"] == 1600


@pytest.mark.arm
def test_gcc_reports_the_stack_of_each_function(tiny, build, need):
    need("arm-none-eabi-gcc")
    firmware = build(tiny, load_board("mps2-an386"), "arm-none-eabi-gcc")
    usage = stack_usage(firmware.elf.parent)
    assert 0 < usage["solder_server_run"] < 1000


@pytest.mark.arm
def test_an_address_outside_the_program_has_no_name(tiny, build, need):
    need("arm-none-eabi-gcc")
    firmware = build(tiny, load_board("mps2-an386"), "arm-none-eabi-gcc")
    assert function_at(firmware.elf, 0x9000_0000) == line_at(firmware.elf, 0x9000_0000) == ""
