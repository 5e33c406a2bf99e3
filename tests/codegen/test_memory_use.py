"""What a model takes of each memory: where its parts lie, and when there is just enough room."""

from dataclasses import replace

from aot.target import MemoryRegion, Target
from codegen.c.arenas import Arena
from codegen.fit.memory_use import MemoryNeeds, MemoryUse, memory_use_of, missing_ram_bytes

FLASH = MemoryRegion("FLASH", 0, 4000, "flash")
FAST, SLOW = MemoryRegion("FAST", 1 << 29, 1000, "ram"), MemoryRegion("SLOW", 1 << 30, 9000, "ram", speed=1)
TARGET = Target("cortex-m4", regions=(FLASH, FAST, SLOW))
NEEDS = MemoryNeeds((Arena("arena", "", 700),), None, 200, 3000, {}, 900)


def taken(needs: MemoryNeeds, target: Target = TARGET) -> dict[str, dict[str, int]]:
    return {use.region.name: dict(use.parts) for use in memory_use_of(needs, target)}


def test_what_just_fits_fits():
    use = MemoryUse(FAST, (("arena", 800), ("stack, estimated", 200)))
    assert (use.fits, use.missing_bytes, use.fits_but_for_estimates) == (True, 0, True)


def test_an_estimate_too_large_leaves_the_answer_to_a_build():
    use = MemoryUse(FAST, (("arena", 1000), ("stack, estimated", 200)))
    assert (use.fits, use.missing_bytes, use.fits_but_for_estimates) == (False, 200, True)
    assert not MemoryUse(FAST, (("arena", 1001),)).fits_but_for_estimates


def test_an_arena_and_its_stack_lie_together_in_the_fastest_memory_with_room_for_both():
    assert taken(NEEDS)["FAST"] == {"arena, inputs and outputs in it": 700, "stack, estimated": 200}
    large = replace(NEEDS, arenas=(Arena("arena", "", 801),))
    assert taken(large)["SLOW"] == {"arena, inputs and outputs in it": 801, "stack, estimated": 200}
    assert "FAST" not in taken(large)


def test_beside_arenas_in_named_memories_the_stack_lies_in_the_fastest():
    parts = taken(replace(NEEDS, arenas=(Arena("arena", "SLOW", 700),)))
    assert parts["SLOW"] == {"arena in SLOW": 700}
    assert parts["FAST"] == {"stack, estimated": 200}


def test_what_no_memory_has_room_for_is_missing_in_the_largest():
    large = replace(NEEDS, arenas=(Arena("arena", "", 9000),))
    assert missing_ram_bytes(large, TARGET) == 200
    assert missing_ram_bytes(NEEDS, TARGET) == 0


def test_unknown_memories_are_not_reported():
    assert memory_use_of(NEEDS, Target("cortex-m4")) == ()
    assert list(taken(NEEDS, Target("cortex-m4", regions=(FLASH,)))) == ["FLASH"]
