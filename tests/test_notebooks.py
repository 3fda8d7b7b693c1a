"""The notebooks of the examples run from top to bottom, and give what they show."""

from pathlib import Path
from typing import Any

import pytest
from harness import extra
from test_docs import missing

nbformat = extra("nbformat", "test")
NotebookClient = extra("nbclient", "test").NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples" / "notebooks").glob("*.ipynb"))


def printed(cell: Any) -> str:
    """Return what a cell prints."""
    return "".join(item["text"] for item in cell.get("outputs", ()) if item["output_type"] == "stream")


def pictures(cell: Any) -> int:
    """Return how many pictures a cell shows."""
    return sum("image/png" in item.get("data", {}) for item in cell.get("outputs", ()))


@pytest.mark.further
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_what_it_shows(path: Path, tmp_path: Path) -> None:
    shown = nbformat.read(path, as_version=4)
    found = nbformat.read(path, as_version=4)
    NotebookClient(found, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert any(printed(cell) for cell in shown.cells)
    for old, new in zip(shown.cells, found.cells, strict=True):
        lost = missing(printed(old), printed(new))
        assert not lost, f"{lost} not in\n{printed(new)}"
        assert pictures(old) == pictures(new)


def test_there_are_notebooks_of_a_reasonable_size() -> None:
    assert len(NOTEBOOKS) == 3
    assert max(path.stat().st_size for path in NOTEBOOKS) < 150e3
