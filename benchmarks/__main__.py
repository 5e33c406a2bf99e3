"""python -m benchmarks COMMAND [MODEL ...]: measure the cases, print them; memory, host, line, faults, ..."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.backends import HEAD as HEAD_OF_BACKENDS
from benchmarks.backends import HEAD_OF_FILES, backend_rows, file_rows
from benchmarks.backends import MODELS as MODELS_OF_BACKENDS
from benchmarks.base_firmware import base_firmware
from benchmarks.branching import FAMILIES
from benchmarks.cartridges import HEAD as HEAD_OF_CARTRIDGES
from benchmarks.cartridges import rows as cartridge_rows
from benchmarks.cases import Case, all_cases
from benchmarks.cmsis_nn import MODELS as MODELS_OF_CMSIS_NN
from benchmarks.cmsis_nn import cmsis_nn_rows
from benchmarks.cmsis_nn import head as head_of_cmsis_nn
from benchmarks.costs import BOARDS as CORES_OF_COSTS
from benchmarks.costs import measure_costs
from benchmarks.endurance import HEAD as HEAD_OF_ENDURANCE
from benchmarks.endurance import endurance_rows
from benchmarks.estimates import HEAD as HEAD_OF_ESTIMATES
from benchmarks.estimates import estimate_rows
from benchmarks.ethos_u import HEAD as HEAD_OF_ETHOS_U
from benchmarks.ethos_u import ethos_u_rows
from benchmarks.evidence import HEAD as HEAD_OF_EVIDENCE
from benchmarks.evidence import evidence_rows
from benchmarks.fault_table import HEAD, ROWS, build_devices, text_of, try_out
from benchmarks.fits import HEAD as HEAD_OF_FITS
from benchmarks.fits import fit_rows
from benchmarks.floors import HEAD as HEAD_OF_FLOORS
from benchmarks.floors import MODELS as MODELS_OF_FLOORS
from benchmarks.floors import floor_rows
from benchmarks.frames import HEAD as HEAD_OF_FRAMES
from benchmarks.frames import frame_rows
from benchmarks.gemm_npu import HEAD as HEAD_OF_GEMM_NPU
from benchmarks.gemm_npu import MODELS as MODELS_OF_GEMM_NPU
from benchmarks.gemm_npu import gemm_npu_rows
from benchmarks.gemm_npu_picture import draw
from benchmarks.half_weights import HEAD as HEAD_OF_HALF_WEIGHTS
from benchmarks.half_weights import half_rows
from benchmarks.host import HEAD as HEAD_OF_HOST
from benchmarks.host import host_rows
from benchmarks.int4 import HEAD as HEAD_OF_INT4
from benchmarks.int4 import int4_rows
from benchmarks.levels import HEAD as HEAD_OF_LEVELS
from benchmarks.levels import level_rows
from benchmarks.line import report as line_report
from benchmarks.measure import measure
from benchmarks.memory import measure_memory, read_memory, write_memory
from benchmarks.memory_report import memory_report
from benchmarks.micropython import HEAD as HEAD_OF_MICROPYTHON
from benchmarks.micropython import micropython_rows
from benchmarks.moments import HEAD as HEAD_OF_MOMENTS
from benchmarks.moments import moment_rows
from benchmarks.operators import HEAD as HEAD_OF_OPERATORS
from benchmarks.operators import operator_rows
from benchmarks.orders import HEAD as HEAD_OF_ORDERS
from benchmarks.orders import order_row
from benchmarks.pages import make_pages
from benchmarks.passes import HEAD as HEAD_OF_PASSES
from benchmarks.passes import pass_rows
from benchmarks.place import HEAD as HEAD_OF_PLACE
from benchmarks.place import MODELS as MODELS_OF_PLACE
from benchmarks.place import place_rows
from benchmarks.planning import HEAD as HEAD_OF_PLANNING
from benchmarks.planning import planning_row
from benchmarks.public_models import HEAD as HEAD_OF_PUBLIC_MODELS
from benchmarks.public_models import public_model_rows
from benchmarks.published import HEAD as HEAD_OF_PUBLISHED
from benchmarks.published import published_rows
from benchmarks.pytorch import HEAD as HEAD_OF_PYTORCH
from benchmarks.pytorch import pytorch_rows
from benchmarks.refined import HEAD as HEAD_OF_REFINED
from benchmarks.refined import refined_rows
from benchmarks.report import report
from benchmarks.results import Result, read_results, write_results
from benchmarks.searches import HEAD as HEAD_OF_SEARCHES
from benchmarks.searches import search_rows
from benchmarks.shared import model_file, shared_models
from benchmarks.silicon import silicon_files, silicon_page
from benchmarks.tables import HEAD as HEAD_OF_TABLES
from benchmarks.tables import table_rows
from benchmarks.tuned import measure_defaults
from benchmarks.tuned import report as tuned_report
from benchmarks.tuner_models import HEAD as HEAD_OF_TUNER_MODELS
from benchmarks.tuner_models import model_rows
from benchmarks.tuners import measure_spaces, read_spaces, write_spaces
from benchmarks.tuners import report as tuners_report
from benchmarks.tuning import report as tuning_report
from benchmarks.two_cores import HEAD as HEAD_OF_TWO_CORES
from benchmarks.two_cores import two_core_rows
from benchmarks.vision import HEAD as HEAD_OF_VISION
from benchmarks.vision import vision_rows
from benchmarks.weights_alone import HEAD as HEAD_OF_WEIGHTS
from benchmarks.weights_alone import weight_rows
from benchmarks.wide_activations import HEAD as HEAD_OF_WIDE
from benchmarks.wide_activations import wide_rows


def _measure(*names: str) -> None:
    """The cases of these boards or models again, or all. Instructions are counted: time does not matter."""
    cases = all_cases()
    asked = [case for case in cases if not names or case.board in names or case.model in names]
    found = {} if not names else {_case_of(result): result for result in read_results()}
    with ProcessPoolExecutor() as pool:
        for case, result in zip(asked, pool.map(measure, asked), strict=True):
            sys.stderr.write(f"{result.model} on {result.board} for {result.optimize}\n")
            found[case] = result
    write_results([found[case] for case in cases if case in found])


def _case_of(result: Result) -> Case:
    return Case(result.model, result.board, result.optimize)


def _silicon() -> None:
    sys.stdout.write(silicon_page(silicon_files()))


def _report() -> None:
    sys.stdout.write(report(read_results()))


def _measure_memory(*names: str) -> None:
    """Measures these models again, or all."""
    asked = _these_or_all(names)
    kept = [result for result in read_memory() if names and result.model not in names]
    with ProcessPoolExecutor() as pool:
        measured = [result for result in pool.map(measure_memory, asked) if result]
    write_memory(sorted([*kept, *measured], key=lambda result: result.model))


def _memory() -> None:
    sys.stdout.write(memory_report(read_memory()))


def _orders() -> None:
    sys.stdout.write(HEAD_OF_ORDERS)
    for family in FAMILIES:
        sys.stdout.write(order_row(family))


def _planning(*names: str) -> None:
    _print_rows(HEAD_OF_PLANNING, names, lambda name: (planning_row(name),))


def _passes(*names: str) -> None:
    _print_rows(HEAD_OF_PASSES, names, pass_rows)


def _levels(*names: str) -> None:
    _print_rows(HEAD_OF_LEVELS, names, level_rows)


def _estimates(*names: str) -> None:
    _print_rows(HEAD_OF_ESTIMATES, names, estimate_rows)


def _fits() -> None:
    _print_as_they_come(HEAD_OF_FITS, fit_rows())


def _published() -> None:
    _print_as_they_come(HEAD_OF_PUBLISHED, published_rows())


def _ethos_u(*names: str) -> None:
    _print_rows(HEAD_OF_ETHOS_U, names, ethos_u_rows)


def _cmsis_nn(*names: str) -> None:
    _print_rows(head_of_cmsis_nn(), names or MODELS_OF_CMSIS_NN, cmsis_nn_rows)


def _costs(*names: str) -> None:
    """The tables of kernels' cycles anew, or what these models add to them; of these cores, or all."""
    cores = [name for name in names if name in CORES_OF_COSTS] or list(CORES_OF_COSTS)
    for core in cores:
        measure_costs(core, [name for name in names if name not in CORES_OF_COSTS])


def _floors(*names: str) -> None:
    _print_rows(HEAD_OF_FLOORS, names or MODELS_OF_FLOORS, floor_rows)


def _place(*names: str) -> None:
    _print_rows(HEAD_OF_PLACE, names or MODELS_OF_PLACE, place_rows)


def _gemm_npu(*names: str) -> None:
    if names == ("--picture",):
        sys.stdout.write(draw())
    else:
        _print_rows(HEAD_OF_GEMM_NPU, names or MODELS_OF_GEMM_NPU, gemm_npu_rows)


def _backends(*names: str) -> None:
    _print_rows(HEAD_OF_BACKENDS, names or MODELS_OF_BACKENDS, backend_rows)
    sys.stdout.write(HEAD_OF_FILES)
    sys.stdout.writelines(file_rows())


def _tuner_models() -> None:
    sys.stdout.write(HEAD_OF_TUNER_MODELS)
    sys.stdout.writelines(model_rows())


def _searches() -> None:
    sys.stdout.write(HEAD_OF_SEARCHES)
    for row in search_rows():
        sys.stdout.write(row)
        sys.stdout.flush()


def _these_or_all(names: Sequence[str]) -> Sequence[str]:
    """The shared models of these names; all where none is named. Ends the program where one is unknown."""
    known = shared_models()
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no shared model is called {', '.join(unknown)}; there are: {', '.join(known)}")
    return names or known


def _print_rows(head: str, names: Sequence[str], rows: Callable[[str], Iterable[str]]) -> None:
    """Rows of these models, or of all; each row is printed as soon as it is known."""
    asked = _these_or_all(names)
    sys.stdout.write(head)
    sys.stdout.flush()
    for row in (row for name in asked for row in rows(name)):
        sys.stdout.write(row)
        sys.stdout.flush()


def _faults() -> None:
    sys.stdout.write("\n".join(HEAD) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        devices = build_devices(Path(folder))
        for row in ROWS:
            sys.stdout.write(text_of(row, try_out(row, devices)) + "\n")
            sys.stdout.flush()


def _evidence(*chapters: str) -> None:
    _print_as_they_come(HEAD_OF_EVIDENCE, evidence_rows(*chapters))


def _endurance(*hours: str) -> None:
    _print_as_they_come(HEAD_OF_ENDURANCE, endurance_rows(*map(int, hours)))


def _moments(*count: str) -> None:
    _print_as_they_come(HEAD_OF_MOMENTS, moment_rows(*map(int, count)))


def _frames(*count: str) -> None:
    _print_as_they_come(HEAD_OF_FRAMES, frame_rows(*map(int, count)))


def _line() -> None:
    sys.stdout.write(line_report())


def _tuning() -> None:
    sys.stdout.write(f"{tuning_report()}\n\n{tuners_report(read_spaces())}\n")


def _host() -> None:
    sys.stdout.write(HEAD_OF_HOST)
    for row in host_rows([file for file in map(model_file, shared_models()) if file.suffix == ".tflite"]):
        sys.stdout.write(str(row))
        sys.stdout.flush()


def _operators() -> None:
    sys.stdout.write(HEAD_OF_OPERATORS)
    for row in operator_rows():
        sys.stdout.write(row)


def _cartridges() -> None:
    _print_as_they_come(HEAD_OF_CARTRIDGES, cartridge_rows())
    _print_as_they_come(f"\n{HEAD_OF_WEIGHTS}", weight_rows())
    _print_as_they_come(f"\n{HEAD_OF_TABLES}", table_rows())


def _int4() -> None:
    _print_as_they_come(HEAD_OF_INT4, int4_rows())


def _wide_activations() -> None:
    _print_as_they_come(HEAD_OF_WIDE, wide_rows())


def _refined() -> None:
    _print_as_they_come(HEAD_OF_REFINED, refined_rows())


def _half_weights() -> None:
    _print_as_they_come(HEAD_OF_HALF_WEIGHTS, half_rows())


def _micropython() -> None:
    _print_as_they_come(HEAD_OF_MICROPYTHON, micropython_rows())


def _pytorch(*names: str) -> None:
    _print_as_they_come(HEAD_OF_PYTORCH, pytorch_rows(names))


def _public_models() -> None:
    _print_as_they_come(HEAD_OF_PUBLIC_MODELS, public_model_rows())


def _two_cores() -> None:
    _print_as_they_come(HEAD_OF_TWO_CORES, two_core_rows())


def _vision() -> None:
    _print_as_they_come(HEAD_OF_VISION, vision_rows())


def _print_as_they_come(head: str, rows: Iterable[str]) -> None:
    sys.stdout.write(head)
    for row in rows:
        sys.stdout.write(row)
        sys.stdout.flush()


def _tuned() -> None:
    sys.stdout.write(f"{tuned_report()}\n")


def _measure_spaces() -> None:
    write_spaces(measure_spaces())


COMMANDS = {
    "pages": make_pages,
    "backends": _backends,
    "base-firmware": base_firmware,
    "cartridges": _cartridges,
    "measure": _measure,
    "report": _report,
    "measure-memory": _measure_memory,
    "memory": _memory,
    "operators": _operators,
    "orders": _orders,
    "passes": _passes,
    "half-weights": _half_weights,
    "micropython": _micropython,
    "public-models": _public_models,
    "pytorch": _pytorch,
    "costs": _costs,
    "place": _place,
    "published": _published,
    "planning": _planning,
    "cmsis-nn": _cmsis_nn,
    "endurance": _endurance,
    "estimates": _estimates,
    "fits": _fits,
    "floors": _floors,
    "ethos-u": _ethos_u,
    "evidence": _evidence,
    "frames": _frames,
    "gemm-npu": _gemm_npu,
    "int4": _int4,
    "refined": _refined,
    "moments": _moments,
    "wide-activations": _wide_activations,
    "searches": _searches,
    "tuner-models": _tuner_models,
    "faults": _faults,
    "host": _host,
    "levels": _levels,
    "line": _line,
    "silicon": _silicon,
    "measure-defaults": measure_defaults,
    "measure-spaces": _measure_spaces,
    "two-cores": _two_cores,
    "tuned": _tuned,
    "tuning": _tuning,
    "vision": _vision,
}


def main(argv: Sequence[str]) -> int:
    if not argv or argv[0] not in COMMANDS:
        sys.stderr.write(f"usage: python -m benchmarks COMMAND [MODEL|BOARD ...]\n  {', '.join(COMMANDS)}\n")
        return 2
    COMMANDS[argv[0]](*argv[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
