"""Parses a command line. Errors are one line and suggest the likely intended option."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from aot.errors import DeployError, did_you_mean
from boards.files import find_file
from deploy.cli.help_page import add_help, help_page
from deploy.cli.renamed import new_flag
from platforms.board_files import boards_like

# argparse's messages and their replacements; \1 and so on are groups of the pattern.
_SENTENCES = (
    (r"argument (.+?): expected (one|at least one) argument", r"\1 needs a value"),
    (r"argument (.+?): ignored explicit argument (.+)", r"\1 takes no value, not \2"),
    (r"argument (.+?): not allowed with argument (.+)", r"\1 and \2 exclude each other"),
    (r"argument (.+?): ((?:.|\n)+)", r"\1 \2"),
)
_MISSING = re.compile(
    r"the following arguments are required: (?P<names>.+)|one of the arguments .+ is required"
)


def _compile_flags() -> set[str]:
    from codegen.options import OPTIONS  # slow to import, and needed for an error only

    return {"--" + name.replace("_", "-") for name in OPTIONS}


# How to give further files to commands that accept archives, and have no options of deploy compile.
_FURTHER = {"deploy new": "several models in one firmware: deploy new MODEL PROJECT --with OTHER_MODEL"}


class UsageError(DeployError):
    """Raised for a wrong command line; exit status 2."""


class Parser(argparse.ArgumentParser):
    """An argparse parser with this project's help pages and error texts."""

    _missing_choices: Sequence[str] = ()

    def __init__(self, **more: Any) -> None:
        super().__init__(**{**more, "add_help": False, "allow_abbrev": False})
        add_help(self)

    def format_help(self) -> str:
        return help_page(self, is_complete=True)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Parses the arguments. Raises UsageError."""
        self._require_known_options(words)
        self._missing_choices = list(self._choices_without(words))
        found, extra = self.parse_known_args(words)
        if extra and extra[0].startswith("-"):
            raise UsageError(f'option "{extra[0]}" is not known', hint=self._way_out())
        if extra:
            raise UsageError(
                f'unexpected argument "{extra[0]}"', hint=_FURTHER.get(self.prog, "") or self._way_out()
            )
        return found

    def error(self, message: str) -> NoReturn:
        missing = _MISSING.fullmatch(message)
        if missing is not None:
            message = missing_text([*self._missing_choices, *(missing["names"] or "").split(", ")])
        what, _, hint = _sentence(message).partition("\n")
        raise UsageError(what, hint=hint or self._way_out())

    def _choices_without(self, words: Sequence[str]) -> Iterator[str]:
        """Yields required alternatives of which none is given."""
        given = {word.partition("=")[0] for word in words}
        for group in self._mutually_exclusive_groups:
            flags = [flag for action in group._group_actions for flag in action.option_strings]
            if group.required and not given & {*flags}:
                yield " or ".join(flags)

    def _require_known_options(self, words: Sequence[str]) -> None:
        """Rejects unknown options first, because argparse would report a mistyped argument as missing."""
        known = set(self._flags())
        for word in words:
            flag = word.partition("=")[0]
            if word == "--":
                return
            if flag.startswith("-") and flag not in known and (now := new_flag(self.prog, flag)):
                raise UsageError(f'option "{flag}" is now "{now}"', hint=self._way_out())
            if (
                flag.startswith("--")
                and flag not in known
                and _FURTHER.get(self.prog, "")
                and flag in _compile_flags()
            ):
                raise UsageError(
                    f'option "{flag}" is one of deploy compile',
                    hint=f"deploy compile MODEL {flag} ... -o OUT.tar, then give {self.prog} OUT.tar",
                )
            if flag.startswith("--") and flag not in known:
                raise UsageError(
                    f'option "{flag}" is not known{did_you_mean(flag, known)}', hint=self._way_out()
                )

    def _flags(self) -> Iterator[str]:
        """Yields all options, including those of subcommands such as "list"."""
        yield from self._option_string_actions
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for inner in action.choices.values():
                    yield from inner._flags()

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        near, hint = did_you_mean(str(value), known), f"known: {', '.join(known)}"
        if self.prog == "deploy boards":
            alike = [value] if find_file(str(value)) else boards_like(str(value))
            hint = "\n".join([f"{self.prog} show {name}" for name in alike]) or hint
        wrong = f'"{value}" is not known{near}\n{hint}'
        raise argparse.ArgumentError(action if action.option_strings else None, wrong)

    def _way_out(self) -> str:
        return f"{self.prog} --help lists all options"


def missing_text(names: Sequence[str]) -> str:
    """Returns the error text about arguments or options that are required; empty names do not count."""
    named = [name for name in names if name]
    return f"missing {'options' if named[0].startswith('-') else 'arguments'}: {', '.join(named)}"


def _sentence(message: str) -> str:
    for pattern, sentence in _SENTENCES:
        found = re.fullmatch(pattern, message)
        if found:
            return found.expand(sentence)
    return message
