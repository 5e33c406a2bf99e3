"""Firmware of this computer over everything that can be its line, and built by make in every way."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aot.errors import MissingToolError
from platforms.base import platform_of
from platforms.board_files import load_board
from platforms.host import PLATFORM
from platforms.project import App, ProjectSource
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.failures import DeviceCrashedError
from platforms.rpc.session import Session
from platforms.transport.base import Transport
from platforms.transport.pipe import PipeTransport
from platforms.transport.pty import PtyTransport
from platforms.transport.socket import SocketTransport

pytestmark = pytest.mark.cc

DEADLINES = Deadlines(hello_s=60.0, answer_s=60.0, run_s=60.0)


def project(source: ProjectSource, folder: Path) -> Path:
    board = load_board("host")
    platform_of(board).generate(source, folder, board, App.RPC)
    return folder


def make(folder: Path, *words: str) -> str:
    argv = ("make", "-C", str(folder), *words)
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def firmware(crashing, tmp_path, require_tool):
    require_tool("make")
    make(project(crashing, tmp_path / "p"), "CC=gcc")
    return tmp_path / "p/build/firmware"


@contextmanager
def started(*argv: str) -> Iterator[str]:
    """The program with a line of its own; gives the name it says."""
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().strip()
        finally:
            process.kill()


def infer(session: Session, first: int) -> bytes:
    session.hello()
    model = session.describe()[0]
    session.write_input(model, 0, bytes([first, 0, 0, 0]))
    session.run(model)
    return session.read_output(model, 0)


def assert_serves(line: Transport) -> None:
    """Also after a crash: a reset keeps the line."""
    session = Session(line, DEADLINES)
    try:
        assert infer(session, 9) == bytes([10, 1, 1, 1])
        with pytest.raises(DeviceCrashedError, match="memory protection fault"):
            infer(session, 1)
        assert infer(session, 7) == bytes([8, 1, 1, 1])
    finally:
        session.close()


def test_a_pipe_is_a_line(firmware):
    assert_serves(PipeTransport([str(firmware)]))


@pytest.mark.usefixtures("pseudo_terminals")
def test_a_pseudo_terminal_is_a_line_and_outlives_who_uses_it(firmware):
    with started(str(firmware), "--pty") as name:
        assert_serves(PtyTransport(Path(name)))
        assert_serves(PtyTransport(Path(name)))


def test_tcp_is_a_line(firmware):
    with started(str(firmware), "--tcp", "0") as name:
        host, port = name.split(":")
        assert_serves(SocketTransport(host, int(port)))


class Interrupted(PtyTransport):
    """Ctrl-C in the middle of the n-th request."""

    def __init__(self, path: Path, request: int) -> None:
        super().__init__(path)
        self._left = request

    def write(self, data: bytes, deadline_s: float) -> None:
        self._left -= 1
        if self._left == 0:
            super().write(data[: len(data) // 2], deadline_s)
            raise KeyboardInterrupt
        super().write(data, deadline_s)


@pytest.mark.usefixtures("pseudo_terminals")
def test_ctrl_c_at_any_request_leaves_the_device_usable(firmware):
    with started(str(firmware), "--pty") as name:
        for request in range(1, 8):  # hello, describe three times, write, run, read
            session = Session(Interrupted(Path(name), request), DEADLINES)
            with pytest.raises(KeyboardInterrupt):
                infer(session, 9)
            session.close()
        session = Session(PtyTransport(Path(name)), DEADLINES)
        assert infer(session, 9) == bytes([10, 1, 1, 1])
        session.close()


def test_other_words_are_told_what_there_is(firmware):
    ended = subprocess.run((str(firmware), "--usb"), capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, f"usage: {firmware} [--pty | --tcp PORT]\n")


def test_a_port_that_is_taken_is_reported(firmware):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = (str(firmware), "--tcp", port)
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, f"cannot listen on port {port}: Address already in use\n")


def test_make_with_another_compiler_builds_everything_again(tiny, tmp_path, require_tool):
    require_tool("clang", "make")
    folder = project(tiny, tmp_path / "p")
    assert "gcc" in make(folder, "CC=gcc")
    assert "@flags" not in make(folder, "CC=gcc")
    built = make(folder, "CC=clang")
    assert built.count("clang @flags") == len(list(folder.glob("src/**/*.c"))) + 1
    assert "@flags" not in make(folder, "CC=clang")


def test_make_with_sanitizers_builds_firmware_that_serves(tiny, tmp_path, require_tool):
    require_tool("make")
    folder = project(tiny, tmp_path / "p")
    make(folder, "SANITIZE=1", "CC=gcc")
    program = folder / "build/sanitize/firmware"
    assert b"__asan_init" in program.read_bytes()
    session = Session(PipeTransport([str(program)]), DEADLINES)
    try:
        assert infer(session, 9) == bytes([10, 1, 1, 1])
    finally:
        session.close()


def test_without_posix_the_host_is_refused_with_the_way_out(monkeypatch):
    monkeypatch.delattr(os, "fork", raising=False)
    with pytest.raises(MissingToolError) as caught:
        PLATFORM.toolchain(load_board("host"))
    assert caught.value.what == (
        "firmware for this computer needs POSIX signals, terminals and sockets, which Windows does not have"
    )
    assert "--board mps2-an386 runs in an emulator" in caught.value.hint
