"""How much goes into one request, as the line gets worse and better."""

from __future__ import annotations

from platforms.rpc.exchange import SMALLEST_CHUNK, ChunkSize


def test_damage_halves_down_to_the_smallest() -> None:
    sizes = [size := ChunkSize(1024)]
    sizes += [size := size.after_damage() for _ in range(8)]
    assert [size.bytes for size in sizes] == [1024, 512, 256, 128, 64, 32, 16, 16, 16]
    assert sizes[-1].bytes == SMALLEST_CHUNK


def test_success_doubles_up_to_what_the_device_takes() -> None:
    size = ChunkSize(1000, shift=3)
    assert [(size := size.after_success()).bytes for _ in range(4)] == [250, 500, 1000, 1000]


def test_a_device_that_takes_very_little_gets_very_little() -> None:
    assert ChunkSize(10).after_damage().bytes == 10
