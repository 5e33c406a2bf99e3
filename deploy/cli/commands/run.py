"""`deploy run` sends inputs to a board, reads the outputs, and prints the cost of each run."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from aot.errors import DeployError
from aot.wording import counted
from deploy.benchmark.counter_check import counter_note
from deploy.benchmark.cycle_model import ModelCycles, cycles_of_sample
from deploy.benchmark.field_statistics import Observed, observed_text, read_observed
from deploy.benchmark.meter import Meter, is_emulated, spread
from deploy.benchmark.run_series import Measured, run_series
from deploy.cli import options
from deploy.cli.console import print_result, table
from deploy.devices.cartridge import load_into, read_cartridge
from deploy.devices.firmware import Ready, on_emulator, prepare, ready_for
from deploy.devices.session import Device, open_device
from deploy.inputs.input_options import read_data
from deploy.inputs.quantized_values import dequantized
from deploy.inputs.result_paths import require_results_place, write_results
from deploy.inputs.samples import Samples, read_arrays
from deploy.inputs.size_choice import at_size_of
from deploy.inputs.top_outputs import top_facts, top_text
from platforms.cycles.model import described, lacks_program
from platforms.second_core import COUNTED, uses_two_cores

EXAMPLE = """
deploy run kws.tflite --board mps2-an386 --inputs in.npz --output out.npz
deploy run kws.tflite --board mps2-an386 --fill random --print-top 3
"""
_TOP = 5  # largest values per output, if no output file is given
_STATISTICS = ("mean", "median", "min", "max", "std")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model_archive_or_project(parser, dest="source")
    data = options.group(parser, "Inputs and outputs")
    data.add_argument(
        "--inputs",
        metavar="FILE",
        type=Path,
        help="Inputs from a .npz by input name, or a .wav. Arrays may also be called input_0, ...; N samples "
        "are a batch, or one extra leading axis. A .wav feeds a front end",
    )
    options.add_data(parser)
    options.add_output(data, "FILE.npz", "Write outputs as output_0, output_1, ...")
    data.add_argument(
        "--print-top",
        metavar="N",
        type=options.count,
        help=f"Print the N largest outputs [{_TOP} without --output]",
    )
    data.add_argument(
        "--repeat", metavar="N", type=options.count, default=1, help="Run the whole series N times [1]"
    )
    data.add_argument(
        "--dequantize", action="store_true", help="Convert outputs to floats with the model's scales"
    )
    options.add_model_name(data)
    data.add_argument(
        "--load",
        metavar="FILE.cart",
        dest="cartridge",
        type=Path,
        help="Load this cartridge first. Firmware with slots runs it",
    )
    options.add_board(parser, required=False, instead=". An archive or a project has its own")
    options.add_emulated(parser)
    options.add_line(parser)
    options.add_build(parser)
    options.add_compile_options(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    if arguments.output:
        require_results_place(arguments.output)
    prepared = prepare(arguments.source, arguments.board, options.compile_options(arguments))
    if arguments.emulated:
        has_cartridge = arguments.cartridge is not None
        prepared = on_emulator(prepared, arguments.platform, has_cartridge=has_cartridge)
    if arguments.model:
        prepared = prepared.for_model(arguments.model)
    elif len(prepared.each_size) > 1 and arguments.inputs:
        prepared = at_size_of(prepared, read_arrays(arguments.inputs))
    data = options.data_options(arguments)
    cartridge = read_cartridge(arguments.cartridge) if arguments.cartridge else None
    if prepared.inputs is not None:
        # Checks the inputs before anything is built.
        read_data(arguments.inputs, data, prepared.inputs, 1, front=prepared.front)
    line = options.line_options(arguments)
    choices = options.build_choices(arguments)
    ready = ready_for(prepared, choices, line.runner).asked_for(prepared.model)
    with open_device(ready, line) as device:
        if cartridge:
            load_into(device.session, cartridge)
            device = replace(device, model=device.session.describe()[0])
            ready = ready.asked_for(device.model.name)
        samples = read_data(
            arguments.inputs, data, prepared.inputs or device.model.inputs, 1, front=prepared.front
        )
        measured = run_series(device, samples, arguments.repeat)
        seen, unread = _observed(device) if prepared.may_observe else (None, "")
        note = counter_note(ready.board, device.board)
        ready = replace(ready, board=device.board)
    specs = prepared.outputs or measured.specs
    if arguments.output:
        outputs = measured.stacked(samples)
        write_results(arguments.output, dequantized(outputs, specs) if arguments.dequantize else outputs)
    lacks = _lacks_cycles(ready, cartridge is not None)
    is_modelled = is_emulated(ready.board) and not lacks
    cycles = cycles_of_sample(ready, samples.each[0], line) if is_modelled else None
    top = arguments.print_top or (None if arguments.output else _TOP)
    facts = _facts(ready, samples, measured, arguments)
    facts |= {"cycle_model": {**cycles.as_json(), "time_s": cycles.seconds}} if cycles else {}
    facts |= {"observed": seen.as_json()} if seen else {}
    counters_text = unread if seen is None else observed_text(seen, Meter(ready.board), prepared.layers)
    if top:
        facts["largest"] = top_facts(measured.outputs, specs, top)
    shown = top_text(measured.outputs, specs, top) if top else ""
    page = (_text(ready, facts, cycles or lacks, note), counters_text, shown)
    print_result(arguments.json, facts, "\n\n".join(filter(None, page)))


def _observed(device: Device) -> tuple[Observed | None, str]:
    """Returns the counters of the model's runs, or a note if reading them failed, to preserve the outputs."""
    try:
        counters = device.session.observed(device.model)
        return (None if counters is None else read_observed(counters)), ""
    except DeployError as error:
        return None, f"observed: not read: {error.what}"


def _lacks_cycles(ready: Ready, has_cartridge: bool) -> str:
    """Returns why cycles are not shown, or ""."""
    if ready.firmware is None or has_cartridge:
        return "cycles are available only for the model that the firmware was built with"
    if is_emulated(ready.board) and uses_two_cores(ready.firmware.elf):
        return COUNTED
    return lacks_program(ready.platform.name, ready.board)


def _facts(
    ready: Ready, samples: Samples, measured: Measured, arguments: argparse.Namespace
) -> dict[str, Any]:
    meter = Meter(ready.board)
    counts = [meter.count(ticks) for ticks in measured.ticks] if meter.unit else []
    times = [meter.seconds(ticks) for ticks in measured.ticks] if meter.measures else []
    times = [] if meter.unit == "instructions" else times  # instructions have no fixed duration
    return {
        "model": ready.model_name,
        "board": ready.board.name,
        "toolchain": str(ready.firmware.toolchain) if ready.firmware else None,
        "samples": len(samples),
        "repeat": arguments.repeat,
        **({meter.unit: spread(counts).as_json()} if counts else {}),
        **({"time_s": spread(times).as_json()} if times else {}),
        "outputs": [
            {"name": spec.name, "dtype": str(spec.dtype), "shape": list(spec.shape)}
            for spec in measured.specs
        ],
        "output_file": str(arguments.output) if arguments.output else None,
    }


def _text(ready: Ready, facts: dict[str, Any], cycles: ModelCycles | str, note: str) -> str:
    """Returns the page to print; `cycles` may be a reason for missing cycles, `note` is about the counter."""
    times = f", {facts['repeat']} times" if facts["repeat"] > 1 else ""
    lines = [f"{ready.model_name} on {ready.board.name}: {counted(facts['samples'], 'sample')}{times}", ""]
    rows = _rows(ready, facts)
    lines += [table(("per run", *_STATISTICS), rows)] if rows else []
    if isinstance(cycles, ModelCycles):
        lines.append(f"first sample: {cycles.run.count:,} cycles, {cycles.seconds * 1e3:,.4f} ms")
        lines.append(f"(by {described(ready.board)})")
    elif is_emulated(ready.board):
        lines.append(f"(no time: {cycles})")
    if note:
        lines.append(f"({note})")
    if facts["output_file"]:
        named = ", ".join(f'output_{n} is "{each["name"]}"' for n, each in enumerate(facts["outputs"]))
        lines += ["", f"outputs: {facts['output_file']}; {named}"]
    return "\n".join(lines)


def _rows(ready: Ready, facts: dict[str, Any]) -> list[tuple[str, ...]]:
    unit = Meter(ready.board).unit
    counts = [(unit, *(f"{facts[unit][name]:,.0f}" for name in _STATISTICS))] if unit else []
    if "time_s" not in facts:
        return counts
    return [*counts, ("time, ms", *(f"{facts['time_s'][name] * 1e3:,.4f}" for name in _STATISTICS))]
