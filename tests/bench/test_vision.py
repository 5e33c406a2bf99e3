"""python -m benchmarks vision: what is printed there is so, and nothing is computed twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.vision import HEAD, PUBLISHED, VisionRow, vision_row
from benchmarks.vision_networks import FOMO_96, MOBILENET_V2_224


@pytest.fixture(scope="module")
def row() -> VisionRow:
    return vision_row(FOMO_96)


@pytest.mark.slow
def test_a_row_of_the_page_is_what_is_measured_now(row: VisionRow, repo_root: Path) -> None:
    page = (repo_root / "benchmarks" / "vision.md").read_text(encoding="utf-8")
    assert page.startswith(HEAD)
    assert str(row) in page
    assert all(str(published) in page for published in PUBLISHED)


@pytest.mark.slow
def test_each_row_of_a_network_is_made_once(row: VisionRow) -> None:
    assert row.macs_done == row.macs
    assert row.streamed < row.arena < row.whole


def test_multiplications_are_those_that_are_published() -> None:
    """MobileNetV2's are 300 million; the page counts those that dead channels leave."""
    x, size = 3, MOBILENET_V2_224.size // 2
    macs = size * size * 9 * x * MOBILENET_V2_224.first
    x = MOBILENET_V2_224.first
    for block in MOBILENET_V2_224.blocks:
        macs += size * size * x * block.inner * (block.inner != x)
        size //= block.stride
        macs += size * size * block.inner * (block.kernel**2 + block.outputs)
        x = block.outputs
    macs += size * size * x * 1280 + 1280 * 1000
    assert round(macs / 1e6) == 301
