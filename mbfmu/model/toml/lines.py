"""Lines of the keys of a TOML text: the standard parser keeps no lines, so the text is read a second time here.

This also bounds the text before the parser reads it: the parser's time grows with the square of the parts of a key, its
stack with the depth of nesting.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from mbfmu.errors import MbfmuError

Place: TypeAlias = tuple[str | int, ...]
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

    place: Place
    array: bool = False
    key: list[str] = field(default_factory=list)
    dotted: bool = False
    valued: bool = False
    entries: int = 0


def lines_of(text: str, error: Callable[[int, str], MbfmuError]) -> dict[Place, int]:
    """Return the line of every key and array entry of a text, from 1; if it is no TOML, only of some of them.

    Args:
        text: the document.
        error: function that makes an error from a line and a text.

    Raises:
        MbfmuError: the text is nested too deeply, or a key is too long.
    """
    found: dict[Place, int] = {}
    levels = [_Level(())]
    header = False
    for token, plain, line in _tokens(text):
        level = levels[-1]
        mark = token if plain else ""
        if len(levels) > DEEPEST or len(level.place) + len(level.key) > 2 * DEEPEST:
            raise error(line, f"nested more than {DEEPEST} deep")
        if mark == "\n":
            if header:
                break  # no TOML
            if len(levels) == 1:
                level.key, level.valued = [], False
        elif header:
            if mark == "]":
                header, levels = False, [_Level(tuple(level.key))]
                found.setdefault(levels[0].place, line)
            elif mark not in {".", "["}:
                level.key.append(_key(token, line, error))
        elif mark == "[" and len(levels) == 1 and not level.valued:
            header, levels = True, [_Level(())]
        elif mark in {"]", "}"}:
            if len(levels) > 1:
                levels.pop()
        elif mark == ",":
            level.key, level.valued = [], False
            level.entries += 1
        elif level.array or level.valued:
            place = (*level.place, level.entries) if level.array else (*level.place, *level.key)
            found.setdefault(place, line)
            if mark in {"[", "{"}:
                levels.append(_Level(place, array=mark == "["))
        elif mark == "=":
            level.valued = True
            for count in range(1, len(level.key) + 1):
                found.setdefault((*level.place, *level.key[:count]), line)
        elif mark == ".":
            level.dotted = True
        elif level.key and not level.dotted:
            break  # no TOML
        else:
            level.key.append(_key(token, line, error))
            level.dotted = False
    return found


def _key(token: str, line: int, error: Callable[[int, str], MbfmuError]) -> str:
    if len(token) > LONGEST_KEY:
        raise error(line, f"a key of {len(token)} characters is too long (at most {LONGEST_KEY})")
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
