"""The files of the trace, from the model's file to the C, with hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from artifact.artifact import Artifact
from deploy.proving.chapter import Table

_COLUMNS = ("file", "is", "SHA-256")


def files_table(artifact: Artifact) -> Table:
    return Table("Files", _COLUMNS, tuple(_rows(artifact)))


def _rows(artifact: Artifact) -> Iterator[tuple[str, str, str]]:
    facts = artifact.facts
    yield facts.source_name, "the model", facts.model_hash
    yield f"{artifact.name}.graph", "the graph of the archive", _hash(artifact.graph_text.encode())
    for what, texts in (("generated source", artifact.sources), ("generated header", artifact.headers)):
        for name, text in texts.items():
            yield name, what, _hash(text.encode())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
