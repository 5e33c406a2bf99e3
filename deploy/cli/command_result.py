"""The answer of a command: facts for programs, and the page that people read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


class Paged:
    """Something that str() makes a page of: notebooks show it as it is."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return monospaced(str(self))


def monospaced(page: str) -> str:
    """A page as HTML whose columns stay in line, whatever font a notebook has for <pre>."""
    import html  # only notebooks ask for it

    return f'<pre style="font-family: monospace">{html.escape(page, quote=False)}</pre>'


def framed(page: str) -> str:
    """A whole web page inside a notebook's own."""
    import html

    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 40em; border: 0"></iframe>'


@dataclass(frozen=True)
class Answer(Paged):
    """Facts with the keys of `--json`, and the page: print() shows it, as does a prompt or a notebook."""

    facts: Any = field(repr=False)
    page: str

    def __str__(self) -> str:
        return self.page

    def __repr__(self) -> str:
        return self.page

    def __getitem__(self, key: Any) -> Any:
        return self.facts[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def as_json(self) -> Any:
        """The facts."""
        return self.facts
