"""The option that requests accelerators: names, each with options after a colon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aot.errors import did_you_mean
from codegen.accelerators.names import accelerator_names
from codegen.option_kinds import OptionKind, WrongValueError, json_type


class AcceleratorList(OptionKind[tuple[str, ...]]):
    """Strings such as strawberry:lanes=8.

    Python also accepts {"strawberry": {"lanes": 8}}, or several in a list.
    """

    is_repeated = True
    metavar = "NAME[:OPTION=VALUE,...]"

    schema = json_type(
        "array",
        description="accelerators that compute layers instead of generated kernels; the first that "
        "can is used",
        items={"type": "string"},
    )

    def read(self, given: object) -> tuple[str, ...]:
        if isinstance(given, Mapping):
            given = [_word(name, settings) for name, settings in given.items()]
        each = given if isinstance(given, Sequence) and not isinstance(given, str | bytes) else (given,)
        words = tuple(dict.fromkeys(_checked(word) for word in each))
        names = [word.partition(":")[0] for word in words]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise WrongValueError(f'"{twice}" is named twice, with other options')
        return words

    def words(self, value: tuple[str, ...]) -> tuple[str, ...]:
        return value


def _word(name: object, settings: object) -> str:
    """Returns a name and a mapping of options as one string."""
    if not isinstance(settings, Mapping):
        raise WrongValueError(f"{settings!r} is not a mapping from the options of {name} to values")
    options = ",".join(f"{option}={value}" for option, value in settings.items())
    return f"{name}:{options}" if options else str(name)


def _checked(given: object) -> str:
    name = given.partition(":")[0] if isinstance(given, str) else None
    known = accelerator_names()
    if name not in known:
        near = did_you_mean(str(name if name is not None else given), known)
        said = f'"{given}"' if isinstance(given, str) else repr(given)
        raise WrongValueError(f"{said} is not an accelerator{near}", f"known: {', '.join(known)}")
    from codegen.accelerators.table import asked_for  # imported late: only needed with accelerators

    word = str(given).removesuffix(":")
    asked_for((word,))
    return word
