"""What a test needs of this machine: if it is missing, the test is skipped, and in CI it fails."""

import importlib.util
import os
import shutil

import pytest


def skip_or_fail(reason: str) -> None:
    """What is missing skips a test on someone's desk and fails it in CI, where it is meant to be there."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; in CI nothing may be missing", pytrace=False)
    pytest.skip(reason)


def require_programs(*names: str) -> None:
    for name in names:
        if shutil.which(name) is None:
            skip_or_fail(f"needs the program {name}, which is not on PATH")


def require_packages(*names: str) -> None:
    for name in names:
        if importlib.util.find_spec(name) is None:
            skip_or_fail(f"needs the Python package {name}, which is not installed")
