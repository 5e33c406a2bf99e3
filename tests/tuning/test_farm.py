"""Four emulated boards measure together; one that dies in the middle costs nobody else anything."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from foreground import start_in_foreground

import deploy.demo
from aot.errors import BoardError
from codegen.kernels.tuning_records import read_records
from platforms.board_files import load_board
from platforms.runners.runner import ANY_BOARD, BoardSelector
from platforms.tuning import farm_jobs
from platforms.tuning.farm import FarmBench, farm, farm_client, resource_of
from platforms.tuning.farm_status import farm_boards
from platforms.tuning.trial import MeasureChoices

DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
BOARD = load_board("mps2-an386")
_PATIENCE_S = 30.0
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
    with farm(BOARD, [ANY_BOARD, *map(BoardSelector, "abc")], "127.0.0.1", 0) as cluster:
        yield cluster


def _kill_an_emulator(workers: Sequence[int]) -> None:
    """The board of one of these workers, as soon as one has started."""
    import psutil  # of distributed

    give_up_at = time.monotonic() + _PATIENCE_S
    while time.monotonic() < give_up_at:
        with suppress(psutil.NoSuchProcess):  # boards come and go
            children = [child for pid in workers for child in psutil.Process(pid).children()]
            for board in (child for child in children if child.name().startswith("qemu")):
                board.kill()
                return
        time.sleep(0.01)
    raise AssertionError("no board was ever started")


def test_a_worker_and_a_board_that_die_cost_only_the_trial_in_flight(
    cluster: Any, own_folders: None, tmp_path: Path
) -> None:
    import deploy

    address, records = cluster.scheduler_address, tmp_path / "digits.jsonl"
    pids = [worker.pid for worker in cluster.workers.values()]
    kills = {
        8: threading.Timer(_IN_FLIGHT_S, os.kill, (pids[0], signal.SIGKILL)),
        24: threading.Thread(target=_kill_an_emulator, args=(pids[1:],)),
    }
    seen: list[int] = []

    def on_trial(_progress: object, _record: object) -> None:
        seen.append(1)
        if len(seen) in kills:
            kills[len(seen)].start()

    deploy.tune(DIGITS, BOARD.name, records, trials=72, tuner="random", farm=address, on_trial=on_trial)
    for kill in kills.values():
        kill.join()
    found = read_records(records)
    assert len({record.key for record in found}) == len(found) == 72
    lost = [record.error for record in found if record.error]
    assert lost in ([], ["crashed: qemu-system-arm ended: signal SIGKILL"])  # none where it had just started


def test_every_worker_knows_which_board_is_its_own(cluster: Any) -> None:
    from distributed import Client

    with Client(cluster.scheduler_address, set_as_default=False) as client:
        client.wait_for_workers(4)  # one that died before is started again
        serials = client.run(lambda: os.environ.get(farm_jobs.SERIAL))
    assert sorted(map(str, serials.values())) == ["None", "a", "b", "c"]


def test_two_farms_on_one_machine_do_not_meet(cluster: Any) -> None:
    with farm(BOARD, [], "127.0.0.1", 0) as other:
        assert other.scheduler_address != cluster.scheduler_address


def test_a_farm_of_another_version_is_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farm_jobs, "_PACKAGES", ("boards",))
    farm_jobs.fingerprint.cache_clear()
    with pytest.raises(BoardError) as caught:
        FarmBench(BOARD, cluster.scheduler_address, MeasureChoices())
    farm_jobs.fingerprint.cache_clear()
    assert str(caught.value) == (
        "error: the farm runs another Solder than this one\n"
        f"  {cluster.scheduler_address}\n"
        "  hint: install the same version on all machines, then start deploy farm again"
    )


def test_a_board_that_no_worker_has_is_refused_at_once(cluster: Any) -> None:
    other = load_board("mps2-an385")
    with pytest.raises(BoardError) as caught:
        FarmBench(other, cluster.scheduler_address, MeasureChoices())
    assert str(caught.value) == (
        'error: the farm has no board "mps2-an385"\n'
        f"  {cluster.scheduler_address} has board:mps2-an386\n"
        "  hint: deploy farm start --board mps2-an385 on a machine that has one"
    )


def test_a_farm_is_looked_at_while_it_works(cluster: Any, run_deploy: Callable[..., Any]) -> None:
    address = cluster.scheduler_address
    client = farm_client(address)
    try:
        wanted = {resource_of(BOARD.name): 1}
        jobs = [client.submit(time.sleep, 20 + n, pure=False, resources=wanted) for n in range(2)]
        give_up_at = time.monotonic() + _PATIENCE_S
        while sum(map(len, client.processing().values())) < 2:
            assert time.monotonic() < give_up_at
            time.sleep(0.05)
        boards = farm_boards(address)
        assert [board.board for board in boards] == ["mps2-an386"] * 4
        assert sorted(board.serial for board in boards) == ["", "a", "b", "c"]
        assert sum(board.jobs for board in boards) == 2
        assert all(board.has_same_code for board in boards)
        page = run_deploy("farm", "status", address)
        assert page.out.startswith(f"{address}: 4 boards, 2 at work\n")
        facts = json.loads(run_deploy("farm", "status", address, "--json").out)
        assert facts["farm"] == address
        assert {tuple(each) for each in facts["boards"]} == {
            ("board", "serial", "worker", "jobs", "has_same_code")
        }
        client.cancel(jobs, force=True)
    finally:
        client.close()


def test_the_status_has_the_shape_that_is_written_down(
    cluster: Any, run_deploy: Callable[..., Any], repo_root: Path
) -> None:
    schema = json.loads((repo_root / "docs" / "json" / "farm.json").read_text(encoding="utf-8"))
    facts = json.loads(run_deploy("farm", "status", cluster.scheduler_address, "--json").out)
    assert len(facts["boards"]) == 4
    jsonschema.validate(facts, schema)


def test_a_board_with_other_code_is_shown_as_such(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, run_deploy: Callable[..., Any]
) -> None:
    monkeypatch.setattr(farm_jobs, "fingerprint", lambda: "other")
    assert not any(board.has_same_code for board in farm_boards(cluster.scheduler_address))
    page = run_deploy("farm", "status", cluster.scheduler_address).out
    assert page.count("another Solder: deploy tune refuses it") == 4


def test_a_farm_says_where_it_is_and_ends_at_ctrl_c_without_a_word(
    require_package: Callable[..., None],
) -> None:
    require_package("distributed")
    start = ("-m", "deploy", "farm", "start", "--board", "mps2-an386", "--boards", "2", "--port", "0")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    with start_in_foreground((sys.executable, *start), **pipes) as it:
        assert it.stdout is not None
        assert it.stderr is not None
        assert re.fullmatch(r"tcp://127.0.0.1:\d+  2 x mps2-an386\n", it.stdout.readline())
        assert it.stderr.readline() == "deploy tune --farm takes this address; Ctrl-C ends the farm\n"
        os.killpg(it.pid, signal.SIGINT)  # as a terminal does: to its workers too
        assert (it.stdout.read(), it.stderr.read(), it.wait()) == ("", "", 0)
