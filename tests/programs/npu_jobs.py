"""Jobs for the model of Ethos-U: command streams written by hand, run by the model under the sanitizers."""

import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from c_checks import DEVICE, SANITIZERS, WARNINGS

MODEL = Path(__file__).resolve().parents[2] / "extensions/ethos_u/model"
SHARED_RAM_KB = {5: 16, 6: 16, 7: 24, 8: 48}  # by the logarithm of the MACs in a cycle


class Status(IntEnum):
    OK = 0
    BAD_PAYLOAD = 1
    OTHER_CONFIGURATION = 2
    UNKNOWN_COMMAND = 3
    NO_STOP = 4
    OUT_OF_REGION = 5
    READ_ONLY = 6
    BAD_REGISTER = 7
    NOT_MODELLED = 8
    BAD_WEIGHTS = 9
    NO_ROOM_FOR_WEIGHTS = 10
    TOO_MANY_STEPS = 11


@dataclass(frozen=True)
class Region:
    content: bytes
    is_writable: bool = True


@dataclass(frozen=True)
class NpuJob:
    payload: bytes
    regions: Mapping[int, Region]
    weights_count: int = 1 << 20
    most_steps: int = 0


@dataclass(frozen=True)
class NpuOutcome:
    status: Status
    position: int
    code: int
    regions: Mapping[int, bytes] = field(default_factory=dict)  # those that can be written


def payload(words: Sequence[int], macs_log2: int = 7) -> bytes:
    """Commands as Vela hands them to a driver."""
    config = (SHARED_RAM_KB[macs_log2] << 8) | macs_log2
    head = [0x31504F43, 1, config, 0x10600000, 5, 5, 5, 2 | (len(words) & 0xFFFF) << 16]
    return struct.pack(f"<{len(head) + len(words)}I", *head, *words)


def short(code: int, value: int = 0) -> list[int]:
    """A command without payload: a register of 16 bits, or an operation."""
    return [code | (value & 0xFFFF) << 16]


def long(code: int, value: int) -> list[int]:
    """A command with payload: a register of 48 bits."""
    return [code | 0x4000 | (value >> 32 & 0xFFFF) << 16, value & 0xFFFFFFFF]


STOP = [0xFFFF0000]


def build_runner(folder: Path, compiler: str = "gcc") -> Path:
    """The program that runs jobs, with all that sanitizers can find."""
    sources = [*sorted(MODEL.glob("*.c")), DEVICE / "npu_jobs.c"]
    runner = folder / "npu_jobs"
    argv = [
        compiler,
        *WARNINGS,
        "-O1",
        "-g1",
        *SANITIZERS,
        f"-I{MODEL}",
        *map(str, sources),
        "-o",
        str(runner),
    ]
    built = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return runner


def run_jobs(runner: Path, jobs: Sequence[NpuJob]) -> list[NpuOutcome]:
    """What each job gives. A finding of a sanitizer fails with its report."""
    request = struct.pack("<I", len(jobs)) + b"".join(map(_packed, jobs))
    ran = subprocess.run([str(runner)], input=request, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode(errors="replace")
    outcomes, at = [], 0
    for job in jobs:
        status, position, code = struct.unpack_from("<III", ran.stdout, at)
        at += 12
        regions = {}
        for number in sorted(number for number, region in job.regions.items() if region.is_writable):
            size = len(job.regions[number].content)
            regions[number] = ran.stdout[at : at + size]
            at += size
        outcomes.append(NpuOutcome(Status(status), position, code, regions))
    assert at == len(ran.stdout)
    return outcomes


def _packed(job: NpuJob) -> bytes:
    parts = [struct.pack("<III", job.weights_count, job.most_steps, len(job.payload)), job.payload]
    parts.append(struct.pack("<I", len(job.regions)))
    for number, region in job.regions.items():
        parts += [struct.pack("<III", number, region.is_writable, len(region.content)), region.content]
    return b"".join(parts)
