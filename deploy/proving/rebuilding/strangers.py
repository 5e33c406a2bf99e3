"""Compares an archive and a project with the files that this version generates, and reports differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from aot.errors import DeployError
from artifact.artifact import Artifact, artifact_of
from artifact.facts import encode
from codegen.compile import compile_job
from codegen.job import ImportedModel
from codegen.options import CompileOptions
from deploy.compiler.jobs import job_for
from deploy.proving.tracing.ground import MODEL, PROGRAM, Ground
from platforms.templates import c_files

_RUNTIME = "runtime/"
_NEWLINE = b"\n"
BUILD_FOLDER = "build"  # created in a project by its Makefile or west
_OF_MODEL = (Ground.MODEL_FILE, *MODEL, *PROGRAM, Ground.TEXT, Ground.TARGET)


@dataclass(frozen=True)
class ForeignFile:
    """A file that differs from what this version generates, and the grounds of evidence it invalidates."""

    reason: str  # a sentence that starts with the file's path
    grounds: tuple[Ground, ...]

    def invalidates(self, rests_on: tuple[Ground, ...]) -> bool:
        return any(ground in rests_on for ground in self.grounds)


def foreign_files_in_archive(artifact: Artifact, outside: CompileOptions) -> Iterator[ForeignFile]:
    """Compiles the archive's imported graph again, and compares all files and facts.

    `outside` provides the options that an archive does not contain: tuning records and schedules.
    """
    try:
        again = _compiled_again(artifact, outside)
    except DeployError as error:
        yield ForeignFile(f"the archive's graph cannot be compiled again: {error.what}", _OF_MODEL)
        return
    for reason in _files(artifact.files, again.files):
        yield ForeignFile(reason, (Ground.RUNTIME,) if reason.startswith(_RUNTIME) else _OF_MODEL)
    found, made = encode(artifact.facts), encode(again.facts)
    if keys := [key for key in {**made, **found} if found.get(key) != made.get(key)]:
        yield ForeignFile(f"metadata.json differs from what Solder makes, in {', '.join(keys)}", _OF_MODEL)


def foreign_files_in_project(
    directory: Path, files: Mapping[str, str], own_archive: str
) -> Iterator[ForeignFile]:
    """Compares all files of a project with the generated ones, except build results and its own archive."""
    made = {name: text.encode() for name, text in files.items()}
    found = _files_below(directory)
    found.pop(own_archive, None)
    for reason in _files(found, made):
        yield ForeignFile(reason, (Ground.PROJECT,))


def _compiled_again(artifact: Artifact, outside: CompileOptions) -> Artifact:
    facts = artifact.facts
    model = ImportedModel(artifact.imported, facts.source_name, facts.model_hash, facts.name)
    options = replace(facts.options, tuning_records=outside.tuning_records, schedules=outside.schedules)
    job, _ = job_for(model, facts.target, options, facts.board)
    return artifact_of(compile_job(job), {name: text.encode() for name, text in c_files("common")})


def _files(found: Mapping[str, bytes], made: Mapping[str, bytes]) -> Iterator[str]:
    """Yields a sentence for each difference."""
    for path in sorted({**made, **found}):
        if path not in found:
            yield f"{path} is missing"
        elif path not in made:
            yield f"{path} is not a file that Solder makes"
        elif found[path] != made[path]:
            yield f"{path} differs from what Solder makes, from {_where(found[path], made[path])} on"


def _where(found: bytes, made: bytes) -> str:
    """Returns the first line that differs; for binary files, the first byte."""
    alike = next((at for at, (a, b) in enumerate(zip(found, made, strict=False)) if a != b), len(made))
    return f"byte {alike:,}" if b"\0" in made else f"line {made.count(_NEWLINE, 0, alike) + 1}"


def _files_below(directory: Path) -> dict[str, bytes]:
    """Returns the content of files by path. A link has no content, because its target may change."""
    found = {}
    for path in directory.rglob("*"):
        name = path.relative_to(directory).as_posix()
        if path.is_symlink():
            found[name] = b"a link"
        elif path.is_file() and not name.startswith((f"{BUILD_FOLDER}/", ".git/")):
            found[name] = path.read_bytes()
    return found
