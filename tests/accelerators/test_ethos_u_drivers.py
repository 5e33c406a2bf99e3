"""An Ethos-U behind its registers: our driver, Arm's, and the device that emulated boards have."""

import re
import subprocess
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path

import numpy as np
import pytest
from c_checks import DEVICE, SANITIZERS, WARNINGS
from error_facts import require_facts
from npu_jobs import MODEL, STOP, long, short
from tiny_models import TINY

from boards.load import board_names
from codegen.accelerators.asked import AcceleratorList
from codegen.accelerators.emulated import EmulatedBoard, OutsideMemory
from codegen.options import CompileOptions
from deploy.compiler.board_or_target import options_on
from extensions.ethos_u import device
from extensions.ethos_u.configurations import CONFIGS
from extensions.ethos_u.device import NpuRegisters
from extensions.ethos_u.library import by_registers
from platforms.board_files import load_board
from platforms.native_code import loaded

OURS = MODEL.parent
U55 = CONFIGS["u55-128"]
ADDRESS = "0x4F000000"


class End(IntEnum):
    """The driver's words for how a device ends."""

    ENDED = 0
    NO_COMMANDS = 1
    OTHER_NPU = 2
    NO_RESET = 3
    LATE = 4
    BUS_ERROR = 5
    COMMAND_ERROR = 6
    WATCHDOG_FAULT = 7
    ECC_FAULT = 8
    STOPPED_EARLY = 9


def built(folder: Path, *sources: Path, flags: Sequence[str] = ()) -> Path:
    program = folder / "driver"
    folders = [f"-I{each}" for each in (folder, MODEL, OURS, DEVICE)]
    files = [*sorted(MODEL.glob("*.c")), OURS / "ethos_u_invoke.c", *sources]
    argv = ["gcc", *WARNINGS, "-O1", *SANITIZERS, *flags, *folders, *map(str, files), "-o", str(program)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


# ---- Our driver -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """The driver in one thread, a device in another."""
    folder = tmp_path_factory.mktemp("npu")
    place = by_registers(U55, ADDRESS).files[0]
    (folder / place.name).write_text(place.text)
    sources = (OURS / "ethos_u_by_registers.c", DEVICE / "npu_registers.c")
    return built(folder, *sources, flags=("-DETHOS_U_MOST_POLLS=20000000", "-pthread"))


IRQ, DONE = 1 << 1, 1 << 1 | 1 << 5
ENDS = (  # (CONFIG, STATUS before, STATUS when it is started, the end)
    (U55.register, 0, DONE, End.ENDED),
    (U55.register | 2 << 4, 0, DONE, End.ENDED),  # another version of the command stream
    (CONFIGS["u55-256"].register, 0, 0, End.OTHER_NPU),
    (U55.register | 1 << 28, 0, 0, End.OTHER_NPU),
    (U55.register, 1 << 3, 0, End.NO_RESET),
    (U55.register, 0, 0, End.LATE),
    (U55.register, 0, IRQ | 1 << 2, End.BUS_ERROR),
    (U55.register, 0, IRQ | 1 << 4, End.COMMAND_ERROR),
    (U55.register, 0, 1 << 7, End.WATCHDOG_FAULT),
    (U55.register, 0, 1 << 8, End.ECC_FAULT),
    (U55.register, 0, IRQ, End.STOPPED_EARLY),
)


@pytest.mark.cc
@pytest.mark.parametrize(("config", "before", "answer", "end"), ENDS, ids=[str(n) for n in range(len(ENDS))])
def test_the_driver_says_how_the_device_ended(config, before, answer, end, driver):
    words = [str(driver), hex(config), hex(before), hex(answer)]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    said, position, is_copied, command = ran.stdout.split()
    assert End(int(said)) is end
    assert int(is_copied) == (end is End.ENDED)
    assert int(position) == (44 if answer else 0)
    assert command == "0xe"  # the interrupt is cleared, clock and power may stop


def test_each_end_traps_in_a_function_of_its_own():
    text = (OURS / "ethos_u_invoke.c").read_text(encoding="utf-8")
    stops = re.findall(r"^STOP\((\w+), ETHOS_U_(\w+)\)$", text, re.MULTILINE)
    declared = re.search(r"enum ethos_u_end \{(.*?)\};", (OURS / "ethos_u_invoke.h").read_text(), re.DOTALL)
    assert declared is not None
    names = re.findall(r"ETHOS_U_(\w+)", declared[1])
    assert names == ["ENDED", *(cause for _, cause in stops)]
    assert names[:-1] == [end.name for end in End]
    assert len({function for function, _ in stops}) == len(stops)


@pytest.mark.slow
def test_a_device_that_is_not_there_is_a_fault_that_names_the_cause(
    run_deploy, require_tool, require_package, tmp_path
):
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    require_package("ethosu")
    (tmp_path / "net.tflite").write_bytes(TINY["conv"]())
    in_ram = "ethos-u:device=registers,address=0x2001f000"
    words = ("--board", "mps2-an386", "--runner", "qemu", "--accelerator", in_ram)
    done = run_deploy("verify", tmp_path / "net.tflite", *words)
    assert done.status == 1
    assert "usage fault in ethos_u_is_another_npu (ethos_u_invoke.c:" in done.err
    assert '  ethos_u_invoke.c belongs to the accelerator "ethos-u", which computes region ' in done.err


def test_registers_without_an_address_are_refused(run_deploy, tmp_path):
    (tmp_path / "net.tflite").write_bytes(TINY["conv"]())
    words = ("inspect", tmp_path / "net.tflite", "--board", "mps2-an386", "--accelerator")
    done = run_deploy(*words, "ethos-u:device=registers")
    assert done.status == 1
    require_facts(
        done.err,
        "ethos-u:device=registers address=ADDRESS NPU's registers board "
        "ethos-u:device=registers,address=0x58102000",
    )


# ---- The device of emulated boards ----------------------------------------------------------------------


def offset_of(name: str) -> int:
    """The offset in bytes at which our driver has a register."""
    text = (OURS / "ethos_u_by_registers.c").read_text(encoding="utf-8")
    found = re.search(rf"^    {name} = (\d+),?$", text, re.MULTILINE)
    assert found is not None
    return 4 * int(found[1])


@pytest.mark.parametrize(
    "name",
    ["STATUS", "CMD", "RESET", "QBASE", "QREAD", "QSIZE", "PROT", "CONFIG", "REGIONCFG", "BASEP"],
)
def test_the_driver_and_the_emulated_device_have_the_same_registers(name):
    assert offset_of(name) == getattr(device, name)


def test_registers_lie_where_vela_has_them(require_package):
    """Vela's description of the device is Arm's own word for it."""
    require_package("ethosu")
    from ethosu.vela.ethos_u55_regs import ethos_u55_regs as arm

    for name in ("STATUS", "CMD", "RESET", "QREAD", "QCONFIG", "QSIZE", "PROT", "CONFIG", "REGIONCFG"):
        assert offset_of(name) == getattr(arm.BASE, name).value
    assert offset_of("QBASE") == arm.BASE.QBASE0.value
    assert offset_of("AXI_LIMIT") == arm.BASE.AXI_LIMIT0.value
    assert offset_of("BASEP") == arm.BASE_POINTERS.BASEP0.value
    status, config = arm.status_r(), arm.config_r()
    status.set_irq_raised(1)
    status.set_cmd_end_reached(1)
    assert status.word == DONE
    config.word = CONFIGS["u65-256"].register
    assert (config.get_macs_per_cc(), config.get_shram_size()) == (8, 48)
    assert config.word >> 28 == 1


FLASH, COMMANDS, RAM = 0x1000, 0x4000, 0x8000
COPY = (
    *(*short(0x130), *long(0x30, 0), *short(0x131, 1), *long(0x31, 16), *long(0x32, 16)),
    *(*short(0x10), *short(0x11)),
)


class LittleBoard:
    """A little flash and RAM."""

    def __init__(self) -> None:
        self.content = {FLASH: bytearray(range(1, 65)), RAM: bytearray(64)}
        self.written: list[tuple[int, int]] = []

    def _place(self, address: int) -> tuple[bytearray, int]:
        begins = (base for base, each in self.content.items() if base <= address < base + len(each))
        base = next(begins)
        return self.content[base], address - base

    def read(self, address: int, size: int) -> bytes:
        content, at = self._place(address)
        return bytes(content[at : at + size])

    def write(self, address: int, data: bytes) -> None:
        content, at = self._place(address)
        content[at : at + len(data)] = data
        self.written.append((address, len(data)))

    def bytes_from(self, address: int) -> int:
        content, at = self._place(address)
        return len(content) - at


def run_on(board: LittleBoard, commands: Sequence[int], regions: int = 3) -> NpuRegisters:
    """A device that was started with these commands."""
    words = np.array(commands, np.uint32).tobytes()
    board.content[COMMANDS] = bytearray(words)
    memory = OutsideMemory(board.read, board.write, board.bytes_from)
    npu = NpuRegisters(EmulatedBoard(memory, (U55.register,), loaded))
    npu.write(device.RESET, npu.read(device.PROT))
    settings = {device.QBASE: COMMANDS, device.QSIZE: len(words), device.REGIONCFG: regions}
    for offset, value in {**settings, device.BASEP: FLASH, device.BASEP + 8: RAM}.items():
        npu.write(offset, value)
    npu.write(device.CMD, device.RUN)
    return npu


@pytest.mark.cc
def test_the_emulated_device_executes_commands_in_the_boards_memory():
    board = LittleBoard()
    npu = run_on(board, [*COPY, *STOP])
    assert npu.read(device.STATUS) == DONE
    assert bytes(board.content[RAM][16:32]) == bytes(range(1, 17))
    assert board.written == [(RAM + 16, 16)]  # what has changed, and nothing beside it
    assert npu.read(device.CONFIG) == U55.register
    npu.write(device.CMD, device.CLEAR_IRQ)
    assert npu.read(device.STATUS) == DONE & ~IRQ


@pytest.mark.cc
@pytest.mark.parametrize(
    ("commands", "regions", "bit"),
    [
        ([*short(0x3FF), *STOP], 3, device.CMD_PARSE_ERROR),
        ([*COPY], 3, device.CMD_PARSE_ERROR),  # no end
        ([*short(0x130, 5), *COPY[1:], *STOP], 3, device.BUS_STATUS),  # a region without an address
        ([*COPY, *STOP], 15, device.BUS_STATUS),  # a write through the port that reads
    ],
    ids=["unknown", "endless", "nowhere", "read-only"],
)
def test_the_emulated_device_raises_the_bit_of_an_error(commands, regions, bit):
    board = LittleBoard()
    npu = run_on(board, commands, regions)
    assert npu.read(device.STATUS) & (IRQ | bit) == IRQ | bit
    assert not npu.read(device.STATUS) & device.CMD_END_REACHED


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("config", ["u55-32", "u55-256", "u65-256"])
def test_layers_are_verified_behind_registers(config, run_deploy, require_tool, require_package, tmp_path):
    require_tool("arm-none-eabi-gcc")
    require_package("ethosu")
    require_package("unicorn")
    (tmp_path / "net.tflite").write_bytes(TINY["classifier"]())
    word = f"ethos-u:config={config},device=registers,address=0x48102000"
    words = ("--board", "mps2-an386", "--runner", "unicorn", "--layers", "--accelerator", word)
    done = run_deploy("verify", tmp_path / "net.tflite", *words)
    assert "equal to the reference in every bit" in done.out, done.err


# ---- Arm's driver ---------------------------------------------------------------------------------------


@pytest.mark.cc
def test_arms_driver_gets_what_the_model_gets(tmp_path):
    program = built(tmp_path, OURS / "ethos_u_by_driver.c", DEVICE / "npu_driver.c")
    ran = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
def test_arms_driver_comes_with_the_model_where_its_folder_is_given(run_deploy, require_package, tmp_path):
    require_package("ethosu")
    folder, out = tmp_path / "arm", tmp_path / "made"
    (tmp_path / "net.tflite").write_bytes(TINY["conv"]())
    (folder / "include").mkdir(parents=True)
    (folder / "src").mkdir()
    words = ("compile", tmp_path / "net.tflite", "--board", "mps2-an386", "-o", out)
    arms = ("--accelerator", f"ethos-u:config=u55-256,path={folder}")
    lacks = run_deploy(*words, *arms)
    assert lacks.status == 2
    require_facts(
        lacks.err,
        f'--accelerator "ethos-u" "{folder}" include/ethosu_driver.h Arm\'s folder driver '
        "https://gitlab.arm.com/artificial-intelligence/ethos-u/ethos-u-core-driver",
    )
    (folder / "include/ethosu_driver.h").write_text((DEVICE / "ethosu_driver.h").read_text())
    (folder / "src/ethosu_device_u85.c").write_text("int of_another_npu;\n")
    (folder / "src/ethosu_driver.c").write_text("int of_the_driver;\n")
    done = run_deploy(*words, *arms)
    assert done.status == 0, done.err
    made = {path.name: path for path in out.rglob("*.[ch]")}
    assert {"ethos_u_by_driver.c", "ethosu_driver.h", "ethosu_driver.c", "ethos_u_invoke.c"} <= made.keys()
    assert not made.keys() & {"ethos_u_model.c", "ethos_u_by_registers.c", "ethosu_device_u85.c"}
    text = made["ethosu_driver.c"].read_text()
    assert "#define ETHOSU55 1\n" in text
    assert text.endswith("int of_the_driver;\n")


# ---- Boards ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_board_says_which_npu_it_has(run_deploy, require_package, tmp_path):
    require_package("ethosu")
    (tmp_path / "net.tflite").write_bytes(TINY["classifier"]())
    words = ("inspect", tmp_path / "net.tflite", "--board", "alif-e7-devkit", "--accelerator")
    assert "cycles for u55-256" in run_deploy(*words, "ethos-u:device=registers", "--layer", "1").out
    assert "arena in SRAM0" in run_deploy(*words, "ethos-u:device=registers").out
    assert "cycles for u55-32" in run_deploy(*words, "ethos-u:config=u55-32", "--layer", "1").out
    shown = run_deploy("boards", "show", "alif-e7-devkit").out
    assert "accelerator ethos-u: config=u55-256, memory=SRAM0, address=0x400E1000\n" in shown


def test_what_boards_say_of_accelerators_can_be_asked_for():
    boards = [board for board in map(load_board, board_names()) if board.accelerators]
    assert {"alif-e7-devkit", "mps3-an547"} <= {board.name for board in boards}
    for board in boards:
        options = options_on(board, CompileOptions(accelerators=tuple(board.accelerators)))
        assert options.accelerators == AcceleratorList().read(options.accelerators)
        memories = [table["memory"] for table in board.accelerators.values() if "memory" in table]
        assert set(memories) <= {region.name for region in board.regions}
