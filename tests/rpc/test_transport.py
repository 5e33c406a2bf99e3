"""The lines themselves: deadlines, closed ends, locks, traces and repeatable damage."""

import io
import os
import random
import select
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from error_facts import require_facts
from fake_line import FakeTransport

from aot.errors import MachineError
from benchmarks.faulty_line import Faults, damage
from platforms.rpc.frame import Packet, encode_frame
from platforms.rpc.protocol import REPLY_BIT, Message, Status
from platforms.rpc.trace import TraceTransport
from platforms.transport.base import LineBusyError, LineClosedError, LineStuckError
from platforms.transport.lock import PortLock, lock_path
from platforms.transport.pipe import PipeTransport, ending
from platforms.transport.pty import PtyTransport
from platforms.transport.serial_port import SerialTransport
from platforms.transport.socket import SocketTransport
from platforms.transport.system import try_lock

SOON_S = 0.01
LATE_S = 30.0


@pytest.fixture
def terminal(pseudo_terminals):
    """A pseudo terminal: the file descriptor of our end, and the path of the other."""
    import pty

    ours, theirs = pty.openpty()
    yield ours, Path(os.ttyname(theirs))
    os.close(ours)
    os.close(theirs)


@pytest.fixture(params=["poll", "threads"])
def both_flows(request, monkeypatch):
    """Bytes move as on POSIX, and as on Windows, which cannot wait for a pipe."""
    if request.param == "threads":
        monkeypatch.delattr(select, "poll", raising=False)


@pytest.mark.usefixtures("both_flows")
def test_a_pipe_carries_bytes_both_ways():
    line = PipeTransport(["cat"])
    line.write(b"\0\1\xff", LATE_S)
    assert line.read(100, LATE_S) == b"\0\1\xff"
    assert line.read(100, SOON_S) == b""
    line.close()
    line.close()


@pytest.mark.usefixtures("both_flows")
@pytest.mark.slow
def test_a_program_that_ignores_the_end_of_its_input_is_ended():
    line = PipeTransport(["sleep", "1000"])
    line.close()
    assert line.exit_status == -15


@pytest.mark.usefixtures("both_flows")
@pytest.mark.slow
def test_a_program_that_takes_no_bytes_is_named():
    line = PipeTransport(["sleep", "1000"])
    with pytest.raises(LineStuckError, match=r"sleep accepted no bytes for 0.01 s"):
        line.write(bytes(1 << 20), SOON_S)
    line.close()


@pytest.mark.usefixtures("both_flows")
def test_more_than_a_pipe_holds_goes_both_ways():
    """Neither end waits for the other with full hands; what comes early is kept."""
    line = PipeTransport(["cat"])
    sent = random.Random(1).randbytes(1 << 18)
    received = b""
    for first in range(0, len(sent), 1 << 14):
        line.write(sent[first : first + (1 << 14)], LATE_S)
        received += line.read(1 << 13, LATE_S)
    while len(received) < len(sent):
        received += line.read(1 << 16, LATE_S)
    assert received == sent
    line.close()


@pytest.mark.usefixtures("both_flows")
def test_nobody_takes_what_is_written_to_a_program_that_has_ended():
    line = PipeTransport(["true"])
    with pytest.raises(LineClosedError, match="true ended: exit status 0"):
        line.read(100, LATE_S)
    with pytest.raises(LineClosedError, match="true ended: exit status 0"):
        line.write(bytes(1 << 20), LATE_S)
    line.close()


@pytest.mark.usefixtures("both_flows")
def test_the_end_of_a_program_is_reported_with_its_status():
    line = PipeTransport(["sh", "-c", "echo last words; exit 3"])
    assert line.read(100, LATE_S) == b"last words\n"
    with pytest.raises(LineClosedError, match="sh ended: exit status 3"):
        line.read(100, LATE_S)
    line.close()


@pytest.mark.parametrize(
    ("code", "words"), [(0, "exit status 0"), (-11, "signal SIGSEGV"), (-99, "signal 99")]
)
def test_endings_in_words(code, words):
    assert ending(code) == words


@pytest.mark.usefixtures("both_flows")
def test_a_socket_carries_bytes_both_ways_and_tells_its_end():
    with socket.create_server(("127.0.0.1", 0)) as server:
        line = SocketTransport("127.0.0.1", server.getsockname()[1])
        other, _ = server.accept()
        line.write(b"ping", LATE_S)
        assert other.recv(4) == b"ping"
        other.sendall(b"pong")
        assert line.read(4, LATE_S) == b"pong"
        other.close()
        with pytest.raises(LineClosedError, match="closed the line"):
            line.read(4, LATE_S)
        line.close()


def test_a_port_where_nobody_listens_is_named():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(LineClosedError, match=f"cannot connect to 127.0.0.1:{port}"):
        SocketTransport("127.0.0.1", port)


def test_a_pty_carries_all_bytes_untouched(terminal):
    ours, path = terminal
    line = PtyTransport(path)
    every_byte = bytes(range(256))
    line.write(every_byte, LATE_S)
    received = b""
    while len(received) < 256:
        received += os.read(ours, 256)
    assert received == every_byte
    os.write(ours, b"\r\n\x03\x00")
    assert line.read(100, LATE_S) == b"\r\n\x03\x00"
    line.close()
    line.close()


def test_a_missing_pty_is_named(tmp_path):
    with pytest.raises(LineClosedError, match="No such file or directory"):
        PtyTransport(tmp_path / "pty")


def test_a_serial_port_carries_all_bytes_untouched(terminal):
    ours, path = terminal
    line = SerialTransport(str(path), 115200)
    line.write(b"\x00\x03\r\n\xff", LATE_S)
    assert os.read(ours, 100) == b"\x00\x03\r\n\xff"
    os.write(ours, b"\r\x00")
    received = line.read(100, LATE_S)
    while len(received) < 2:
        received += line.read(100, LATE_S)
    assert received == b"\r\x00"
    assert line.read(100, SOON_S) == b""
    line.close()
    line.close()


def test_a_serial_port_in_use_names_the_process_that_has_it(terminal):
    _, path = terminal
    held = SerialTransport(str(path), 115200)
    script = (
        "from platforms.transport.serial_port import SerialTransport\n"
        "from aot.errors import DeployError\n"
        "import sys\n"
        "try:\n"
        "    SerialTransport(sys.argv[1], 115200)\n"
        "except DeployError as error:\n"
        "    sys.stdout.write(str(error))\n"
    )
    other = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=60
    )
    require_facts(other.stdout, f"{path} {os.getpid()} process program other")
    held.close()
    SerialTransport(str(path), 115200).close()


def test_a_serial_port_that_another_program_locked_is_busy(terminal):
    serial = pytest.importorskip("serial")
    _, path = terminal
    foreign = serial.Serial(str(path), exclusive=True)
    with pytest.raises(LineBusyError, match="in use by another program"):
        SerialTransport(str(path), 115200)
    foreign.close()
    SerialTransport(str(path), 115200).close()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/dev/ttyNONE", "the port does not exist"),
        ("/etc/passwd", "this is not a serial port"),
        ("/etc", "this is a folder"),
    ],
)
def test_what_is_not_a_serial_port_is_reported(name, why):
    with pytest.raises(LineClosedError, match=f"cannot open {name}: {why}"):
        SerialTransport(name, 115200)


def test_a_trace_has_a_line_for_every_packet_and_for_garbage():
    request = Packet(Message.WRITE, 7, 0xABC, b"\1\2")
    reply = Packet(Message.WRITE | REPLY_BIT, 7, 0xABC, bytes(40), Status.OUT_OF_RANGE)
    line = FakeTransport(lambda data: b"boot\n" + encode_frame(reply.pack()))
    out = io.StringIO()
    traced = TraceTransport(line, out, line.clock)
    traced.write(encode_frame(request.pack()), LATE_S)
    traced.read(3, LATE_S)
    traced.read(1000, LATE_S)
    assert out.getvalue().splitlines() == [
        "  0.000000 -> write #7 session 00000abc 2 B 0102",
        "  0.000000 <- damaged 5 B b'boot\\n'",
        f"  0.000000 <- write reply #7 session 00000abc out of range 40 B {'00' * 32}...",
    ]


def test_an_unknown_kind_is_traced_by_number():
    assert str(Packet(0x33, 1, 2)) == "unknown 0x33 #1 session 00000002 0 B"


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        pytest.param(Faults(), b"abcdef", id="none"),
        pytest.param(Faults(dropped=1), b"", id="all dropped"),
        pytest.param(Faults(duplicated=1), b"aabbccddeeff", id="all doubled"),
        pytest.param(Faults(swapped=1), b"badcfe", id="all swapped"),
        pytest.param(Faults(cut=1), b"", id="cut at once"),
        pytest.param(Faults(flipped_bits=1), bytes(255 - byte for byte in b"abcdef"), id="all bits flipped"),
    ],
)
def test_each_kind_of_damage_does_what_it_says(faults, expected):
    assert damage(b"abcdef", faults, random.Random(1)) == expected


def test_damage_is_the_same_for_the_same_seed():
    faults = Faults(flipped_bits=0.01, dropped=0.05, duplicated=0.05)
    first = damage(bytes(1000), faults, random.Random("seed"))
    assert damage(bytes(1000), faults, random.Random("seed")) == first
    assert first != bytes(1000)


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="needs a system whose temporary folder is shared")
def test_a_link_in_place_of_a_lock_is_not_followed(tmp_path, monkeypatch):
    """Somebody else may have put it into the shared folder, to have a file of ours emptied."""
    mine = tmp_path / "mine.txt"
    mine.write_text("kept")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    place = lock_path("tcp://nowhere:1")
    place.symlink_to(mine)
    with pytest.raises(
        MachineError, match="the lock file of the port cannot be opened: it is a link"
    ) as caught:
        PortLock("tcp://nowhere:1")
    assert mine.read_text() == "kept"
    assert (caught.value.where, caught.value.hint) == (str(place), "remove the file")
    place.unlink()
    PortLock("tcp://nowhere:1").release()


def test_windows_locks_a_byte_that_nobody_reads(tmp_path, monkeypatch):
    """Its module is not here: one that does the same takes its place, and fcntl is taken away."""
    held: set[int] = set()

    def locking(fd: int, mode: int, _size: int) -> None:
        place = os.lseek(fd, 0, os.SEEK_CUR)
        if mode != 2 or place in held:
            raise OSError
        held.add(place)

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    file = tmp_path / "lock"
    file.write_text("1234\n")
    first, second = os.open(file, os.O_RDWR), os.open(file, os.O_RDWR)
    assert try_lock(first)
    assert not try_lock(second)
    assert os.read(second, 10) == b"1234\n"
    os.close(first)
    os.close(second)


def test_without_locks_of_files_every_lock_is_had(tmp_path, monkeypatch):
    for name in ("fcntl", "msvcrt"):
        monkeypatch.setitem(sys.modules, name, None)
    with (tmp_path / "lock").open("w") as file:
        assert try_lock(file.fileno())
        assert try_lock(file.fileno())
