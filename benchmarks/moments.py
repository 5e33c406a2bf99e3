"""Commands that are disturbed at random moments: what they leave behind, and whether they work again."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import deploy
from aot.errors import DeployError
from artifact.archive import read_archive
from codegen.kernels.tuning_records import read_records

MODEL = str(Path(deploy.__file__).parent / "demo" / "digits.tflite")
COUNT = 200
_TIMEOUT_S = 900.0  # on a machine that does other things besides
_ENDS_WITHIN_S = 20.0  # an emulator whose program was killed
_MARK = "SOLDER_MOMENT"  # in the environment of all that a moment starts
_COLUMNS = (
    "what happens", "moments", "went through", "refused, in words", "killed", "hang", "tracebacks",
    "half-written", "programs left", "fail again",
)  # fmt: skip
HEAD = f"""\
# Commands disturbed at random moments

`python -m benchmarks moments` disturbs commands about the bundled model: compiling, running on a device of
this computer and on an emulated Cortex-M4, tuning. It kills them, limits file sizes like a full disk, makes
the cache read-only, lets the clock jump by years, or runs two of them on one cache. Then the command runs
again as usual. The number of a moment determines the disturbance and its time within the command. A command
hangs if it needs longer than {_TIMEOUT_S / 60:.0f} minutes; a file is half-written if it exists and cannot
be read; a program is left if it still runs {_ENDS_WITHIN_S:.0f} s later.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


@dataclass(frozen=True, slots=True)
class Command:
    """Words of the command line; `out` is a file that it writes into its folder, and `read` reads it."""

    words: tuple[str, ...]
    typical_s: float
    out: str = ""
    read: Callable[[Path], object] = lambda path: None


COMMANDS = (
    Command(("compile", MODEL, "--board", "mps2-an386", "-o", "digits.tar"), 2.5, "digits.tar", read_archive),
    Command(("run", MODEL, "--board", "host", "--fill", "zeros"), 5.0),
    Command(("run", MODEL, "--board", "mps2-an386", "--fill", "zeros"), 6.0),
    Command(
        ("tune", MODEL, "--board", "host", "--trials", "3", "-o", "tuned.jsonl"),
        8.0,
        "tuned.jsonl",
        read_records,
    ),
)


@dataclass
class Tally:
    """What was seen of all moments of a kind."""

    moments: int = 0
    through: int = 0
    refused: int = 0
    killed: int = 0
    hang: int = 0
    tracebacks: int = 0
    half_written: int = 0
    left: int = 0
    fail_again: int = 0


@dataclass
class Moment:
    """A command in a folder of its own, with what makes its circumstances unusual."""

    command: Command
    folder: Path
    chance: random.Random
    environment: dict[str, str] = field(default_factory=dict)

    def start(self, prepare: Callable[[], None] | None = None) -> subprocess.Popen[str]:
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"), **self.environment}
        return subprocess.Popen(
            (sys.executable, "-m", "deploy", *self.command.words),
            cwd=self.folder,
            env={**environment, _MARK: str(self.folder), "PYTHONPATH": _path_of(environment)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=prepare,  # this process has one thread
        )


def _path_of(environment: Mapping[str, str]) -> str:
    """The tree goes first behind what a moment puts there, since commands run in folders of their own."""
    tree = str(Path(deploy.__file__).parents[1])
    return os.pathsep.join(part for part in (environment.get("FIRST_ON_PATH", ""), tree) if part)


def kill(moment: Moment) -> list[subprocess.Popen[str]]:
    """The command alone: what it has started must notice."""
    process = moment.start()
    time.sleep(moment.chance.random() * moment.command.typical_s)
    process.kill()
    return [process]


def fill_disk(moment: Moment) -> list[subprocess.Popen[str]]:
    """Files end where the disk does."""
    import resource  # which Windows has not

    most = int(2 ** moment.chance.uniform(0, 20))

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return [moment.start(limit)]


def close_cache(moment: Moment) -> list[subprocess.Popen[str]]:
    """A file stands where the folder should be, which stops root, too."""
    (moment.folder / "closed").write_text("")
    moment.environment["XDG_CACHE_HOME"] = str(moment.folder / "closed" / "cache")
    return [moment.start()]


_JUMP = """\
import time
_now, _left = time.time, [{calls}]
def _jumped():
    _left[0] -= 1
    return _now() + ({seconds} if _left[0] < 0 else 0)
time.time = _jumped
"""


def jump_clock(moment: Moment) -> list[subprocess.Popen[str]]:
    """The clock of the day jumps by up to ten years, at a random one of its first readings."""
    seconds = moment.chance.uniform(-3e8, 3e8)
    (moment.folder / "first").mkdir()
    text = _JUMP.format(calls=moment.chance.randrange(20), seconds=seconds)
    (moment.folder / "first" / "sitecustomize.py").write_text(text)
    moment.environment["FIRST_ON_PATH"] = str(moment.folder / "first")
    return [moment.start()]


def run_two(moment: Moment) -> list[subprocess.Popen[str]]:
    first = moment.start()
    time.sleep(moment.chance.random() * moment.command.typical_s / 2)
    return [first, moment.start()]


KINDS: Mapping[str, Callable[[Moment], list[subprocess.Popen[str]]]] = {
    "kill -9": kill,
    "full disk": fill_disk,
    "cache that cannot be written": close_cache,
    "clock that jumps": jump_clock,
    "two processes": run_two,
}


def moment_rows(count: int = COUNT) -> Iterator[str]:
    """The rows, when all is done or Ctrl-C ends it."""
    tallies = {kind: Tally() for kind in KINDS}
    with suppress(KeyboardInterrupt):
        for number in range(count):
            kind = list(KINDS)[number % len(KINDS)]
            _disturb(kind, number, tallies[kind])
    for kind, tally in tallies.items():
        yield f"| {kind} | {' | '.join(str(each) for each in vars(tally).values())} |\n"


def _disturb(kind: str, number: int, tally: Tally) -> None:
    chance = random.Random(number)
    command = COMMANDS[(number // len(KINDS)) % len(COMMANDS)]
    with tempfile.TemporaryDirectory() as name:
        moment = Moment(command, Path(name), chance)
        for process in KINDS[kind](moment):
            said = _said_at_the_end(process)
            if said is None:
                tally.hang += 1
                _tell(kind, number, command, "hangs")
                continue
            tally.through += process.returncode == 0
            tally.killed += process.returncode == -signal.SIGKILL
            tally.refused += process.returncode == 1 and "error" in said and "Traceback" not in said
            if "Traceback" in said:
                tally.tracebacks += 1
                _tell(kind, number, command, said)
        tally.moments += 1
        tally.left += _programs_left(name)
        tally.half_written += not _is_whole(moment)
        again = Moment(command, Path(name), chance).start()
        said = _said_at_the_end(again)
        if again.returncode != 0:
            tally.fail_again += 1
            _tell(kind, number, command, f"again: {said or 'hangs'}")


def _said_at_the_end(process: subprocess.Popen[str]) -> str | None:
    """Its errors; None where it does not end by itself, and is killed."""
    try:
        return process.communicate(timeout=_TIMEOUT_S)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def _tell(kind: str, number: int, command: Command, text: str) -> None:
    sys.stderr.write(f"{kind}, moment {number}, {command.words[0]} {command.words[3]}: {text}\n")


def _is_whole(moment: Moment) -> bool:
    path = moment.folder / moment.command.out
    if not moment.command.out or not path.is_file() or path.stat().st_size == 0:
        return True
    try:
        moment.command.read(path)
    except DeployError as error:
        sys.stderr.write(f"{moment.command.words}: {error}\n")
        return False
    return True


def _programs_left(folder: str) -> int:
    deadline_s = time.monotonic() + _ENDS_WITHIN_S
    while left := _marked(folder):
        if time.monotonic() > deadline_s:
            sys.stderr.write(f"left: {left}\n")
            return len(left)
        time.sleep(0.2)
    return 0


def _marked(folder: str) -> list[int]:
    """The processes that a moment started, by their environment."""
    mark, found = f"{_MARK}={folder}\0".encode(), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in path.read_bytes():
                found.append(int(path.parent.name))
    return found
