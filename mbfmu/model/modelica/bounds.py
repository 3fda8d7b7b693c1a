"""Bounds on a Modelica text, checked before the compiler, which recurses and grows without any, sees it."""

import math
import re
from collections.abc import Iterator

from mbfmu.errors import ModelError
from mbfmu.model.modelica.library import CLASSES
from mbfmu.model.source import SourceText

DEEPEST = 60
"""Largest number of parentheses in each other, and of classes."""
LONGEST = 500
"""Largest number of operations in a row, those in the parentheses among them included."""
CHOICE = 10
"""Number of operations that an ``if`` in an expression counts as."""
MOST = 5_000
"""Largest number of components, those in components included."""
PASSES = 30
"""Number of passes over the classes in which their components are counted."""
TOKEN = re.compile(r"(?P<word>[A-Za-z_]\w*)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>[,;])|[-+*/^.:<>=]+|\d[\w.]*")
OPERATIONS = {"not": 1, "and": 1, "or": 1, "if": CHOICE, "elseif": CHOICE}
"""Number of operations that words count as."""
CLASS = re.compile(
    r"\bend\s+(?P<end>[A-Za-z_]\w*)\s*;|"
    r"\b(?:model|class|block|package|connector|record|function|type|operator)\s+(?P<name>[A-Za-z_]\w*)\s*(?P<short>=)?",
    re.ASCII,
)
PREFIXES = (
    "public|protected|inner|outer|replaceable|redeclare|final|flow|stream|parameter|constant|discrete|input|output"
)
DECLARATION = re.compile(
    rf"\s*(?:(?:{PREFIXES})\s+)*(?:extends\s+(?P<base>[A-Za-z_][\w.]*)|"
    r"(?P<type>[A-Za-z_][\w.]*)\s*(?P<sizes>\[[^\]]*\])?\s+(?P<names>[A-Za-z_].*))",
    re.ASCII | re.DOTALL,
)


def check_bounds(code: str, source: SourceText) -> None:
    """Raise an error if a text is nested too deeply, or has too long expressions or too many components.

    Args:
        code: the text without comments and strings.
        source: the file, for messages.

    Raises:
        ModelError: it is.
    """
    for position, fault in _faults(code):
        raise source.error(code.count("\n", 0, position) + 1, ModelError(fault))
    depth = 0
    for match in CLASS.finditer(code):
        depth += -1 if match["end"] else not match["short"]
        if depth > DEEPEST:
            raise source.error(code.count("\n", 0, match.start()) + 1, ModelError("classes are nested too deeply"))
    if (most := max(_sizes(code).values(), default=0.0)) > MOST:
        number = f"{most:.0f}" if math.isfinite(most) else "far more"
        raise source.error(1, ModelError(f"{number} components, those in components included: at most {MOST} are read"))


def _faults(code: str) -> Iterator[tuple[int, str]]:
    """Yield positions where parentheses, or operations in a row, are too many, and what is wrong."""
    counts, longest = [0], [0]  # operations of the item at hand, and of the longest one, at each level of parentheses
    for match in TOKEN.finditer(code):
        if match["open"]:
            counts.append(0)
            longest.append(0)
            if len(counts) > DEEPEST:
                yield match.start(), "parentheses are nested too deeply"
        elif match["close"]:
            if len(counts) > 1:
                inner = max(counts.pop(), longest.pop())
                counts[-1] += inner
        elif match["end"]:
            longest[-1] = max(longest[-1], counts[-1]) if len(counts) > 1 else 0
            counts[-1] = 0
        elif match["word"] or not match[0][0].isdigit():
            counts[-1] += OPERATIONS.get(match[0], 0 if match["word"] else len(match[0]))
        if counts[-1] > LONGEST:
            yield match.start(), f"an expression of more than {LONGEST} operations: write it in parts"


def _sizes(code: str) -> dict[str, float]:
    """Return the number of components of each class of a text, by its own name, as far as sizes are written out."""
    declared = _declarations(code)
    library = {path.rpartition(".")[2]: 1.0 for path in CLASSES}
    sizes = dict.fromkeys(declared, 0.0)
    for _ in range(PASSES):
        before = dict(sizes)
        for name, items in declared.items():
            known = {**library, **sizes, name: 0.0}
            sizes[name] = sum(
                size * (known.get(kind, 0.0) + (kind in sizes and not extends)) for kind, size, extends in items
            )
        if sizes == before or max(sizes.values(), default=0.0) == math.inf:
            break
    return sizes


def _declarations(code: str) -> dict[str, list[tuple[str, float, bool]]]:
    """Return type, number and whether it is extended, of each declaration of each class of a text."""
    declared: dict[str, list[tuple[str, float, bool]]] = {}
    stack: list[str] = []
    position = 0
    for match in CLASS.finditer(code):
        if stack:
            declared[stack[-1]] += _declared(code[position : match.start()])
        position = match.end()
        if match["end"]:
            if stack and match["end"] == stack[-1]:
                stack.pop()
        elif not match["short"]:
            stack.append(match["name"])
            declared.setdefault(match["name"], [])
    return declared


def _declared(text: str) -> Iterator[tuple[str, float, bool]]:
    for statement in text.split(";"):
        match = DECLARATION.match(statement)
        if match is None:
            continue
        if match["base"]:
            yield match["base"].rpartition(".")[2], 1.0, True
            continue
        names = _outside(match["names"])
        yield match["type"].rpartition(".")[2], _product(match["sizes"] or "") * sum(map(_product, names)), False


def _outside(text: str) -> list[str]:
    """Return the items between the commas of a text that stand in no parentheses."""
    items, begin, depth = [], 0, 0
    for match in re.finditer(r"[()\[\]{},]", text):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if match[0] == "," and depth == 0:
            items.append(text[begin : match.start()])
            begin = match.end()
    return [*items, text[begin:]]


def _product(text: str) -> float:
    """Return the product of the sizes that stand in the brackets of a declared name, 1 for those that are no number."""
    match = re.match(r"\s*(?:[A-Za-z_]\w*)?\s*\[([^\]]*)\]", text)
    return math.prod(float(item) for item in match[1].split(",") if item.strip().isdecimal()) if match else 1.0
