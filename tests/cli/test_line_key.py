"""Projects whose server asks for a key, through the commands, on this computer and on emulated boards."""

import struct
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from codegen.options import CompileOptions
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Ready, build, prepare
from platforms.base import BuildChoices
from platforms.line_deadlines import deadlines_for
from platforms.rpc.frame import Decoder, Packet, encode_frame
from platforms.rpc.line_key import read_line_key
from platforms.rpc.protocol import REPLY_BIT, Message, Notice, Status
from platforms.rpc.session import Session
from platforms.transport.base import Transport


@pytest.fixture
def keys(tmp_path):
    """The key, and another."""
    paths = tmp_path / "line.key", tmp_path / "other.key"
    for number, path in enumerate(paths):
        path.write_text(bytes([number] * 32).hex())
    return paths


@pytest.mark.cc
@pytest.mark.parametrize(
    "board",
    [
        "host",
        pytest.param("mps2-an386", marks=[pytest.mark.arm, pytest.mark.qemu, pytest.mark.slow]),
        pytest.param("qemu-riscv32", marks=[pytest.mark.qemu, pytest.mark.slow]),
        # Its counter stands still, so that no second can be waited for.
        pytest.param("qemu-microbit", marks=[pytest.mark.arm, pytest.mark.qemu, pytest.mark.slow]),
    ],
)
def test_a_locked_project_answers_who_has_its_key(board, model, keys, tmp_path, run_deploy):
    archive, project, (key, other) = tmp_path / "m.tar", tmp_path / "locked", keys
    assert run_deploy("compile", model, "--board", board, "-o", archive).status == 0
    assert run_deploy("new", archive, project, "--board", board, "--line-key", key).status == 0
    assert (project / ".gitignore").read_text() == "build/\nsrc/line_key.c\n"
    words = ("run", project, "--fill", "zeros")
    opened = run_deploy(*words, "--line-key", key)
    assert opened.status == 0, opened.err
    refused = run_deploy(*words)
    assert refused.code == "E713"
    assert "the line is locked and needs a key" in refused.err
    guessed = run_deploy(*words, "--line-key", other)
    assert guessed.code == "E707"
    assert "the firmware was made with another line key" in guessed.err


class _Recorder:
    """A line that keeps what the host sends."""

    def __init__(self, line: Transport) -> None:
        self._line, self.sent = line, bytearray()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._line, name)

    def write(self, data: bytes, deadline_s: float) -> None:
        self.sent += data
        self._line.write(data, deadline_s)


def _powered(ready: Ready) -> tuple[Transport, int]:
    """A device that has just got power, and the number of its boot."""
    choices = LineOptions()
    assert ready.firmware is not None
    line = ready.platform.open_line(ready.firmware, ready.board, choices.runner, choices.where)
    return line, struct.unpack("<I", _heard(line, Notice.BOOTED).payload[:4])[0]


def _heard(line: Transport, kind: int) -> Packet:
    decoder, end = Decoder(), time.monotonic() + 60
    while time.monotonic() < end:
        for frame in decoder.feed(line.read(4096, 1.0)):
            packet = Packet.unpack(frame) if isinstance(frame, bytes) else None
            if packet is not None and packet.kind == kind:
                return packet
    pytest.fail(f"no packet of kind {kind:#x} came")


def _recorded(ready: Ready, key: bytes) -> list[Packet]:
    """What somebody with the key sends: hello, the answer to a challenge, and a request."""
    line, _ = _powered(ready)
    recorder = cast(Transport, _Recorder(line))
    try:
        session = Session(recorder, deadlines=deadlines_for(line, ready.board, 30.0), line_key=key)
        session.hello()
        assert session.stats()
    finally:
        line.close()
    frames = Decoder().feed(bytes(cast(_Recorder, recorder).sent))
    return [Packet.unpack(frame) for frame in frames if isinstance(frame, bytes)]


def _replayed(ready: Ready, packets: Sequence[Packet]) -> dict[int, int]:
    """Sends them to a device after a power cycle, in the session that it opens then: kind -> status."""
    line, nonce = _powered(ready)
    session, found = packets[0].session ^ nonce, {}
    try:
        for packet in packets:
            again = packet if packet.kind == Message.HELLO else replace(packet, session=session)
            line.write(encode_frame(again.pack()), 5.0)
            found[packet.kind] = _heard(line, packet.kind | REPLY_BIT).status
    finally:
        line.close()
    return found


@pytest.mark.cc
@pytest.mark.parametrize(
    "board",
    [
        "host",
        pytest.param("mps2-an383", marks=pytest.mark.arm),  # in unicorn, where time is as exact as memory
        pytest.param("mps2-an386", marks=[pytest.mark.arm, pytest.mark.qemu]),
        pytest.param("qemu-riscv32", marks=pytest.mark.qemu),
    ],
)
def test_a_recorded_session_opens_no_line_after_a_power_cycle(board, model, keys, tmp_path, run_deploy):
    archive, project = tmp_path / "m.tar", tmp_path / "locked"
    assert run_deploy("compile", model, "--board", board, "-o", archive).status == 0
    assert run_deploy("new", archive, project, "--board", board, "--line-key", keys[0]).status == 0
    ready = build(prepare(project, None, CompileOptions()), BuildChoices(None))
    packets = _recorded(ready, read_line_key(keys[0]))
    kinds = [packet.kind for packet in packets]
    assert kinds == [Message.HELLO, Message.CHALLENGE, Message.UNLOCK, Message.STATS]
    for _ in range(2):
        statuses = _replayed(ready, packets)
        assert statuses[Message.CHALLENGE] == Status.OK
        assert statuses[Message.UNLOCK] == Status.WRONG_KEY
        assert statuses[Message.STATS] == Status.LOCKED


@pytest.mark.arm
@pytest.mark.qemu
def test_a_chip_s_generator_gives_another_challenge_after_each_start(model, keys, tmp_path, run_deploy):
    archive, project = tmp_path / "m.tar", tmp_path / "locked"
    board = ("--board", "qemu-microbit")
    assert run_deploy("compile", model, *board, "-o", archive).status == 0
    assert run_deploy("new", archive, project, *board, "--line-key", keys[0]).status == 0
    ready = build(prepare(project, None, CompileOptions()), BuildChoices(None))
    packets = _recorded(ready, read_line_key(keys[0]))
    answers = {next(each.payload for each in packets if each.kind == Message.UNLOCK)}
    for _ in range(2):
        packets = _recorded(ready, read_line_key(keys[0]))
        answers |= {next(each.payload for each in packets if each.kind == Message.UNLOCK)}
    assert len(answers) == 3


@pytest.mark.arm
def test_a_chip_without_random_numbers_gets_no_firmware_with_a_key(model, keys, tmp_path, run_deploy):
    archive, project = tmp_path / "m.tar", tmp_path / "locked"
    board = ("--board", "nucleo-f446re")
    assert run_deploy("compile", model, *board, "-o", archive).status == 0
    made = run_deploy("new", archive, project, *board, "--platform", "baremetal", "--line-key", keys[0])
    assert made.status == 0
    refused = run_deploy("build", project)
    assert refused.status != 0
    assert (
        "a line with a key needs random numbers: fill in solder_port_entropy in src/entropy.c" in refused.err
    )
    entropy = project / "src" / "entropy.c"
    entropy.write_text(
        "".join(f"{line}\n" for line in entropy.read_text().splitlines() if "#error" not in line)
    )
    assert run_deploy("build", project).status == 0


def test_a_program_without_the_server_has_no_line_to_lock(archive, keys, tmp_path, run_deploy):
    words = ("new", archive, tmp_path / "p", "--board", "host", "--line-key", keys[0])
    outcome = run_deploy(*words, "--app", "standalone")
    assert "a line key need the server, which the app standalone does not have" in outcome.err


def test_arduinos_server_has_no_lock(model, keys, tmp_path, run_deploy):
    archive = tmp_path / "m.tar"
    assert run_deploy("compile", model, "--board", "arduino-mega", "-o", archive).status == 0
    words = ("new", archive, tmp_path / "p", "--board", "arduino-mega", "--line-key", keys[0])
    assert "locking the line is not supported on the platform arduino" in run_deploy(*words).err


def test_zephyrs_server_has_the_lock(model, keys, tmp_path, run_deploy):
    archive, project = tmp_path / "m.tar", tmp_path / "p"
    assert run_deploy("compile", model, "--board", "nrf52840dk", "-o", archive).status == 0
    words = ("new", archive, project, "--board", "nrf52840dk", "--platform", "zephyr")
    assert run_deploy(*words, "--line-key", keys[0]).status == 0
    assert "0x00000000u" in (project / "src/line_key.c").read_text()
    assert "SOLDER_LOCK " in (project / "CMakeLists.txt").read_text()
    assert "sys_csrand_get(bytes, count)" in (project / "src/entropy.c").read_text()
    assert "CONFIG_ENTROPY_GENERATOR=y" in (project / "prj.conf").read_text()
    assert run_deploy(*words[:2], tmp_path / "open", *words[3:]).status == 0
    assert "SOLDER_LOCK" not in (tmp_path / "open" / "CMakeLists.txt").read_text()
