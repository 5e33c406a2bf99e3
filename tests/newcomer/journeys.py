"""The first hour of three newcomers, step by step: what they type, and what must stand in the answer.

The model is the one that comes with Solder; everything else is made on the way, in an empty folder. All that
is printed is plain ASCII, since nobody says how their terminal is set up. It fits a
terminal of 80 columns, except what is marked as wide.
"""

import contextlib
import os
import re
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

WIDTH, HEIGHT = 80, 24
TERMINAL = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "TERM": "dumb"}
COPIED = ("digits.tflite", "digits_test.npz", "digits_labels.npy")


@dataclass(frozen=True)
class Step:
    """A command line, its exit status, and patterns that its answer must hold, in this order."""

    words: tuple[str, ...]
    says: tuple[str, ...] = ()
    status: int = 0
    makes: tuple[str, ...] = ()  # files that must be there afterwards
    is_wide: bool = False  # wider than 80 columns: what a program of their own prints


def deploy(line: str, *says: str, status: int = 0, makes: Sequence[str] = ()) -> Step:
    return Step(("deploy", *line.split()), says, status, tuple(makes))


def copy() -> Step:
    return Step(("python", "-m", "deploy.demo", "--copy"), ("^copied digits.tflite",), makes=COPIED)


def program(text: str, *says: str, is_wide: bool = False) -> Step:
    return Step(("python", "-c", text), says, is_wide=is_wide)


_NOTEBOOK = """
import numpy as np, solder
images, labels = np.load("digits_test.npz"), np.load("digits_labels.npy")
compiled = solder.compile("digits.tflite", board="host")
print(repr(compiled))
result = solder.run(compiled, {name: images[name][:20] for name in images})
(scores,) = result.outputs.values()
print("right", int((scores.argmax(axis=-1).reshape(-1) == labels[:20].reshape(-1)).sum()), "of 20")
print(solder.in_process("digits.tflite").run({name: images[name][0] for name in images}))
"""
_MISTAKEN = """
import numpy as np, solder
try:
    solder.run("digits.tflite", np.zeros((8, 9)), board="host")
except solder.DeployError as error:
    print(error)
"""

JOURNEYS: Mapping[str, tuple[Step, ...]] = {
    "an embedded engineer": (
        copy(),
        deploy("--version", r"^deploy \d"),
        deploy("doctor", "^Solder .* on Python", "compiler +gcc for host", "^ready:.*host"),
        deploy("inspect digits.tflite --target cortex-m4", "^RAM", "^flash", "^peak"),
        deploy(
            "inspect digits.tflte --target cortex-m4",
            r"error\[E\d+\]: the model file does not exist - did you mean \"digits.tflite\"\?",
            status=1,
        ),
        deploy("compil digits.tflite", 'did you mean "compile"', status=2),
        deploy(
            "compile digits.tflite --target cortex-m4+fpu,ram=64K,flash=256K -o for_m4",
            "arena .* bytes",
            makes=("for_m4/digits.h", "for_m4/digits.c", "for_m4/CMakeLists.txt", "for_m4/README.md"),
        ),
        deploy(
            "compile digits.tflite --target cortex-m4 --ram 100 -o no",
            r"\d+ bytes.* --ram 100",
            "hint: --ram .* is enough",
            status=1,
        ),
        deploy("compile digits.tflite --board host -o here", "arena", makes=("here/test_digits.c",)),
        Step(("sh", "-c", "cc -std=c99 -O2 here/*.c -lm -o test && ./test"), ("^digits: right",)),
        deploy("compile digits.tflite --board host -o digits.tar", makes=("digits.tar",)),
        deploy("new digits.tar app --board host", "app", makes=("app/Makefile", "app/README.md")),
        deploy("run digits.tflite --board host --fill random --print-top 3", "1 sample", "time, ms"),
        deploy("cache", "^kept +size +unused for", "^[1-9].* folders, .*iB in"),
    ),
    "a data scientist": (
        copy(),
        program(_NOTEBOOK, "^<digits for host: .* bytes of arena", "^right (19|20) of 20", "array"),
        program(
            _MISTAKEN,
            "^error.*: .* the model needs int8",
            r"hint: use --quantize \(quantize=True in Python\), or np\.clip",
            is_wide=True,
        ),
        deploy(
            "verify digits.tflite --board host --inputs digits_test.npz --labels digits_labels.npy",
            "equal to the reference in every bit",
            "^accuracy +9[0-9]",
        ),
        deploy("ops Gemm", "^ONNX Gemm", "dense"),
        deploy("ops Gem", 'did you mean "Gemm"', status=1),
        deploy("docs", "^page +about", "^exporting +Export and quantize a model"),
        deploy("docs exporting", "Export and quantize a model", "keras.layers.Conv2D"),
    ),
    "somebody from TVM": (
        copy(),
        Step(
            ("deploy", "compile", "digits.tflite", "--target=-mcpu=cortex-m33 -mattr=+dsp", "-o", "mlf.tar"),
            ("arena",),
            makes=("mlf.tar",),
        ),
        program(
            "import json, tarfile; f = tarfile.open('mlf.tar').extractfile('./metadata.json');"
            " print('format', json.load(f)['version'])",
            "^format 7",
        ),
        deploy("docs from-tvm", "TVM", r"^[|+]-"),
        deploy("tune digits.tflite --board host --list", "task"),
        deploy("inspect digits.tflite --target cortex-m33 --explain all", "fold-constants"),
        program("from solder import lang; print(lang.schedule.__name__)", "schedule"),
    ),
}


@dataclass(frozen=True)
class Environment:
    """Where the steps are taken: an empty folder, and the programs called python and deploy."""

    folder: Path
    programs: Mapping[str, Sequence[str]]
    variables: Mapping[str, str]

    def fault_of(self, step: Step) -> str:
        """What is wrong with a step's answer; nothing where all is as it must be."""
        first, *others = step.words
        argv = [*self.programs.get(first, (first,)), *others]
        answer, status = _typed(argv, self.folder, self._variables())
        faults = [*_faults(step, answer, status), *self._missing(step)]
        return "\n".join([f"$ {' '.join(step.words)}", *faults, answer]) if faults else ""

    def _variables(self) -> dict[str, str]:
        """The environment; the terminal itself says how wide it is."""
        kept = {name: value for name, value in self.variables.items() if name != "COLUMNS"}
        return {**kept, **TERMINAL}

    def _missing(self, step: Step) -> list[str]:
        return [f"{name} was not made" for name in step.makes if not (self.folder / name).exists()]


def _typed(argv: Sequence[str], folder: Path, variables: Mapping[str, str]) -> tuple[str, int]:
    """What a program prints on a terminal, and its exit status."""
    import fcntl  # Windows has none of these
    import pty
    import termios

    screen, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    with subprocess.Popen(
        argv, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=end, stderr=end
    ) as running:
        os.close(end)
        answer = b"".join(_read(screen))
    os.close(screen)
    return answer.decode("utf-8").replace("\r\n", "\n"), running.returncode


def _read(screen: int) -> Iterator[bytes]:
    """Reads until the last program that has the terminal open ends, which Linux tells as an error."""
    with contextlib.suppress(OSError):
        while block := os.read(screen, 65536):
            yield block


def _faults(step: Step, answer: str, status: int) -> list[str]:
    faults = [] if status == step.status else [f"exit status {status}, not {step.status}"]
    rest = answer
    for pattern in step.says:
        found = re.search(pattern, rest, re.MULTILINE)
        faults += [] if found else [f"/{pattern}/ is not said"]
        rest = rest[found.end() :] if found else rest
    long = [line for line in answer.splitlines() if len(line) > WIDTH and not step.is_wide]
    faults += [f"{len(line)} columns: {line}" for line in long[:3]]
    return faults if answer.isascii() else [*faults, "not all is ASCII"]
