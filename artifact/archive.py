"""Archives in Model Library Format: a compiled model in one file. Modified archives are rejected."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from aot.errors import ArchiveError, OutputError
from artifact.artifact import Artifact
from artifact.metadata import COMPILE_AGAIN, make_metadata, read_metadata
from artifact.whole_file import write_whole

_MODE = 0o644
_LATEST = 8**11 - 1  # largest value in the eleven octal digits of a ustar header
_MAGIC_AT = slice(257, 262)
_HOW_TO_GET_ONE = "create one with: deploy compile MODEL --board B -o OUT.tar"


def export_time() -> int:
    """Returns the time stamp of archives, in seconds since 1970: SOURCE_DATE_EPOCH, or 0."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not (text.isascii() and text.isdigit() and int(text) <= _LATEST):
        raise OutputError(
            f"SOURCE_DATE_EPOCH must be a number of seconds since 1970, at most {_LATEST}, not {text!r}",
            hint="unset SOURCE_DATE_EPOCH, or set it to what `git log -1 --format=%ct` prints",
        )
    return int(text)


def tar_bytes(files: Mapping[str, bytes], seconds: int) -> bytes:
    """Returns a ustar file with these files in order, all with one date and without an owner."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, data in files.items():
            # TVM's readers look for ./metadata.json, not metadata.json
            info = tarfile.TarInfo(f"./{path}")
            info.size, info.mtime, info.mode = len(data), seconds, _MODE
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def is_archive(path: Path) -> bool:
    """Returns whether the file is a tar: it is then read as an archive, otherwise as a model."""
    try:
        with path.open("rb") as file:
            return file.read(512)[_MAGIC_AT] == b"ustar"
    except OSError:
        return False


def read_tar(path: Path) -> dict[str, bytes]:
    """Returns the contents of each file by path. Raises ModelError unless all are plain files inside."""
    data = _read(path)
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            return _plain_files(tar, str(path))
    except (tarfile.TarError, ValueError, OverflowError, EOFError) as error:
        size = f"{len(data):,} bytes"
        what = f"this is not a compiled model ({size}, not a tar file)"
        if data[_MAGIC_AT] == b"ustar":
            what = f"the archive is damaged or incomplete ({size}): {error}"
        raise ArchiveError(what, str(path), _HOW_TO_GET_ONE) from None


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise ArchiveError("an archive is needed, this is a folder", str(path), _HOW_TO_GET_ONE)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ArchiveError("the archive does not exist", str(path), _HOW_TO_GET_ONE) from None
    except OSError as error:
        raise ArchiveError(f"the archive cannot be read: {error.strerror}", str(path)) from None


def _plain_files(tar: tarfile.TarFile, where: str) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for info in tar:
        if info.isdir():  # in archives that were unpacked and packed again
            continue
        name = info.name.removeprefix("./")
        stream = tar.extractfile(info) if info.type in (tarfile.REGTYPE, tarfile.AREGTYPE) else None
        if stream is None or info.issparse() or not _stays_inside(name) or name in files:
            oddity = _oddity(info, name in files)
            raise ArchiveError(
                f"the archive has an entry that Solder never writes: {info.name!r}, {oddity}",
                where,
                "do not use archives from untrusted sources; compile the model again",
            )
        files[name] = stream.read()
    return files


def _stays_inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and not set("\\:") & set(name)


def _oddity(info: tarfile.TarInfo, twice: bool) -> str:
    if not info.isreg() or info.issparse():
        return "which is not a plain file"
    return "which occurs twice" if twice else "which is outside the archive's folder"


def write_archive_file(path: Path, data: bytes) -> None:
    """Writes the whole file or nothing; replaces only an earlier archive. Raises OutputError."""
    path = path.resolve()
    _refuse_to_lose(path)
    write_whole(path, data, "the archive")


def _refuse_to_lose(path: Path) -> None:
    if path.is_dir():
        raise OutputError("the archive cannot be written: a folder has this name", str(path), "name a file")
    if not path.exists():
        return
    if not path.is_file() or not _may_be_replaced(path):
        raise OutputError(
            "the file exists and is not a Solder archive",
            str(path),
            "name another file, or remove this one first",
        )


def _may_be_replaced(path: Path) -> bool:
    """Returns True for an empty file and for any archive, even if damaged or of another version."""
    from artifact.metadata import is_ours

    try:
        if path.stat().st_size == 0:
            return True
        with tarfile.open(path, "r:") as tar:
            first = tar.next()
            stream = tar.extractfile(first) if first is not None and first.isreg() else None
            return stream is not None and is_ours(stream.read())
    except (OSError, tarfile.TarError, ValueError, OverflowError):
        return False


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
