"""The trace of one model run, stored in a file: basic blocks in order, and data reads from flash."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
# Kinds of misaligned accesses: a half-word, a word at an even address, a word at an odd address.
HALF_WORD, WORD, ODD_WORD = range(3)


@dataclass(frozen=True, slots=True)
class TracePoints:
    """Addresses of the functions that delimit a run and its layers, and the flash range to record."""

    run: int  # address of <model>_run
    on_layer: int | None  # called by a profile build after each row, with the layer
    flash: range


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace of a run. Jumps target only block starts. Blocks are numbered in order of first execution."""

    machine: str  # a key of MACHINE_CODES
    addresses: Numbers  # by block
    code: tuple[bytes, ...]  # by block
    order: Numbers  # numbers of executed blocks
    flash_reads: Numbers  # addresses of data reads from flash, in order
    reads_before: Numbers  # by executed block: how many flash reads precede it
    misaligned: Numbers  # pairs: kind of misalignment, index in `order`
    layer_ends: Numbers  # pairs: layer index, number of blocks executed before its report

    def save(self, path: Path) -> None:
        sizes = [len(code) for code in self.code]
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        with path.open("wb") as file:
            np.savez(
                file,
                machine=self.machine,
                sizes=sizes,
                code=np.frombuffer(b"".join(self.code), np.uint8),
                **arrays,
            )


_ARRAYS = ("addresses", "order", "flash_reads", "reads_before", "misaligned", "layer_ends")


def load_trace(path: Path) -> Trace:
    with np.load(path) as file:
        code, ends = file["code"].tobytes(), np.cumsum(file["sizes"], dtype=np.int64)
        starts = ends - file["sizes"]
        return Trace(
            machine=str(file["machine"]),
            code=tuple(code[start:end] for start, end in zip(starts, ends, strict=True)),
            **{name: file[name] for name in _ARRAYS},
        )
