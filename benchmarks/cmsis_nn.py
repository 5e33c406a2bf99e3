"""The tables of CMSIS-NN: each layer by our kernel and by the library's, on a Cortex-M4 and a Cortex-M55."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.shared import model_file
from codegen.job import import_model
from codegen.model import COPIES, LayerInfo
from codegen.options import CompileOptions
from deploy.benchmark.cycle_model import layer_cycles
from deploy.compiler.compile_model import compile_for
from deploy.devices.connection_options import LineOptions
from extensions.cmsis_nn.library import cmsis_nn
from platforms.board_files import load_board
from platforms.cycles.estimate import Cycles

MODELS = (
    "tiny_ic_resnet8_int8",
    "tiny_kws_dscnn_int8",
    "tiny_vww_mbv1_int8",
    "tiny_ad_fc_int8",
    "tflm_person_detect_int8",
)
BOARDS = {"mps2-an386": "Cortex-M4", "mps3-an547": "Cortex-M55"}
_HEAD_OF_TABLE = """\
| layer | MACs | our kernel | instructions | CMSIS-NN's | cycles | CMSIS-NN's | times fewer |
| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |
"""


@dataclass(frozen=True, slots=True)
class Cost:
    instructions: int = 0
    cycles: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.instructions + other.instructions, self.cycles + other.cycles)


@dataclass(frozen=True)
class Computed:
    """A layer, and what it costs with the copies that are made for it."""

    layer: LayerInfo
    cost: Cost


@dataclass(frozen=True)
class Row:
    """Layers that compute the same, by both; one of ours may compute what two of the library's do."""

    ours: tuple[Computed, ...]
    theirs: tuple[Computed, ...]

    def __str__(self) -> str:
        theirs = [each.layer for each in self.theirs]
        said = ", ".join(f"{layer.op} {layer.shapes}" for layer in theirs)
        kernels = ", ".join(each.layer.kernel for each in self.ours)
        macs = sum(layer.macs for layer in theirs)
        return _cells(said, f"{macs:,}", kernels, total(self.ours), total(self.theirs))


def total(computed: Iterable[Computed]) -> Cost:
    return sum((each.cost for each in computed), Cost())


def _cells(what: str, macs: str, kernels: str, ours: Cost, theirs: Cost) -> str:
    counts = (ours.instructions, theirs.instructions, ours.cycles, theirs.cycles)
    times = f"{theirs.cycles / ours.cycles:.2f}"
    return f"| {' | '.join((what, macs, kernels, *(f'{count:,}' for count in counts), times))} |\n"


def with_copies(layers: Sequence[LayerInfo], costs: Mapping[int, Cost]) -> list[Computed]:
    """Adds what copies cost to the layer behind them, which is given rows in its own format."""
    found: list[Computed] = []
    waiting = Cost()
    for layer in layers:
        waiting += costs.get(layer.index, Cost())
        if layer.op not in COPIES:
            found.append(Computed(layer, waiting))
            waiting = Cost()
    return [*found[:-1], Computed(found[-1].layer, found[-1].cost + waiting)]


def side_by_side(ours: Sequence[Computed], theirs: Sequence[Computed]) -> list[Row]:
    """Rows in the order of the library's layers; what only one of both has belongs to the row before it."""
    by_origin = {each.layer.origin: each for each in ours}
    rows: list[Row] = []
    for each in theirs:
        own = by_origin.pop(each.layer.origin, None)
        if own is None:
            last = rows.pop()
            rows.append(Row(last.ours, (*last.theirs, each)))
        else:
            rows.append(Row((own,), (each,)))
    assert not by_origin, f"no layer of the library's computes {', '.join(by_origin)}"
    return rows


def head() -> str:
    """What the tables were measured with."""
    return f"""\
# Each layer: our kernel and CMSIS-NN's

These tables compare our kernels (at `speed`) with those of the library, revision
{cmsis_nn(library_folder()).revision}. Both are compiled with gcc, the library with -O3 like its own build.
They show instructions, and cycles of the cycle model for memory without wait states. Results are equal, bit
for bit. Copies that a layer needs count as its cost. `CMSIS_NN_PATH=... python -m benchmarks cmsis-nn` prints
this.
"""


def cmsis_nn_rows(name: str) -> Iterator[str]:
    """The tables of a model: a heading and rows for each board."""
    word = f"cmsis-nn:path={library_folder()}"
    for board, core in BOARDS.items():
        rows = side_by_side(_measured(name, board), _measured(name, board, word))
        yield f"\n## {name}, {core}\n\n{_HEAD_OF_TABLE}"
        yield from map(str, rows)
        ours = total(each for row in rows for each in row.ours)
        theirs = total(each for row in rows for each in row.theirs)
        fewer = sum(total(row.ours).cycles <= total(row.theirs).cycles for row in rows)
        yield _cells("all", "", f"fewer cycles in {fewer} of {len(rows)}", ours, theirs)


def library_folder(variable: str = "CMSIS_NN_PATH") -> str:
    """Returns the folder of a library. Ends the program if the environment does not name one."""
    folder = os.environ.get(variable)
    if not folder:
        sys.exit(f"{variable} does not say where CMSIS-NN is")
    cmsis_nn(folder)
    return folder


def _measured(name: str, board_name: str, *accelerators: str) -> list[Computed]:
    options, board = CompileOptions(accelerators=accelerators), load_board(board_name)
    compiled = compile_for(import_model(model_file(name), options), board, options)
    found = layer_cycles(compiled.artifact, board, None, LineOptions())
    return with_copies(compiled.model.layers, {index: _cost(cycles) for index, cycles in found.items()})


def _cost(cycles: Cycles) -> Cost:
    return Cost(cycles.instructions, cycles.count)
