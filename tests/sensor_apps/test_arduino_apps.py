"""Sketches for sensors: with stand-ins for core and libraries they decide as this computer's program."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_facts import require_facts
from listener import records
from small_apps import HEARD, HEARD_LABELS, MOVED, MOVED_LABELS, model_for, recording_for

import deploy
from aot.errors import InputError
from deploy.sensors.sensor_log import WindowRun

pytestmark = [pytest.mark.cc, pytest.mark.slow]
STAND_INS = Path(__file__).with_name("arduino")
BOARD = "nano-33-ble"
BACK = "classes:threshold=0.3"
SEEN = "tf.image:width=160,height=120,format=rgb565_high_first,crop_width=96,crop_height=96,stored=true"
APPS = {"kws": (HEARD, HEARD_LABELS), "motion": (MOVED, MOVED_LABELS)}
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def sketch(app: str, folder: Path, model: Path, front: str, labels: str, **options: Any) -> Path:
    compiled = deploy.compile(model, board=BOARD, stream=True, front=front, back=BACK, **options)
    deploy.new(compiled, folder, app=app, platform="arduino", class_names=labels)
    return folder


def built_here(project: Path, app: str) -> Path:
    """The sketch and its library, with the stand-ins' chip in place of the board's."""
    program = project / "here"
    sources = [path for path in (project / "src").glob("*.c") if not path.name.startswith("port_cortex_m")]
    include = [f"-I{project / 'src'}", f"-I{STAND_INS}"]
    objects = []
    for source in sources:
        objects.append(str(project / f"{source.stem}.o"))
        made = ["cc", "-std=c99", "-O1", *WARNINGS, *include, "-c", str(source), "-o", objects[-1]]
        subprocess.run(made, check=True)
    ino = project / "examples" / app / f"{app}.ino"
    cpp = ["c++", "-O1", *WARNINGS, "-Wno-unused-result", *include, "-include", "Arduino.h", "-x", "c++"]
    own = [ino, project / "src" / "port_serial.cpp", STAND_INS / "core.cpp"]
    subprocess.run([*cpp, *own, "-x", "none", *objects, "-lm", "-o", program], check=True)
    return program


def runs(sent: bytes) -> list[tuple[int, str, float]]:
    return [(r.row, r.found, r.score) for r in records(sent) if isinstance(r, WindowRun)]


@pytest.mark.parametrize("app", APPS)
def test_a_sketch_decides_as_this_computer_s_program(app, tmp_path, shared_dir, require_tool):
    require_tool("c++", "make")
    front, labels = APPS[app]
    model, recording = model_for(app, tmp_path, shared_dir), recording_for(app, tmp_path, shared_dir)
    compiled = deploy.compile(model, board="host", stream=True, front=front, back=BACK)
    deploy.new(compiled, tmp_path / "desk", app=app, class_names=labels)
    subprocess.run(["make", "-s"], cwd=tmp_path / "desk", check=True)
    desk = [tmp_path / "desk" / "build" / "firmware", recording]
    wanted = runs(subprocess.run(desk, capture_output=True, check=True).stdout)
    project = sketch(app, tmp_path / "sketch", model, front, labels, dialect="strict")
    given = recording.read_bytes()
    played = given[44:] if app == "kws" else given
    found = subprocess.run([built_here(project, app)], input=played, capture_output=True, check=True).stdout
    assert runs(found) == wanted
    assert any(name for _, name, _ in wanted)


def test_a_camera_s_sketch_is_made_of_sizes_that_its_library_knows(tmp_path, shared_dir, require_tool):
    require_tool("c++")
    model = shared_dir / "models" / "tflm_person_detect_int8" / "model.tflite"
    labels = "no person,person"
    project = sketch("image", tmp_path / "sketch", model, SEEN, labels, dialect="strict")
    pictures = np.random.default_rng(2).integers(0, 256, (2, 120, 160, 2)).astype(np.uint8)
    program = built_here(project, "image")
    found = subprocess.run([program], input=pictures.tobytes(), capture_output=True, check=True).stdout
    assert [row for row, _, _ in runs(found)] == [120, 240]
    with pytest.raises(InputError) as refused:
        sketch("image", tmp_path / "other", model, SEEN.replace("width=160", "width=128"), labels)
    require_facts(
        refused.value,
        "128x120 rgb565_high_first Arduino's 640x480 352x288 320x240 176x144 160x120 front needs "
        "images deploy --front tf.image:width=160,height=120,format=rgb565_high_first,...",
    )


@pytest.mark.arm
@pytest.mark.parametrize("app", APPS)
def test_it_is_compiled_for_the_board(app, tmp_path, shared_dir, require_tool):
    require_tool("arm-none-eabi-g++")
    front, labels = APPS[app]
    project = sketch(app, tmp_path / "sketch", model_for(app, tmp_path, shared_dir), front, labels)
    core = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-Os", *WARNINGS]
    include = [f"-I{project / 'src'}", f"-I{STAND_INS}"]
    for source in (project / "src").glob("*.c"):
        made = [
            "arm-none-eabi-gcc",
            *core,
            "-std=c99",
            *include,
            "-c",
            str(source),
            "-o",
            str(tmp_path / "c.o"),
        ]
        subprocess.run(made, check=True)
