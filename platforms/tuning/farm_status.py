"""The status of a farm: its boards, their jobs, and whether their code matches this program's."""

from __future__ import annotations

import os
from dataclasses import dataclass

from platforms.tuning import farm_jobs
from platforms.tuning.farm import farm_client, resource_of


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
