"""The commands talk to firmware that runs already, wherever its line is; two of them never to the same."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreground import start_in_foreground

from platforms.rpc import exchange
from platforms.rpc.frame import Packet, encode_frame
from platforms.rpc.protocol import Notice

pytestmark = pytest.mark.cc
Run = Callable[..., Any]
SHOWN_BYTES = 200_000
SENT_BYTES = 1_500_000  # before each reply
REPLIES = 8  # that are preceded by a flood; the others would only take time


@pytest.fixture
def firmware(project, run_deploy):
    """A process of this computer that holds the model of `project`."""
    assert run_deploy("build", project).status == 0
    return project / "build/firmware"


@contextmanager
def started(*argv: object) -> Iterator[str]:
    """The firmware with a line of its own; gives the line's name."""
    with subprocess.Popen([str(word) for word in argv], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().strip()
        finally:
            process.kill()


@pytest.fixture(params=["pty", "tcp"])
def port(request, firmware):
    if request.param == "pty":
        request.getfixturevalue("pseudo_terminals")
        with started(firmware, "--pty") as name:
            yield name
    else:
        with started(firmware, "--tcp", "0") as name:
            yield f"tcp://{name}"


def test_run_takes_firmware_that_runs_already(port, project, inputs, tmp_path, run_deploy):
    words = ("run", project, "--inputs", inputs, "--port", port, "--trace", tmp_path / "trace")
    outcome = run_deploy(*words, "--output", tmp_path / "out.npz")
    assert outcome.status == 0, outcome.err
    assert run_deploy("run", project, "--inputs", inputs, "--output", tmp_path / "own.npz").status == 0
    outputs = [np.load(tmp_path / name)["output_0"] for name in ("out.npz", "own.npz")]
    np.testing.assert_array_equal(*outputs)
    assert "-> hello #1" in (tmp_path / "trace").read_text(encoding="utf-8")


@pytest.mark.usefixtures("pseudo_terminals")
def test_verify_and_bench_take_it_too(model, firmware, run_deploy):
    for words in (("verify", model), ("bench", model)):
        with started(firmware, "--pty") as name:
            outcome = run_deploy(*words, "--board", "host", "--runner", "attach", "--port", name)
            assert outcome.status == 0, outcome.err


@pytest.mark.usefixtures("pseudo_terminals")
def test_firmware_of_ones_own_needs_no_build_here_only_the_same_model(
    model, inputs, tmp_path, run_deploy, monkeypatch
):
    """Built with other options, so that its build id is another; and this computer has no compiler."""
    archive, project = tmp_path / "small.tar", tmp_path / "small"
    words = ("compile", model, "--board", "host", "--optimize", "size", "-o", archive)
    assert run_deploy(*words).status == 0
    assert run_deploy("new", archive, project, "--board", "host").status == 0
    assert run_deploy("build", project).status == 0
    monkeypatch.setenv("PATH", "")
    with started(project / "build/firmware", "--pty") as name:
        own = ("--board", "host", "--inputs", inputs, "--runner", "attach", "--port", name)
        verified, ran = run_deploy("verify", model, *own), run_deploy("run", model, *own)
    assert (verified.status, ran.status) == (0, 0), verified.err + ran.err
    assert "3 samples, outputs equal to the reference in every bit" in verified.out


@pytest.mark.usefixtures("pseudo_terminals")
def test_firmware_of_ones_own_with_another_model_is_refused(firmware, tiny_file, run_deploy):
    other = tiny_file("residual", "tiny_ml.tflite")
    with started(firmware, "--pty") as name:
        words = ("verify", other, "--board", "host", "--runner", "attach", "--port", name)
        outcome = run_deploy(*words)
    assert outcome.status == 1
    assert outcome.err.startswith("error: firmware does not hold the model tiny_ml\n"), outcome.err


@pytest.mark.usefixtures("pseudo_terminals")
def test_firmware_of_other_options_is_another_build(model, firmware, inputs, run_deploy):
    with started(firmware, "--pty") as name:
        words = (
            "run",
            model,
            "--board",
            "host",
            "--rounding",
            "litert-ref",
            "--inputs",
            inputs,
            "--port",
            name,
        )
        outcome = run_deploy(*words)
    assert outcome.status == 1
    build = r'build "tiny-[0-9a-f]{16}", model "tiny" [0-9a-f]{16}\n'
    said = (
        r"error: firmware holds another build of the model tiny\n"
        rf"  /dev/pts/\d+\n  on the board: protocol \d+, {build}  expected: protocol \d+, {build}"
    )
    assert re.match(said, outcome.err)


def deploy_process(*words: object) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "deploy", *map(str, words)]
    return start_in_foreground(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.usefixtures("pseudo_terminals")
def test_a_second_process_is_told_who_has_the_line(firmware, project, inputs, run_deploy):
    with started(firmware, "--pty") as name:
        words = ("run", project, "--inputs", inputs, "--port", name)
        with deploy_process("monitor", project, "--port", name) as holder:
            assert holder.stderr is not None
            assert holder.stderr.readline() == f"{name} is connected; Ctrl-C ends\n"
            second = run_deploy(*words)
            holder.send_signal(signal.SIGINT)
            assert holder.wait(60) == 0
        assert second.status == 1
        assert second.err.startswith(f"error: {name} is in use by process {holder.pid}\n")
        assert run_deploy(*words).status == 0


@pytest.mark.usefixtures("pseudo_terminals")
def test_ctrl_c_in_the_middle_of_runs_leaves_the_device_usable(
    firmware, project, inputs, tmp_path, run_deploy
):
    trace = tmp_path / "trace"
    os.mkfifo(trace)
    with started(firmware, "--pty") as name:
        words = ("run", project, "--inputs", inputs, "--port", name)
        with deploy_process(*words, "--repeat", 100_000, "--trace", trace) as process:
            with trace.open(encoding="utf-8") as packets:
                assert any("-> run" in line for line in packets)
                process.send_signal(signal.SIGINT)
                for _ in packets:  # until it has ended
                    pass
            assert process.wait(60) == 130
        outcome = run_deploy(*words)
    assert outcome.status == 0, outcome.err


def is_running(process: str) -> bool:
    """False of one that has ended, though its parent may not have asked yet how."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


@pytest.mark.parametrize("ends", ["SIGTERM", "SIGHUP"])
def test_a_command_that_is_ended_ends_the_firmware_that_it_started(project, ends, run_deploy):
    assert run_deploy("build", project).status == 0
    with deploy_process("monitor", project) as process:
        assert process.stderr is not None
        assert process.stderr.readline().endswith("is connected; Ctrl-C ends\n")
        children = (
            Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        )
        assert children
        process.send_signal(getattr(signal, ends))
        assert process.wait(60) == 128 + getattr(signal, ends)
    deadline = time.monotonic() + 30  # a signal takes effect when the system comes to it
    while (left := [child for child in children if is_running(child)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert left == []


@pytest.mark.parametrize(
    ("port", "says"),
    [
        ("tcp://127.0.0.1:1", "error: cannot connect to 127.0.0.1:1: Connection refused\n"),
        (
            "tcp://127.0.0.1",
            "error: tcp://127.0.0.1 has no TCP port\n  hint: for example tcp://127.0.0.1:4000",
        ),
        ("tcp://:80", "error: tcp://:80 has no TCP port\n"),
        ("/dev/ttyNONE", "error: cannot open /dev/ttyNONE: the port does not exist\n"),
    ],
)
def test_a_line_that_is_not_there_is_named(port, says, project, inputs, run_deploy):
    outcome = run_deploy("run", project, "--inputs", inputs, "--port", port)
    assert outcome.status == 1
    assert outcome.err.startswith(says)


def log(text: bytes) -> bytes:
    return encode_frame(Packet(Notice.LOG, 0, 0, text).pack())


FLOODS: dict[str, bytes] = {
    "long lines": log(b"x" * 4000),
    "short lines": log(b"x"),
    "commands to the terminal": log(b"\x1b" * 4000),
    "bytes that are no frames": np.random.default_rng(1).integers(1, 256, 4096, np.uint8).tobytes() + b"\0",
    "a frame that does not end": b"\1" * 4096,
}


@contextmanager
def flooded(name: str, flood: bytes) -> Iterator[str]:
    """A line to the firmware on which the flood comes before each of the first replies."""
    host, _, port = name.rpartition(":")
    times = -(-SENT_BYTES // len(flood))

    def pass_on(source: socket.socket, target: socket.socket, first: bytes) -> None:
        left = REPLIES
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data if left <= 0 else first + data)
                left -= 1
            target.shutdown(socket.SHUT_WR)

    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                client, _ = server.accept()
                with client, socket.create_connection((host, int(port))) as device:
                    asking = threading.Thread(target=pass_on, args=(client, device, b""), daemon=True)
                    asking.start()
                    pass_on(device, client, flood * times)
                    asking.join(10)

        threading.Thread(target=serve, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


def shown(project: Path, inputs: Path, flood: bytes, device: Path, run_deploy: Run) -> tuple[int, int]:
    """The status of a run and how much it shows."""
    with started(device, "--tcp", "0") as name, flooded(name, flood) as port:
        outcome = run_deploy("run", project, "--inputs", inputs, "--port", port)
    return outcome.status, len(outcome.out) + len(outcome.err)


def test_what_is_shown_of_a_device_that_sends_endlessly_is_limited(
    firmware, project, inputs, run_deploy, monkeypatch
):
    counts: dict[str, int] = {}
    for name, flood in FLOODS.items():
        status, counts[name] = shown(project, inputs, flood, firmware, run_deploy)
        assert status in (0, 1), name
    assert max(counts.values()) < SHOWN_BYTES, counts
    monkeypatch.setattr(exchange, "LOG_BYTES", 1 << 40)  # the floods would be shown
    assert shown(project, inputs, FLOODS["long lines"], firmware, run_deploy)[1] > SHOWN_BYTES
