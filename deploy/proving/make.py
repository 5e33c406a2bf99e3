"""Runs the chapters. A chapter that was skipped or could not run has a finding, too."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from aot.errors import InputError, MissingToolError, ToolError, did_you_mean
from codegen.options import CompileOptions
from deploy.cli.console import OnProgress, progress, reports_progress
from deploy.cli.renamed import renamed
from deploy.compiler.compile_model import Compiled
from deploy.proving.chapter import Chapter, Finding, Standing, Table, not_run
from deploy.proving.gathered import Evidence
from deploy.proving.subject import About, Subject, subject_of
from deploy.proving.table import CHAPTERS
from deploy.proving.tracing.against import OlderEvidence
from deploy.python_api.model import Model, model_path, options_with, require_same
from deploy.python_api.option_keywords import accepts_options
from platforms.board_files import load_board

_NAMED = 3  # problems listed in a summary; the table contains all


def gather(
    subject: Subject,
    wanted: Collection[str] = (),
    chapters: Sequence[Chapter] = CHAPTERS,
    older: OlderEvidence | None = None,
) -> Evidence:
    """Runs the named chapters, or all. The others are reported as not run. Raises InputError."""
    require_known(wanted, chapters)
    with progress("evidence", len(chapters)) as bar:
        found = []
        for chapter in chapters:
            bar.step(chapter.name)
            found.append((chapter, _asked(chapter, subject, wanted)))
    return Evidence(subject, tuple(found), older)


def require_known(wanted: Collection[str], chapters: Sequence[Chapter] = CHAPTERS) -> None:
    """Raises InputError for unknown chapter names."""
    known = [chapter.name for chapter in chapters]
    for name in wanted:
        if name not in known:
            raise InputError(
                f'there is no chapter "{name}"{did_you_mean(name, known)}', hint=f"known: {', '.join(known)}"
            )


def _asked(chapter: Chapter, subject: Subject, wanted: Collection[str]) -> Finding:
    if wanted and chapter.name not in wanted:
        return not_run(f"other chapters were asked for: {', '.join(wanted)}")
    invalidated = [each.reason for each in subject.foreign_files if each.invalidates(chapter.rests_on)]
    if invalidated:
        more = f"; and {len(invalidated) - _NAMED} more" if len(invalidated) > _NAMED else ""
        table = Table("Not as Solder makes it", ("what",), [(reason,) for reason in invalidated])
        return Finding(Standing.FAILED, "; ".join(invalidated[:_NAMED]) + more, tables=(table,))
    try:
        return chapter.examine(subject)
    except MissingToolError as error:
        return not_run(error.what)
    except ToolError as error:
        return Finding(Standing.FAILED, f"no answer can be trusted: {error.what}")


# The command `deploy evidence` as a Python function.


@accepts_options()
@renamed(against="baseline")
@reports_progress
def evidence(
    model: str | Path | Model | Compiled,
    board: str | None = None,
    project: str | Path | None = None,
    chapter: Sequence[str] = (),
    baseline: str | Path | None = None,
    toolchain: str | None = None,
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Evidence:
    """Returns evidence for a safety assessor about the code of an archive, a model file or a compiled model.

    `chapter` limits it to these chapters. Generated files of a `project` are compared with the archive. With
    a `baseline`, an earlier folder of evidence, the result lists which of its chapters are invalid now.
    print() shows a line for each chapter; save(path) writes a folder of pages, facts and hashes.
    """
    from deploy.proving.folder import read_folder  # jinja2 is slow to import

    require_known(chapter)
    older = None if baseline is None else read_folder(Path(baseline))
    asked = About(
        None if board is None else load_board(board), None if project is None else Path(project), toolchain
    )
    if isinstance(model, Compiled):
        require_same(model, board, options)
        return gather(subject_of(model, asked, CompileOptions()), chapter, older=older)
    given = model if isinstance(model, Model) else model_path(model)
    return gather(subject_of(given, asked, options_with(model, options)), chapter, older=older)
