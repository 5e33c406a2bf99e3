"""Finds the archive that a project was created from: it has the graph and the facts of the project's C."""

from __future__ import annotations

from pathlib import Path

from aot.errors import InputError
from artifact.archive import is_archive, read_archive
from artifact.artifact import Artifact
from platforms.folder import read_project
from platforms.layout import build_id_of
from platforms.project import project_source


def archive_name(artifact: Artifact) -> str:
    """Returns the name of the archive that a project contains if it was not created from an archive."""
    return f"{artifact.name}.tar"


def archive_of(directory: Path) -> Artifact | None:
    """Returns the project's archive if it is where it was, and the project was created from it alone."""
    info = read_project(directory)
    place = directory / info.archive
    if not info.archive or not is_archive(place):
        return None
    artifact = read_archive(place)
    return artifact if build_id_of(project_source(artifact)) == info.build_id else None


def require_archive(directory: Path) -> Artifact:
    """Returns the project's archive. Raises InputError if it is not there."""
    artifact = archive_of(directory)
    if artifact is None:
        raise InputError(
            "a project does not contain the facts about its model, and its archive is not there",
            str(directory),
            "give the archive of the project instead of the project",
        )
    return artifact
