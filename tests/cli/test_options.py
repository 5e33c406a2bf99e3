"""Words of the command line become values, or a sentence that says what they should be."""

from __future__ import annotations

import argparse

import pytest

from deploy.cli.options import count, size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("65536", 65536),
        ("65,536", 65536),
        ("64K", 65536),
        ("64k", 65536),
        ("64KB", 65536),
        ("64kB", 65536),
        ("64KiB", 65536),
        ("64 KiB", 65536),  # as deploy boards prints it
        ("1.5K", 1536),
        ("2M", 2097152),
        ("2MB", 2097152),
        ("1G", 1073741824),
        ("512B", 512),
    ],
)
def test_sizes_have_units(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "K", "-1", "0.3", "1.0001K", "64T", "64iB", "6,4K", "64  K", "lots"])
def test_what_is_not_a_size_is_refused_with_examples(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size such as 65536, 64KB or 1MB"):
        size(text)


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", ""])
def test_a_number_of_times_is_1_or_more(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be a whole number of 1 or more"):
        count(text)
