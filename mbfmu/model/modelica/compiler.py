"""Modelica's text -> the flat model, by the compiler rumoca."""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from mbfmu.base import extras
from mbfmu.errors import MbfmuError, ModelError, ModelFileError, UnknownNameError, UsageError, nearest
from mbfmu.model.apart import run_apart
from mbfmu.model.modelica.bounds import check_bounds
from mbfmu.model.modelica.library import CLASSES
from mbfmu.model.modelica.modifiers import check_names, check_nesting
from mbfmu.model.modelica.packages import classes_beside
from mbfmu.model.modelica.stubs import whole
from mbfmu.model.source import SourceText

NAME = r"[A-Za-z_]\w*"
CLASS = re.compile(
    rf"\b(?P<partial>partial\s+)?(?P<kind>model|class|block|package|connector|record|function|type|operator)\s+"
    rf"(?P<name>{NAME})\s*(?P<short>=)?|\bend\s+(?P<end>{NAME})\s*;",
    re.ASCII,
)
SOURCE = re.compile(
    rf"\b(Sources\.(?P<source>Torque|Force)|World(?P<world>Torque|Force))\s+(?P<name>{NAME})(?P<rest>[^;]*)", re.ASCII
)
"""Declaration of a torque or force with an input."""
WITHIN = re.compile(r"\s*within\b([\s\w.]*);", re.ASCII)
"""Beginning of a file that names the package it belongs to."""
BLANK = re.compile(r'"|/\*|//')
"""Beginning of a string or a comment."""
ENDS = {'"': re.compile(r'\\.|"', re.DOTALL), "/*": re.compile(r"\*/"), "//": re.compile(r"\n|\Z")}
"""Ends of strings and comments, and pairs of signs that are none, by their beginnings."""


def plain(text: str, source: SourceText) -> str:
    """Return a text in which comments and strings are blank, at the same lines and columns.

    Raises:
        ModelFileError: one of them does not end.
    """
    pieces, position = [], 0
    while match := BLANK.search(text, position):
        ends = (item.end() for item in ENDS[match[0]].finditer(text, match.end()) if not item[0].startswith("\\"))
        end = next(ends, None)
        if end is None:
            what = "string" if match[0] == '"' else "comment"
            raise source.error(text.count("\n", 0, match.start()) + 1, f"a {what} does not end")
        pieces += [text[position : match.start()], re.sub(r"[^\n]", " ", text[match.start() : end])]
        position = end
    return "".join([*pieces, text[position:]])


def models_in(text: str) -> Iterator[str]:
    """Yield the full names of the models of a text without comments, in the order in which they end."""
    stack: list[tuple[str, bool]] = []
    for match in CLASS.finditer(text):
        path = ".".join(name for name, _ in stack)
        if match["end"]:
            if stack and match["end"] == stack[-1][0]:
                _, is_model = stack.pop()
                if is_model:
                    yield path
            continue
        is_model = match["kind"] in {"model", "class"} and not match["partial"]
        if not match["short"]:
            stack.append((match["name"], is_model))
        elif is_model:
            yield f"{path}.{match['name']}" if path else match["name"]


def flat_model(text: str, model: str, source: SourceText) -> tuple[str, dict[str, Any]]:
    """Return the name of a model and the model without hierarchy, as rumoca gives it.

    Args:
        text: content of a .mo file.
        model: full name of the model; empty: the last one.
        source: the file, for messages.

    Raises:
        UsageError: the compiler is not installed.
        UnknownNameError: there is no such model.
        ModelFileError: the text has a mistake, or a class that is not read.
    """
    # which model: the one named, else the last of the file
    code = plain(text, source)
    check_bounds(code, source)
    within = WITHIN.match(code)
    home = re.sub(r"\s", "", within[1]) if within else ""
    known = list(models_in(code))
    if not known:
        raise source.error(1, "there is no model in the file: it needs a 'model NAME ... end NAME;'")
    if model not in known:
        model = model.removeprefix(f"{home}.")
    if model and model not in known:
        raise source.error(1, UnknownNameError(f"there is no model '{model}'; {nearest(model, known)}"))
    # what the compiler loses is refused first
    check_nesting(code, source)
    chosen = model or known[-1]
    if find_spec("rumoca") is None:
        raise UsageError(f"a .mo file needs rumoca: {extras.command('modelica')}")
    # the compiler gets the declarations of the library in front, on lines that keep the user's numbers
    kept = re.sub(r"[^\n]", " ", text[: within.end()]) + text[within.end() :] if within else text
    beside = classes_beside(code, home, source) if home else {}
    for content in beside.values():
        check_bounds(plain(content, source), source)
        check_nesting(plain(content, source), source)
    job = {"text": whole(kept, home, beside), "model": f"{home}.{chosen}" if home else chosen}
    outcome = run_apart("mbfmu.model.modelica.flatten", job, source, "the compiler rumoca")
    if "failure" in outcome:
        raise source.error(1, f"the compiler gave up: {outcome['failure']}")
    if "flat" not in outcome:
        message, said = outcome["mistake"], outcome["said"]
        raise _mistake(said if "\u256d" in said else message, code, source)
    flat: dict[str, Any] = outcome["flat"]
    check_names(code, flat["variables"], source)
    return chosen, flat


def _mistake(text: str, code: str, source: SourceText) -> MbfmuError:
    """Return the error for what the compiler says, of which what is said of the user's own text counts first."""
    # the first mistake in the user's own text
    of_user = [
        part
        for part in re.split(r"(?<=\]); ", text)
        if (spot := re.search(r"\[[^\[\]]*?:(\d+):\d+\]$", part)) and int(spot[1]) <= code.count("\n") + 1
    ]
    text = of_user[0] if of_user else text
    position = re.search(r"\[[^\[\]]*?:(\d+):\d+\]", text)
    wanted = re.search(r"unresolved type[\w ]*: '([\w.]+)'", text) or re.search(r"unresolved [\w ]*: '([\w.]+)'", text)
    if wanted:
        name = wanted[1]
        if "type" in wanted[0]:
            known = {path.rpartition(".")[2]: path for path in CLASSES}
            reason = f"the class '{name}' is not read; {nearest(name.rpartition('.')[2], known)}"
        else:
            reason = f"there is no '{name}'"
        return source.error(_line_of(name, code), UnknownNameError(reason))
    # counts of equations and unknowns: an input that nothing drives, or connectors without an equation
    if "unbalanced model" in text and (loose := next(_loose(code), None)):
        reason = f"'{loose[1]}' is connected to no input: declare 'Modelica.Blocks.Interfaces.RealInput' and connect it"
        return source.error(loose[0], ModelError(reason))
    if counts := re.search(r"unbalanced model: (\d+) equations, (\d+) unknowns", text):
        reason = (
            f"the model has {counts[1]} equations for {counts[2]} unknowns: connect each input once, and each connector"
        )
        return source.error(1, ModelError(f"{reason} of a model's parts inside that model alone"))
    quoted = [name for name in re.findall(r"`([\w.]+)`", text) if _line_of(name, code) > 1]
    line = int(position[1]) if position else _line_of(quoted[-1], code) if quoted else 1
    if said := re.search(r"×\s*(.+)", text):
        return source.error(line, ModelFileError(said[1]))
    text = re.sub(r"^.*failed in \w+: (unsupported Flat semantic owner `[^`]*`: )?", "", text, flags=re.DOTALL)
    brief = re.sub(r"\s*Related failures.*|\[input\.mo:\d+:\d+\]|<resolve> ", "", text, flags=re.DOTALL)
    return source.error(line, ModelFileError(" ".join(brief.split())))


def _loose(code: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of the inputs of torques and forces that stand in no equation."""
    for match in SOURCE.finditer(code):
        wanted = {"Torque": "tau", "Force": "f"}[match["source"]] if match["source"] else match["world"].lower()
        binding = re.search(rf"\b{wanted}\s*=", match["rest"])
        if not binding and not re.search(rf"\b{match['name']}\s*(\[[^\]]*\])?\s*\.\s*{wanted}\b", code):
            yield code.count("\n", 0, match.start("name")) + 1, f"{match['name']}.{wanted}"


def _line_of(name: str, code: str) -> int:
    """Return the line where a dotted name, or its last part, stands first; 1 if it does not."""
    for text in (name, name.rpartition(".")[2]):
        if spot := re.search(rf"\b{re.escape(text)}\b", code):
            return code.count("\n", 0, spot.start()) + 1
    return 1
