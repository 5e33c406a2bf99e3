"""Calls by name on an open line: functions of a C file, arrays on the device, awaiting; on all machines."""

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_facts import refused

import deploy
from deploy.devices.connection import OpenLine

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
FUNCTIONS = Path(__file__).parent / "functions" / "gadget.c"
BOARDS = {
    "mps2-an383": ("arm-none-eabi-gcc", "unicorn"),  # Cortex-M0+
    "mps2-an386": ("arm-none-eabi-gcc", "qemu-system-arm"),  # M4
    "mps3-an547": ("arm-none-eabi-gcc", "qemu-system-arm"),  # M55, floats in registers of their own
    "qemu-riscv32": ("riscv64-unknown-elf-gcc", "qemu-system-riscv32"),
}
IMAGE = np.zeros((1, 8, 8, 1), np.int8)

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("own_folders")]


@pytest.fixture
def device():
    with deploy.connect(DIGITS, board="host", functions=[FUNCTIONS]) as opened:
        yield opened


def exercise(device: OpenLine) -> None:
    """All that a function can be asked for, the same on every board."""
    samples = np.linspace(-1, 1, 600, dtype=np.float32)
    assert device.weigh(3, np.arange(16, dtype=np.uint8)) == 360
    assert device.call("mixed", 2.5, -(2**40), samples[:3], 2**40, -1, True) == float(
        np.float32(2.5) + samples[2]
    )
    with device.array(samples) as array:
        assert device.amplify(-2.0, array) is None
        assert np.array_equal(array.numpy(), samples * -2)
        array.write(samples)
        assert device.peak(array) == device.peak(samples) == 1.0
    assert device.digits(IMAGE)["digit"].shape == (1, 10)
    with pytest.raises(deploy.DeployError, match="call of weigh: 100 times is too often"):
        device.weigh(100, bytes(16))
    with pytest.raises(deploy.DeployError, match="argument 2 of weigh must be u8\\[16\\], not uint8\\[3\\]"):
        device.weigh(1, bytes(3))
    assert device.weigh(1, bytes(16)) == 0


def test_functions_and_arrays_on_this_machine(device):
    exercise(device)
    assert repr(device.functions).splitlines() == [
        "digits: (int8[1, 8, 8, 1]) -> (int8[1, 10])",
        "amplify: void(f32, f32[600])",
        "mixed: f32(f32, i64, f32[3], u64, i8, bool)",
        "peak: f32(f32[600])",
        "weigh: i32(i32, u8[16])",
    ]
    assert {"weigh", "run"} <= set(dir(device))


@pytest.mark.qemu
@pytest.mark.parametrize("board", BOARDS)
def test_functions_and_arrays_on_emulated_boards(board, require_tool, require_package):
    compiler, emulator = BOARDS[board]
    require_tool(compiler)
    (require_package if emulator == "unicorn" else require_tool)(emulator)
    with deploy.connect(DIGITS, board=board, functions=[FUNCTIONS]) as device:
        exercise(device)


@pytest.mark.qemu
def test_functions_are_found_in_firmware_that_zig_links(require_package):
    require_package("ziglang")
    with deploy.connect(DIGITS, board="host", functions=[FUNCTIONS], toolchain="zig") as device:
        assert device.weigh(3, np.arange(16, dtype=np.uint8)) == 360


def test_a_function_that_is_not_there_is_named_with_those_that_are(device):
    refused(
        lambda: device.call("wiegh", 1),
        '"wiegh" "weigh"? firmware function mean digits amplify deploy.connect( functions=["file.c"]) '
        "SOLDER_FUNCTION",
    )
    assert not hasattr(device, "wiegh")


def test_arrays_say_when_they_are_gone(device):
    array = device.array(np.arange(600, dtype=np.float32))
    assert repr(array) == "<float32[600] on the device, at 0x0 of the free RAM>"
    with pytest.raises(deploy.DeployError, match="but the data is float32\\[3\\]"):
        array.write(np.zeros(3, np.float32))
    with device._turn() as opened:
        opened.session.hello()
    with pytest.raises(
        deploy.DeployError, match=r"the array f32\[600\] no longer exists: the device was reset"
    ):
        array.numpy()
    array.free()
    array.free()
    with pytest.raises(deploy.DeployError, match="the array was freed"):
        device.peak(array)
    other = device.array(np.zeros(600, np.float32))
    device.close()
    for ask in (other.numpy, other.free, lambda: device.array(IMAGE), lambda: device.weigh(1, bytes(16))):
        with pytest.raises(deploy.DeployError, match="the line to host is closed"):
            ask()


def test_forgotten_arrays_give_their_memory_back(device):
    """As many as the free RAM could not hold together."""
    most = np.ones(1_000_000, np.uint8)
    for _ in range(20):
        array = device.array(most)
        del array
        gc.collect()
    device.array(most).free()


def test_firmware_that_was_made_without_functions_says_so():
    with deploy.connect(DIGITS, board="host") as device:
        assert list(device.functions) == ["digits"]
        with pytest.raises(deploy.DeployError, match="this firmware was built without functions and arrays"):
            device.array(IMAGE)


def test_files_that_are_not_functions_are_refused(tmp_path):
    for name, said in (("blink.py", "is neither .c nor .h"), ("main.c", "has the name of a project file")):
        (tmp_path / name).touch()
        with pytest.raises(deploy.DeployError, match=f"{name} {said}"):
            deploy.connect(DIGITS, board="host", functions=[tmp_path / name])
    with pytest.raises(deploy.DeployError, match="the file of functions cannot be read"):
        deploy.connect(DIGITS, board="host", functions=[tmp_path / "absent.c"])
    with pytest.raises(
        deploy.DeployError, match="calling functions is not supported on the platform arduino"
    ):
        deploy.new(
            deploy.compile(DIGITS, board="arduino-due"),
            tmp_path / "a",
            "arduino-due",
            "arduino",
            functions=[FUNCTIONS],
        )


def test_a_project_is_made_with_functions_and_connected_to(tmp_path):
    deploy.new(deploy.compile(DIGITS, board="host"), tmp_path / "made", functions=[FUNCTIONS])
    with deploy.connect(tmp_path / "made") as device:
        assert device.weigh(1, np.arange(16, dtype=np.uint8)) == 120


def test_tasks_take_turns_and_a_cancelled_one_leaves_the_line_free(device):
    async def talk() -> list[Any]:
        async with device.awaitable as line:
            calls = [line.weigh(n, np.arange(16, dtype=np.uint8)) for n in range(8)]
            results = await asyncio.gather(*calls, line.run(IMAGE))
            begun = asyncio.create_task(line.time(number=20, repeat=20))
            await asyncio.sleep(0)
            begun.cancel()
            with pytest.raises(asyncio.CancelledError):
                await begun
            assert await line.call("weigh", 1, bytes(16)) == 0
            with pytest.raises(deploy.DeployError, match="no function"):
                await line.call("nothing")
            return list(results)

    with ThreadPoolExecutor(1) as apart:  # the browser of other tests has a loop in this thread
        *weights, ran = apart.submit(lambda: asyncio.run(talk())).result()
    assert weights == [120 * n for n in range(8)]
    assert ran.outputs["digit"].shape == (1, 10)
    assert repr(device) == "<digits on host, line closed>"
