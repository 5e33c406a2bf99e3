"""Archives in Model Library Format: a compiled model in one file. Modified archives are rejected."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from aot.errors import ArchiveError
from artifact.archive_file import export_time, read_tar, tar_bytes, write_archive_file
from artifact.artifact import Artifact
from artifact.metadata import COMPILE_AGAIN, make_metadata, read_metadata

METADATA = "metadata.json"


def write_archive(artifact: Artifact, path: Path) -> None:
    """Writes the archive; the same model always gives the same bytes.

    An existing archive is replaced once the new one is complete; any other existing file is kept. Raises
    OutputError.
    """
    write_archive_file(path, archive_bytes(artifact, export_time()))


def archive_bytes(artifact: Artifact, seconds: int) -> bytes:
    """Returns the archive; `seconds` since 1970 is the only time in it."""
    files = artifact.files
    hashes = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    metadata = make_metadata(artifact.facts, seconds, hashes, has_runtime=bool(artifact.runtime))
    return tar_bytes({METADATA: metadata.encode(), **dict(sorted(files.items()))}, seconds)


def read_archive(path: Path) -> Artifact:
    """Reads an archive. Raises ModelError if the file is not an archive or was modified."""
    where = str(path)
    files = read_tar(path)
    if METADATA not in files:
        raise ArchiveError(
            f"this tar file is not a compiled model: it has no {METADATA}",
            where,
            "create one with: deploy compile MODEL --board B -o OUT.tar",
        )
    facts, hashes = read_metadata(files.pop(METADATA), where)
    _require_same_files(files, hashes, where)
    return Artifact(facts, files)


def _require_same_files(files: Mapping[str, bytes], hashes: Mapping[str, str], where: str) -> None:
    missing = sorted(hashes.keys() - files.keys())
    if missing:
        lacks = f"{len(missing)} of its {len(hashes)} files are missing, such as {missing[0]}"
        raise ArchiveError(f"the archive is incomplete: {lacks}", where, COMPILE_AGAIN)
    foreign = sorted(files.keys() - hashes.keys())
    if foreign:
        raise ArchiveError(
            f"the archive holds {foreign[0]}, which metadata.json does not list", where, COMPILE_AGAIN
        )
    for path, data in files.items():
        if hashlib.sha256(data).hexdigest() != hashes[path]:
            changed = f"{path} in the archive was changed after it was written: its SHA-256 differs"
            raise ArchiveError(changed, where, COMPILE_AGAIN)
