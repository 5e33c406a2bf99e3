"""The C of DSP instructions, read as text: as many taps as the window has, values side by side."""

import re

import pytest

from aot.ir.types import DType
from codegen.isa.dsp.channels import ChannelsTile, window
from codegen.isa.dsp.isa import LANES
from codegen.isa.dsp.strategies.four_bits import widened
from codegen.kernels.four_bit_weights import WindowOfPairs


@pytest.mark.parametrize(
    ("rows", "columns", "taps"),
    [
        (1, 1, 1),
        (1, 5, 5),
        (2, 3, 6),
        (9, 1, 9),
        (12, 1, 1),  # a loop over rows
        (3, 4, 4),
        (1, 11, 9 + 2),  # one over taps, and what is left
        (2, 20, 9 + 2),
    ],
)
def test_a_window_has_its_taps_three_to_a_line(rows, columns, taps):
    tile = ChannelsTile(1, 4, rows, columns, 20, 6, DType.I8, True)
    code = window(tile).definition.rpartition("#else")[2]
    lines = re.findall(rf"^ +((?:{tile.name.upper()}_TAP ?)+)$", code, re.MULTILINE)
    assert sum(len(line.split()) for line in lines) == taps
    assert {len(line.split()) for line in lines} <= {1, 2, 3}


@pytest.mark.parametrize(("pixels", "length"), [(1, 8), (2, 8), (2, 16), (2, 12), (1, 4)])
def test_four_bit_values_lie_side_by_side(pixels, length):
    """Each pair of halves takes two elements of each pixel; a turn goes on where the one before ended."""
    code = widened(pixels, 8, WindowOfPairs(1, length), True).definition
    places = re.findall(r"memcpy\(__builtin_assume_aligned\(to(?: \+ (\d+))?, 4\), &(?:word|odd), 4\)", code)
    step = 2 * pixels
    assert [int(place or 0) for place in places] == list(range(0, step * len(places), step))
    assert f"to += {step * len(places)};" in code
    turns = re.search(r"n < (\d+)", code)
    assert turns is not None
    assert int(turns[1]) * len(places) * 2 == length


@pytest.mark.parametrize(("name", "word"), [("least_bytes", "0x80808080"), ("most_bytes", "0x7f7f7f7f")])
def test_greatest_and_least_bytes_begin_with_the_end_of_their_range(name, word):
    (call,) = (each.call for each in LANES.instructions if each.name == name)
    assert call == f"{{acc}} = UINT32_C({word});"
