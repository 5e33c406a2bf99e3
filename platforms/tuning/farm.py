"""A farm of boards on Dask distributed. Boards are resources of workers; candidates go to any free one.

Dask distributes jobs and repeats those of workers that died. A job that crashes several workers is given up,
which loses only its trials.

Anyone who reaches a scheduler can run code on its workers, so each connection requires the farm's
certificate.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from aot.errors import BoardError, DeviceError
from boards.board import Board
from platforms.runners.runner import BoardSelector
from platforms.tuning import farm_jobs
from platforms.tuning.candidates import batch_of
from platforms.tuning.farm_credentials import ENCRYPTED, credentials, made_credentials, require_dask
from platforms.tuning.tasks import Experiment, Task
from platforms.tuning.trial import Candidate, Failure, MeasureChoices, Outcome, halved

_LEAST_IN_A_JOB = 4  # candidates; starting the board is not worthwhile for fewer
_RETRIES = 3  # for a job whose board did not start, on any free board
_CONNECT_S = 10.0
_ONLY_FATAL = 50  # a logging level
# Dask always serves pages over unencrypted HTTP. Remove them, and bind to this machine only.
_NO_PAGES = "127.0.0.1:0"
_NO_ROUTES: dict[str, list[str]] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


def resource_of(board: str) -> str:
    """Returns the name of the Dask resource for this kind of board; each worker has one."""
    return f"board:{board}"


class FarmBench:
    """A bench with several boards of one kind, on any machine."""

    def __init__(self, board: Board, address: str, choices: MeasureChoices) -> None:
        self.board, self.choices = board, choices
        self._client = farm_client(address)
        self._require_board(address)
        self._require_same_code(address)

    @property
    def boards(self) -> int:
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return sum(int(w["resources"].get(resource_of(self.board.name), 0)) for w in workers)

    def measure(self, task: Task, experiment: Experiment, candidates: Sequence[Candidate]) -> list[Outcome]:
        begun = time.perf_counter()
        size = max(_LEAST_IN_A_JOB, -(-len(candidates) // max(1, self.boards)))
        parts = [candidates[n : n + size] for n in range(0, len(candidates), size)]
        jobs = [self._submit(task, experiment, part) for part in parts]
        outcomes = [
            o for part, job in zip(parts, jobs, strict=True) for o in self._taken(task, experiment, part, job)
        ]
        share = (time.perf_counter() - begun) / max(1, len(candidates))
        return [replace(outcome, seconds=share) for outcome in outcomes]

    def close(self) -> None:
        self._client.close()

    def _submit(self, task: Task, experiment: Experiment, part: Sequence[Candidate]) -> Any:
        batch = batch_of(task, experiment, [c.kernel for c in part], self.choices, 1)
        name, submit = self.board.name, self._client.submit
        program = submit(farm_jobs.build, name, batch, self.choices, pure=False)
        wanted = {resource_of(name): 1}
        return submit(
            farm_jobs.measure,
            *(name, program, batch, self.choices),
            pure=False,
            resources=wanted,
            retries=_RETRIES,
        )

    def _taken(
        self, task: Task, experiment: Experiment, part: Sequence[Candidate], job: Any
    ) -> list[Outcome]:
        """Collects a job's outcomes. Raises DeviceError if no board starts."""
        from distributed import KilledWorker

        try:
            result = job.result()
        except KilledWorker:
            return [Outcome(failure=Failure.CRASH, detail="it crashed its workers")] * len(part)
        if isinstance(result, str):
            return halved(part, result, lambda some: self.measure(task, experiment, some))
        outcomes: list[Outcome] = result
        return outcomes

    def _require_board(self, address: str) -> None:
        """Raises BoardError if the farm lacks the board; its jobs would wait forever."""
        if self.boards:
            return
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        has = sorted({name for w in workers for name in w["resources"]})
        self.close()
        raise BoardError(
            f'the farm has no board "{self.board.name}"',
            f"{address} has {', '.join(has) or 'no boards'}",
            f"run deploy farm start --board {self.board.name} on a machine with such a board",
        )

    def _require_same_code(self, address: str) -> None:
        """Raises BoardError if the farm runs another version, because candidates depend on it."""
        if set(self._client.run(farm_jobs.fingerprint).values()) == {farm_jobs.fingerprint()}:
            return
        self.close()
        raise BoardError(
            "the farm runs another version of Solder",
            address,
            "install the same version on all machines, then start deploy farm again",
        )


@contextmanager
def farm(board: Board, boards: Sequence[BoardSelector], host: str, port: int) -> Iterator[Any]:
    """Starts a scheduler and a worker for each board, and yields the cluster.

    They stop at the block's end.
    """
    security = made_credentials()
    import dask
    from distributed import Nanny, Scheduler, SpecCluster

    options = {
        **_connection(host, security),
        "port": port,
        "dashboard": False,
        "dashboard_address": _NO_PAGES,
    }
    scheduler = {"cls": Scheduler, "options": options}
    workers = {
        n: {"cls": Nanny, "options": _worker(board, at, host, security)} for n, at in enumerate(boards)
    }
    with (
        dask.config.set(_NO_ROUTES),
        SpecCluster(workers, scheduler, security=security, silence_logs=_ONLY_FATAL) as cluster,
    ):
        yield cluster


def join(board: Board, boards: Sequence[BoardSelector], address: str, host: str | None) -> None:
    """Adds boards of this machine to a remote farm, until the farm ends. Raises DeviceError."""
    farm_client(address).close()
    asyncio.run(
        _serve([{**_worker(board, at, host, credentials()), "scheduler_ip": address} for at in boards])
    )


async def _serve(workers: Sequence[dict[str, Any]]) -> None:
    import dask
    from distributed import Nanny

    logging.getLogger("distributed").setLevel(_ONLY_FATAL)
    with dask.config.set(_NO_ROUTES):
        nannies = [Nanny(**options) for options in workers]
        try:
            await asyncio.gather(*nannies)
            await asyncio.gather(*(nanny.finished() for nanny in nannies))
        finally:
            await asyncio.gather(*(nanny.close() for nanny in nannies))


def _connection(host: str | None, security: Any) -> dict[str, Any]:
    return {"host": host, "protocol": ENCRYPTED, "security": security}


def _worker(board: Board, at: BoardSelector, host: str | None, security: Any) -> dict[str, Any]:
    """Returns the options of a worker process with one job at a time, because it has one board."""
    return {
        **_connection(host, security),
        "dashboard_address": _NO_PAGES,
        "nthreads": 1,
        "resources": {resource_of(board.name): 1},
        "env": {farm_jobs.SERIAL: at.serial} if at.serial else {},
        "preload": farm_jobs.__name__,
        "silence_logs": _ONLY_FATAL,
    }


def farm_client(address: str) -> Any:
    """Returns a client of the farm at that address, or of a custom Dask cluster at a tcp:// address."""
    require_dask()
    from distributed import Client

    security = credentials() if address.startswith(ENCRYPTED) else None
    try:
        return Client(address, security=security, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise DeviceError(
            "the farm does not answer",
            f"{address}: {error}",
            "deploy farm start prints the address; copy the farm's file farm.pem to this machine",
        ) from None


# The status of a farm: its boards, their jobs, and whether their code matches this program's.


@dataclass(frozen=True, slots=True)
class FarmBoard:
    """A board of a farm and its worker."""

    board: str
    serial: str  # "": emulated, or the only board of its machine
    worker: str  # network address
    jobs: int  # running or queued
    has_same_code: bool  # equal to this program's code; otherwise `deploy tune` rejects the board


def farm_boards(address: str) -> tuple[FarmBoard, ...]:
    """Returns the boards of a farm. Raises DeviceError if it does not answer."""
    client = farm_client(address)
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        jobs, known = client.processing(), client.run(_identity)
    finally:
        client.close()
    ours = farm_jobs.fingerprint()
    return tuple(
        FarmBoard(_board_name(name), serial, at, len(jobs.get(at, ())), code == ours)
        for at, (serial, code) in sorted(known.items())
        for name in sorted(workers.get(at, {}).get("resources", ()))  # none if the worker has left meanwhile
    )


def _identity() -> tuple[str, str]:
    """Returns a worker's board serial number and code hash; runs on the worker."""
    return os.environ.get(farm_jobs.SERIAL, ""), farm_jobs.fingerprint()


def _board_name(resource: str) -> str:
    return resource.removeprefix(resource_of(""))
