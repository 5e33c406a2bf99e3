"""The story model, trained once for all tests here."""

from __future__ import annotations

from pathlib import Path

import pytest
from story_models import write_story_model


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stories")
    write_story_model(folder)
    return folder
