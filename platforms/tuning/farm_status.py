"""A look at a farm: its boards, which of them have jobs, and whether they run the code that this one runs."""

from __future__ import annotations

import os
from dataclasses import dataclass

from platforms.tuning import farm_jobs
from platforms.tuning.farm import farm_client, resource_of


@dataclass(frozen=True, slots=True)
class FarmBoard:
    """A board of a farm, with the worker that has it."""

    board: str
    serial: str  # "": it is emulated, or the only one of its machine
    worker: str  # address
    jobs: int  # that it measures or has waiting
    has_same_code: bool  # as this program: else it is refused by `deploy tune`


def farm_boards(address: str) -> tuple[FarmBoard, ...]:
    """Asks the farm at that address. Raises DeviceError where none answers."""
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
        for name in sorted(workers.get(at, {}).get("resources", ()))  # none of one that is gone since
    )


def _identity() -> tuple[str, str]:
    """A worker says who it is: the serial number of its board, and the hash of its code."""
    return os.environ.get(farm_jobs.SERIAL, ""), farm_jobs.fingerprint()


def _board_name(resource: str) -> str:
    return resource.removeprefix(resource_of(""))
