"""Changes the code in small ways, one at a time, and prints the changes that no test sees.

    python tests/mutants/try_changes.py [ROOM ...] [--list] [--store] [--at-once N]

Each change is tried first on the few tests that see most, then on the room's fast tests, and what survives
those on all tests that should see it.
No file of code is touched; --store writes the scores to where `deploy evidence` reads them. Exits with 1
where a change survives for which equal_changes.py gives no reason.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from changed_process import Changed, Children, Trial, read_foreign_modules
from code_changes import Change
from equal_changes import REASONS
from mutants_table import FAST, ROOMS, ROOT, Room, possible, selected

from codegen.version import VERSION

SCORES = ROOT / "deploy" / "proving" / "confidence" / "mutants.json"


@dataclass(frozen=True)
class Verdict:
    room: str
    change: Change
    seen_by: str  # the first test that failed; "" where none did

    @property
    def reason(self) -> str:
        """Why nobody could notice the change; "" where none is known."""
        return REASONS.get(self.change.text, "")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def trials(room: Room, change: Change | None) -> list[Trial]:
    """On the first tests, on the fast ones, then on the others."""
    changed = Changed(ROOT, change) if change else None
    return [
        *(Trial(changed, tests, FAST) for tests in (room.first, room.fast) if tests),
        Trial(changed, room.all, room.slower),
    ]


def verdicts(
    work: Sequence[tuple[str, Change | None]], at_once: int
) -> Iterator[tuple[str, Change | None, str]]:
    """Room, change and the first test that failed, as they end; what passes one trial faces the next."""
    children = Children(ROOT)
    waiting = [(room, change, trials(ROOMS[room], change)) for room, change in reversed(work)]
    running: dict[int, tuple[str, Change | None, list[Trial]]] = {}
    while waiting or running:
        while waiting and len(children) < at_once:
            room, change, left = waiting.pop()
            running[children.start(left[0])] = (room, change, left[1:])
        number, failed = children.wait()
        room, change, left = running.pop(number)
        if left and not failed:
            waiting.append((room, change, left))
        else:
            yield room, change, failed


def refuse_failing_tests(rooms: Sequence[str], at_once: int) -> None:
    """Tests that fail without a change would see every change."""
    for room, _, failed in verdicts([(room, None) for room in rooms], at_once):
        if failed:
            raise SystemExit(f"error: without any change {failed} fails already (room {room})")


def try_all(rooms: Sequence[str], at_once: int) -> Iterator[Verdict]:
    work = [(room, change) for room in rooms for change in selected(ROOMS[room])]
    for number, (room, change, failed) in enumerate(verdicts(work, at_once), start=1):
        assert change is not None
        verdict = Verdict(room, change, failed)
        say(f"[{number}/{len(work)}] {told(verdict)}\n    {failed or verdict.reason or 'NOBODY SEES IT'}")
        yield verdict


def told(verdict: Verdict) -> str:
    return f"{verdict.room}: {verdict.change.where}: {verdict.change.text}"


def table(found: Sequence[Verdict]) -> Iterator[str]:
    yield "| room | changes | seen | survive, with a reason | survive |"
    yield "|---|---:|---:|---:|---:|"
    for room in dict.fromkeys(verdict.room for verdict in found):
        changes, seen, known = counts([verdict for verdict in found if verdict.room == room])
        yield f"| {room} | {changes} | {seen} | {known} | {changes - seen - known} |"


def counts(found: Sequence[Verdict]) -> tuple[int, int, int]:
    """How many changes of a room were tried, how many a test sees, and how many survive with a reason."""
    seen = sum(bool(verdict.seen_by) for verdict in found)
    known = sum(not verdict.seen_by and bool(verdict.reason) for verdict in found)
    return len(found), seen, known


def score(room: str, found: Sequence[Verdict]) -> dict[str, object]:
    """What is stored of a room: the version, the counts, and what survives without a reason."""
    changes, seen, known = counts(found)
    left = [verdict.change for verdict in found if not verdict.seen_by and not verdict.reason]
    return {
        "solder": VERSION,
        "possible": len(possible(ROOMS[room])),
        "changes": changes,
        "seen": seen,
        "with_reason": known,
        "survivors": sorted(f"{change.path.name}: {change.text}" for change in left),
    }


def store(found: Sequence[Verdict], path: Path = SCORES) -> None:
    """Writes the scores of these rooms; those of other rooms stay."""
    scores = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for room in dict.fromkeys(verdict.room for verdict in found):
        scores[room] = score(room, [verdict for verdict in found if verdict.room == room])
    text = json.dumps(dict(sorted(scores.items())), indent=1)
    path.write_text(f"{text}\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Prints the small changes of the code that no test sees.")
    parser.add_argument(
        "rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(ROOMS)}; all where none is named"
    )
    parser.add_argument("--list", action="store_true", help="only print which changes are tried")
    parser.add_argument("--store", action="store_true", help=f"write the scores to {SCORES.name}")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="changes tried at the same time")
    arguments = parser.parse_args()
    rooms = arguments.rooms or list(ROOMS)
    if arguments.list:
        for verdict in (Verdict(room, change, "") for room in rooms for change in selected(ROOMS[room])):
            say(told(verdict))
        return 0
    os.environ["CI"] = "true"  # the same cases of hypothesis each time
    read_foreign_modules()
    began = time.monotonic()
    refuse_failing_tests(rooms, arguments.at_once)
    found = list(try_all(rooms, arguments.at_once))
    survivors = [verdict for verdict in found if not verdict.seen_by]
    if arguments.store:
        store(found)
    say("\n".join(["", *table(found), ""]))
    for verdict in survivors:
        say(f"{told(verdict)}\n    {verdict.reason or 'NOBODY SEES IT'}")
    say(f"\n{len(found)} changes in {(time.monotonic() - began) / 60:.0f} minutes")
    return int(any(not verdict.reason for verdict in survivors))


if __name__ == "__main__":
    sys.exit(main())
