"""Four emulated boards measure together; one that dies in the middle costs nobody else anything."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deploy.demo
from aot.errors import BoardError
from boards.load import load_board
from codegen.tuning_records import read_records
from platforms.tuning.farm import FarmBench, farm
from platforms.tuning.trial import MeasureChoices

DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
BOARD = load_board("mps2-an386")
_IN_FLIGHT_S = 0.4  # after a batch: the next one is being built and measured

pytestmark = [
    pytest.mark.arm,
    pytest.mark.qemu,
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore:.*:ResourceWarning", "ignore:.*:pytest.PytestUnraisableExceptionWarning"
    ),
]


@pytest.fixture(scope="module")
def cluster(require_tool: Callable[..., None], require_package: Callable[..., None]) -> Any:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    require_package("distributed")
    with farm(BOARD, 4, "127.0.0.1", 0) as cluster:
        yield cluster


def test_a_board_that_dies_costs_only_its_trial_in_flight(
    cluster: Any, own_folders: None, tmp_path: Path
) -> None:
    import deploy

    address, records = cluster.scheduler_address, tmp_path / "digits.jsonl"
    pids = [worker.pid for worker in cluster.workers.values()]
    seen: list[int] = []

    def on_trial(_progress: object, _record: object) -> None:
        seen.append(1)
        if len(seen) == 8:
            threading.Timer(_IN_FLIGHT_S, os.kill, (pids[0], signal.SIGKILL)).start()

    deploy.tune(DIGITS, BOARD.name, records, trials=48, tuner="random", farm=address, on_trial=on_trial)
    found = read_records(records)
    assert len({record.key for record in found}) == len(found) == 48
    assert [record.error for record in found if record.error] == []


def test_a_board_that_no_worker_has_is_refused_at_once(cluster: Any) -> None:
    other = load_board("mps2-an385")
    with pytest.raises(BoardError) as caught:
        FarmBench(other, cluster.scheduler_address, MeasureChoices())
    assert str(caught.value) == (
        'error: the farm has no board "mps2-an385"\n'
        f"  {cluster.scheduler_address} has board:mps2-an386\n"
        "  hint: deploy farm start --board mps2-an385 on a machine that has one"
    )
