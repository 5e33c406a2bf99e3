"""Programs for sensors under Zephyr: from a microphone's or an inertial sensor's driver to the decision."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from listener import records
from small_apps import HEARD, HEARD_LABELS, MOVED, MOVED_LABELS, model_for, recording_for

import deploy
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import build_project, project_board
from deploy.sensors.sensor_log import Losses, ProgramFault, Record, WindowRun
from platforms.base import BuildChoices

pytestmark = [pytest.mark.cc, pytest.mark.slow, pytest.mark.qemu]
BOARD = "mps2-an385"
FAKES = Path(__file__).with_name("zephyr")
BINDING = 'description: A fake for tests\ncompatible: "solder,{name}"\ninclude: base.yaml\n'


@dataclass(frozen=True)
class ZephyrCase:
    """A program, and the driver that plays its recording."""

    app: str
    options: dict[str, Any]
    words: dict[str, Any]
    fake: str
    node: str  # of the devicetree


CASES = {
    "kws": ZephyrCase(
        "kws",
        {"front": HEARD, "back": "classes:threshold=0.3"},
        {"class_names": HEARD_LABELS},
        "fake_microphone",
        '/ { dmic_dev: microphone { compatible = "solder,fake-microphone"; }; };\n',
    ),
    "motion": ZephyrCase(
        "motion",
        {"front": MOVED, "back": "classes:threshold=0.3"},
        {"class_names": MOVED_LABELS},
        "fake_inertial",
        "/ { aliases { accel0 = &inertial; };\n"
        '    inertial: inertial { compatible = "solder,fake-inertial"; }; };\n',
    ),
}


@pytest.fixture
def zephyr_tree(require_tool):
    """A tree is in no package registry: these tests run where somebody has one."""
    if not os.environ.get("ZEPHYR_BASE"):
        pytest.skip("needs Zephyr's tree: ZEPHYR_BASE is not set")
    require_tool("west", "ninja")


def made(case: ZephyrCase, folder: Path, shared_dir: Path, played: bool) -> Path:
    """A project that plays a recording: itself, or by a driver with Zephyr's interface."""
    model, recording = model_for(case.app, folder, shared_dir), recording_for(case.app, folder, shared_dir)
    compiled = deploy.compile(model, board=BOARD, stream=True, **case.options)
    words = {**case.words, "app": case.app, "platform": "zephyr"}
    deploy.new(compiled, folder / "recorded", recording=recording, **words)
    if not played:
        return folder / "recorded"
    project = folder / "played"
    deploy.new(compiled, project, **words)
    for name in ("recording.c", "recording.h"):
        shutil.copy(folder / "recorded" / "src" / name, project / "src" / name)
    shutil.copy(FAKES / f"{case.fake}.c", project / "src")
    name = case.fake.replace("_", "-")
    bindings = project / "dts" / "bindings"
    bindings.mkdir(parents=True)
    (bindings / f"solder,{name}.yaml").write_text(BINDING.format(name=name))
    (project / "app.overlay").write_text(case.node)
    return project


def told(project: Path) -> list[Record]:
    """The records that the program sends."""
    board, platform = project_board(project)
    firmware = build_project(platform, project, board, BuildChoices(None))
    line, sent = platform.open_line(firmware, board, "qemu", LineOptions().where), b""
    try:
        while b"$END" not in sent or not sent.endswith(b"\n"):
            sent += line.read(4096, 5.0)
    finally:
        line.close()
    return records(sent)


@pytest.mark.parametrize("name", CASES)
def test_a_driver_s_rows_are_decided_as_a_recording_s(name, tmp_path, shared_dir, zephyr_tree):
    case = CASES[name]
    recorded = told(made(case, tmp_path, shared_dir, played=False))
    assert isinstance(recorded[-1], Losses)
    assert recorded[-1].lost_rows == 0
    runs = [r for r in recorded if isinstance(r, WindowRun)]
    assert any(r.found for r in runs)
    (tmp_path / "again").mkdir()
    played = told(made(case, tmp_path / "again", shared_dir, played=True))
    found = [r for r in played if isinstance(r, WindowRun)]
    assert [(r.row, r.found, r.score) for r in found] == [(r.row, r.found, r.score) for r in runs]
    (fault,) = [r for r in played if isinstance(r, ProgramFault)]
    assert fault.message in ("the sensor's driver has failed: -61", "the sensor's driver has failed: -5")
