"""A detector of 160 and 320 pixels: where shapes were drawn, the same on boards, in 128 KiB of RAM."""

from typing import Any

import numpy as np
import pytest
from draw_boxes import PLACE, drawn
from listener import records
from make_finder import BACK, SIZES, Found, found_in, front, model_file
from scenes import CLASSES, Bytes, Drawn, scene

import deploy
from deploy.sensors.sensor_log import FoundBox

RAM_BYTES = 128 * 1024
LEAST_SHARE = 0.5  # of what a box and a shape's own cover together, that both cover
OPTIONS: dict[str, Any] = {"back": BACK, "stream": True}


def unseen(size: int, count: int) -> tuple[Bytes, list[list[Drawn]]]:
    """Pictures, [count, 1, size, size, 3], and what is drawn in each."""
    rng = np.random.default_rng(size)
    made = [scene(rng, size, int(rng.integers(1, size // 32))) for _ in range(count)]
    return np.stack([picture for picture, _ in made])[:, None], [shapes for _, shapes in made]


def one_unseen(size: int) -> Bytes:
    """A picture with several shapes, [1, size, size, 3]."""
    return scene(np.random.default_rng(size + 1), size, 6)[0][None]


def is_at(found: Found, shape: Drawn) -> bool:
    left, top, right, bottom = found.box
    x, y, end_x, end_y = shape.box
    common = max(0, min(right, end_x) - max(left, x)) * max(0, min(bottom, end_y) - max(top, y))
    both = (right - left) * (bottom - top) + shape.width * shape.height - common
    return found.kind == shape.kind and common > LEAST_SHARE * both


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(("size", "count"), [(160, 60), (320, 20)])
def test_shapes_are_found_in_pictures_that_it_has_not_seen(size, count):
    pictures, shapes = unseen(size, count)
    outputs = deploy.run(model_file(size), pictures, "host", front=front(size), **OPTIONS).outputs
    pairs = list(zip(found_in(outputs, size), shapes, strict=True))
    hits = [any(is_at(box, shape) for box in boxes) for boxes, there in pairs for shape in there]
    right = [any(is_at(box, shape) for shape in there) for boxes, there in pairs for box in boxes]
    assert np.mean(hits) > 0.85
    assert np.mean(right) > 0.9


ON_BOARDS = [
    pytest.param(160, "host", marks=pytest.mark.cc),
    pytest.param(160, "mps2-an386", marks=[pytest.mark.arm, pytest.mark.qemu]),
    pytest.param(160, "mps2-an500", marks=[pytest.mark.arm, pytest.mark.qemu]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("size", "board"), ON_BOARDS)
def test_rows_that_stream_in_become_the_boxes_of_the_reference(size, board, require_tool):
    require_tool("cc" if board == "host" else "arm-none-eabi-gcc")
    pictures = one_unseen(size)
    compiled = deploy.compile(model_file(size), board=board, front=front(size), **OPTIONS)
    assert compiled.report.needed_bytes("ram") <= RAM_BYTES
    wanted = deploy.load(model_file(size), front=front(size), back=BACK).run(pictures)
    assert wanted["back/count"].item() > 2
    assert deploy.verify(compiled, inputs=pictures).equal


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_a_program_for_a_camera_of_320_pixels_tells_the_references_boxes(tmp_path, run_deploy):
    """The linker says how much RAM it has, and the picture lies in flash, as if it came from a camera."""
    size, recording = 320, tmp_path / "camera.ppm"
    pictures = one_unseen(size)
    recording.write_bytes(f"P6\n{size} {size}\n255\n".encode() + pictures.tobytes())
    compiled = deploy.compile(model_file(size), board="mps2-an386", front=front(size), **OPTIONS)
    words: dict[str, Any] = {"app": "detect", "class_names": ",".join(CLASSES), "rate": 1}
    words["recording"] = recording
    deploy.new(compiled, tmp_path / "program", **words)
    built = deploy.build(tmp_path / "program")
    assert built.facts["ram_bytes"] <= RAM_BYTES
    told = run_deploy("monitor", tmp_path / "program", "--runner", "qemu")
    assert told.status == 0, told.err
    boxes = [each for each in records(told.out.encode()) if isinstance(each, FoundBox)]
    (wanted,) = found_in(deploy.load(model_file(size), front=front(size), back=BACK).run(pictures), size)
    assert len(wanted) > 2
    assert [(box.found, box.left, box.top, box.right, box.bottom) for box in boxes] == [
        (CLASSES[found.kind], *(int(min(max(side, 0), size) + 0.5) for side in found.box)) for found in wanted
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("size", "board"), ON_BOARDS[:2])
def test_its_grids_are_the_references_bit_for_bit(size, board, require_tool):
    require_tool("cc" if board == "host" else "arm-none-eabi-gcc")
    pictures = one_unseen(size)
    outputs = deploy.run(model_file(size), pictures, board, front=front(size), stream=True).outputs
    wanted = deploy.load(model_file(size), front=front(size)).run(pictures)
    assert {array.dtype.name for array in wanted.values()} == {"int8"}
    assert all(np.array_equal(outputs[name], array) for name, array in wanted.items())


def test_both_sizes_are_one_network():
    small, large = (deploy.load(model_file(size)).graph for size in SIZES)
    assert [node.op for node in small.nodes] == [node.op for node in large.nodes]
    for name, array in small.constants.items():
        assert np.array_equal(array, large.constants[name]), name


@pytest.mark.slow
def test_the_picture_of_boxes_is_current(repo_root):
    """Only the boxes: how a PNG is packed is its library's choice."""
    assert PLACE.is_relative_to(repo_root / "docs")
    assert _without_picture(PLACE.read_text(encoding="utf-8")) == _without_picture(drawn())


def _without_picture(svg: str) -> list[str]:
    return [line for line in svg.splitlines() if not line.startswith("<image")]
