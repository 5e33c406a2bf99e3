"""`deploy compile` compiles a model that fits the board to an archive or a folder of C sources."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from aot.errors import InputError
from aot.frontend.paired_states import open_question
from codegen.accelerators.choice import FASTER_ON_CPU, is_choice
from codegen.job import import_model
from codegen.kernels.strategy import UserSchedules
from codegen.kernels.tuning_records import Selection
from codegen.model import LayerInfo
from codegen.options import CompileOptions
from deploy.cli import options
from deploy.cli.console import print_error, print_result
from deploy.cli.help_page import as_detail
from deploy.cli.print_after import print_after, printed_if_refused
from deploy.compiler.board_or_target import require_board_or_target
from deploy.compiler.compile_model import Compiled, compile_for
from deploy.compiler.dump_stages import dump_stages, require_free
from deploy.compiler.jobs import open_batch_lines
from deploy.compiler.save_compiled import is_folder, require_output_place
from deploy.compiler.several_sizes import sizes_json, sizes_page
from deploy.inspection.placement_page import limit_lines, limits_json, placement_facts, placement_lines

EXAMPLE = """
deploy compile kws.tflite --board mps2-an386 -o kws.tar
deploy compile kws.tflite --board mps2-an386 --cartridge -o kws.cart
deploy compile kws.tflite --board mps2-an386 --weights external -o kws.tar
deploy compile kws.tflite --board mps2-an386 --tables --cartridge -o kws.cart
deploy compile kws.tflite --target cortex-m4+fpu,ram=256K,flash=1M -o kws
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_model(parser)
    options.add_output(
        parser,
        "OUT.tar|FOLDER|OUT.cart",
        "Archive to write, or a folder for plain C files. A folder also gets a CMakeLists.txt and a test "
        "program",
        required=True,
    )
    options.add_board_or_target(parser)
    cartridges = options.group(parser, "Cartridges")
    cartridges.add_argument(
        "--cartridge",
        action="store_true",
        help="Write a model that 'deploy load' puts into running firmware. With --weights external only "
        "its weights, "
        "for a model of the same structure; with --tables a table, for firmware that has its kernels",
    )
    cartridges.add_argument(
        "--sign",
        metavar="KEY.pem",
        type=Path,
        help="Sign the cartridge with this Ed25519 or P-256 private key",
    )
    options.add_identity(cartridges)
    cartridges.add_argument(
        "--firmware",
        metavar="PROJECT",
        type=Path,
        help="With --tables: check that this firmware has the kernels",
    )
    options.add_compile_options(parser)
    options.add_print_after(parser)
    action = options.group(parser, options.EXPERT).add_argument(
        "--dump",
        metavar="DIR",
        type=Path,
        help="Write graphs, loops, C and a memory map into a new folder",
    )
    as_detail(action)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    chosen = options.compile_options(arguments)
    if not arguments.cartridge:
        require_no_firmware(arguments.firmware)
        if _cartridge_beside(arguments.output, chosen) is None:
            require_no_key(arguments.sign)
            require_no_identity(arguments.product, arguments.model_version)
        require_output_place(arguments.output)
    if arguments.dump:
        require_free(arguments.dump)
    board = require_board_or_target(arguments.board, arguments.target)
    with printed_if_refused(arguments.model, chosen, arguments.print_after):
        model = import_model(arguments.model, chosen)
        question = open_question(model.graph, chosen.states)
        if question:
            print_error(f"note: {question}")
        compiled = compile_for(model, board, chosen)
    print_after(compiled.steps, arguments.print_after)
    if arguments.dump:
        dump_stages(compiled, arguments.dump)
    named = arguments.product, arguments.model_version
    beside = None if arguments.cartridge else _cartridge_beside(arguments.output, chosen)
    if arguments.cartridge:
        compiled.save_cartridge(arguments.output, arguments.sign, arguments.firmware, *named)
    else:
        compiled.save(arguments.output)
    if beside is not None:
        compiled.save_cartridge(beside, arguments.sign, None, *named)
    facts = _facts(compiled, arguments.output) | ({} if beside is None else {"weights": str(beside)})
    print_result(arguments.json, facts, _text(compiled, arguments.output, beside))


def _cartridge_beside(output: Path, chosen: CompileOptions) -> Path | None:
    """Returns the cartridge file for external weights next to an archive; a folder has them in C."""
    return output.with_suffix(".cart") if chosen.weights_external and not is_folder(output) else None


def require_no_key(key: Path | None) -> None:
    if key is not None:
        raise InputError("only cartridges are signed", str(key), "deploy compile --cartridge --sign KEY.pem")


def require_no_identity(product: str, version: int) -> None:
    if product or version:
        given = f"--product {product}" if product else f"--model-version {version}"
        raise InputError(
            "product and version apply to cartridges and to firmware with slots only",
            given,
            "deploy compile --cartridge, or deploy new --slots 128K",
        )


def require_no_firmware(firmware: Path | None) -> None:
    if firmware is not None:
        raise InputError(
            "--firmware applies to cartridges only",
            str(firmware),
            "deploy compile --tables --cartridge",
        )


def _facts(compiled: Compiled, output: Path) -> dict[str, object]:
    facts = compiled.report.facts
    return {
        "archive": str(output),
        "model": facts.name,
        "model_hash": facts.model_hash,
        "board": compiled.board.name,
        "arena_bytes": facts.arena_bytes,
        "constants_bytes": facts.constants_bytes,
        "code_bytes_estimate": facts.code_bytes_estimate,
        "stack_bytes_estimate": facts.stack_bytes_estimate,
        "compile_s": round(compiled.seconds, 3),
        **limits_json(facts),
        **({"placement": placement_facts(facts.placement)} if facts.placement else {}),
        **({"sizes": sizes_json(compiled.costs)} if compiled.others else {}),
    }


def _text(compiled: Compiled, output: Path, beside: Path | None) -> str:
    facts = compiled.report.facts
    weights = "" if beside is None else f"\n  weights    {beside}, {facts.weights_bytes:,} bytes of them"
    return (
        f"{output}: {facts.name} for {compiled.board.name}, compiled in {compiled.seconds:.2f} s\n"
        f"  arena      {facts.arena_bytes:>9,} bytes\n"
        f"  constants  {facts.constants_bytes:>9,} bytes\n"
        f"  code       {facts.code_bytes_estimate:>9,} bytes, estimated"
        + weights
        + "".join(f"\n  limit      {line}" for line in limit_lines(facts))
        + "".join(f"\n  {line}" for line in placement_lines(facts))
        + (_records_text(compiled.selection, facts.layers) if compiled.selection is not None else "")
        + "".join(f"\n{line}" for line in open_batch_lines(compiled.job.model))
        + "".join(f"\n  {line}" for line in _own_lines(compiled.job.options.schedules, facts.layers))
        + (f"\n\n{sizes_page(compiled.costs)}" if compiled.others else "")
    )


def _own_lines(given: Sequence[UserSchedules], layers: Sequence[LayerInfo]) -> Iterator[str]:
    """Reports how many layers use each custom schedule, or why none does."""
    for own in given:
        for name in dict.fromkeys(each.name for of_op in own.by_op.values() for each in of_op):
            used = sum(layer.kernel == name for layer in layers)
            against = (why for layer in layers for why in layer.passed_over if why.startswith(f"{name}: "))
            reason = next(against, f"{name}: the model has no layer of {' or '.join(own.by_op)}")
            yield f"own        {used:>9,} layers: {name}" if used else f"not used   {reason}"


def _records_text(selection: Selection, layers: Sequence[LayerInfo]) -> str:
    tuned = sum(layer.why.startswith("tuned") for layer in layers)
    here = {layer.why.rpartition("; task ")[2] for layer in layers}
    of_kernels = {task for task, point in selection.points.items() if not is_choice(point)}
    elsewhere = len(of_kernels - here)
    of_others = {"for kernels that are not in this model": elsewhere} if elsewhere else {}
    reasons = {**selection.unused, **of_others}
    unused = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    lines = [
        f"  tuned      {tuned:>9,} layers",
        *_left_to_cpu(layers),
        *(f"  not used   {n:>9,} records: {why}" for why, n in unused),
    ]
    return "\n" + "\n".join(lines)


def _left_to_cpu(layers: Sequence[LayerInfo]) -> Iterator[str]:
    left = sum(any(why.endswith(FASTER_ON_CPU) for why in layer.stays) for layer in layers)
    if left:
        yield f"  on the CPU {left:>9,} layers: measured faster there"
