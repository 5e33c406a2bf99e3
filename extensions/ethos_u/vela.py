"""Runs Vela, Arm's compiler for Ethos-U, on a TFLite file.

Vela runs in a separate process, so that a crash, output or endless loop cannot affect the user's program.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.distribution import pip_install
from aot.errors import ToolError
from aot.ir.graph import Node
from aot.trust import module_argv
from extensions.ethos_u.configurations import NpuConfig

DEADLINE_S = 300.0
_MOST_LINES = 6  # of Vela's output in an error
_REFUSED = re.compile(
    r"^Warning \(supported operators\) operator: (?P<code>\w+), ofm: '(?P<tensor>.*)'\nReason: (?P<why>.*)$",
    re.MULTILINE,
)
_EXCEPTION = re.compile(r"\w+(Error|Exception)\b.*: ")


@dataclass(frozen=True)
class VelaRun:
    files: Mapping[str, bytes]  # written by Vela, by suffix
    said: str
    status: int

    @property
    def gave_up(self) -> bool:
        """Returns True if Vela rejected the file as unsupported; False if Vela itself failed."""
        return "Compilation failed" in self.said


@dataclass(frozen=True)
class Refusal:
    """An operator that Vela leaves to the CPU."""

    code: str
    tensor: str  # its result
    why: str


def run_vela(model: bytes, config: NpuConfig, nodes: str) -> VelaRun:
    """Returns the files that Vela makes of these nodes. Raises ToolError if it is missing or times out."""
    if find_spec("ethosu") is None:
        raise ToolError(
            f"the accelerator ethos-u needs Vela for {nodes}, and it is not installed",
            "",
            pip_install("ethosu"),
        )
    try:
        return _ran(model, config)
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"ethos-u: Vela did not finish within {DEADLINE_S:.0f} s with {nodes}", f"for {config.vela}"
        ) from None


@lru_cache(maxsize=64)
def _ran(model: bytes, config: NpuConfig) -> VelaRun:
    with TemporaryDirectory(prefix="vela") as folder:
        source, made = Path(folder, "region.tflite"), Path(folder, "made")
        source.write_bytes(model)
        ran = subprocess.run(
            vela_argv(str(source), str(made), config),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=DEADLINE_S,
        )
        written = made.iterdir() if made.is_dir() else ()
        files = {path.name.removeprefix("region_"): path.read_bytes() for path in written}
    return VelaRun(files, ran.stdout + ran.stderr, ran.returncode)


def vela_argv(source: str, made: str, config: NpuConfig) -> list[str]:
    """Returns the command line. Activations are in one memory, constants in another."""
    return [
        *module_argv("ethosu.vela"),
        f"--accelerator-config={config.vela}",
        f"--system-config={config.system}",
        "--memory-mode=Shared_Sram",
        "--output-format=raw",
        f"--output-dir={made}",
        source,
    ]


def refusals(run: VelaRun) -> tuple[Refusal, ...]:
    """Returns the operators that Vela left to the CPU."""
    found = _REFUSED.finditer(run.said)
    return tuple(Refusal(match["code"], match["tensor"], match["why"]) for match in found)


def reason_of(run: VelaRun) -> str:
    """Returns the line that describes the failure, or the last line."""
    lines = _last_lines(run)
    return lines[0].removeprefix("RuntimeError: ") if lines else "it printed nothing"


def _last_lines(run: VelaRun) -> list[str]:
    """Returns the exception and the following lines, or the last line if there is no exception."""
    lines = [line.rstrip() for line in run.said.splitlines() if line.strip()]
    raised = [number for number, line in enumerate(lines) if _EXCEPTION.match(line)]
    return lines[raised[-1] :][:_MOST_LINES] if raised else lines[-1:]


def named(nodes: Sequence[Node]) -> str:
    """Returns the nodes for an error text: the only one, or the first and the last."""
    names = [f'"{node.name}"' for node in nodes]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def failure(run: VelaRun, what: str, config: NpuConfig) -> ToolError:
    """Returns the error for a run without a result, with the end of Vela's output."""
    where = "\n".join([f"for {config.vela}, exit status {run.status}", *_last_lines(run)])
    return ToolError(what, where, "check the version: python -m ethosu.vela --version; 5.2 works")
