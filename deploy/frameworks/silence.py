"""Hides progress output of converters, from Python and C++."""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout


@contextmanager
def silent() -> Iterator[None]:
    """Discards output, warnings and log records of this process inside the block."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept, disabled = [os.dup(number) for number in (1, 2)], logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123  # a file descriptor is needed
        for number in (1, 2):
            os.dup2(nowhere.fileno(), number)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
        for number, file in zip((1, 2), kept, strict=True):
            os.dup2(file, number)
            os.close(file)
