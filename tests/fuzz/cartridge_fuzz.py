"""Drives the loader of cartridges with requests at random against a model of its rules.

`python tests/fuzz/cartridge_fuzz.py [--count N] [--seed N]` prints what was done with each kind of cartridge.
The C takes signed cartridges only, and is compiled with the sanitizers of addresses and undefined behavior.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from cartridge_press import MODEL, PRESSES, VERIFY, Press, key_flags, tiny_source, write_key

from platforms.cartridge.header import read_header
from platforms.cartridge.signing import public_key
from platforms.rpc.protocol import Status

SLOT_BYTES = 2048
COUNT = 10_000_000
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
HEAD = """\
## Cartridges

`make fuzz-long` prints this too. Requests of all kinds go to firmware that takes signed cartridges, by its
line and by a program's own transport; resets, lost power and memory that fails come between them. After each
request the slot that runs is compared, byte for byte, with the cartridge that a model of the rules expects.

| cartridges | requests | taken | refused | gone back | starts | power lost | found |
|---|---:|---:|---:|---:|---:|---:|---|
"""


def fuzz_program(press: Press, key: Path, runtime: Path | None = None) -> Path:
    flags = (
        "-O1",
        *SANITIZERS,
        f"-DSLOT_BYTES={SLOT_BYTES}u",
        *key_flags(public_key(key)),
        "-lsodium",
    )
    return press.program(*flags, name="fuzz", runtime=runtime, verify=VERIFY / "libsodium.c")


def pool(press: Press, mine: Path, theirs: Path) -> list[str]:
    """Cartridges as the program takes them: path, status, what is added, version."""
    good, later = press.made(1, mine), replace(MODEL, version=2)
    made = [
        (good, Status.OK, 1),
        (press.made(2, mine), Status.OK, 2),
        (press.made(1, mine, later), Status.OK, 1),
        (press.made(2, mine, later), Status.OK, 2),
        (press.made(2, mine, replace(MODEL, version=0)), Status.CARTRIDGE_OLDER, 0),
        (press.made(2, mine, replace(later, product="another")), Status.CARTRIDGE_PRODUCT, 0),
        (press.made(2, mine, test_crc=1), Status.CARTRIDGE_TEST, 0),
        (press.made(2, theirs), Status.CARTRIDGE_OTHER_KEY, 0),
        (press.made(2), Status.CARTRIDGE_OTHER_KEY, 0),
        (good[:-64] + press.made(2, mine)[-64:], Status.CARTRIDGE_OTHER_KEY, 0),
        (press.made(1, mine, core="another"), _other_core(press), 0),
        (press.made(1, mine, arena_bytes=(65,)), Status.CARTRIDGE_NEEDS, 0),
    ]
    paths = [press.write(f"fuzz{n}.cart", data) for n, (data, _, _) in enumerate(made)]
    return [
        f"{path}:{status:d}:{adds}:{read_header(data).identity.version}"
        for path, (data, status, adds) in zip(paths, made, strict=True)
    ]


def _other_core(press: Press) -> Status:
    return Status.CARTRIDGE_STRUCTURE if "-DSOLDER_WEIGHTS" in press.flags else Status.CARTRIDGE_CORE


def outcome(
    press: Press, seed: int, count: int, runtime: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the fuzzer. What it finds is in its output and its exit status."""
    mine, theirs = (write_key(press.folder / f"{name}.pem") for name in ("mine", "theirs"))
    program = fuzz_program(press, mine, runtime)
    words = [str(program), str(seed), str(count), *pool(press, mine, theirs)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def rows(seed: int, count: int) -> Iterator[str]:
    for kind, make in PRESSES.items():
        with tempfile.TemporaryDirectory() as folder:
            done = outcome(make(tiny_source(), Path(folder)), seed, -(-count // len(PRESSES)))
        if done.returncode:
            yield f"| {kind} | | | | | | | {(done.stdout + done.stderr).strip().splitlines()[0]} |\n"
        else:
            numbers = " | ".join(f"{int(word):,}" for word in done.stdout.split() if word.isdigit())
            yield f"| {kind} | {numbers} | nothing |\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Drives the loader of cartridges with requests at random.")
    parser.add_argument("--count", type=int, default=COUNT, help="requests in all")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found = False
    sys.stdout.write(HEAD)
    for row in rows(arguments.seed, arguments.count):
        sys.stdout.write(row)
        sys.stdout.flush()
        found = found or not row.endswith("| nothing |\n")
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
