"""Exports a compiled model as a package for a channel's tools: a folder or a single file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aot.errors import InputError, OutputError, did_you_mean
from artifact.archive import is_archive
from artifact.artifact import Artifact
from artifact.whole_file import write_whole
from codegen.option_entry import read_given
from codegen.options import OPTIONS, read_options
from deploy.cli.command_result import Answer
from deploy.cli.console import reports_progress
from deploy.cli.options import require_no_options
from deploy.compiler.board_or_target import require_board_or_target
from deploy.compiler.compile_model import Compiled, compile_for
from deploy.inputs.samples import Samples
from deploy.python_api.model import Model, imported_with, model_path, options_with, read_artifact
from deploy.python_api.option_keywords import accepts_options
from deploy.verification.compare_layers import reference_outputs
from platforms.channels import CHANNELS
from platforms.channels.channel import Channel, load_channel
from platforms.channels.package import PACKAGE, Package, PackageOptions
from platforms.folder import write_project
from platforms.plain_sources import made_up_inputs

_UNCHANGED = (1980, 1, 1, 0, 0, 0)  # timestamp of all files, so that the same model gives the same bytes


@accepts_options((*PACKAGE, *OPTIONS))
@reports_progress
def export(
    model: str | Path | Model | Compiled,
    channel: str,
    output: str | Path,
    board: str | None = None,
    target: str | None = None,
    *,
    on_progress: Any = None,  # OnProgress
    **options: Any,
) -> Answer:
    """Exports a model as a package: channel="arduino", "conan", ...

    Accepts a model file with a board or a target, or a compiled model. If the output name ends with the
    channel's suffix, .zip or .pack, the package is one file, otherwise a folder.
    """
    taken = load_known(channel)
    place = Path(output)
    _require_place(place, taken.SUFFIX)
    says = read_given(PackageOptions(), PACKAGE, {k: v for k, v in options.items() if k in PACKAGE})
    compiling = {k: v for k, v in options.items() if k not in PACKAGE}
    artifact = _artifact(model, board, target, compiling)
    package = Package(artifact, says, _expected(artifact))
    files = taken.files(package)
    if place.suffix == taken.SUFFIX:
        write_whole(place, zipped(files, "" if taken.SUFFIX == ".pack" else f"{package.name}/"))
    else:
        write_project(place, files)
    return Answer(_facts(channel, package, files, place), _page(channel, taken, package, files, place))


def load_known(channel: str) -> Channel:
    """Returns the channel with this name. Raises InputError."""
    if channel not in CHANNELS:
        raise InputError(
            f'channel "{channel}" is not known{did_you_mean(channel, CHANNELS)}',
            hint=f"known: {', '.join(CHANNELS)}",
        )
    return load_channel(channel)


def zipped(files: Mapping[str, str | bytes], folder: str) -> bytes:
    """Returns a zip of the files, below `folder`; the same files give the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{folder}{name}", _UNCHANGED)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system, entry.external_attr = 3, 0o644 << 16  # as written on Unix
            archive.writestr(entry, text)
    return made.getvalue()


def _artifact(
    model: str | Path | Model | Compiled, board: str | None, target: str | None, options: Mapping[str, object]
) -> Artifact:
    if isinstance(model, Compiled) or (not isinstance(model, Model) and is_archive(model_path(model))):
        artifact = read_artifact(model)
        where = artifact.facts.source_name
        require_no_options(read_options(options), where)
        if board is not None or target is not None:
            raise InputError(
                f"--board has no effect: this model is already compiled for {artifact.facts.target.core}",
                where,
                "omit it, or give the model file",
            )
        return artifact
    known = options_with(model, options)
    imported = imported_with(model, known)
    return compile_for(imported, require_board_or_target(board, target), known).artifact


def _expected(artifact: Artifact) -> tuple[Any, ...]:
    """Returns the outputs for the example's generated inputs."""
    inputs = Samples((tuple(made_up_inputs(artifact.facts.inputs)),), is_series=False)
    (expected,) = reference_outputs(artifact.graph, inputs)
    return expected


def _require_place(place: Path, suffix: str) -> None:
    """Raises OutputError before compiling if the output would overwrite the user's files."""
    if place.suffix and place.suffix != suffix and not place.is_dir():
        raise OutputError(
            f"this channel writes a folder or a file *{suffix}, not *{place.suffix}",
            str(place),
            f"-o {place.with_suffix(suffix)} or -o {place.with_suffix('')}",
        )


def _facts(channel: str, package: Package, files: Mapping[str, str | bytes], place: Path) -> dict[str, Any]:
    return {
        "channel": channel,
        "output": str(place),
        "model": package.name,
        "version": package.options.version,
        "license": package.options.license,
        "core": package.artifact.facts.target.core,
        "files": sorted(files),
    }


def _page(
    channel: str, taken: Channel, package: Package, files: Mapping[str, str | bytes], place: Path
) -> str:
    count = f"{len(files)} files, {sum(map(_size, files.values())):,} bytes"
    return (
        f"{place}: {package.name} {package.options.version} for {package.artifact.facts.target.core}, "
        f"{taken.SUMMARY}\n  {count}; see its README.md for how to add it to a project"
    )


def _size(content: str | bytes) -> int:
    return len(content.encode() if isinstance(content, str) else content)
