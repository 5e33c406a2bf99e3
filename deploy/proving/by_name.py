"""The command `deploy evidence` as a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codegen.options import CompileOptions
from deploy.cli.renamed import renamed
from deploy.compiler.compile_model import Compiled
from deploy.proving.gathered import Evidence
from deploy.proving.make import gather, require_known
from deploy.proving.subject import About, subject_of
from deploy.python_api.model import Model, model_path, options_with, require_same
from deploy.python_api.option_keywords import takes_options
from platforms.board_files import load_board


@takes_options()
@renamed(against="baseline")
def evidence(
    model: str | Path | Model | Compiled,
    board: str | None = None,
    project: str | Path | None = None,
    chapter: Sequence[str] = (),
    baseline: str | Path | None = None,
    toolchain: str | None = None,
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
