"""Examples, models and recipes do what they say."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mbfmu
from examples import animation, closed_loop
from mbfmu.fmu.recipe import known_recipes, read_recipe
from mbfmu.model import Block
from mbfmu.model.library import known_models

ROOT = Path(__file__).parents[1]


def test_the_closed_loop_example_holds_the_pose_and_rolls_back_exactly() -> None:
    found = closed_loop.main()
    assert found["rollback"] == 0.0
    assert found["residual"] < 1e-14
    assert found["shoulder.phi"] == pytest.approx(-1.24, abs=0.01)
    assert found["elbow.phi"] == pytest.approx(0.412, abs=0.01)


@pytest.mark.parametrize("name", known_models())
def test_every_model_exports_passes_the_check_and_runs(name: str, tmp_path: Path) -> None:
    path = mbfmu.export(mbfmu.load(name), tmp_path / f"{name}.fmu")
    assert mbfmu.check(path) == []
    result = mbfmu.simulate(path, 0.1)
    assert np.all(np.isfinite(result.values))
    if not isinstance(mbfmu.load(name), Block):
        assert result["constraint.position"].max() < 1e-12


@pytest.mark.parametrize("name", known_recipes())
def test_every_recipe_names_a_model_and_a_stepper_there_are(name: str) -> None:
    recipe = read_recipe(known_recipes()[name])
    assert mbfmu.load(recipe.model)
    assert recipe.stepper is None or recipe.stepper in {family.name for family in mbfmu.steppers()}


def test_the_moving_picture_shows_a_crane_that_follows_and_holds_its_constraints(tmp_path: Path) -> None:
    found = animation.main(tmp_path / "crane.gif", frames=3)
    assert found["tracking error, m"] < 2e-3
    assert found["residual"] < 1e-13
    with Image.open(tmp_path / "crane.gif") as picture:
        assert getattr(picture, "n_frames", 1) == 3


def test_the_picture_in_the_readme_is_small() -> None:
    assert (ROOT / "docs" / "crane.gif").stat().st_size < 700e3
