"""Says whose code an error is about: a file of C that an accelerator brings, and its layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from aot.errors import DeployError
from codegen.model import LayerInfo

_MOST_NAMED = 3


@contextmanager
def blamed_on_accelerators(layers: Sequence[LayerInfo]) -> Iterator[None]:
    """Adds to an error that names such a file which accelerator brings it, and for which nodes."""
    try:
        yield
    except DeployError as error:
        said = accelerator_text(layers, f"{error.what}\n{error.where}")
        error.where = "\n".join(filter(None, (error.where, said)))
        raise


def accelerator_text(layers: Sequence[LayerInfo], text: str) -> str:
    """The sentence on the first of these files that a text names; empty where it names none."""
    for device in dict.fromkeys(layer.device for layer in layers if layer.device):
        mine = [layer for layer in layers if layer.device == device]
        for file in dict.fromkeys(file for layer in mine for file in layer.sources):
            if file in text:
                users = [f"{each.op} {each.origin or each.name}" for each in mine if file in each.sources]
                return f'{file} is of the accelerator "{device}", which computes {_listed(users)}'
    return ""


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join([*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
