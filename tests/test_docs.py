"""The pages do what they say: their code runs, what they show comes out, their links lead somewhere."""

import math
import os
import re
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

import mbfmu
from mbfmu import model
from mbfmu.model import System

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
FENCE = re.compile(
    r'^(?: *<!-- numbers to (\S+) % -->\n\n?)?( *)```(\w*)(?: title="([^"]+)")?\n(.*?)^\2```$',
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]\d)")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
CLOSE, TINY = 1e-4, 1e-12
"""How near a printed number must come to the one that is shown: relative, and absolute for round-off. A comment before
a block, `<!-- numbers to 5 % -->`, sets another relative bound, for timings and round-off alone."""
QUICK = ("modelling", "import", "from_other_tools", "index")
"""Pages whose code is run by default; that of the others takes longer, and the features that it shows have tests."""
UNRUN = {"check", "install", "native"}
"""Pages whose code needs an FMU of the reader, an installation, or compilers for other platforms."""
CODED = sorted(
    path.stem
    for path in (ROOT / "docs").glob("*.md")
    if path.stem not in UNRUN and re.search(r"^ *```(sh|python)\n", path.read_text(encoding="utf-8"), re.MULTILINE)
)
RUN = (
    *(f"docs/{name}.md" for name in QUICK),
    pytest.param("README.md", marks=pytest.mark.further),
    *(pytest.param(f"docs/{name}.md", marks=pytest.mark.represented) for name in CODED if name not in QUICK),
)
"""Pages whose code is run, block by block in one folder."""
TYPES = {"Model", "Value", "Vector"}
"""Names of types, which have no docstring of their own."""


class Block(NamedTuple):
    """A fenced block of a page.

    A block with a title is the file of that name; `python` and `sh` are run, and `text` right after one of them is
    what it prints, with `...` for what differs from run to run.
    """

    kind: str
    title: str
    text: str
    line: int
    close: float


def blocks(page: str) -> Iterator[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        close = float(found[1]) / 100 if found[1] else CLOSE
        line = text.count("\n", 0, found.start()) + 1
        yield Block(found[3], found[4] or "", textwrap.dedent(found[5]), line, close)


def run(block: Block, folder: Path) -> str:
    """Run a block as a user would, but for the installation: the tests have that behind them."""
    if block.kind == "python":
        command = [sys.executable, "-c", block.text]
    else:
        lines = [line for line in block.text.splitlines() if not line.startswith("python -m pip install")]
        command = ["bash", "-euo", "pipefail", "-c", "\n".join(lines)]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "150",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"line {block.line}:\n{block.text}\n{done.stderr}"
    return done.stdout


def agree(shown: str, printed: str, close: float) -> bool:
    """Whether a printed line has what a shown one has, with all numbers equal but for a relative difference."""
    pieces = [NUMBER.split(" ".join(piece.split())) for piece in shown.split("...")]
    pattern = r".*?".join(f"({NUMBER.pattern})".join(map(re.escape, piece)) for piece in pieces)
    wanted = [float(number) for piece in shown.split("...") for number in NUMBER.findall(piece)]
    return any(
        all(math.isclose(a, float(b), rel_tol=close, abs_tol=TINY) for a, b in zip(wanted, found.groups(), strict=True))
        for found in re.finditer(pattern, " ".join(printed.split()))
    )


def missing(shown: str, printed: str, close: float = CLOSE) -> list[str]:
    """Return the lines that are shown and not printed."""
    return [
        line
        for line in shown.splitlines()
        if line.strip(". ") and not any(agree(line, other, close) for other in printed.splitlines())
    ]


def pages_of(items: list[str | dict[str, Any]]) -> Iterator[str]:
    """Yield the pages of a navigation."""
    for item in items:
        if isinstance(item, str):
            yield item
        else:
            for inner in item.values():
                yield from pages_of(inner if isinstance(inner, list) else [inner])


def test_every_page_is_in_the_navigation_once() -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    docs = ROOT / "docs"
    manual = [path for path in docs.rglob("*.md") if path.parent.name != "records"]
    assert sorted(pages_of(project["nav"])) == sorted(path.relative_to(docs).as_posix() for path in manual)


def test_every_record_is_linked_from_a_page_of_the_manual() -> None:
    links = {link for path in (ROOT / "docs").glob("*.md") for link in LINK.findall(path.read_text(encoding="utf-8"))}
    assert {f"records/{path.name}" for path in (ROOT / "docs" / "records").glob("*.md")} <= links


@pytest.mark.parametrize("page", RUN)
def test_the_code_of_a_page_runs_and_gives_what_is_shown(page: str, tmp_path: Path) -> None:
    found = list(blocks(page))
    assert found
    printed, files = "", {}
    for block in found:
        if block.title:
            files[block.title] = block
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
        elif block.kind in {"python", "sh"}:
            printed = run(block, tmp_path)
        elif block.kind == "text":
            lost = missing(block.text, printed, block.close)
            assert not lost, f"{page}, line {block.line}: {lost} not in\n{printed}"
    code = " ".join(block.text for block in found if not block.title)
    assert not {name for name in files if Path(name).stem not in code}, "a file that nothing uses"


@pytest.mark.parametrize(
    ("shown", "wrong"),
    [
        ("5.0 m held", ["5.0 m held"]),
        ("5.0004 m left\n...\n1.1901e-3 rad", []),
        ("5.001 m left", ["5.001 m left"]),
        ("| tau | ... | 7 |", []),
        ("| tau | ... | 8 |", ["| tau | ... | 8 |"]),
        ("4.8 m left", ["4.8 m left"]),
    ],
)
def test_a_line_that_is_shown_and_not_printed_is_noticed(shown: str, wrong: list[str]) -> None:
    assert missing(shown, "5.0 m left\n|  tau |  0.3 us |  7 |\n1.19e-3 rad\n") == wrong


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_a_page_outside_the_site_lead_to_files(page: str) -> None:
    links = [link for link in LINK.findall((ROOT / page).read_text(encoding="utf-8")) if "://" not in link]
    assert not [link for link in links if not (ROOT / link).exists()]


def rows(page: str) -> list[list[str]]:
    """Return the cells of all tables of a page."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def table_of(page: str, corner: str) -> list[list[str]]:
    """Return the rows of the table of a page whose heading begins with a word."""
    cells = rows(page)
    first = next(index for index, row in enumerate(cells) if row[0] == corner) + 2
    ruled = (index for index in range(first, len(cells)) if cells[index][0].startswith("---"))
    return cells[first : next(ruled, len(cells) + 1) - 1]


def test_the_guide_to_steppers_has_a_row_for_each_with_its_options() -> None:
    table = {row[0].strip("`"): row[1] for row in table_of("docs/steppers.md", "name")}
    for family in mbfmu.steppers().values():
        for name, option in family.options.items():
            for value in option.choices:
                assert f"`{value}`" in table[family.name] or f"`{name}={value}`" in table[family.name]
            assert f"`{name}" in table[family.name]
        defaults = [f"{name}={option.default}" for name, option in family.options.items() if option.default is not None]
        assert all(f"`{default}`" in table[family.name] for default in defaults)


@pytest.mark.parametrize(("backend", "column"), [("python", 1), ("native", 2)])
def test_the_fmu_reference_shows_the_capabilities_that_each_back_end_claims(
    backend: str, column: int, tmp_path: Path, two_link: System
) -> None:
    path = mbfmu.export(two_link, tmp_path / "arm.fmu", backend=backend)
    with zipfile.ZipFile(path) as archive:
        root = ElementTree.fromstring(archive.read("modelDescription.xml"))
    claimed = root.find("CoSimulation")
    assert claimed is not None
    shown = {}
    for row in rows("docs/fmu.md"):
        for name in re.findall(r"`(can\w+|max\w+|provides\w+|needs\w+)`", row[0]):
            shown[name] = row[column]
    assert len(shown) == 10
    unsaid = {"maxOutputDerivativeOrder": "0"}
    for name, value in shown.items():
        assert claimed.get(name, unsaid.get(name, "false")) == value
    assert not {name for name in claimed.attrib if name.startswith(("can", "max", "provides", "needs"))} - set(shown)
    categories = {item.get("name") for item in root.iter("Category")}
    assert categories == {row[0].strip("`") for row in rows("docs/fmu.md") if row[0].startswith("`log")}


def test_the_reference_has_every_public_name() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md"))
    shown = set(re.findall(r"^::: (\S+)$", text, re.MULTILINE))
    aliases = {f"mbfmu.{name}": f"mbfmu.model.{name}" for name in model.__all__} | {"mbfmu.MbfmuError": "mbfmu.errors"}
    public = {f"mbfmu.{name}" for name in mbfmu.__all__} - {"mbfmu.__version__", "mbfmu.model"}
    public |= {f"mbfmu.model.{name}" for name in model.__all__} - {f"mbfmu.model.{name}" for name in TYPES}
    assert not {aliases.get(name, name) for name in public} - shown


def test_the_index_of_the_reference_names_all_that_its_pages_describe() -> None:
    index = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\*\*\[[^]]+\]\((\w+)\.md\)\*\*: (.*)$", index, re.MULTILINE))
    for path in (ROOT / "docs" / "api").glob("*.md"):
        names = re.findall(r"^::: \S*?(\w+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if path.stem not in {"index", "errors"}:
            assert names
            assert re.findall(r"`(\w+)`", listed[path.stem]) == names
