"""Back ends for boxes behind int8 heads: C finds the reference's boxes, here and on an emulated M4."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tflite_builder import ModelBuilder
from tiny_models import random_weights

import deploy

HEADS: dict[str, tuple[tuple[tuple[int, int, int], ...], str]] = {
    # Of each grid: its stride, the numbers of a cell, their scale in hundredths.
    "FOMO": (((4, 4, 1),), "edge_impulse.fomo:threshold=0.3,object_detection_count=4"),
    "YOLOv5": (
        ((4, 14, 3), (8, 14, 2)),
        "ultralytics.yolov5:conf_thres=0.2,max_det=5,anchors=6/6/9/7/12/12/15/9",
    ),
    "YOLOv8": (((4, 18, 3),), "ultralytics.yolov8:conf=0.4,max_det=5,reg_max=4"),
    "SSD": (((8, 24, 2), (8, 18, 3)), "torchvision.ssd:grid_sizes=2,score_thresh=0.4,detections_per_img=5"),
}


def model(name: str) -> bytes:
    """A convolution for each head; SSD's are lists of boxes and of scores."""
    build = ModelBuilder("detector")
    picture = build.input("picture", (1, 16, 16, 3), scale=1 / 64)
    outputs = []
    for number, (stride, width, step) in enumerate(HEADS[name][0]):
        w, b, s = random_weights(number, (width, stride, stride, 3))
        y = build.conv2d(
            picture, w, b, weight_scales=s, scale=step / 100, stride=(stride, stride), padding="VALID"
        )
        if name == "SSD":
            y = build.reshape(y, (1, 24, width // 6))
        outputs.append(y)
    return build.finish(*outputs)


ON_M4 = [
    pytest.param(name, "mps2-an386", marks=[pytest.mark.arm, pytest.mark.qemu]) for name in ("FOMO", "SSD")
]


@pytest.mark.parametrize(("name", "board"), [*((name, "host") for name in HEADS), *ON_M4])
@pytest.mark.cc
@pytest.mark.slow
def test_c_finds_what_the_reference_finds(
    name: str, board: str, tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("cc" if board == "host" else "arm-none-eabi-gcc")
    path = tmp_path / "detector.tflite"
    path.write_bytes(model(name))
    back = HEADS[name][1]
    pictures = np.random.default_rng(4).integers(-128, 128, (8, 1, 16, 16, 3)).astype(np.int8)
    found = deploy.load(path, back=back).run(pictures)
    assert list(found) == ["back/boxes", "back/classes", "back/scores", "back/count"]
    counts = found["back/count"].reshape(-1)
    assert counts.max() > 1, "the pictures have boxes"
    assert deploy.verify(path, board=board, back=back, inputs=pictures).equal
