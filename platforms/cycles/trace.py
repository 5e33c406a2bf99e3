"""The trace of a run of a model, kept in a file: its basic blocks in order, and its reads of flash."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
# How an access can be misaligned: a half-word, a word at an even address, a word at an odd one.
HALF_WORD, WORD, ODD_WORD = range(3)


@dataclass(frozen=True, slots=True)
class TracePoints:
    """The addresses of the functions that begin and divide a run, and of the flash that is watched."""

    run: int  # <model>_run
    on_layer: int | None  # what a model in a profile build calls after each row, with the layer
    flash: range


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace of a run. No jump goes into or out of a block's middle; blocks are numbered as first met."""

    machine: str  # of MACHINE_CODES
    addresses: Numbers  # of each block
    code: tuple[bytes, ...]  # of each block
    order: Numbers  # the executed blocks' numbers, one after the other
    flash_reads: Numbers  # the addresses of data read from flash, in order
    reads_before: Numbers  # for each executed block: how many of these reads came before it
    misaligned: Numbers  # pairs: how an access was misaligned, and at which place in `order`
    layer_ends: Numbers  # pairs: a layer's index, and how many blocks had been executed when it reported

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
