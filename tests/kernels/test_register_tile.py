"""Tiles of sums for cores with many registers: within them, worth their code, even at a row's end."""

import pytest

from codegen.kernels.register_tile import (
    MOST_CHANNELS,
    MOST_PIXELS,
    Sums,
    iterations_written_out,
    widest_tile,
)

REGISTERS, LEAST = 26, (2, 2)


@pytest.mark.parametrize(
    ("sums", "tile"),
    [
        pytest.param(Sums(25, 5, 64, 64), (5, 3), id="a row of five pixels is one tile"),
        pytest.param(Sums(32, 32, 16, 144), (4, 4), id="as square as can be"),
        pytest.param(Sums(1, 1, 128, 640), (1, 8), id="of one pixel many channels"),
        pytest.param(Sums(1, 1, 2, 20), (1, 2), id="no more than there are"),
        pytest.param(Sums(3, 3, 22, 31), (3, 2), id="a light layer is not worth much code"),
        pytest.param(Sums(64, 6, 24, 1), (2, 4), id="fewer tiles: what each begins with counts"),
    ],
)
def test_the_tile_that_costs_least_is_taken(sums, tile):
    assert widest_tile(sums, REGISTERS, LEAST) == tile


def test_more_registers_hold_more_sums():
    sizes = [widest_tile(Sums(100, 48, 64, 576), registers, LEAST) for registers in (11, 13, 16, 20, 26, 31)]
    counts = [pixels * channels for pixels, channels in sizes]
    assert counts == sorted(counts)
    assert len(set(counts)) > 3
    assert all(pixels <= MOST_PIXELS and channels <= MOST_CHANNELS for pixels, channels in sizes)


@pytest.mark.parametrize(
    ("sums", "size", "length", "turns"),
    [
        pytest.param(Sums(1, 1, 128, 640), (1, 8), 640, 2, id="a long loop"),
        pytest.param(Sums(1, 1, 128, 128), (1, 8), 128, 1, id="code costs more than the ends of a short one"),
        pytest.param(Sums(64, 1, 32, 150), (1, 8), 50, 2, id="no turn is left over"),
        pytest.param(Sums(64, 1, 32, 96), (1, 8), 96, 4, id="every row runs it again"),
        pytest.param(Sums(32, 32, 16, 144), (4, 4), 48, 1, id="sums of several pixels need all registers"),
    ],
)
def test_turns_are_written_out_where_that_is_worth_the_code(sums, size, length, turns):
    assert iterations_written_out(sums, size, length) == turns
