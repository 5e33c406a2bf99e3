"""The real device runtime in C, compiled for this machine, with models made for tests."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from platforms.rpc.deadlines import Deadlines
from platforms.rpc.frame import Decoder, Packet
from platforms.rpc.protocol import Notice
from platforms.rpc.session import Session
from platforms.transport.base import Transport
from platforms.transport.pipe import PipeTransport

DEVICE = Path(__file__).parent / "device"
# Short waits between repetitions, long deadlines: a slow machine delays a test and does not fail it.
PATIENT = Deadlines(hello_s=30, answer_s=30, run_s=30, retry_s=0.03, retry_most_s=0.2)

FLAGS = ("-std=c99", "-g", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-DSOLDER_LAYER_HOOK")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.fixture(scope="session")
def compile_c(repo_root, require_tool, tmp_path_factory):
    """compile_c(name, sources, *defines): those sources with the device runtime, under the sanitizers."""
    require_tool("gcc")
    runtime = repo_root / "project_templates" / "common"
    folder = tmp_path_factory.mktemp("device")

    def build(name: str, sources: Sequence[Path], *defines: str) -> Path:
        """Each file by itself: ccache keeps single objects."""
        objects = folder / f"{name}.objects"
        objects.mkdir(exist_ok=True)
        flags = [*FLAGS, *defines, *SANITIZERS, f"-I{runtime}"]
        made = {source: objects / f"{source.stem}.o" for source in (*sources, *sorted(runtime.glob("*.c")))}
        for source, its_object in made.items():
            subprocess.run(["gcc", *flags, "-c", source, "-o", its_object], check=True)
        subprocess.run(["gcc", *SANITIZERS, *made.values(), "-o", folder / name], check=True)
        return folder / name

    return build


@pytest.fixture(scope="session")
def device(compile_c):
    """The test firmware: device/port.c and device/models.c."""
    return compile_c(
        "device",
        [DEVICE / "port.c", DEVICE / "models.c", DEVICE / "functions.c"],
        "-DSOLDER_RATE",
        "-DSOLDER_FUNCTIONS",
        "-DSOLDER_OBSERVED",
        "-DSOLDER_STATES",
        "-DSOLDER_INPUT_ADDRESS",
    )


def await_boot(line: Transport) -> None:
    """Until the device has said that it has started: how long that takes is the machine's business."""
    decoder = Decoder()
    while received := line.read(4096, PATIENT.hello_s):
        frames = [Packet.unpack(item) for item in decoder.feed(received) if isinstance(item, bytes)]
        if any(frame.kind == Notice.BOOTED for frame in frames):
            return
    pytest.fail(f"the test device did not start within {PATIENT.hello_s:g} s")


@pytest.fixture
def connect(device):
    """connect(wrap=..., environment=...): a new device, started already if is_awake, and a session."""
    sessions: list[Session] = []

    def open_session(
        wrap: Callable[[Transport], Transport] = lambda line: line,
        environment: dict[str, str] | None = None,
        deadlines: Deadlines = PATIENT,
        on_log: Callable[[str], None] = lambda line: None,
        is_awake: bool = False,
    ) -> Session:
        line = PipeTransport([str(device)], environment=environment or {})
        sessions.append(Session(wrap(line), deadlines, on_log=on_log))
        if is_awake:
            await_boot(line)
        return sessions[-1]

    yield open_session
    for session in sessions:
        session.close()


@pytest.fixture
def session(connect):
    """With a new device, which has been greeted."""
    opened = connect()
    opened.hello()
    return opened
