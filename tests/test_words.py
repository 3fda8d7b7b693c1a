"""Docstrings are plain English: a function's begins with a verb, the others name what they describe."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "mbfmu"
ELSEWHERE = {
    "prepare.py",
    "start_cache.py",
    "outline.py",
    "recipe.py",
    "reading.py",
    "picture.py",
    "units.py",
    "nominal.py",
}
"""Files whose docstrings are not held to the laws; nor are those of the check, which are the claims of its rules."""
FILES = sorted(
    path.relative_to(PACKAGE).as_posix()
    for path in PACKAGE.rglob("*.py")
    if path.name not in ELSEWHERE and "checker" not in path.relative_to(PACKAGE).parent.parts
)
VERBS = (
    "Add Advance Check Compile Compute Connect Declare Derive Do Draw End Enter Explain Export Free Give "
    "Go Ignore Import Initialise Keep Leave List Make Print Put Raise Read Reduce Remove Replace Restore Return Run "
    "Set Show Step Stop Turn Wait Warn Write Yield"
)
"""Verbs that begin the docstrings of functions, separated by blanks."""
FRAGMENT = re.compile(
    r"(Of|How|What|Where|When|Why|Which|Who|By how|At most|About)\b|(1|m|s|rad|N|1/s|rad/s)([,;:]| or )"
)
"""Beginnings of docstrings that do not name what they describe."""
PRIVATE = re.compile(r"\b(cannot be[.;,]|is told|nobody|who asks|is no use)", re.IGNORECASE)
"""Words at which a reader stumbles."""
AVOIDED = {
    r"(?<!there )(is|are) no(?! longer)": (0, 95),
    r"refuse[sd]?": (7, 2),
    r"(is|are) told": (1, 0),
    r"tells?": (2, 58),
    r"ask(s|ed)?": (9, 42),
    r"places?": (20, 145),
    r"alone": (8, 108),
    r"efforts?": (9, 121),
    r"pictures?": (15, 87),
    r"anew": (0, 1),
    r"mend(s|ed)?": (0, 4),
    r"equal steps": (4, 4),
    r"inner steps?|longest step": (0, 21),
    r"slip rates?": (0, 6),
    r"rates?": (24, 430),
    r"samplings": (1, 2),
    r"circles?": (6, 30),
    r"usual(ly)?": (1, 50),
    r"go(es)? on": (2, 2),
    r"as long as": (1, 20),
    r"(that|those) of": (49, 400),
    r"of (its|their|your|our) own": (14, 95),
    r"by name": (20, 265),
    r"the same bits|to the (last )?bit": (2, 18),
    r"(?<!degrees of )(?<!degree of )freedoms?": (2, 10),
}
"""Words that are avoided: largest numbers of uses in messages and help, and in docstrings; lower them when some go."""


@cache
def tree(name: str) -> ast.Module:
    """Return the syntax of a file."""
    return ast.parse((PACKAGE / name).read_text(encoding="utf-8"))


@cache
def docstrings() -> tuple[tuple[str, bool, str], ...]:
    """Return place, whether it is a function's, and text of each docstring of all files."""
    return tuple((f"{name}:{line}", function, text) for name in FILES for line, function, text in read(name))


def read(name: str) -> Iterator[tuple[int, bool, str]]:
    """Yield line, whether it is a function's, and text of each docstring of a file; properties are not functions."""
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and (text := ast.get_docstring(node)):
            marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", ())]
            named = any("property" in mark or ".callback(" in mark for mark in marks)
            yield getattr(node, "lineno", 1), isinstance(node, ast.FunctionDef) and not named, text
        if isinstance(node, ast.ClassDef | ast.Module):
            for item, after in zip(node.body, node.body[1:], strict=False):
                if isinstance(item, ast.Assign | ast.AnnAssign) and isinstance(after, ast.Expr):
                    yield after.lineno, False, str(ast.literal_eval(after.value))


@cache
def messages() -> str:
    """Return the text of three words or more that is no docstring: messages, help, descriptions of variables."""
    shown: list[str] = []
    for path in PACKAGE.rglob("*.py"):
        if path.name == "sentences.py":  # of the standard
            continue
        syntax = tree(path.relative_to(PACKAGE).as_posix())
        alone = {id(node.value) for node in ast.walk(syntax) if isinstance(node, ast.Expr)}
        for node in ast.walk(syntax):
            if isinstance(node, ast.JoinedStr):
                shown += ["{}".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))]
                alone |= {id(part) for part in node.values}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
                shown.append(node.value)
    return "\n".join(text for text in shown if len(text.split()) > 2)


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    of_functions = [(place, text) for place, function, text in docstrings() if function]
    assert [item for item in of_functions if item[1].split()[0].rstrip(",:") not in VERBS.split()] == []


def test_docstrings_of_the_others_name_what_they_describe() -> None:
    others = [(place, text) for place, function, text in docstrings() if not function]
    assert [item for item in others if FRAGMENT.match(item[1])] == []


def test_docstrings_are_free_of_private_words() -> None:
    assert [(place, text) for place, _, text in docstrings() if PRIVATE.search(text)] == []


@pytest.mark.parametrize("word", AVOIDED)
def test_a_word_that_messages_and_docstrings_avoid_does_not_come_back(word: str) -> None:
    texts = (messages(), "\n".join(text for _, _, text in docstrings()))
    for text, left in zip(texts, AVOIDED[word], strict=True):
        assert len(re.findall(rf"\b(?:{word})\b", text, re.IGNORECASE)) <= left


@pytest.mark.parametrize(
    "text", ["Of refinement: enough to tell.", "How far it is.", "m or rad; when.", "1/s, default."]
)
def test_a_docstring_that_names_nothing_is_noticed(text: str) -> None:
    assert FRAGMENT.match(text)
    assert not FRAGMENT.match(f"Largest {text}")
