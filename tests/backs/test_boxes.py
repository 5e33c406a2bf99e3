"""Back ends for boxes match plain programs of the libraries' rules and torchvision, also on a Cortex-M4."""

from typing import Any

import numpy as np
import pytest
from detectors import (
    FloatArray,
    Found,
    assert_same,
    best_boxes,
    corners,
    found_by,
    giving,
    only_best,
    sigmoid,
)
from tflite_builder import ModelBuilder
from tiny_models import random_weights

import deploy
from aot.backs.attach import declared_back, read_back, with_back
from aot.backs.torchvision_ssd import Ssd
from aot.errors import ModelError
from aot.frontend.declared import DeclarationError

SIZE = 64  # of the picture
PICTURE = (1, SIZE, SIZE, 3)
PLANES = (1, 3, SIZE, SIZE)
CLASSES = 3


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def some_centres(count: int) -> FloatArray:
    """Centres and sizes in pixels, many that overlap."""
    numbers = rng(count)
    return np.concatenate(
        [numbers.uniform(8, 56, (count, 2)), numbers.uniform(6, 30, (count, 2))], axis=1
    ).astype(np.float32)


@pytest.mark.parametrize("agnostic", [False, True])
@pytest.mark.parametrize("as_shares", [False, True])
def test_the_whole_head_of_yolov8(agnostic, as_shares):
    centres, scores = some_centres(80), rng(1).uniform(0, 1, (80, CLASSES)).astype(np.float32)
    given = centres / SIZE if as_shares else centres
    head = np.concatenate([given, scores], axis=1).T[None]
    words = f"agnostic_nms={str(agnostic).lower()},xywhn={str(as_shares).lower()}"
    found = found_by(f"ultralytics.yolov8:conf=0.6,iou=0.4,max_det=30,{words}", PICTURE, head)
    wanted = best_boxes(
        corners(centres) / SIZE,
        only_best(scores),
        least=0.6,
        most_overlap=0.4,
        count=30,
        by_class=not agnostic,
    )
    assert_same(found, wanted)


def test_the_whole_head_of_yolov5():
    centres, scores = some_centres(60), rng(2).uniform(0, 1, (60, 1 + CLASSES)).astype(np.float32)
    head = np.concatenate([centres, scores], axis=1)[None]
    found = found_by("ultralytics.yolov5:conf_thres=0.3,max_det=6", PICTURE, head)
    each = only_best(scores[:, :1] * scores[:, 1:])
    wanted = best_boxes(corners(centres) / SIZE, each, least=0.3, most_overlap=0.45, count=6, by_class=True)
    assert_same(found, wanted)


def grid_boxes_5(head: FloatArray, anchors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corners in pixels and scores from [anchors, rows, columns, numbers], in the library's order."""
    _, rows, columns, width = head.shape
    y = sigmoid(head)
    down, across = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    place = np.stack([across, down], axis=-1)
    centre = (y[..., :2] * 2 - 0.5 + place) * (SIZE / rows)
    size = (y[..., 2:4] * 2) ** 2 * anchors[:, None, None]
    flat = np.concatenate([centre, size], axis=-1).reshape(-1, 4)
    return corners(flat), (y[..., 4:5] * y[..., 5:]).reshape(-1, width - 5)


@pytest.mark.parametrize("layout", ["apart", "pixels", "planes"])
def test_the_grids_of_yolov5(layout):
    anchors = np.array([[[10, 12], [20, 16]], [[30, 24], [18, 40]]])
    heads = [rng(n).normal(0, 1.5, (2, cells, cells, 5 + CLASSES)) for n, cells in ((3, 4), (4, 2))]
    given = {
        "apart": [head[None] for head in heads],
        "pixels": [h.transpose(1, 2, 0, 3).reshape(1, h.shape[1], h.shape[2], -1) for h in heads],
        "planes": [h.transpose(0, 3, 1, 2).reshape(1, -1, h.shape[1], h.shape[2]) for h in heads],
    }[layout]
    word = "/".join(map(str, anchors.reshape(-1)))
    picture = PLANES if layout == "planes" else PICTURE
    found = found_by(f"ultralytics.yolov5:conf_thres=0.2,max_det=20,anchors={word}", picture, *given)
    parts = [grid_boxes_5(head, pairs) for head, pairs in zip(heads, anchors, strict=True)]
    boxes, scores = (np.concatenate([part[n] for part in parts]) for n in range(2))
    wanted = best_boxes(
        boxes / SIZE, only_best(scores), least=0.2, most_overlap=0.45, count=20, by_class=True
    )
    assert_same(found, wanted)


@pytest.mark.parametrize("bins", [8, 1])
def test_the_grids_of_yolov8(bins):
    boxes, scores, given = [], [], []
    for seed, cells in ((5, 5), (6, 3)):
        head = rng(seed).normal(0, 1.5, (cells, cells, 4 * bins + CLASSES))
        given.append(head[None])
        raw = head[..., : 4 * bins].reshape(-1, 4, bins)
        powers = np.exp(raw)
        distance = (
            (powers / powers.sum(axis=-1, keepdims=True) * np.arange(bins)).sum(axis=-1)
            if bins > 1
            else raw[..., 0]
        )
        down, across = np.meshgrid(np.arange(cells) + 0.5, np.arange(cells) + 0.5, indexing="ij")
        middle = np.stack([across, down], axis=-1).reshape(-1, 2)
        boxes.append(np.concatenate([middle - distance[:, :2], middle + distance[:, 2:]], axis=1) / cells)
        scores.append(sigmoid(head[..., 4 * bins :]).reshape(-1, CLASSES))
    found = found_by(f"ultralytics.yolov8:conf=0.7,iou=0.5,max_det=9,reg_max={bins}", PICTURE, *given)
    wanted = best_boxes(
        np.concatenate(boxes),
        only_best(np.concatenate(scores)),
        least=0.7,
        most_overlap=0.5,
        count=9,
        by_class=True,
    )
    assert_same(found, wanted)


SSD = "torchvision.ssd:grid_sizes=4/2,score_thresh=0.4,detections_per_img=12"


def ssd_heads() -> tuple[FloatArray, FloatArray]:
    boxes = 6 * (4 * 4 + 2 * 2)
    return rng(7).normal(0, 2, (1, boxes, 4)), rng(8).normal(0, 2, (1, boxes, 2 + CLASSES))


def test_boxes_and_scores_of_ssd():
    regression, logits = ssd_heads()
    defaults = declared_ssd().default_boxes(SIZE)
    move = regression[0] / np.array([10, 10, 5, 5])
    centre = move[:, :2] * defaults[:, 2:] + defaults[:, :2]
    size = np.exp(np.minimum(move[:, 2:], np.log(1000 / 16))) * defaults[:, 2:]
    boxes = np.clip(corners(np.concatenate([centre, size], axis=1)), 0, 1)
    powers = np.exp(logits[0])
    scores = (powers / powers.sum(axis=1, keepdims=True))[:, 1:]
    wanted = best_boxes(boxes, scores, least=0.4, most_overlap=0.45, count=12, by_class=True)
    assert_same(found_by(SSD, PLANES, regression, logits), wanted)
    assert_same(found_by(SSD, PLANES, logits, regression), wanted)


def declared_ssd() -> Ssd:
    back = declared_back(SSD)
    assert isinstance(back, Ssd)
    return back


def test_the_words_of_ssd_mean_what_torchvision_computes():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchvision")
    from torchvision.models.detection import ssd
    from torchvision.models.detection.anchor_utils import DefaultBoxGenerator
    from torchvision.models.detection.image_list import ImageList

    regression, logits = (torch.tensor(head, dtype=torch.float32) for head in ssd_heads())
    generator = DefaultBoxGenerator([[2, 3], [2, 3]], min_ratio=0.15, max_ratio=0.9)
    image = torch.zeros(1, 3, SIZE, SIZE)
    maps = [torch.zeros(1, 1, cells, cells) for cells in (4, 2)]
    anchors = generator(ImageList(image, [(SIZE, SIZE)]), maps)
    model = ssd.SSD(
        torch.nn.Identity(),
        generator,
        (SIZE, SIZE),
        2 + CLASSES,
        head=torch.nn.Identity(),
        score_thresh=0.4,
        detections_per_img=12,
    )
    heads = {"bbox_regression": regression, "cls_logits": logits}
    (result,) = model.postprocess_detections(heads, anchors, [(SIZE, SIZE)])
    wanted = Found(
        result["boxes"].numpy() / SIZE, (result["labels"].numpy() - 1).tolist(), result["scores"].numpy()
    )
    assert_same(found_by(SSD, PLANES, *ssd_heads()), wanted)


def fomo(cells: dict[tuple[int, int, int], float], **words: float) -> list[tuple[list[float], int, float]]:
    """What is found on a grid of 8x8, where these cells (row, column, class) have scores."""
    grid = np.zeros((1, 8, 8, 1 + CLASSES), np.float32)
    for (row, column, kind), score in cells.items():
        grid[0, row, column, 1 + kind] = score
    word = "".join(f",{name}={value}" for name, value in words.items())
    found = found_by(f"edge_impulse.fomo:threshold=0.5{word}", PICTURE, grid)
    scores = [round(float(score), 3) for score in found.scores]
    return list(zip((found.boxes * 8).tolist(), found.kinds, scores, strict=True))


def test_cells_of_one_class_that_touch_are_one_object():
    found = fomo({(1, 1, 0): 0.6, (2, 2, 0): 0.9, (1, 2, 1): 0.7, (6, 6, 0): 0.5, (5, 1, 2): 0.4})
    assert found == [([1, 1, 3, 3], 0, 0.9), ([2, 1, 3, 2], 1, 0.7), ([6, 6, 7, 7], 0, 0.5)]


def test_an_object_grows_to_the_left():
    assert fomo({(0, 5, 0): 0.6, (1, 4, 0): 0.7, (2, 3, 0): 0.8}) == [([3, 0, 6, 3], 0, 0.8)]


def test_objects_that_meet_below_are_one():
    arms = {(0, 0, 1): 0.6, (0, 4, 1): 0.7}
    assert len(fomo(arms)) == 2
    base = {(1, column, 1): 0.8 for column in range(5)}
    assert fomo({**arms, **base, (7, 7, 2): 0.9}) == [([0, 0, 5, 2], 1, 0.8), ([7, 7, 8, 8], 2, 0.9)]


def test_no_more_objects_than_asked_for():
    found = fomo({(0, 0, 0): 0.9, (0, 3, 0): 0.6, (4, 4, 0): 0.8, (5, 4, 0): 0.95}, object_detection_count=2)
    assert found == [([0, 0, 1, 1], 0, 0.9), ([3, 0, 4, 1], 0, 0.6)]


REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "a back end for cells of another shape": (
        ("edge_impulse.fomo", PICTURE, (1, 8, 8)),
        'FOMO needs an output [1, rows, columns, classes with a background], the model has "y0" [1, 8, 8]',
    ),
    "two outputs for FOMO": (
        ("edge_impulse.fomo", PICTURE, (1, 4, 4, 2), (1, 2)),
        "this back end needs a model with one output, this one has 2: y0, y1",
    ),
    "no picture": (
        ("ultralytics.yolov8", (1, 99, 5), (1, 5, 9)),
        'a detector needs one image of 1 or 3 channels as input, the model has "x" [1, 99, 5]',
    ),
    "too few numbers": (
        ("ultralytics.yolov5", PICTURE, (1, 9, 5)),
        'the heads have 6 numbers or more for each of 9 boxes in a cell, but the model\'s outputs are "y0" '
        "[1, 9, 5]",
    ),
    "anchors for other grids": (
        ("ultralytics.yolov5:anchors=10/12/20/16/9/9", PICTURE, (1, 4, 4, 6), (1, 2, 2, 6)),
        "there are 3 anchors for 2 grids",
    ),
    "a grid of another shape than the picture": (
        ("ultralytics.yolov8:reg_max=1", PICTURE, (1, 4, 2, 6)),
        'the heads have 5 numbers or more for each of 1 boxes in a cell, but the model\'s outputs are "y0" '
        "[1, 4, 2, 6]",
    ),
    "other default boxes": (
        (SSD, PLANES, (1, 100, 4), (1, 100, 3)),
        "the default boxes are 120, with [1, 120, 4] and [1, 120, classes], "
        'but the model\'s outputs are "y0" [1, 100, 4], "y1" [1, 100, 3]',
    ),
    "a picture that is not a square": (
        (SSD, (1, 3, 64, 32), (1, 120, 4), (1, 120, 3)),
        "the grids are square, but the model's image has 32x64 pixels",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name):
    (back, picture, *shapes), what = REFUSED[name]
    with pytest.raises(ModelError) as caught:
        with_back(giving(picture, *shapes), back)
    assert str(caught.value) == f"error: {what}\n  --back {back}"


@pytest.mark.parametrize(
    ("back", "what"),
    [
        ("edge_impulse.fomo:threshold=1.5", "threshold must be 0 to 1, not 1.5"),
        (
            "edge_impulse.fomo:object_detection_count=0",
            "object_detection_count must be 1 to 1024 boxes, not 0",
        ),
        ("ultralytics.yolov8:iou=0", "iou must be above 0 and at most 1, not 0"),
        ("ultralytics.yolov8:reg_max=0", "reg_max must be 1 to 64, not 0"),
        (
            "ultralytics.yolov5:anchors=1/2/3",
            "anchors has 3 numbers, it must have a width and a height for each, all above 0",
        ),
        ("torchvision.ssd", "torchvision.ssd needs grid_sizes"),
        ("torchvision.ssd:grid_sizes=2.5", "grid_sizes must be whole numbers above 0 (cells)"),
        (
            "torchvision.ssd:grid_sizes=4/2,scales=0.1/0.2",
            "scales has 2 numbers, 2 grids need 3",
        ),
        ("torchvision.ssd:grid_sizes=4/2,steps=8", "steps has 1 numbers, 2 grids need 2"),
    ],
)
def test_a_wrong_declaration_is_reported(back, what):
    with pytest.raises(DeclarationError) as caught:
        read_back(back)
    assert caught.value.what == what


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
def test_c_finds_what_the_reference_finds(name, board, tmp_path, require_tool):
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
