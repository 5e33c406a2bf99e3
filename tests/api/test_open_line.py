"""`deploy.connect` keeps a line open: what runs, counts and fails on it, call after call."""

import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deploy
from deploy.compiler.compile_model import Compiled

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
MANY = 1_000

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("own_folders")]


def images(count: int) -> Any:
    return np.random.default_rng(1).integers(-128, 128, (count, 1, 8, 8, 1), np.int8)


@pytest.fixture
def device():
    with deploy.connect(DIGITS, board="host", profile=True) as opened:
        yield opened


def test_runs_give_what_the_reference_gives(device):
    found = device.run(images(4)).outputs["digit"]
    assert np.array_equal(found, deploy.load(DIGITS).run(images(4))["digit"])
    single = device.run(images(4)[2]).outputs["digit"]
    assert np.array_equal(single, found[2])
    assert [spec.name for spec in (*device.inputs, *device.outputs)] == ["image", "digit"]


def test_floats_go_in_and_come_out(device):
    shares = np.random.default_rng(2).random((1, 8, 8, 1)).astype(np.float32)
    found = device.run(shares, quantize=True, dequantize=True).outputs["digit"]
    wanted = deploy.load(DIGITS).run(shares, quantize=True, dequantize=True)["digit"]
    assert found.dtype == np.float32
    assert np.array_equal(found, wanted)


def test_states_last_from_call_to_call_until_reset(stateful):
    steps = np.random.default_rng(3).integers(-128, 128, (6, *stateful_shape(stateful)), np.int8)
    with deploy.connect(stateful) as device:
        together = outputs_of(device.run(steps))
        device.reset()
        one_by_one = [outputs_of(device.run(step)) for step in steps]
        assert np.array_equal(np.stack(one_by_one), together)
        assert not np.array_equal(outputs_of(device.run(steps[0])), together[0])


def outputs_of(run: Any) -> Any:
    (output,) = run.outputs.values()
    return output


def stateful_shape(compiled: Compiled) -> tuple[int, ...]:
    (spec,) = compiled.artifact.facts.inputs
    return tuple(spec.type.shape)


@pytest.fixture
def stateful(shared_dir):
    return deploy.compile(shared_dir / "models" / "mww_okay_nabu_v2_int8" / "model.tflite", board="host")


def test_times_are_of_one_run(device):
    timed = device.time(number=4, repeat=5)
    assert timed.number == 4
    assert 0 < timed.seconds.min <= timed.seconds.median <= timed.seconds.max < 0.1
    longer = device.time(min_repeat_ms=20)
    assert longer.number > 4
    assert "together" in str(longer)


@pytest.mark.qemu
def test_an_emulated_board_counts_the_same_instructions_each_time(require_tool):
    require_tool("arm-none-eabi-gcc")
    with deploy.connect(DIGITS, board="mps2-an386", profile=True) as device:
        once, four = device.time(), device.time(number=4, repeat=2)
        assert once.unit == "instructions"
        assert once.count.std < 0.002 * once.count.mean  # the board's clock ticks every few instructions
        assert four.count.mean == pytest.approx(once.count.mean, rel=0.02)
        ran = device.run(images(1)[0])
        assert ran.count.mean == pytest.approx(once.count.mean, rel=0.02)
        layers = device.profile(images(1)[0])
        assert sum(layer["count"] for layer in layers) == pytest.approx(once.count.mean, rel=0.05)
        assert device.stats.stack_used <= device.stats.stack_bytes


def test_layers_are_those_of_the_model(device):
    layers = device.profile(images(1)[0])
    inspected = deploy.inspect(DIGITS, board="host").as_json()["layers"]
    assert [layer["op"] for layer in layers] == [layer["op"] for layer in inspected]
    assert 'CONV_2D #0 "conv2d_0"' in str(layers)
    again = device.profile(images(1)[0])
    assert [layer["crc32"] for layer in layers] == [layer["crc32"] for layer in again]


def test_wrong_inputs_are_refused_and_the_line_goes_on(device):
    for wrong, said in (
        (np.zeros((3, 3), np.int8), "the model needs [1, 8, 8, 1]"),
        ({"picture": images(1)[0]}, 'no input "picture"'),
        (np.zeros((1, 8, 8, 1), np.float32), "float32"),
    ):
        with pytest.raises(deploy.DeployError) as caught:
            device.run(wrong)
        assert said in str(caught.value)
    with pytest.raises(deploy.DeployError, match="number must be 1 or more, not 0"):
        device.time(number=0)
    with pytest.raises(deploy.DeployError, match="a repeat may take 60,000 ms"):
        device.time(min_repeat_ms=1e6)
    assert device.run(images(1)[0]).outputs["digit"].shape == (1, 10)


def test_a_closed_line_says_so(device):
    device.close()
    device.close()
    assert repr(device) == "<digits on host, line closed>"
    with pytest.raises(deploy.DeployError) as caught:
        device.run(images(1)[0])
    assert str(caught.value).startswith("error: the line to host is closed\n")
    assert "open a new one with deploy.connect" in str(caught.value)


def test_firmware_without_the_measuring_of_layers_says_so():
    with (
        deploy.connect(DIGITS, board="host") as device,
        pytest.raises(deploy.DeployError, match="does not measure layers"),
    ):
        device.profile(images(1)[0])


def test_two_calls_at_once_are_not_mixed(device):
    """The second is refused, by name, and the first comes to its end."""
    begun, go_on = threading.Event(), threading.Event()
    session = device._device.session
    reset = session.reset

    def slow_reset(*words: Any) -> None:
        begun.set()
        assert go_on.wait(30)
        reset(*words)

    session.reset = slow_reset
    thread = threading.Thread(target=device.reset)
    thread.start()
    assert begun.wait(30)
    with pytest.raises(deploy.DeployError, match="host is busy with another call of this program"):
        device.run(images(1)[0])
    go_on.set()
    thread.join(30)
    session.reset = reset
    assert device.run(images(1)[0]).outputs["digit"].shape == (1, 10)


def test_two_boards_are_two_lines(device):
    with deploy.connect(DIGITS, board="host") as other:
        assert np.array_equal(outputs_of(device.run(images(2))), outputs_of(other.run(images(2))))


@pytest.fixture
def me(require_package):
    """The process of the tests, as the system sees it."""
    require_package("psutil")
    import psutil  # of distributed

    return psutil.Process()


def children_of(me: Any) -> set[Any]:
    """The programs that it has started: among them a browser of other tests, whose own ones come and go."""
    return set(me.children(recursive=True))


def test_many_calls_keep_nothing(device, me):
    image = images(1)[0]
    device.run(image)
    children, before = children_of(me), (me.num_fds(), threading.active_count())
    for _ in range(MANY):
        device.run(image)
    assert (me.num_fds(), threading.active_count()) == before
    assert children_of(me) <= children


def test_a_line_that_is_forgotten_is_closed(me):
    before = children_of(me)
    forgotten = deploy.connect(DIGITS, board="host")
    started = children_of(me) - before
    assert started
    del forgotten
    gc.collect()
    assert not started & children_of(me)
