"""The command `deploy evidence` as a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codegen.options import CompileOptions
from deploy.compiling import Compiled
from deploy.keywords import takes_options
from deploy.model import Model, options_with, require_same
from deploy.proving.gathered import Evidence
from deploy.proving.make import gather, require_known
from deploy.proving.subject import About, subject_of
from platforms.board_files import load_board


@takes_options()
def evidence(
    model: str | Path | Model | Compiled,
    board: str | None = None,
    project: str | Path | None = None,
    chapter: Sequence[str] = (),
    against: str | Path | None = None,
    toolchain: str | None = None,
    **options: Any,
) -> Evidence:
    """Answers questions about the code of an archive, a model file or a compiled model, with proofs.

    `chapter` names those to answer, where it is not all. A `project` is compared with the code, and the
    evidence with that of an earlier folder, `against`: what of that has become invalid. print() shows a line
    for each chapter; save(path) writes a folder of pages, facts and hashes.
    """
    from deploy.proving.folder import read_folder  # the templates' engine takes its time

    require_known(chapter)
    older = None if against is None else read_folder(Path(against))
    asked = About(
        None if board is None else load_board(board), None if project is None else Path(project), toolchain
    )
    if isinstance(model, Compiled):
        require_same(model, board, options)
        return gather(subject_of(model, asked, CompileOptions()), chapter, older=older)
    given = model if isinstance(model, Model) else Path(model)
    return gather(subject_of(given, asked, options_with(model, options)), chapter, older=older)
