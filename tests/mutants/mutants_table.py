"""Which code is changed, how many changes of it are tried, and which tests should see them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from code_changes import Change, changes_in

FAST = "not cc and not arm and not qemu and not slow"
IN_PYTHON = "slow and not cc and not arm and not qemu"
ROOT = Path(__file__).resolve().parent.parent.parent
# The loop nests of all operators, and the arithmetic and the schedules of plain C and of SMLAD.
KERNELS = (
    "codegen/kernels/*.py",
    "codegen/isa/plain/*.py",
    "codegen/isa/dsp/*.py",
    "codegen/isa/dsp/strategies/*.py",
)


@dataclass(frozen=True)
class Room:
    """`fast` are tests of `make check`; what survives those must face the slower ones of `all`.

    `first` come before: the few files that see most, which need not wait until all the others are read."""

    code: tuple[str, ...]
    number: int  # of changes, besides those of all named constants
    fast: tuple[str, ...]
    all: tuple[str, ...]
    slower: str = f"not ({FAST})"  # the markers of those
    with_constants: bool = True  # False: named constants are left out
    first: tuple[str, ...] = ()


ROOMS: Mapping[str, Room] = {
    "plan": Room(
        code=("aot/plan/*.py",),
        number=60,
        first=(
            "tests/plan/test_check.py",
            "tests/plan/test_groups.py",
            "tests/plan/test_random_nets.py",
            "tests/plan/test_efforts.py",
            "tests/plan/test_order.py",
        ),
        fast=("tests/plan", "tests/codegen/test_rows.py", "tests/codegen/test_graphs.py"),
        all=("tests/plan",),
        slower=IN_PYTHON,  # models built in C take minutes for each change, and follow the same plans
    ),
    "checker": Room(
        code=("aot/plan/check.py",),
        number=40,
        fast=("tests/plan/test_check.py", "tests/plan/test_check_overlaps.py"),
        all=("tests/plan/test_check.py", "tests/plan/test_check_overlaps.py"),
    ),
    "lowering": Room(
        code=("codegen/lower/*.py",),
        number=40,
        first=(
            "tests/codegen/test_lowered_rows.py",
            "tests/codegen/test_code_cache.py",
            "tests/codegen/test_graphs.py",
            "tests/codegen/test_in_place.py",
            "tests/codegen/test_hybrid.py",
            "tests/codegen/test_states.py",
            "tests/codegen/test_stream.py",
            "tests/codegen/test_rows.py",
            "tests/codegen/test_two_cores.py",
        ),
        fast=("tests/codegen", "tests/kernels/test_edges.py"),
        all=("tests/codegen", "tests/kernels/test_edges.py"),
        slower=IN_PYTHON,  # stages are run there, too: in C the same changes are seen many minutes later
    ),
    "variants": Room(
        code=("codegen/fit/*.py",),
        number=25,
        first=(
            "tests/codegen/test_search_limits.py",
            "tests/codegen/test_memory_use.py",
            "tests/codegen/test_constant_places.py",
            "tests/codegen/test_budgets.py",
            "tests/codegen/test_arenas.py",
            "tests/codegen/test_sharing.py",
        ),
        fast=("tests/codegen", "tests/cli/test_board_budget.py", "tests/archive"),
        all=("tests/codegen",),
        slower=IN_PYTHON,  # which sees plans and choices: C only follows them
    ),
    "kernels": Room(
        code=KERNELS,
        number=64,
        fast=("tests/kernels", "tests/isa"),
        all=("tests/kernels", "tests/isa"),
        slower=IN_PYTHON,  # in C, where a change of a loop is the same change, they take minutes each
        with_constants=False,  # most are points for tuning: another makes a kernel slower, and changes no bit
    ),
    "estimates": Room(
        code=(
            "codegen/c/estimate.py",
            "codegen/c/stack_size.py",
            "codegen/c/part_sizes.py",
        ),
        number=15,
        fast=("tests/codegen/test_estimates.py", "tests/cli/test_board_budget.py", "tests/archive"),
        all=(
            "tests/codegen/test_estimates.py",
            "tests/bench/test_counts.py::test_what_is_reported_before_a_build_is_what_is_committed",
        ),
        slower=IN_PYTHON,
    ),
    "line": Room(
        code=("platforms/rpc/*.py",),
        number=40,
        first=(
            "tests/rpc/test_line_numbers.py",
            "tests/rpc/test_lying_devices.py",
            "tests/rpc/test_frame.py",
            "tests/rpc/test_failure_texts.py",
        ),
        fast=("tests/rpc", "tests/errors/test_tools_and_devices.py"),
        all=(
            "tests/rpc",
            "tests/cli/test_attach.py",
            "tests/cli/test_measure.py",
            "tests/cli/test_on_boards.py",
        ),
    ),
}


def possible(room: Room) -> list[Change]:
    """All small changes of the room's code, of which `selected` are tried."""
    paths = (path for pattern in room.code for path in sorted(ROOT.glob(pattern)))
    return [change for path in paths for change in changes_in(path)]


def selected(room: Room) -> list[Change]:
    """Those of the named constants, and of the others the first by rank: the same on every machine."""
    changes = possible(room)
    constants = [change for change in changes if change.is_named_constant and room.with_constants]
    others = sorted((c for c in changes if not c.is_named_constant), key=lambda change: change.rank)
    return [*constants, *others[: room.number]]
