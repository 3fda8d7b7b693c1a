"""Statements of plain C as guidelines for controllers ask for them: the same tokens, with braces and casts."""

import re
import zipfile
from pathlib import Path

import mbfmu
from mbfmu.fmu.plain.statements import guarded
from mbfmu.kernel.emit.sources import kernel_file

LOOSE = """
#define EACH(x) if (x) y; \\
    for (;;) z;
static int f(int a) {
    if (a) return 1; /* if (a) */
    else if (!b) memcpy(x, &(struct y){1}, 2);
    else
        for (int k = 0; k < n; ++k)
            if (x[k] < 0) { a = 1; } else b = 2;
    do ++x; while (y);
    while (m->d) ;
    if (res[0]) res[0][1] = "if (a) b;"[2];
}
"""
GUARDED = """
#define EACH(x) if (x) y; \\
    for (;;) z;
static int f(int a) {
    if (a != 0) { return 1; } /* if (a) */
    else if (!b) { (void)memcpy(x, &(struct y){1}, 2); }
    else {
        for (int k = 0; k < n; ++k) {
            if (x[k] < 0) { a = 1; } else { b = 2; }
        }
    }
    do { ++x; } while (y);
    while (m->d != NULL) { ; }
    if (res[0] != NULL) { res[0][1] = "if (a) b;"[2]; }
}
"""


def bare(text: str) -> str:
    """Return C without comments, lines of the preprocessor, spaces and what `guarded` adds."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.)*", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\(void\)(?=mem)| != (?:0|NULL)(?=\))|[{}\s]", "", text)


def unguarded(text: str) -> list[str]:
    """Return the conditions and loops of C whose body has no braces."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.)*", "", text, flags=re.MULTILINE | re.DOTALL)
    found = [match[0] for match in re.finditer(r"\belse\b(?!\s*(?:\{|if\b)).{9}", text, re.DOTALL)]
    for match in re.finditer(r"\b(?:if|for|while) \(", text):
        end, depth = match.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        after_do = match[0].startswith("while") and text[: match.start()].rstrip().endswith("}")
        if not text[end:].lstrip().startswith(("{", ";") if after_do else "{"):
            found.append(text[match.start() : end])
    return found


def test_bodies_get_braces_conditions_comparisons_and_unused_results_casts() -> None:
    assert guarded(LOOSE) == GUARDED
    assert guarded(GUARDED) == GUARDED


def test_nothing_else_changes_in_the_files_of_a_kernel() -> None:
    for name in ("decoupled.c", "driver.c", "events.c", "tabled.h", "travel.c", "elementary.h", "matrix.h"):
        text = kernel_file(name)
        assert bare(guarded(text)) == bare(text)
        assert guarded(text) != text


def test_every_body_in_plain_c_has_braces(tmp_path: Path) -> None:
    with zipfile.ZipFile(mbfmu.export("pendulum", tmp_path / "x.zip", kind="c")) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist() if name.endswith((".c", ".h"))]
    assert [line for text in texts for line in unguarded(text)] == []
    assert unguarded(kernel_file("driver.c")) != []
