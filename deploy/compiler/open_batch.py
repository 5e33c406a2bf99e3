"""Says which inputs' batch a file leaves open, so that it is 1."""

from __future__ import annotations

from codegen.job import ImportedModel


def open_batch_lines(model: ImportedModel) -> list[str]:
    return [
        f'  batch      the file leaves that of "{name}" open: it is 1 (--shape gives all sizes)'
        for name in model.open_batches
    ]
