"""One line of graph text, read token by token from left to right."""

from __future__ import annotations

import json
import re
from typing import Any


class GraphTextError(ValueError):
    """Raised if the text of a graph cannot be read."""


_TOKEN = re.compile(
    r"""\s*( "(?:[^"\\]|\\.)*" | -> | [-+]?\d[\w.]* | \w+(?:\+\w+)* | [^\w\s] )""",
    re.VERBOSE,
)


class Line:
    """One line as tokens, read from left to right."""

    def __init__(self, text: str, number: int) -> None:
        self._text, self._number, self._at = text, number, 0

    @property
    def peek(self) -> str:
        match = _TOKEN.match(self._text, self._at)
        return match.group(1) if match else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek
        if token == "" or (expected is not None and token != expected):
            raise self.error(f"expected {expected or 'more'}, found {token or 'the end of the line'}")
        match = _TOKEN.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return token

    def takes(self, token: str) -> bool:
        """Consumes the next token if it is this one; returns whether it was."""
        if self.peek != token:
            return False
        self.take()
        return True

    def name(self) -> str:
        token = self.take()
        if not token.startswith('"'):
            raise self.error(f"expected a name in quotes, found {token}")
        return str(json.loads(token))

    def json(self) -> Any:
        """Reads a JSON value: number, list or literal."""
        try:
            value, end = json.JSONDecoder().raw_decode(self._text, self._skip())
        except json.JSONDecodeError:
            raise self.error(f"expected a value, found {self.peek}") from None
        self._at = end
        return value

    def rest(self) -> str:
        return self._text[self._skip() :]

    def _skip(self) -> int:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._at

    def error(self, what: str) -> GraphTextError:
        return GraphTextError(f"line {self._number}: {what} in: {self._text}")
