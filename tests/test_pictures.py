"""The pictures of the documentation are those that the scripts and models there make."""

import ast
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from examples import pictures, report
from examples.pictures import PICTURES, ROOT, Picture
from mbfmu.model.library import known_models

LOOKS = ("examples/report.py", "examples/figures/style.py")
"""Scripts that decide how all figures look, not what one shows."""
MADE = [picture for picture in PICTURES if not picture.exempt]


def test_no_picture_is_stale() -> None:
    assert [f"{picture.name}: {why}" for picture, why in pictures.stale()] == []


def test_the_table_has_every_picture_of_the_documentation_and_a_page_shows_each() -> None:
    docs = ROOT / "docs"
    there = {path.relative_to(docs).as_posix() for kind in ("png", "gif", "svg") for path in docs.rglob(f"*.{kind}")}
    assert {picture.name for picture in PICTURES} == there
    pages = "".join(path.read_text(encoding="utf-8") for path in docs.rglob("*.md"))
    assert set(re.findall(r"^!\[.*\]\((?:\.\./)?(\S+\.(?:png|gif|svg))\)$", pages, re.MULTILINE)) == there
    assert set(pictures.read_record()) == {picture.name for picture in MADE}


def test_figures_that_explain_are_small_and_suit_dark_pages() -> None:
    for path in (ROOT / "docs").rglob("*.svg"):
        text = path.read_text(encoding="utf-8")
        assert len(text) < 60e3, path
        assert "prefers-color-scheme: dark" in text, path
        assert "fill: #ffffff; stroke: none" not in text.partition("axes_1")[0], path  # the ground is transparent


def needed(script: str) -> Iterator[str]:
    """Yield the paths of the models and pages that a script names, and of the scripts it imports."""
    models = {name: path.relative_to(ROOT).as_posix() for name, path in known_models().items()}
    tree = ast.parse((ROOT / script).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "load":
            yield from (models[item.value] for item in node.args if isinstance(item, ast.Constant))
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MODEL":
            yield models[ast.literal_eval(node.value)]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAGE":
            yield ast.literal_eval(node.value)
        elif isinstance(node, ast.Dict):
            named = zip(node.keys, node.values, strict=True)
            yield from (
                models[ast.literal_eval(value)] for key, value in named if key and ast.unparse(key) == "'model'"
            )
        elif (
            isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(("examples", "mbfmu.show.demo"))
        ):
            for module in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                path = f"{module.replace('.', '/')}.py"
                if (ROOT / path).exists() and path not in LOOKS:
                    yield path
                    yield from needed(path)


@pytest.mark.parametrize("picture", MADE, ids=[picture.name for picture in MADE])
def test_the_sources_of_a_picture_are_the_models_and_scripts_it_uses(picture: Picture) -> None:
    used = {item for script in picture.sources if script.endswith(".py") for item in needed(script)}
    assert {picture.script, *used} == set(picture.sources)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of all sources, pictures and the record."""
    names = {"examples/__init__.py", *(name for picture in MADE for name in (f"docs/{picture.name}", *picture.sources))}
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    record = {picture.name: pictures.hashes(picture, tmp_path) for picture in MADE}
    (tmp_path / pictures.RECORD).write_text(json.dumps(record), encoding="utf-8")
    return tmp_path


def stale(root: Path) -> set[str]:
    return {picture.name for picture, _ in pictures.stale(root)}


def test_a_changed_model_makes_its_pictures_stale_and_no_others(copy: Path) -> None:
    assert stale(copy) == set()
    model = copy / "models" / "crane.py"
    model.write_text(model.read_text(encoding="utf-8").replace("200.0", "201.0"), encoding="utf-8")
    assert stale(copy) == {"crane.gif", "demo.png", "coupled/crane.png", "sweep.png", "view.png", "workspace.png"}


def test_a_changed_file_of_a_page_makes_its_figure_stale_and_changed_prose_does_not(copy: Path) -> None:
    page = copy / "docs" / "forces.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("# Springs", "# All springs"), encoding="utf-8")
    assert stale(copy) == set()
    page.write_text(text.replace("s_unstretched=1.0", "s_unstretched=1.1"), encoding="utf-8")
    assert stale(copy) == {"figures/sprung.svg"}


def test_a_picture_that_was_not_made_is_stale(copy: Path) -> None:
    (copy / "docs" / "demo.png").write_bytes(b"painted by hand")
    (copy / "docs" / "crane.gif").unlink()
    assert stale(copy) == {"demo.png", "crane.gif"}
    (copy / pictures.RECORD).unlink()
    assert stale(copy) == {picture.name for picture in MADE}


@pytest.mark.parametrize(
    ("edit", "same"),
    [
        ("x = '#'  # a remark\n\n\ndef f():\n    # another\n    return x\n", True),
        ("'''A docstring\nof two lines.'''\nx = '#'\n'of x'\ndef f():\n    'of f'\n    return x\n", True),
        ("import math\nfrom os import (\n    path,\n)\nx = '#'\ndef f():\n    import io\n    return x\n", True),
        ("x = '# '\ndef f():\n    return x\n", False),
        ("x = '#'\ndef f():\n    return -x\n", False),
    ],
)
def test_remarks_and_imports_make_no_picture_stale_and_code_does(edit: str, same: bool) -> None:
    plain = "x = '#'\ndef f():\n    return x\n"
    assert (pictures.code(edit) == pictures.code(plain)) is same


def test_a_command_that_fails_leaves_picture_and_record_as_they_are(copy: Path) -> None:
    (copy / "examples" / "robot.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    before = {path: path.read_bytes() for path in (copy / "docs").rglob("*") if path.is_file()}
    (picture,) = (item for item in PICTURES if item.name == "examples/robot.png")
    with pytest.raises(subprocess.CalledProcessError):
        pictures.make(picture, copy)
    assert {path: path.read_bytes() for path in (copy / "docs").rglob("*") if path.is_file()} == before


def test_a_picture_with_a_palette_is_smaller_and_keeps_the_colours_of_thin_lines(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 50)
    curves = {f"curve {number}": (x, x**2) for number in range(7)}  # all but the last show in the legend alone
    path = report.draw(report.Found({}, (report.Panel("", "x", "y", curves),), 1), str(tmp_path / "picture.png"))
    with Image.open(path) as picture:
        size, drawn = path.stat().st_size, np.asarray(picture.convert("RGB")).astype(int)
    pictures.shrink(path)
    assert path.stat().st_size < 0.5 * size
    with Image.open(path) as picture:
        assert np.abs(np.asarray(picture.convert("RGB")) - drawn).max() < 20  # of 255; measured 2


def test_the_list_has_a_command_for_every_picture_and_an_unknown_name_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert pictures.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [f"docs/{picture.name}" for picture in PICTURES]
    assert "  python -m mbfmu demo -o FOLDER" in lines
    assert "  python -m examples.coupled.crane --plot FOLDER/picture.png" in lines
    with pytest.raises(SystemExit):
        pictures.main(["nonsense.png"])
    assert "there is no picture 'nonsense.png'" in capsys.readouterr().err
