"""Lines of the keys of a TOML text: the standard parser keeps no lines, so the text is read a second time here.

This also bounds the text before the parser reads it: the parser's time grows with the square of the parts of a key, its
stack with the depth of nesting.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from mbfmu.errors import MbfmuError

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the root of a document, such as ``("components", "rod", "m")``."""

DEEPEST = 32
LONGEST_KEY = 100
TOKEN = re.compile(
    r"[ \t\r]+|#[^\n]*|(?P<mark>[\[\]{}=,.\n])|(?P<quote>\"{3}|'{3}|[\"'])|(?P<word>[^\s\[\]{}=,.#\"']+)"
)
ENDS = {
    '"': re.compile(r"\\.|[\"\n]", re.DOTALL),
    "'": re.compile(r"['\n]"),
    '"""': re.compile(r"\\.|\"{3,5}", re.DOTALL),
    "'''": re.compile(r"'{3,5}"),
}


@dataclass
class _Level:
    """A table or array that is open at the current token."""

    path: KeyPath
    array: bool = False
    key: list[str] = field(default_factory=list)
    dotted: bool = False
    valued: bool = False
    entries: int = 0


def lines_of(text: str, error: Callable[[int, str], MbfmuError]) -> dict[KeyPath, int]:
    """Return the line of every key and array entry of a text, from 1; if it is no TOML, only of some of them.

    Args:
        text: the document.
        error: function that makes an error from a line and a text.

    Raises:
        MbfmuError: the text is nested too deeply, or a key is too long.
    """
    keys = _Keys(error)
    for token, plain, line in _tokens(text):
        if not keys.take(token, token if plain else "", line):
            break
    return keys.lines


class _Keys:
    """The lines of the keys read so far, and the tables and arrays that are open at the current token."""

    def __init__(self, error: Callable[[int, str], MbfmuError]) -> None:
        self.error = error
        self.lines: dict[KeyPath, int] = {}
        self.levels = [_Level(())]
        self.in_header = False

    def take(self, token: str, mark: str, line: int) -> bool:
        """Read the next token, and return whether the text can still be TOML.

        Args:
            token: text of the token.
            mark: the same if it is a punctuation mark or the end of a line and not quoted.
            line: its line, from 1.

        Raises:
            MbfmuError: the text is nested too deeply, or a key is too long.
        """
        level = self.levels[-1]
        if len(self.levels) > DEEPEST or len(level.path) + len(level.key) > 2 * DEEPEST:
            raise self.error(line, f"nested more than {DEEPEST} deep")
        if mark == "\n":
            if len(self.levels) == 1:
                level.key, level.valued = [], False
            return not self.in_header
        if self.in_header:
            self._take_header(token, mark, line)
        elif mark == "[" and len(self.levels) == 1 and not level.valued:
            self.in_header, self.levels = True, [_Level(())]
        elif mark in {"]", "}"}:
            if len(self.levels) > 1:
                self.levels.pop()
        elif mark == ",":
            level.key, level.valued = [], False
            level.entries += 1
        elif level.array or level.valued:
            self._take_value(level, mark, line)
        else:
            return self._take_key(level, token, mark, line)
        return True

    def _take_header(self, token: str, mark: str, line: int) -> None:
        """Read a token between the brackets of ``[table]`` or ``[[array]]``, or the bracket that ends it."""
        if mark == "]":
            self.in_header, self.levels = False, [_Level(tuple(self.levels[-1].key))]
            self.lines.setdefault(self.levels[0].path, line)
        elif mark not in {".", "["}:
            self.levels[-1].key.append(self._key(token, line))

    def _take_value(self, level: _Level, mark: str, line: int) -> None:
        """Read the beginning of a value."""
        path = (*level.path, level.entries) if level.array else (*level.path, *level.key)
        self.lines.setdefault(path, line)
        if mark in {"[", "{"}:
            self.levels.append(_Level(path, array=mark == "["))

    def _take_key(self, level: _Level, token: str, mark: str, line: int) -> bool:
        """Read a part of a key, its dot, or the sign that ends it; return whether the text can still be TOML."""
        if mark == "=":
            level.valued = True
            for count in range(1, len(level.key) + 1):
                self.lines.setdefault((*level.path, *level.key[:count]), line)
        elif mark == ".":
            level.dotted = True
        elif level.key and not level.dotted:
            return False
        else:
            level.key.append(self._key(token, line))
            level.dotted = False
        return True

    def _key(self, token: str, line: int) -> str:
        if len(token) > LONGEST_KEY:
            raise self.error(line, f"a key of {len(token)} characters is too long (at most {LONGEST_KEY})")
        return token


def _tokens(text: str) -> Iterator[tuple[str, bool, int]]:
    """Yield text, whether it has no quotes, and line of each token, up to a string that does not end."""
    position, line = 0, 1
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:  # no TOML
            return
        position = match.end()
        if quote := match["quote"]:
            end = _end(text, position, quote)
            if end is None:
                return
            yield text[position : end - len(quote)], False, line
            line += text.count("\n", position, end)
            position = end
        elif token := match["mark"] or match["word"]:
            yield token, True, line
            line += token == "\n"


def _end(text: str, position: int, quote: str) -> int | None:
    for match in ENDS[quote].finditer(text, position):
        if match[0] == "\n":
            return None
        if match[0][0] == quote[0]:
            return match.end()
    return None
