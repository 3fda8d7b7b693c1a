"""Modifiers in a Modelica text, and those among them that the compiler rumoca would lose without a word."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mbfmu.errors import MbfmuError, ModelError, UnknownNameError, nearest
from mbfmu.model.source import SourceText

NAME = r"[A-Za-z_]\w*"
ITEM = re.compile(rf"\s*(?:(?:each|final)\s+)*(?P<name>{NAME}(?:\s*\.\s*{NAME})*)\s*(?=\(|=(?!=))", re.ASCII)
"""Beginning of a modifier: a name with a list of modifiers or a value."""
OWNER = re.compile(rf"\b(?P<name>{NAME})\s*(?:\[[^\]]*\]\s*)?\(", re.ASCII)
"""Name before a parenthesis, which may be that of a list of modifiers."""
ATTRIBUTES = frozenset(
    {"start", "fixed", "min", "max", "nominal", "unit", "displayUnit", "quantity", "stateSelect", "unbounded"}
)
"""Attributes of variables."""


@dataclass(frozen=True)
class Modifier:
    """A modifier of a component or of a class that is extended.

    Args:
        path: names, beginning with that of the component.
        place: where it stands in the text.
        both: whether it has a list of modifiers and a value.
    """

    path: tuple[str, ...]
    place: int
    both: bool


def modifiers_in(code: str) -> Iterator[Modifier]:
    """Yield the modifiers of a text without comments and strings; those in annotations are left out."""
    end = 0
    for match in OWNER.finditer(code):
        if match.start() < end:
            continue
        if match["name"] == "annotation":
            end = _end(code, match.end(), ")")
        elif listed := _listed(code, match.end(), (match["name"],)):
            items, end = listed
            yield from items


def check_nesting(code: str, source: SourceText) -> None:
    """Raise an error for what the compiler loses: dotted names, and attributes beside a value inside a component.

    Raises:
        ModelError: there is such a modifier.
    """
    for item in modifiers_in(code):
        message = ""
        name = item.path[-1]
        if "." in name:
            first, _, rest = name.partition(".")
            message = f"the modifier '{name}' of '{item.path[-2]}' is not read: write {first}({rest}=...)"
        elif item.both and len(item.path) > 2:
            message = f"the modifier '{name}' of '{item.path[-2]}' has attributes and a value: give only the value"
        if message:
            raise _wrong(code, item, source, ModelError(message))


def check_names(code: str, variables: Iterable[str], source: SourceText) -> None:
    """Raise an error for modifiers of what is not there in parts of components; the compiler itself finds the others.

    Args:
        code: the text without comments and strings.
        variables: full names of the variables of the flat model.
        source: the file, for messages.

    Raises:
        UnknownNameError: there is such a modifier.
    """
    inner = [item for item in modifiers_in(code) if len(item.path) > 2 and item.path[-1] not in ATTRIBUTES]
    if not inner:
        return
    paths = [tuple(re.sub(r"\[[^\]]*\]", "", name).split(".")) for name in variables]
    known = {path[i:j] for path in paths for i in range(len(path)) for j in range(i + 1, len(path) + 1)}
    for item in inner:
        if item.path in known or item.path[:-1] not in known:
            continue
        owner, length = ".".join(item.path[:-1]), len(item.path)
        there = {path[-1] for path in known if len(path) == length and path[:-1] == item.path[:-1]}
        near = nearest(item.path[-1], there or ATTRIBUTES)
        raise _wrong(code, item, source, UnknownNameError(f"'{owner}' has no '{item.path[-1]}'; {near}"))


def _wrong(code: str, item: Modifier, source: SourceText, error: MbfmuError) -> MbfmuError:
    return source.error(code.count("\n", 0, item.place) + 1, error)


def _listed(code: str, position: int, owner: tuple[str, ...]) -> tuple[list[Modifier], int] | None:
    """Return the modifiers of a list from the place after its parenthesis, and where it ends; None if it is no list."""
    items: list[Modifier] = []
    while item := ITEM.match(code, position):
        path = (*owner, re.sub(r"\s", "", item["name"]))
        position = item.end()
        listed = code[position] == "("
        inner: list[Modifier] = []
        if listed:
            parsed = _listed(code, position + 1, path)
            if parsed is None:
                return None
            inner, position = parsed
        bound = re.compile(r"\s*=(?!=)").match(code, position)
        if bound:
            position = _end(code, bound.end(), ",)")
        items += [Modifier(path, item.start("name"), listed and bound is not None), *inner]
        follows = re.compile(r"\s*([,)])").match(code, position)
        if follows is None:
            return None
        position = follows.end()
        if follows[1] == ")":
            return items, position
    return None


def _end(code: str, position: int, signs: str) -> int:
    """Return the place of the first of some signs that stands in no parentheses of its own; the end without."""
    depth = 0
    for k in range(position, len(code)):
        if depth == 0 and code[k] in signs:
            return k
        depth += (code[k] in "([{") - (code[k] in ")]}")
    return len(code)
