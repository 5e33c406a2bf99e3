"""The story model, trained once for all tests here."""

import pytest
from story_models import write_story_model


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stories")
    write_story_model(folder)
    return folder
