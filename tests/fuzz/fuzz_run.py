"""Thousands of damaged model files: each ends soon in C or in a clear error.

`python tests/fuzz/fuzz_run.py [--count N] [--seed N] [--keep FOLDER]` says how they ended; what crashed
or hung the compiler is kept in the folder, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from fuzz_seeds import Seed, seeds
from mutations import mutated

from aot.errors import DeployError
from aot.frontend.load import parse_model
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

DEADLINE_S = 5
MOST_BYTES = 1 << 30
COMPILED, REFUSED, CRASHED, HUNG, GREEDY = "compiled", "refused", "crashed", "hung", "greedy"
GOOD = (COMPILED, REFUSED)


@dataclass(frozen=True)
class Ending:
    seed: Seed
    number: int
    how: str
    why: str = ""


def damaged(seed: Seed, number: int, run: int) -> bytes:
    return mutated(seed.data, np.random.default_rng((run, seed.number, number)))


def try_out(data: bytes, seed: Seed) -> tuple[str, str]:
    try:
        graph = parse_model(data, seed.name, "tflm")
        compile_job(
            Job(ImportedModel(graph, seed.name, "00" * 32, "model"), Target("host"), CompileOptions())
        )
    except DeployError as error:
        return (REFUSED, "") if error.what else (CRASHED, "an error without a word")
    except MemoryError:
        return GREEDY, "more than a gigabyte"
    except Exception:
        return CRASHED, traceback.format_exc()
    return COMPILED, ""


def endings(jobs: Sequence[tuple[Seed, int]], run: int) -> Iterator[Ending]:
    """How each ended; the jobs run in a process of their own, which is started again after one that hung."""
    begun = 0
    while begun < len(jobs):
        here, there = multiprocessing.Pipe(duplex=False)
        worker = multiprocessing.get_context("fork").Process(target=_work, args=(jobs[begun:], run, there))
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

    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    for seed, number in jobs:
        signal.setitimer(signal.ITIMER_PROF, DEADLINE_S)  # of computing; nobody catches it: the process ends
        results.send(try_out(damaged(seed, number, run), seed))
    signal.setitimer(signal.ITIMER_PROF, 0)


def run_fuzz(of: Sequence[Seed], count: int, run: int) -> Iterable[Ending]:
    """`count` damaged files in all, the seeds in turn."""
    return endings([(of[i % len(of)], i // len(of)) for i in range(count)], run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"))
    options = parser.parse_args()
    shared = Path(__file__).resolve().parents[3] / "shared"
    bad = 0
    counts: Counter[str] = Counter()
    for ending in run_fuzz(seeds(shared), options.count, options.seed):
        counts[ending.how] += 1
        if ending.how not in GOOD:
            bad += 1
            options.keep.mkdir(parents=True, exist_ok=True)
            path = options.keep / f"{bad}_{Path(ending.seed.name).name}"
            path.write_bytes(damaged(ending.seed, ending.number, options.seed))
            sys.stdout.write(f"{ending.how} {path} ({ending.seed.name} {ending.number})\n{ending.why}\n")
        if sum(counts.values()) % 1000 == 0:
            sys.stdout.write(f"{dict(counts)}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{sum(counts.values())} damaged files: {dict(counts)}\n")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
