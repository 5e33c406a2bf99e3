"""A program that finds things in pictures: its boxes are the reference's, and where shapes were drawn."""

import subprocess
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from error_facts import refused
from listener import built, records
from make_shapes import BACK, CLASSES, PLACE, SIZE, Shape, drawn

import deploy
from deploy.sensors.sensor_log import FoundBox, Losses, Record, WindowRun

pytestmark = [pytest.mark.cc, pytest.mark.slow]

WIDTH, HEIGHT = 80, 60  # the camera's: the model looks at the middle
FRONT = (
    f"tf.image:width={WIDTH},height={HEIGHT},format=gray,crop_width={SIZE},crop_height={SIZE},scale={1 / 255}"
)
LEFT, TOP = (WIDTH - SIZE) // 2, (HEIGHT - SIZE) // 2
CORNER = np.array([LEFT, TOP, LEFT, TOP])
Pictures = npt.NDArray[np.uint8]
OPTIONS: dict[str, Any] = {"front": FRONT, "back": BACK, "stream": True}
WORDS: dict[str, Any] = {"app": "detect", "class_names": ",".join(CLASSES), "rate": 5}


def seen(count: int) -> tuple[Pictures, list[list[Shape]]]:
    """Pictures of a camera, the last without a shape, and what is drawn in the middle of each."""
    rng = np.random.default_rng(80)
    pictures = np.full((count, HEIGHT, WIDTH), 90, np.uint8)
    shapes: list[list[Shape]] = []
    for picture in pictures:
        is_last = len(shapes) == count - 1
        middle, drawn_here = drawn(rng, 0 if is_last else None)
        picture[TOP : TOP + SIZE, LEFT : LEFT + SIZE] = middle
        shapes.append(drawn_here)
    return pictures, shapes


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("camera") / "camera.pgm"
    pictures, shapes = seen(4)
    head = f"P5\n{WIDTH} {HEIGHT}\n255\n".encode()
    path.write_bytes(b"".join(head + picture.tobytes() for picture in pictures))
    return path, pictures, shapes


@pytest.fixture(scope="module")
def told_here(recording, require_tool):
    """What the program for this computer tells."""
    require_tool("make")
    path, _, _ = recording
    deploy.new(deploy.compile(PLACE, board="host", **OPTIONS), path.parent / "here", **WORDS)
    done = subprocess.run([built(path.parent / "here"), path], capture_output=True, check=True)
    return records(done.stdout)


def boxes(told: list[Record]) -> list[FoundBox]:
    return [record for record in told if isinstance(record, FoundBox)]


def by_reference(pictures: Pictures) -> list[tuple[int, str, list[int]]]:
    """Run, name and corners in the camera's pixels of each box."""
    found = deploy.load(PLACE, front=FRONT, back=BACK).run(pictures[:, None, ..., None])
    corners, kinds, _, counts = (array.reshape(len(pictures), -1) for array in found.values())
    pixels = np.clip(corners, 0, 1).reshape(len(pictures), -1, 4) * np.float32(SIZE) + np.float32(0.5)
    placed = pixels.astype(int) + CORNER
    return [
        (run + 1, CLASSES[kinds[run, box]], placed[run, box].tolist())
        for run in range(len(pictures))
        for box in range(int(counts[run, 0]))
    ]


def test_its_boxes_are_the_references_boxes(told_here, recording):
    found = [(b.run, b.found, [b.left, b.top, b.right, b.bottom]) for b in boxes(told_here)]
    assert found == by_reference(recording[1])


def test_its_boxes_are_where_shapes_were_drawn():
    pictures, shapes = seen(40)
    found = by_reference(pictures)
    right = [box for box in found if any(_is_at(shape, box) for shape in shapes[box[0] - 1])]
    assert len(right) > 0.9 * len(found)
    assert len(right) > 0.8 * sum(map(len, shapes))


def _is_at(shape: Shape, box: tuple[int, str, list[int]]) -> bool:
    distance = np.abs(np.array(shape.box) + CORNER - box[2]).max()
    return box[1] == CLASSES[shape.kind] and bool(distance < 6)


def test_each_picture_is_one_run_with_its_best_box(told_here):
    runs = [record for record in told_here if isinstance(record, WindowRun)]
    assert [run.row for run in runs] == [HEIGHT, 2 * HEIGHT, 3 * HEIGHT, 4 * HEIGHT]
    assert (runs[-1].found, runs[-1].score) == ("", 0)
    for run in runs[:-1]:
        best = max((box for box in boxes(told_here) if box.run == run.number), key=lambda box: box.score)
        assert (run.found, run.score) == (best.found, best.score)
    assert isinstance(told_here[-1], Losses)


@pytest.mark.arm
@pytest.mark.qemu
def test_an_emulated_cortex_m4_tells_the_same(recording, told_here, tmp_path, run_deploy):
    compiled = deploy.compile(PLACE, board="mps2-an386", **OPTIONS)
    deploy.new(compiled, tmp_path / "there", recording=recording[0], **WORDS)
    outcome = run_deploy("monitor", tmp_path / "there", "--runner", "qemu")
    assert outcome.status == 0, outcome.err
    assert boxes(records(outcome.out.encode())) == boxes(told_here)


def test_a_camera_of_another_size_is_refused(told_here, recording, tmp_path):
    path = tmp_path / "small.pgm"
    path.write_bytes(b"P5\n2 2\n255\n\0\0\0\0")
    program = recording[0].parent / "here" / "build" / "sanitize" / "firmware"
    done = subprocess.run([program, path], capture_output=True, check=False)
    assert done.returncode == 1
    assert b"an image has 2x2 pixels, the camera's images have 80x60" in done.stdout


def test_a_model_with_another_back_end_is_refused(tmp_path):
    compiled = deploy.compile(PLACE, board="host", front=FRONT, stream=True)
    refused(
        lambda: deploy.new(compiled, tmp_path / "p", **WORDS),
        "ultralytics.yolov8 ultralytics.yolov5 torchvision.ssd edge_impulse.fomo detect needs back "
        f"{PLACE.name} deploy --back ultralytics.yolov8:...",
    )
