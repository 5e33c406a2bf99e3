"""Builds, flashes and measures the models of the kit on a board."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from aot.errors import BoardError, CheckError, DeployError, FitError, InputError
from aot.ir.tensor_spec import graph_specs
from aot.ir.types import Array
from boards.board import Board
from codegen.job import import_model
from codegen.options import CompileOptions
from codegen.version import VERSION
from deploy.benchmark.cycle_model import model_cycles
from deploy.benchmark.meter import Meter, require_clock
from deploy.compiler.compile_model import Compiled, compile_for_firmware
from deploy.devices.buildable_boards import platform_for, platform_here
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Prepared, Ready, build, prepare_compiled
from deploy.devices.session import Device, device_on, line_to
from deploy.inputs.samples import Samples
from deploy.silicon.chip_words import FUNCTION, ChipWords, other_chip, words_of
from deploy.silicon.kit_file import ESTIMATES, LOG, RESULT, as_json
from deploy.silicon.kit_models import KIT, kit_inputs, sha256_of
from deploy.silicon.line_log import LineLog, LoggedLine, read_log
from deploy.silicon.replay import FORMAT, Facts, figures_of
from deploy.verification.compare_layers import reference_outputs
from platforms.base import BuildChoices
from platforms.board_files import all_boards
from platforms.cycles.model import described, lacks
from platforms.project import ProjectSource, project_source
from platforms.transport.base import Clock, Transport
from platforms.transport.ports import boards_at, usb_ports

FACTS_FILE = "solder_kit.h"  # in the firmware: its build id depends on the facts of the measurement
_BATCH_S = 2.0  # of runs without a pause, to compare the clocks and for a power analyser
_MOST_RUNS = 65_535  # in a batch
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class KitWishes:
    """What the user says about a measurement."""

    build: BuildChoices
    line: LineOptions
    repeat: int
    models: tuple[Path, ...] = ()  # measured in addition
    temperature_c: float | None = None  # of the room; None: not known
    supply_v: float | None = None


OnStep = Callable[[str], None]
OpenLine = Callable[[Ready, LineOptions], Transport]


def measure_kit(
    board: Board,
    wishes: KitWishes,
    on_step: OnStep,
    open_line: OpenLine = line_to,
    clock: Clock | None = None,
) -> Mapping[str, bytes]:
    """Measures all models that fit and returns the parts of a result file. Raises DeployError."""
    require_clock(board)
    require_no_other_board(board, wishes.line.port)
    models = models_of(wishes.models)
    log = LineLog() if clock is None else LineLog(clock)
    head = _head(board, wishes, models)
    log.note({"measurement": head})
    words = words_of(board, head["platform"])
    cases = []
    for name, path in models.items():
        on_step(name)
        try:
            compiled = compile_for_firmware(import_model(path, CompileOptions()), board, CompileOptions())
            case = _Case(name, path, compiled, _prepared(compiled, head, words))
            _measure(case, board, wishes, words, log, open_line)
        except FitError as error:
            log.note({"skipped": {"model": name, "why": error.what}})
            continue
        cases.append(case)
    if not cases:
        raise FitError("no model of the kit fits this board", board.name)
    data = log.end()
    figures = figures_of(read_log(data, LOG), LOG)
    on_step("estimates")
    return {LOG: data, RESULT: as_json(figures), ESTIMATES: as_json(_estimates(cases, board, wishes))}


def models_of(more: Sequence[Path]) -> dict[str, Path]:
    """Returns the files of all models by their name in C. Raises InputError if two have one name."""
    found = {name: model.path for name, model in KIT.items()}
    for path in more:
        name = import_model(path, CompileOptions()).name
        if name in found:
            raise InputError(f'two models are called "{name}"', str(path), "rename the file")
        found[name] = path
    return found


@dataclass(frozen=True, slots=True)
class _Case:
    """A model that was measured."""

    name: str
    path: Path
    compiled: Compiled
    prepared: Prepared


def _head(board: Board, wishes: KitWishes, models: Mapping[str, Path]) -> Facts:
    used = platform_for(board, wishes.build.platform) if wishes.build.platform else platform_here(board)
    return {
        "format": FORMAT,
        "platform": used.name,
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "board": board_identity(board),
        "solder": {"version": VERSION, "commit": solder_commit()},
        "computer": f"{platform.system()} {platform.machine()}",
        "conditions": {"temperature_c": wishes.temperature_c, "supply_v": wishes.supply_v},
        "models": list(models),
        "repeat": wishes.repeat,
    }


def board_identity(board: Board) -> Facts:
    """Returns the facts of a board that its figures depend on."""
    return {
        "name": board.name,
        "mcu": board.mcu,
        "core": board.core.name,
        "features": sorted(board.features),
        "clock_hz": board.clock_hz,
        "counter": asdict(board.counter),
    }


def solder_commit() -> str:
    """Returns the commit of this copy of Solder, with "+" if files differ from it; "" if unknown."""
    found = []
    for words in (("rev-parse", "--show-toplevel"), ("rev-parse", "HEAD"), ("status", "--porcelain")):
        try:
            done = subprocess.run(
                ["git", "-C", str(_ROOT), *words], capture_output=True, text=True, check=False
            )
        except OSError:
            return ""
        if done.returncode:
            return ""
        found.append(done.stdout.strip())
    top, commit, changed = found
    return f"{commit}{'+' if changed else ''}" if Path(top) == _ROOT else ""


def firmware_source(source: ProjectSource, head: Facts, words: ChipWords) -> ProjectSource:
    """Adds to a model's project what the kit needs in its firmware."""
    digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode()).hexdigest()
    text = f"/* SHA-256 of the facts of this measurement: {digest} */\n"
    return replace(source, headers={**source.headers, FACTS_FILE: text}, functions=words.files)


def _prepared(compiled: Compiled, head: Facts, words: ChipWords) -> Prepared:
    prepared = prepare_compiled(compiled)
    return replace(prepared, source=firmware_source(project_source(compiled.artifact), head, words))


def require_no_other_board(board: Board, port: str | None) -> None:
    """Raises BoardError if the port's USB ids are those of other boards."""
    at = next((found for found in usb_ports() if found.device == port), None)
    others = boards_at(at, all_boards()) if at else ()
    is_adapter = board.console is not None and board.console.line == "pins"
    if others and board.name not in others and not is_adapter:
        raise BoardError(
            f"another board is at {port}",
            f"its USB ids are those of {', '.join(others)}",
            f"--board {others[0]}",
        )


def _measure(
    case: _Case, board: Board, wishes: KitWishes, words: ChipWords, log: LineLog, open_line: OpenLine
) -> None:
    both = [
        (profile, build(case.prepared, replace(wishes.build, profile=profile))) for profile in (False, True)
    ]
    for profile, ready in both:
        line = open_line(ready, wishes.line)
        log.note({"firmware": _firmware(case, ready, line, profile, words, wishes.line)})
        with device_on(LoggedLine(line, log), ready, wishes.line) as device:
            sample = kit_inputs(device.model.inputs)
            if profile:
                _measure_layers(device, sample, wishes.repeat)
            else:
                _require_board(device, board, words)
                _measure_runs(device, sample, wishes.repeat, case)


def _firmware(
    case: _Case, ready: Ready, line: Transport, profile: bool, words: ChipWords, chosen: LineOptions
) -> Facts:
    layers = [
        {"index": each.index, "op": each.op, "origin": each.origin, "kernel": each.kernel, "macs": each.macs}
        for each in ready.layers
    ]
    usb = next((port for port in usb_ports() if Path(port.device) == Path(line.name).resolve()), None)
    return {
        "model": case.name,
        "sha256": sha256_of(case.path.read_bytes()),
        "macs": case.compiled.artifact.facts.macs,
        "profile": profile,
        "build_id": ready.expected.build_id,
        "firmware_sha256": sha256_of(ready.built.elf.read_bytes()),
        "toolchain": str(ready.built.toolchain),
        "runner": chosen.runner,
        "line": {
            "name": line.name,
            "is_program": line.is_program,
            "usb": {"vid": usb.vid, "pid": usb.pid, "serial": usb.serial} if usb else None,
        },
        "words": list(words.names) if not profile else [],
        "layers": layers if profile else [],
    }


def _require_board(device: Device, board: Board, words: ChipWords) -> None:
    """Reads the chip's words. Raises BoardError if they are of another chip."""
    if not words.names:
        return
    function = next(each for each in device.session.functions() if each.name == FUNCTION)
    values = [device.session.invoke(function, [number]) for number in range(len(words.names))]
    others = list(other_chip(board, dict(zip(words.names, values, strict=True))))
    if others:
        raise BoardError(
            f"this is no {board.title}",
            f"{device.session.line_name}: {'; '.join(others)}",
            "--board B and --port PORT say which board is meant",
        )


def _measure_runs(device: Device, sample: tuple[Array, ...], repeat: int, case: _Case) -> None:
    session, model = device.session, device.model
    ticks = 0
    for _ in range(repeat):
        session.reset()
        for index, (spec, array) in enumerate(zip(model.inputs, sample, strict=True)):
            session.write_input(model, index, spec.to_bytes(array))
        timing = session.run(model)
        _require_counter(timing.counter_hz, device.board)
        ticks = timing.net_ticks[0]
    outputs = [session.read_output(model, index) for index in range(len(model.outputs))]
    if sha256_of(*outputs) != expected_outputs(case.name, case.path):
        raise CheckError(
            f"the outputs of {case.name} are wrong on this board",
            session.line_name,
            f"deploy verify {case.path} --board {device.board.name} --layers   finds the layer",
        )
    seconds = max(ticks, 1) / device.board.counter.hz
    session.time(model, min(max(1, round(_BATCH_S / seconds)), _MOST_RUNS), 1)


def expected_outputs(name: str, path: Path) -> str:
    """Returns the hash of a model's outputs: pinned for the kit's models, else computed by the reference."""
    if name in KIT:
        return KIT[name].outputs_sha256
    graph = import_model(path, CompileOptions()).graph
    sample = kit_inputs(graph_specs(graph, graph.inputs))
    (outputs,) = reference_outputs(graph, Samples((sample,), is_series=False))
    specs = graph_specs(graph, graph.outputs)
    return sha256_of(*(spec.to_bytes(array) for spec, array in zip(specs, outputs, strict=True)))


def _require_counter(hz: int, board: Board) -> None:
    if hz != board.counter.hz:
        raise BoardError(
            f"the firmware's counter has {hz:,} Hz, the board's file says {board.counter.hz:,}",
            board.name,
            "its clock did not start, or the board's file names another clock",
        )


def _measure_layers(device: Device, sample: tuple[Array, ...], repeat: int) -> None:
    inputs = [spec.to_bytes(array) for spec, array in zip(device.model.inputs, sample, strict=True)]
    for _ in range(repeat):
        device.session.profile(device.model, inputs)


def _estimates(cases: Sequence[_Case], board: Board, wishes: KitWishes) -> Facts:
    """Returns the cycle model's figures for the same models, or why there are none."""
    source = {"version": VERSION, "commit": solder_commit()}
    if Meter(board).unit != "cycles":
        return {"solder": source, "why_none": "the board counts no cycles to compare with"}
    if why := lacks(board):
        return {"solder": source, "why_none": why}
    try:
        found = dict(_estimated(cases, board, wishes))
    except DeployError as error:
        return {"solder": source, "why_none": error.what}
    return {"solder": source, "model": described(board), "models": found}


def _estimated(cases: Sequence[_Case], board: Board, wishes: KitWishes) -> Iterator[tuple[str, Any]]:
    for case in cases:
        cycles = model_cycles(case.compiled.artifact, board, wishes.build.toolchain, wishes.line, layers=True)
        layers = {str(index): each.count for index, each in cycles.layers.items()}
        yield case.name, {"cycles": cycles.run.count, "layers": layers}
