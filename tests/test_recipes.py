"""Every recipe of fmus/ gives an FMU without a problem that foreign masters and tools run as FMPy does."""

import json
from collections.abc import Callable
from pathlib import Path

import fmpy
import numpy as np
import pytest
from harness import thorough
from masters import Array, run_ecos, run_fmpy, run_libcosim
from test_toolbox import tool

import mbfmu
from mbfmu.errors import ModelFileError
from mbfmu.fmu.recipe import known_recipes, read_recipe
from mbfmu.stepper import Family

STOP, STEP = 0.2, 1e-3
"""s; of the runs that are compared."""
FEW = {"quarter_car_tolerance", "two_link_rattle"}
"""Those run by default: one with steps chosen by a tolerance, one with equal steps."""


class Exported:
    """A recipe's FMU, what drives it and what FMPy makes of it."""

    def __init__(self, name: str, folder: Path) -> None:
        recipe = read_recipe(known_recipes()[name])
        self.fmu = mbfmu.export(
            mbfmu.load(recipe.model, recipe.values),
            folder / f"{name}.fmu",
            **recipe.choices(),
        )
        variables = fmpy.read_model_description(str(self.fmu)).modelVariables
        inputs = [item for item in variables if item.causality == "input"]
        self.values = {
            item.name: float(item.start) or (-1.0) ** number * 2.0 * min(1.0, float(item.nominal or 1.0))
            for number, item in enumerate(inputs)
        }
        self.outputs = [item.name for item in variables if item.causality == "output"]
        self.series: Array = run_fmpy(self.fmu, self.values, self.outputs, STOP, STEP)


@pytest.fixture(scope="module", params=thorough(zip(sorted(known_recipes())), lambda name: name in FEW))
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return Exported(request.param, tmp_path_factory.mktemp("recipe"))


def test_the_check_finds_nothing(exported: Exported) -> None:
    assert mbfmu.check(exported.fmu) == []


def test_something_moves(exported: Exported) -> None:
    assert np.ptp(exported.series, axis=0).max() > 1e-3


@pytest.mark.parametrize("run", [run_libcosim, run_ecos], ids=["libcosim", "ecos"])
def test_a_master_gives_the_series_of_fmpy(run: Callable[..., Array], exported: Exported) -> None:
    found = run(exported.fmu, exported.values, exported.outputs, STOP, STEP)
    np.testing.assert_allclose(found, exported.series, rtol=1e-9, atol=1e-9)


def test_a_foreign_tool_finds_it_compliant_and_runs_it_in_a_container(exported: Exported, tmp_path: Path) -> None:
    said = tool("fmutool", "-input", str(exported.fmu), "-check", cwd=tmp_path)
    assert "No semantic error" in said
    assert "ERROR" not in said
    (tmp_path / "box.json").write_text(json.dumps({"fmu": [exported.fmu.name], "step_size": STEP}), encoding="utf-8")
    (tmp_path / exported.fmu.name).write_bytes(exported.fmu.read_bytes())
    tool("fmucontainer", "-container", "box.json", "-fmu-directory", ".", cwd=tmp_path)
    inside = run_fmpy(tmp_path / "box.fmu", exported.values, exported.outputs, STOP, STEP)
    np.testing.assert_allclose(inside, exported.series, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "family",
    thorough(zip(mbfmu.steppers().values()), lambda family: family.name == "gauss"),
    ids=lambda family: family.name,
)
def test_the_check_finds_nothing_whatever_the_stepper(family: Family, tmp_path: Path) -> None:
    path = mbfmu.export(mbfmu.load("two_link"), tmp_path / "arm.fmu", stepper=family.name, coordinates="absolute")
    assert mbfmu.check(path) == []


def test_a_recipe_has_numbers_expressions_of_numbers_and_guesses(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    head = 'model = "two_link"\n[values]\n'
    path.write_text(head + '"shoulder.phi" = "deg(30)"\n"elbow.phi" = "guess(pi/6)"\nl1 = 2\n', encoding="utf-8")
    assert read_recipe(path).values == {
        "shoulder.phi": pytest.approx(np.pi / 6, rel=1e-15), "elbow.phi": "guess(pi/6)", "l1": 2
    }  # fmt: skip
    path.write_text(head + 'l1 = "2*l2"\n', encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"l1 = '2\*l2': '2\*l2' is not a number: there is 'l2' in it"):
        read_recipe(path)
