"""Four emulated boards measure together; one that dies in the middle costs nobody else anything."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from error_facts import require_facts
from foreground import start_in_foreground

import deploy.demo
from aot.errors import BoardError, InputError
from codegen.kernels.tuning_records import read_records
from platforms.board_files import load_board
from platforms.runners.runner import ANY_BOARD, BoardSelector
from platforms.tuning import farm_jobs
from platforms.tuning.farm import FarmBench, farm, farm_boards, farm_client, resource_of
from platforms.tuning.farm_credentials import credentials_file, made_credentials
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
def running(require_package, tmp_path_factory):
    """A farm of four boards, and the folder that has its credentials."""
    require_package("distributed", "cryptography")
    with pytest.MonkeyPatch.context() as patch:
        config = tmp_path_factory.mktemp("config")
        patch.setenv("XDG_CONFIG_HOME", str(config))
        with farm(BOARD, [ANY_BOARD, *map(BoardSelector, "abc")], "127.0.0.1", 0) as cluster:
            yield cluster, config


@pytest.fixture
def cluster(running, own_folders, monkeypatch):
    cluster, config = running
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    return cluster


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


def test_a_worker_and_a_board_that_die_cost_only_the_trial_in_flight(cluster, own_folders, tmp_path):
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

    deploy.tune(DIGITS, BOARD.name, records, trials=48, tuner="random", farm=address, on_trial=on_trial)
    for kill in kills.values():
        kill.join()
    found = read_records(records)
    assert len({record.key for record in found}) == len(found) == 48
    lost = [record.error for record in found if record.error]
    assert lost in ([], ["crashed: qemu-system-arm ended: signal SIGKILL"])  # none where it had just started


def test_every_worker_knows_which_board_is_its_own(cluster):
    with farm_client(cluster.scheduler_address) as client:
        client.wait_for_workers(4)  # one that died before is started again
        serials = client.run(lambda: os.environ.get(farm_jobs.SERIAL))
    assert sorted(map(str, serials.values())) == ["None", "a", "b", "c"]


def test_two_farms_on_one_machine_do_not_meet(cluster):
    with farm(BOARD, [], "127.0.0.1", 0) as other:
        assert other.scheduler_address != cluster.scheduler_address


def test_a_farm_of_another_version_is_refused(cluster, monkeypatch):
    monkeypatch.setattr(farm_jobs, "_PACKAGES", ("boards",))
    farm_jobs.fingerprint.cache_clear()
    with pytest.raises(BoardError) as caught:
        FarmBench(BOARD, cluster.scheduler_address, MeasureChoices())
    farm_jobs.fingerprint.cache_clear()
    require_facts(caught.value, f"Solder farm runs another {cluster.scheduler_address} deploy")


def test_a_board_that_no_worker_has_is_refused_at_once(cluster):
    other = load_board("mps2-an385")
    with pytest.raises(BoardError) as caught:
        FarmBench(other, cluster.scheduler_address, MeasureChoices())
    require_facts(
        caught.value,
        f'"mps2-an385" farm board {cluster.scheduler_address} board:mps2-an386 deploy --board mps2-an385',
    )


def test_a_farm_is_looked_at_while_it_works(cluster, run_deploy):
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


def test_the_status_has_the_shape_that_is_written_down(cluster, run_deploy, repo_root):
    schema = json.loads((repo_root / "docs" / "json" / "farm.json").read_text(encoding="utf-8"))
    facts = json.loads(run_deploy("farm", "status", cluster.scheduler_address, "--json").out)
    assert len(facts["boards"]) == 4
    jsonschema.validate(facts, schema)


def test_a_board_with_other_code_is_shown_as_such(cluster, monkeypatch, run_deploy):
    monkeypatch.setattr(farm_jobs, "fingerprint", lambda: "other")
    assert not any(board.has_same_code for board in farm_boards(cluster.scheduler_address))
    page = run_deploy("farm", "status", cluster.scheduler_address).out
    assert page.count("another version of Solder: deploy tune rejects it") == 4


def test_a_farm_says_where_it_is_and_ends_at_ctrl_c_without_a_word(require_package, own_folders, tmp_path):
    require_package("distributed", "cryptography")
    start = ("-m", "deploy", "farm", "start", "--board", "mps2-an386", "--boards", "2", "--listen-port", "0")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    with start_in_foreground((sys.executable, *start), **pipes) as it:
        assert it.stdout is not None
        assert it.stderr is not None
        assert re.fullmatch(r"tls://127.0.0.1:\d+  2 x mps2-an386\n", it.stdout.readline())
        assert it.stderr.readline() == "deploy tune --farm takes this address; Ctrl-C ends the farm\n"
        file = tmp_path / "config" / "solder" / "farm.pem"
        told = f"other machines need a copy of {file}, which lets them run code here\n"
        assert it.stderr.readline() == told
        os.killpg(it.pid, signal.SIGINT)  # as a terminal does: to its workers too
        assert (it.stdout.read(), it.stderr.read(), it.wait()) == ("", "", 0)


def _strangers(address: str) -> Sequence[tuple[str, Any]]:
    """Ways to knock without the farm's credentials: plainly, without a certificate, with one of his own."""
    from distributed import Security

    plain = address.replace("tls://", "tcp://")
    return ((plain, None), (address, None), (address, Security.temporary()))


@pytest.mark.parametrize("way", range(3))
def test_a_stranger_without_the_certificate_runs_nothing(cluster, way, tmp_path):
    from distributed import Client

    address, security = _strangers(cluster.scheduler_address)[way]
    mark = tmp_path / "ran"
    with (
        pytest.raises((OSError, TypeError, RuntimeError)),
        Client(address, security=security, timeout=3, set_as_default=False) as client,
    ):
        client.submit(mark.write_text, "ran", pure=False).result(timeout=10)
    assert not mark.exists()


def test_a_farm_serves_no_pages(cluster):
    """Dask listens for them on a port of its own, to which anybody on this machine may connect."""
    from urllib.error import HTTPError
    from urllib.request import urlopen

    import psutil  # of distributed

    scheduler = cluster.scheduler
    pids = [os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))]
    heard = {
        at.laddr for pid in pids for at in psutil.Process(pid).net_connections("tcp") if at.status == "LISTEN"
    }
    assert {at.ip for at in heard} == {"127.0.0.1"}
    for page in ("info/main/workers.html", "metrics", "json/counts.json", "api/v1/retire_workers", ""):
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"http://127.0.0.1:{scheduler.http_server.port}/{page}", timeout=5)


def test_the_credentials_are_for_this_user_alone_and_made_once(require_package, own_folders, tmp_path):
    require_package("distributed", "cryptography")
    made_credentials()
    file = credentials_file()
    text = file.read_text()
    assert file == tmp_path / "config" / "solder" / "farm.pem"
    assert file.stat().st_mode & 0o777 == 0o600
    made_credentials()
    assert file.read_text() == text


@pytest.mark.parametrize("text", [None, "", "no certificate"])
def test_without_credentials_a_client_says_where_they_are_made(text, require_package, own_folders):
    require_package("distributed", "cryptography")
    file = credentials_file()
    if text is not None:
        file.parent.mkdir(parents=True)
        file.write_text(text)
    with pytest.raises(InputError) as caught:
        farm_client("tls://127.0.0.1:1")
    assert caught.value.where == str(file)
    assert "copy the file from the machine that runs it" in caught.value.hint


def test_another_machine_joins_with_a_copy_of_the_credentials(cluster, tmp_path):
    """Another process with other settings stands for it."""
    config, address = tmp_path / "second" / "solder", cluster.scheduler_address
    config.mkdir(parents=True)
    env = {**os.environ, "XDG_CONFIG_HOME": str(config.parent)}
    argv = (
        sys.executable,
        "-m",
        "deploy",
        "farm",
        "join",
        address,
        "--board",
        "mps2-an386",
        "--serial",
        "second",
    )
    refused = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "the credentials of the farm cannot be read" in refused.stderr
    shutil.copy(credentials_file(), config)
    with start_in_foreground(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as it:
        give_up_at = time.monotonic() + _PATIENCE_S
        joined = False
        while not joined and time.monotonic() < give_up_at and it.poll() is None:
            joined = "second" in [board.serial for board in farm_boards(address)]
        it.send_signal(signal.SIGINT)
        try:
            said = it.communicate(timeout=_PATIENCE_S)
        finally:
            it.kill()
        assert (joined, said) == (True, ("", ""))
    assert it.returncode == 0
