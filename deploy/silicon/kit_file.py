"""The result file of the kit: a zip of its parts, with a manifest of their SHA-256.

The same parts give the same bytes. The hashes find edited and damaged parts. They are no signature: the
figures are believed because they follow from the log.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.errors import InputError
from artifact.whole_file import write_whole
from deploy.silicon.kit_models import sha256_of

LOG, RESULT, ESTIMATES, ENERGY, MANIFEST = (
    "line.log",
    "result.json",
    "estimates.json",
    "energy.csv",
    "manifest.json",
)
_REQUIRED, _OPTIONAL = (LOG, RESULT, ESTIMATES), (ENERGY,)
_FORMAT = 1
_MOST_BYTES = 64 << 20  # of one part
_DATE = (1980, 1, 1, 0, 0, 0)
_HINT = "measure again: deploy bench --kit --board B"


@dataclass(frozen=True, slots=True)
class KitFile:
    """The parts of a result file, and what its manifest says about them."""

    path: Path
    parts: Mapping[str, bytes]
    manifest: Any

    def json(self, part: str) -> Any:
        """Returns a part as data. Raises InputError."""
        try:
            return json.loads(self.parts[part])
        except (ValueError, RecursionError):
            raise InputError(f"{part} is not JSON", str(self.path), _HINT) from None

    def damages(self) -> Iterator[str]:
        """Yields what differs from the manifest."""
        hashes = self.manifest.get("sha256") if isinstance(self.manifest, dict) else None
        if not isinstance(hashes, dict) or self.manifest.get("format") != _FORMAT:
            yield f"{MANIFEST} is not a manifest of format {_FORMAT}"
            return
        if self.manifest.get("seal") != _seal(hashes):
            yield f"{MANIFEST} was edited: its seal does not fit its hashes"
        for name in sorted({*hashes, *self.parts}):
            if name not in self.parts:
                yield f"{name} is missing"
            elif name not in hashes:
                yield f"{name} was added: the manifest does not list it"
            elif hashes[name] != sha256_of(self.parts[name]):
                yield f"{name} was edited: its SHA-256 is another than in the manifest"


def as_json(facts: Any) -> bytes:
    return (json.dumps(facts, indent=1, sort_keys=True) + "\n").encode()


def _seal(hashes: Mapping[str, str]) -> str:
    return sha256_of(json.dumps(hashes, sort_keys=True).encode())


def sealed(path: Path, parts: Mapping[str, bytes]) -> KitFile:
    """Returns the file that these parts make, with a manifest of their hashes."""
    hashes = {name: sha256_of(data) for name, data in parts.items()}
    return KitFile(path, parts, {"format": _FORMAT, "sha256": hashes, "seal": _seal(hashes)})


def pack_kit(kit: KitFile) -> bytes:
    return zip_parts({**kit.parts, MANIFEST: as_json(kit.manifest)})


def zip_parts(parts: Mapping[str, bytes]) -> bytes:
    """Returns a zip of these files, without a date."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name in sorted(parts):
            file.writestr(zipfile.ZipInfo(name, _DATE), parts[name], zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def write_kit(kit: KitFile) -> None:
    write_whole(kit.path, pack_kit(kit), "the result file")


def read_kit(path: Path) -> KitFile:
    """Reads a result file. Raises InputError if it is not one."""
    try:
        with zipfile.ZipFile(path) as file:
            sizes = {info.filename: info.file_size for info in file.infolist()}
            known = {*_REQUIRED, *_OPTIONAL, MANIFEST}
            _require(len(file.infolist()) == len(sizes), path, "a part is there twice")
            _require(max(sizes.values(), default=0) <= _MOST_BYTES, path, "a part is too large")
            _require(sizes.keys() <= known, path, f"unknown parts: {', '.join(sorted(sizes.keys() - known))}")
            missing = {*_REQUIRED, MANIFEST} - sizes.keys()
            _require(not missing, path, f"missing parts: {', '.join(sorted(missing))}")
            parts = {name: file.read(name) for name in sizes}
    except OSError as error:
        raise InputError(f"the result file cannot be read: {error.strerror}", str(path), _HINT) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError):
        raise InputError("this is no result file of the kit, or it is damaged", str(path), _HINT) from None
    try:
        manifest = json.loads(parts.pop(MANIFEST))
    except (ValueError, RecursionError):
        raise InputError(f"{MANIFEST} is not JSON", str(path), _HINT) from None
    return KitFile(path, parts, manifest)


def _require(fine: bool, path: Path, what: str) -> None:
    if not fine:
        raise InputError(f"this is no result file of the kit: {what}", str(path), _HINT)
