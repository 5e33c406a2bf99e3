"""Errors are compared by their facts: numbers, names, places, words of the fix. Their wording may improve."""

from collections.abc import Callable

import pytest

from aot.errors import DeployError


def require_facts(text: object, facts: str) -> None:
    """Requires that each of these words, separated by blanks, is in the text."""
    missing = [fact for fact in facts.split() if fact not in str(text)]
    assert not missing, f"not in the error: {missing}\n{text}"


def refused(call: Callable[[], object], facts: str, kind: type[DeployError] = DeployError) -> None:
    """Requires that the call ends in such an error."""
    with pytest.raises(kind) as caught:
        call()
    require_facts(caught.value, facts)
