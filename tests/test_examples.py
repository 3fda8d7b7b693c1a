"""Examples, models and recipes do what they say."""

from pathlib import Path

import numpy as np
import pytest

import mbfmu
from examples import closed_loop
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


def test_the_readme_model_is_a_model(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = next(block for block in text.split("```python\n")[1:] if "def pendulum" in block).split("```")[0]
    (tmp_path / "pendulum.py").write_text(code, encoding="utf-8")
    result = mbfmu.simulate(mbfmu.load(tmp_path / "pendulum.py"), 1.0)
    assert result["constraint.position"].max() < 1e-13
