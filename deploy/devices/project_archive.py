"""Finds the archive that a project was created from: it has the graph and the facts of the project's C."""

from __future__ import annotations

from pathlib import Path

from aot.errors import InputError
from artifact.archive import is_archive, read_archive
from artifact.artifact import Artifact
from platforms.folder import read_project
from platforms.layout import build_id_of
from platforms.project import project_source, share_firmware


def archive_name(artifact: Artifact) -> str:
    """Returns the name of the archive that a project contains if it was not created from an archive."""
    return f"{artifact.name}.tar"


def archives_of(directory: Path) -> tuple[Artifact, ...]:
    """Returns the archives of the project's models; () if one is gone, or other files are in the firmware."""
    info = read_project(directory)
    places = [directory / each for each in (info.archive, *info.other_archives)]
    if not info.archive or not all(map(is_archive, places)):
        return ()
    first, *others = artifacts = tuple(map(read_archive, places))
    source = share_firmware(project_source(first), [project_source(each) for each in others])
    return artifacts if build_id_of(source) == info.build_id else ()


def require_archive(directory: Path) -> Artifact:
    """Returns the archive of the project's first model. Raises InputError if it is not there."""
    return require_archives(directory)[0]


def require_archives(directory: Path) -> tuple[Artifact, ...]:
    """Returns the archives of the project's models. Raises InputError if they are not there."""
    artifacts = archives_of(directory)
    if not artifacts:
        raise InputError(
            "a project does not contain the facts about its model, and its archive is not there",
            str(directory),
            "give the archive of the project instead of the project",
        )
    return artifacts
