"""Reports inputs whose batch size a file leaves open; it is set to 1."""

from __future__ import annotations

from codegen.job import ImportedModel


def open_batch_lines(model: ImportedModel) -> list[str]:
    return [
        f'  batch      the file leaves the batch of "{name}" open: 1 is used (--shape sets all sizes)'
        for name in model.open_batches
    ]
