"""Code loaded into running firmware: results, time, caches, and every way it can go wrong."""

import struct
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from platforms.base import Firmware, platform_of
from platforms.board_files import load_board
from platforms.elf import image, symbols
from platforms.project import App
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.failures import DeviceCrashedError, RequestRefusedError
from platforms.rpc.messages import Call, Code, Slot
from platforms.rpc.protocol import Capability, Status
from platforms.rpc.session import Session
from platforms.toolchains import cpu_flags, find_toolchain

pytestmark = pytest.mark.arm

CANDIDATES = Path(__file__).parent / "loaded_code" / "candidates.c"
DEADLINES = Deadlines(hello_s=60.0, answer_s=60.0, run_s=60.0, retry_s=4.0, retry_most_s=60.0)
BOARDS = (
    ("mps2-an386", "qemu"),
    ("mps2-an386", "unicorn"),
    ("mps2-an385", "qemu"),
    ("mps2-an500", "qemu"),
    ("mps2-an505", "unicorn"),
    ("mps3-an547", "qemu"),
    ("qemu-riscv32", "qemu-riscv32"),
)
EMULATORS = {"qemu": "qemu-system-arm", "qemu-riscv32": "qemu-system-riscv32"}
COMPILERS = {"qemu-riscv32": "riscv64-unknown-elf-gcc"}
DATA = 4096  # where in the slot the candidates' data lie
X = bytes(range(40))


@dataclass(frozen=True)
class Bench:
    """A board with candidates loaded."""

    board: str
    session: Session
    slot: Slot
    image: bytes
    entries: Mapping[str, int]
    firmware: Firmware

    def call(self, name: str, **how: float) -> object:
        code = self.session.place_code(self.slot, self.image)
        return self.session.call(code, Call(self.entries[name], DATA, **how))  # type: ignore[arg-type]

    def place(self, where: int = 0) -> None:
        """The task: multiplies X."""
        at = self.slot.address + DATA
        task = struct.pack("<4I", at + 16, at + 16 + len(X), len(X), where)
        self.session.load(DATA, task + X + bytes(len(X)))

    def result(self) -> bytes:
        return self.session.fetch(DATA + 16 + len(X), len(X))


def link(slot: Slot, board_name: str, folder: Path, factor: int = 2) -> tuple[bytes, dict[str, int]]:
    """The candidates, for the slot's address."""
    target = load_board(board_name).target
    chain = find_toolchain(target)
    program = folder / "candidates.elf"
    script = folder / "slot.ld"
    script.write_text(f"SECTIONS {{ . = {slot.address:#x}; .text : {{ *(.text .text.* .rodata*) }} }}")
    where = ("-nostdlib", "-T", str(script), "-Wl,-e,multiplies", "-Wl,--build-id=none", "-Wl,--nmagic")
    warn = ("-Wall", "-Wno-infinite-recursion", "-Os", "-fno-optimize-sibling-calls")
    compiler = (*chain.argv, *cpu_flags(target, chain.family), *warn, f"-DFACTOR={factor}")
    subprocess.run((*compiler, *where, str(CANDIDATES), "-o", str(program)), check=True)
    address, data = image(program)
    assert address == slot.address
    return data, {s.name: s.address - slot.address for s in symbols(program) if s.kind == "STT_FUNC"}


@pytest.fixture(scope="module")
def firmware(tiny, tmp_path_factory):
    root = tmp_path_factory.mktemp("projects")

    def build(name: str) -> Firmware:
        board = load_board(name)
        platform = platform_of(board)
        if not (root / name).exists():
            platform.generate(replace(tiny, accepts_code=True), root / name, board, App.RPC)
        return platform.build(root / name, board)

    return build


@contextmanager
def opened(name: str, runner: str | None, firmware: Firmware) -> Iterator[Session]:
    board = load_board(name)
    session = Session(platform_of(board).open_line(firmware, board, runner), DEADLINES)
    try:
        session.hello()
        yield session
    finally:
        session.close()


@pytest.fixture(params=BOARDS, ids="-".join)
def bench(request, firmware, require_tool, require_package, tmp_path):
    name, runner = request.param
    require_tool(COMPILERS.get(name, "arm-none-eabi-gcc"))
    if runner in EMULATORS:
        require_tool(EMULATORS[runner])
    else:
        require_package(runner)
    built = firmware(name)
    with opened(name, runner, built) as session:
        slot = session.slot()
        data, entries = link(slot, name, tmp_path)
        made = Bench(name, session, slot, data, entries, built)
        made.place()
        yield made


def assert_usable(bench: Bench) -> None:
    """The board computes rightly, whatever happened before."""
    bench.session.hello()
    bench.place()
    bench.call("multiplies")
    assert bench.result() == bytes(2 * x for x in X)


def test_loaded_code_runs_and_is_timed(bench):
    assert bench.session.hello().capabilities & Capability.SLOT
    assert bench.slot.bytes > 100_000
    assert bench.slot.address % bench.slot.alignment == 0
    timing = bench.call("multiplies", number=10, repeat=40)
    assert bench.result() == bytes(2 * x for x in X)
    assert len(timing.ticks) == 40
    one = bench.call("multiplies", number=1, repeat=1)
    assert 8 * one.net_ticks[0] < timing.net_ticks[0] < 12 * one.net_ticks[0]


def test_the_next_code_in_the_same_place_is_what_runs_then(bench, tmp_path):
    board = load_board(bench.board)
    for factor in (2, 3, 7):
        data, entries = link(bench.slot, bench.board, tmp_path, factor)
        bench.place()
        code = bench.session.place_code(bench.slot, data)
        timing = bench.session.call(code, Call(entries["multiplies"], DATA))
        assert bench.result() == bytes(factor * x & 0xFF for x in X)
        assert len(X) < board.counter.instructions(timing.net_ticks[0]) < 20 * len(X)


FAULTS = (
    ("crashes", "bus fault"),
    ("traps", "usage fault"),
    ("overflows", "stack overflow"),
    ("hangs", "watchdog reset"),
    ("strays", "loaded code wrote into the firmware's memory"),
)


def test_whatever_goes_wrong_is_named_and_the_board_is_back(bench):
    variable = next(s.address for s in symbols(bench.firmware.elf) if s.name == "solder_arena")
    for name, fault in FAULTS:
        bench.place(variable)
        with pytest.raises(DeviceCrashedError, match=f"during call of loaded code: {fault}") as caught:
            bench.call(name, deadline_s=1.7)
        if name != "overflows":  # that one may leave no room for the registers
            offset = caught.value.fault.pc - bench.slot.address
            assert 0 <= offset - (bench.entries[name] & ~1) < 16, name
        assert_usable(bench)


def test_code_that_returns_an_error_or_destroys_itself_is_refused(bench):
    with pytest.raises(RequestRefusedError, match="loaded code returned an error") as failed:
        bench.call("fails")
    assert failed.value.where.endswith("CODE_FAILED -7")
    with pytest.raises(RequestRefusedError, match="is not, or no longer, what the call expects") as damaged:
        bench.call("destroys_itself")
    assert damaged.value.status == Status.CODE_DAMAGED
    assert_usable(bench)


def test_places_outside_the_slot_are_refused(bench):
    size = bench.slot.bytes
    code = bench.session.place_code(bench.slot, bench.image)
    for talk in (
        lambda: bench.session.load(size - 3, bytes(4)),
        lambda: bench.session.fetch(size, 1),
        lambda: bench.session.check(1, size),
        lambda: bench.session.call(code, Call(size)),
        lambda: bench.session.call(code, Call(0, size + 1)),
    ):
        with pytest.raises(RequestRefusedError) as caught:
            talk()
        assert caught.value.status == Status.OUT_OF_RANGE


REFUSED = "the firmware takes no code over the line: it was not made to, or has no free memory that can be"


@pytest.mark.parametrize(("name", "compiler"), [("host", "gcc"), ("mps2-an386", "arm-none-eabi-gcc")])
def test_firmware_takes_code_only_where_that_was_asked_for_when_it_was_made(
    tiny, name, compiler, require_tool, tmp_path
):
    """Anyone who reaches the line could run any program on the board."""
    require_tool(compiler, *(["qemu-system-arm"] if name != "host" else []))
    board = load_board(name)
    platform = platform_of(board)
    platform.generate(tiny, tmp_path / name, board, App.RPC)
    with opened(name, None, platform.build(tmp_path / name, board)) as session:
        assert not session.hello().capabilities & Capability.SLOT
        for ask in (
            session.slot,
            lambda: session.load(0, b"code"),
            lambda: session.call(Code(4, 0), Call(0)),
        ):
            with pytest.raises(RequestRefusedError, match=REFUSED) as caught:
                ask()
            assert caught.value.status == Status.NO_SLOT


SCS, PAGE = 0xE000E000, 0x1000
CLIDR, CTR, ICIALLU, DCCMVAU = 0xD78, 0xD7C, 0xF50, 0xF64  # offsets: Arm DDI 0403, B3.2
LINE_BYTES = 32
CTR_VALUE = (LINE_BYTES // 4).bit_length() - 1 << 16
CODE, CODE_BYTES = 0x20010000, 3 * LINE_BYTES + 4
RETURN = 0x20020000


@pytest.mark.parametrize(
    ("board_name", "has_caches"), [("mps2-an500", True), ("mps2-an500", False), ("mps2-an386", False)]
)
def test_every_line_of_the_code_is_cleaned_before_the_instructions_are_forgotten(
    board_name, has_caches, tiny, require_package, tmp_path
):
    require_package("unicorn")
    board = load_board(board_name)
    platform = platform_of(board)
    platform.generate(replace(tiny, accepts_code=True), tmp_path / "project", board, App.RPC)
    elf = platform.build(tmp_path / "project", board).elf
    written = _written(elf, 0x09000003 if has_caches else 0)
    lines = [(DCCMVAU, CODE + n * LINE_BYTES) for n in range(4)]
    assert written == ([*lines, (ICIALLU, 0)] if has_caches else [])


def _written(elf: Path, clidr: int) -> list[tuple[int, int]]:
    """To the system control space, by solder_port_sync_code on a processor that describes its caches so."""
    import unicorn
    from unicorn import arm_const as arm

    uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    uc.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M7)
    uc.mem_map(0, 0x400000)
    uc.mem_map(0x20000000, 0x100000)
    written: list[tuple[int, int]] = []
    registers = {CLIDR: clidr, CTR: CTR_VALUE}
    uc.mmio_map(
        SCS,
        PAGE,
        lambda _uc, offset, _size, _data: registers.get(offset, 0),
        None,
        lambda _uc, offset, _size, value, _data: written.append((offset, value)),
        None,
    )
    _load(uc, elf)
    (entry,) = (s.address for s in symbols(elf) if s.name == "solder_port_sync_code")
    uc.reg_write(arm.UC_ARM_REG_SP, 0x20080000)
    uc.reg_write(arm.UC_ARM_REG_LR, RETURN | 1)
    uc.reg_write(arm.UC_ARM_REG_R0, CODE)
    uc.reg_write(arm.UC_ARM_REG_R1, CODE_BYTES)
    uc.emu_start(entry | 1, RETURN)
    return written


def _load(uc: object, elf: Path) -> None:
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        for segment in ELFFile(file).iter_segments():
            if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
                uc.mem_write(segment["p_paddr"], segment.data())  # type: ignore[attr-defined]
