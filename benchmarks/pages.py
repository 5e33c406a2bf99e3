"""The pages of measured figures: the command that prints each, and the commit that it was made at."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
STAMP = re.compile(r"^Figures of commit ([0-9a-f]{8})\b", re.MULTILINE)
BY_HAND = ("operators.md", "fuzz.md")  # another project's counts; what `make fuzz-long` prints in hours

# Pages here, each with the command that prints it. Some need hours, CMSIS_NN_PATH or PyTorch: each says so.
PAGES: Mapping[str, str] = {
    "backends.md": "backends",
    "cartridges.md": "cartridges",
    "cmsis-nn.md": "cmsis-nn",
    "endurance.md": "endurance",
    "estimates.md": "estimates",
    "fits.md": "fits",
    "floors.md": "floors",
    "gemm-npu.md": "gemm-npu",
    "half_weights.md": "half-weights",
    "host.md": "host",
    "int4.md": "int4",
    "levels.md": "levels",
    "micropython.md": "micropython",
    "moments.md": "moments",
    "one_operator.md": "operators",
    "orders.md": "orders",
    "passes.md": "passes",
    "public-models.md": "public-models",
    "published.md": "published",
    "pytorch.md": "pytorch",
    "refined.md": "refined",
    "searches.md": "searches",
    "tuner-models.md": "tuner-models",
    "two_cores.md": "two-cores",
    "vision.md": "vision",
    "wide_activations.md": "wide-activations",
}
# Pages that tests hold against what is measured: they are true of the tree that has them.
HELD: Mapping[str, str] = {
    "results.md": "tests/bench/test_counts.py",
    "memory.md": "tests/bench/test_memory.py",
    "silicon.md": "tests/silicon/test_files.py",
}
# Pages of docs/ with measured tables, which people write around what a command prints.
DOCS = (
    "approximate.md", "apps.md", "cartridges.md", "cycles.md", "ethos-u.md", "evidence.md", "front-ends.md",
    "line.md", "two-cores.md",
)  # fmt: skip


def make_pages(*names: str) -> None:
    """Prints these pages again, or all; one whose command fails stays as it was and is named."""
    failed = [name for name in names or PAGES if not _make(name)]
    if failed:
        sys.exit(f"not made again: {', '.join(failed)}")


def _make(name: str) -> bool:
    argv = (sys.executable, "-m", "benchmarks", PAGES[name])
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        (HERE / name).write_text(f"{done.stdout.rstrip()}\n\n{stamp()}\n", encoding="utf-8")
    return done.returncode == 0


def stamp() -> str:
    """The sentence that says at which commit figures are made."""
    commit, changed = (
        _git(words) for words in (("rev-parse", "--short=8", "HEAD"), ("status", "--porcelain"))
    )
    return f"Figures of commit {commit}{', with changes that were not committed' if changed else ''}."


def table_lines(page: str, head: str) -> list[str]:
    """The rows of the table under that heading: up to the first empty line, since the stamp follows."""
    return page.partition(head)[2].partition("\n\n")[0].splitlines()


def unstamped(docs: Path) -> Iterator[str]:
    """Yields the pages of figures that neither a test holds nor a commit is named on."""
    for path in (*sorted(HERE.glob("*.md")), *(docs / name for name in DOCS)):
        if path.name not in HELD and not STAMP.search(path.read_text(encoding="utf-8")):
            yield path.name


def _git(words: Sequence[str]) -> str:
    return subprocess.run(
        ("git", *words), cwd=HERE, capture_output=True, text=True, check=True
    ).stdout.strip()
