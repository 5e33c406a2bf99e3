"""Attributes an error to an installed extension, or to a C file of an accelerator."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from aot.errors import DeployError, ExtensionError
from aot.extensions import origin_of
from codegen.model import LayerInfo

_MOST_NAMED = 3


def extension_error(error: BaseException) -> ExtensionError | None:
    """Returns an error that names the extension whose code raised it or called the failing code, or None."""
    for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
        origin = origin_of(str(frame.f_globals.get("__name__", "")))
        if origin:
            return ExtensionError(
                f"an extension failed: {type(error).__name__}: {error}",
                f"{origin}: {frame.f_code.co_filename}, line {line}, in {frame.f_code.co_name}",
                "report it to the authors of that package, with the lines above, or uninstall it",
            )
    return None


@contextmanager
def blamed_on_accelerators(layers: Sequence[LayerInfo]) -> Iterator[None]:
    """Adds the accelerator and its nodes to an error that mentions one of its C files."""
    try:
        yield
    except DeployError as error:
        said = accelerator_text(layers, f"{error.what}\n{error.where}")
        error.where = "\n".join(filter(None, (error.where, said)))
        raise


def accelerator_text(layers: Sequence[LayerInfo], text: str) -> str:
    """Returns a sentence about the first accelerator file mentioned in the text, or ""."""
    for device in dict.fromkeys(layer.device for layer in layers if layer.device):
        mine = [layer for layer in layers if layer.device == device]
        for file in dict.fromkeys(file for layer in mine for file in layer.sources):
            if file in text:
                users = [f"{each.op} {each.origin or each.name}" for each in mine if file in each.sources]
                return f'{file} belongs to the accelerator "{device}", which computes {_listed(users)}'
    return ""


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join([*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
