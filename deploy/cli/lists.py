"""Results of commands that list something: operators, accelerators, boards, tuning records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aot.errors import InputError, did_you_mean
from codegen.accelerators.accelerator import Accelerator, AcceleratorOption
from codegen.accelerators.table import accelerators as known_accelerators
from codegen.kernels.tuning_records import TuningRecord, read_records
from codegen.option_kinds import read_size
from codegen.options import OPTIONS, read_options
from deploy.cli.command_result import Answer
from deploy.cli.console import OnProgress, reports_progress, table
from deploy.devices.board_filter import Wanted
from deploy.devices.board_pages import OF_ONE_BOARD, boards_that_suit, one_board
from deploy.inspection.model_operators import is_model_file, model_operators
from deploy.inspection.op_facts import op_facts, op_text
from deploy.inspection.operator_page import operator_answer
from deploy.python_api.option_keywords import accepts_options
from deploy.tuner.records_page import best_page, stats_facts, stats_page
from platforms.tuning.record_file import merged
from platforms.tuning.record_stats import task_stats


@accepts_options(("shape", "value"))
def ops(name: str | Path | None = None, meaning: bool = False, **options: Any) -> Answer:
    """Lists the supported operators and their element types, from the compiler's tables.

    `name` selects an op or a format's operator and adds its limits; `meaning` adds its definition as loops.
    If `name` is a model file, its operators are listed; "refused" contains the unsupported ones.
    """
    if meaning and (name is None or is_model_file(str(name))):
        raise InputError(
            "--meaning needs an operator",
            hint="for example deploy ops conv2d --meaning; for a layer: deploy inspect MODEL --layer N "
            "--meaning",
        )
    if name is not None and is_model_file(str(name)):
        found = model_operators(Path(name), read_options(options, names=("shape", "value")))
        return Answer(found.as_json(), "\n\n".join(filter(None, (str(found), str(found.refused or "")))))
    name = None if name is None else str(name)
    return Answer(op_facts(), op_text()) if name is None else operator_answer(name, meaning)


def accelerators() -> Answer:
    """Lists the accelerators that can compute layers instead of generated kernels."""
    found = known_accelerators()
    facts = [
        {
            "name": name,
            "summary": each.summary,
            "ops": sorted(each.strategies),
            "regions": each.regions is not None,
            "options": [_option_facts(option) for option in each.options],
        }
        for name, each in found.items()
    ]
    rows = [(name, _computes(each), each.summary) for name, each in found.items()]
    options = [
        (
            f"{name}:{option.name}={option.kind.metavar}",
            f"{option.help}; {option.default or 'nothing'} without it",
        )
        for name, each in found.items()
        for option in each.options
    ]
    tables = [table(("accelerator", "computes", ""), rows), table(("option", ""), options) if options else ""]
    return Answer(facts, "\n\n".join(filter(None, tables)))


def _computes(accelerator: Accelerator) -> str:
    """Returns the ops that it computes one by one; "regions" means groups of layers."""
    return ", ".join([*sorted(accelerator.strategies), *(["regions"] if accelerator.regions else [])])


def _option_facts(option: AcceleratorOption) -> dict[str, object]:
    return {"name": option.name, "default": option.default, "help": option.help}


@accepts_options(tuple(name for name in OPTIONS if name not in OF_ONE_BOARD))
@reports_progress
def boards(
    name: str | None = None,
    core: str | None = None,
    ram: int | str = 0,
    flash: int | str = 0,
    platform: str | None = None,
    fits: str | Path | None = None,
    markdown: bool = False,
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Answer:
    """Lists suitable boards, with `fits` those large enough for a model; with a name, facts about one."""
    if name is not None:
        return one_board(name)
    wanted = Wanted(core, read_size(ram), read_size(flash), platform)
    chosen = read_options(options, names=[each for each in OPTIONS if each not in OF_ONE_BOARD])
    return boards_that_suit(wanted, None if fits is None else Path(fits), chosen, markdown)


def records(*files: str | Path, verb: str = "best") -> Answer:
    """Shows tuning results: the "best" of each task, or "stats" of the trials."""
    pages = {"best": best_page, "stats": stats_page}
    if verb not in pages:
        near = did_you_mean(verb, pages)
        raise InputError(f'records has no verb "{verb}"{near}', hint=f"known: {', '.join(pages)}")
    stats = task_stats(read_all_records([Path(file) for file in files]))
    return Answer([stats_facts(each) for each in stats], pages[verb](stats))


def read_all_records(files: list[Path]) -> tuple[TuningRecord, ...]:
    """Returns the records of all files. Raises InputError if there are none."""
    found = merged([read_records(path) for path in files])
    if not found:
        raise InputError(
            "the file has no records yet",
            ", ".join(str(path) for path in files),
            "create records with: deploy tune MODEL --board B -o FILE",
        )
    return found
