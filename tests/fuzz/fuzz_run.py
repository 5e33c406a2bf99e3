"""Thousands of damaged files of each kind that people are handed: each is soon read, or clearly refused.

`python tests/fuzz/fuzz_run.py [--count N] [--seed N] [--kind KIND] [--keep FOLDER]` says how they ended;
what crashed or hung is kept in the folder, and the exit status is 1. The same words give the same files.
"""

import argparse
import multiprocessing
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from fuzz_kinds import KINDS

from aot.errors import DeployError

IN_MEMORY = Path("/dev/shm")
DEADLINE_S = 5
MOST_BYTES = 1 << 30
READ, REFUSED, CRASHED, HUNG, GREEDY = "read", "refused", "crashed", "hung", "greedy"
GOOD = (READ, REFUSED)


@dataclass(frozen=True)
class Seed:
    """A whole file; the number makes its damages other than those of the files before it."""

    kind: str
    number: int
    name: str
    data: bytes


@dataclass(frozen=True)
class Ending:
    seed: Seed
    number: int
    how: str
    why: str = ""


def seeds(shared: Path, kinds: Iterable[str] = KINDS) -> dict[str, list[Seed]]:
    """By kind, in a fixed order."""
    return {
        kind: [Seed(kind, number, *file) for number, file in enumerate(KINDS[kind].seeds(shared))]
        for kind in kinds
    }


def damaged(seed: Seed, number: int, run: int) -> bytes:
    return KINDS[seed.kind].damage(seed.data, np.random.default_rng((run, seed.number, number)))


def try_out(data: bytes, seed: Seed, folder: Path) -> tuple[str, str]:
    try:
        KINDS[seed.kind].read(data, seed.name, folder)
    except DeployError as error:
        return (REFUSED, "") if error.what else (CRASHED, "an error without a word")
    except MemoryError:
        return GREEDY, "more than a gigabyte"
    except Exception:
        return CRASHED, traceback.format_exc()
    return READ, ""


def endings(jobs: Sequence[tuple[Seed, int]], run: int) -> Iterator[Ending]:
    """How each ended; the jobs run in a process of their own, which is started again after one that hung."""
    begun = 0
    while begun < len(jobs):
        here, there = multiprocessing.Pipe(duplex=False)
        worker = multiprocessing.get_context("fork").Process(
            target=_work, args=(jobs[begun:], run, there), daemon=True
        )
        worker.start()
        there.close()
        for how, why in _received(here):
            yield Ending(*jobs[begun], how, why)
            begun += 1
        worker.join()
        if begun < len(jobs):
            yield Ending(*jobs[begun], HUNG, f"exit status {worker.exitcode}")
            begun += 1


def _received(pipe: Connection) -> Iterator[tuple[str, str]]:
    while True:
        try:
            yield pipe.recv()
        except EOFError:
            return


def _work(jobs: Sequence[tuple[Seed, int]], run: int, results: Connection) -> None:
    import resource  # which Windows has not

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the process that has the counts
    most = _held_bytes() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    with TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as folder:
        for seed, number in jobs:
            signal.setitimer(
                signal.ITIMER_PROF, DEADLINE_S
            )  # of computing; nobody catches it: the process ends
            results.send(try_out(damaged(seed, number, run), seed, Path(folder)))
        signal.setitimer(signal.ITIMER_PROF, 0)


def _held_bytes() -> int:
    """What this process had when it began: tests before have kept some. 0 where Linux does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.is_file() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:")), 0)


def run_fuzz(of: Mapping[str, Sequence[Seed]], count: int, run: int) -> Iterator[Ending]:
    """About `count` damaged files in all, each kind its share of them; of each kind the seeds in turn."""
    shares = sum(KINDS[kind].share for kind in of)
    for kind, those in of.items():
        those_of_it = range(count * KINDS[kind].share // shares)
        yield from endings([(those[i % len(those)], i // len(those)) for i in those_of_it], run)


HEAD = "| kind of file | damaged | read | refused | crashed | hung | more than a gigabyte |"
RULE = f"|---|{6 * '---:|'}"


def told(kind: str, counts: Counter[str]) -> str:
    cells = (counts.total(), *(counts[how] for how in (READ, REFUSED, CRASHED, HUNG, GREEDY)))
    return f"| {kind} | {' | '.join(f'{cell:,}' for cell in cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--kind", choices=KINDS, action="append", help="only these")
    options = parser.parse_args()
    shared = Path(__file__).resolve().parents[3] / "shared"
    of = seeds(shared, options.kind or KINDS)
    found: dict[str, Counter[str]] = {}
    with suppress(KeyboardInterrupt):  # Ctrl-C ends it, and what was done is shown
        for ending in run_fuzz(of, options.count, options.seed):
            found.setdefault(ending.seed.kind, Counter())[ending.how] += 1
            if ending.how not in GOOD:
                say(f"{ending.how}: {_kept(ending, options)}\n{ending.why}")
    say("\n".join([HEAD, RULE, *(told(kind, counts) for kind, counts in found.items())]))
    sys.exit(any(counts[how] for counts in found.values() for how in (CRASHED, HUNG, GREEDY)))


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _kept(ending: Ending, options: argparse.Namespace) -> Path:
    """The damaged file, written to where it is kept."""
    name = f"{ending.seed.kind}_{ending.seed.number}_{ending.number}_{Path(ending.seed.name).name}"
    options.keep.mkdir(parents=True, exist_ok=True)
    path: Path = options.keep / name.replace(" ", "_")
    path.write_bytes(damaged(ending.seed, ending.number, options.seed))
    return path


if __name__ == "__main__":
    main()
