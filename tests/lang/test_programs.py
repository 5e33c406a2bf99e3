"""Programs as somebody writes them: a bank of filters, edges of an image, a layer of one bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deploy import lang

pytestmark = [pytest.mark.usefixtures("own_folders"), pytest.mark.cc]
RANDOM = np.random.default_rng(9)


def test_a_bank_of_fixed_point_filters():
    """Sums of 14 fractional bits, rounded half up, saturated."""
    x = lang.placeholder("x", (4, 66), "i16")
    b = lang.placeholder("b", (4, 3), "i16", constant=True)
    k = lang.reduce_axis("k", 3)

    def rounded(total: Any) -> Any:
        return lang.clamp((total + (1 << 13)) >> 14, -32768, 32767)

    y = lang.compute("y", (4, 64), lambda c, n: rounded(lang.sum(x[c, n + k] * b[c, k], k)), "i16")
    s = lang.schedule("bank", [x, b], y)
    s.unroll("k")
    weights = RANDOM.integers(-16384, 16384, (4, 3), np.int16)
    samples = RANDOM.integers(-20000, 20000, (4, 66), np.int16)
    total = sum(samples[:, n : n + 64].astype(np.int64) * weights[:, n : n + 1] for n in range(3))
    wanted = np.clip((total + (1 << 13)) >> 14, -32768, 32767)
    assert np.array_equal(lang.build(s, "host", {"b": weights})(samples), wanted)


def test_edges_of_an_image_row_by_row():
    """Sobel's sums and two thresholds: a row of sums is made where the row of marks needs it."""
    image = lang.placeholder("image", (12, 16), "u8")

    def slope(i: Any, j: Any, along: Callable[[int, int], tuple[int, int]]) -> Any:
        def step(at: int) -> Any:
            (up, left), (down, right) = along(at, 0), along(at, 2)
            return image[i + down, j + right] - image[i + up, j + left]

        return step(0) + (step(1) << 1) + step(2)

    def steepness(i: Any, j: Any) -> Any:
        down, across = slope(i, j, lambda a, b: (b, a)), slope(i, j, lambda a, b: (a, b))
        return lang.maximum(down, -down) + lang.maximum(across, -across)

    sums = lang.compute("sums", (10, 14), steepness, "i16", stored=True)
    marks = lang.compute("marks", (10, 14), lambda r, c: (sums[r, c] >= 150) + (sums[r, c] >= 400), "u8")
    s = lang.schedule("edges", [image], marks)
    s.compute_at("sums", "r")
    assert "sums: scratch(i16[14])" in s.show()
    given = RANDOM.integers(0, 256, (12, 16)).astype(np.uint8)
    a = given.astype(int)
    across = a[:, 2:] - a[:, :-2]
    down = a[2:] - a[:-2]
    steep = np.abs(across[:-2] + 2 * across[1:-1] + across[2:]) + np.abs(
        down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    )
    assert np.array_equal(lang.build(s, "host")(given), (steep >= 150) + (steep >= 400).astype(int))


def test_a_layer_of_one_bit():
    """Signs are packed 32 to a word: those that are alike are counted."""
    x = lang.placeholder("x", (8,), "u32")
    w = lang.placeholder("w", (10, 8), "u32", constant=True)
    k = lang.reduce_axis("k", 8)

    def ones(word: Any) -> Any:
        pairs = word - (word >> 1 & 0x55555555)
        fours = (pairs & 0x33333333) + (pairs >> 2 & 0x33333333)
        return lang.cast("i32", (fours + (fours >> 4) & 0x0F0F0F0F) * 0x01010101 >> 24)

    y = lang.compute("y", (10,), lambda o: lang.sum(ones(~(x[k] ^ w[o, k])), k) * 2 - 256)
    s = lang.schedule("signs", [x, w], y, check=True)
    s.split("o", 2)
    s.privatize("o_i", "sum")
    s.reorder("k", "o_i")
    signs, weights = RANDOM.integers(0, 2, 256), RANDOM.integers(0, 2, (10, 256))

    def packed(bits: Any) -> Any:
        return np.packbits(bits.astype(np.uint8), axis=-1, bitorder="little").view(np.uint32)

    kernel = lang.build(s, "host", {"w": packed(weights)})
    assert np.array_equal(kernel(packed(signs)), (2 * weights - 1) @ (2 * signs - 1))
