"""Modifiers of Modelica: they count at every depth, or are refused where the compiler would lose them."""

import warnings
from pathlib import Path
from typing import Any

import pytest

import mbfmu
from mbfmu.errors import MbfmuError
from mbfmu.model import System
from mbfmu.model.modelica.modifiers import modifiers_in

ARM = """model Arm
  model Link
    Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
    Modelica.Mechanics.MultiBody.Joints.Revolute hinge(phi(fixed=true, start=0.2), w(fixed=true));
    Modelica.Mechanics.MultiBody.Parts.BodyCylinder rod(r={1,0,0}, diameter=0.04);
  equation
    connect(frame_a, hinge.frame_a);
    connect(hinge.frame_b, rod.frame_a);
  end Link;
  inner Modelica.Mechanics.MultiBody.World world;
  Link link(hinge(phi(start=0.4), w(start=2)), rod(r={0.5,0,0}, color={1,2,3})) annotation(Placement(a.b=3));
equation
  connect(world.frame_b, link.frame_a);
end Arm;
"""


def started(text: str, folder: Path) -> dict[str, float]:
    """First values of a run."""
    path = folder / "arm.mo"
    path.write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = mbfmu.load(path)
        assert isinstance(system, System)
        result = mbfmu.simulate(system, 0.001)
    return {name: float(result[name][0]) for name in ("link.hinge.phi", "link.hinge.w")}


def test_modifiers_of_parts_count_and_the_outer_model_is_taken(tmp_path: Path) -> None:
    assert started(ARM, tmp_path) == {"link.hinge.phi": pytest.approx(0.4), "link.hinge.w": pytest.approx(2.0)}


MISTAKES: dict[str, Any] = {
    "phi(start=0.4)": {
        "phi.start=0.4": "line 11: the modifier 'phi.start' of 'hinge' is not read: write phi(start=...)",
        "phi(strt=0.4)": "line 11: 'link.hinge.phi' has no 'strt'; did you mean 'start'?",
        "psi(start=0.4)": "line 11: 'link.hinge' has no 'psi'; did you mean 'phi'?",
        "phi(start=0.4)=1": "line 11: the modifier 'phi' of 'hinge' has attributes and a value: give only the value",
    },
    "link(hinge(": {"link(hing(": "line 11: unknown modifier `hing` for component `link`"},
    "phi(fixed=true, start=0.2)": {"phi.start = 0.2": "line 4: the modifier 'phi.start' of 'hinge' is not read"},
}


@pytest.mark.parametrize(("old", "new"), [(old, new) for old, items in MISTAKES.items() for new in items])
def test_a_modifier_that_the_compiler_would_lose_is_one_line(old: str, new: str, tmp_path: Path) -> None:
    assert old in ARM
    with pytest.raises(MbfmuError) as found:
        started(ARM.replace(old, new), tmp_path)
    assert MISTAKES[old][new] in str(found.value)
    assert "\n" not in str(found.value)


def test_calls_and_equations_are_no_modifiers() -> None:
    code = "a(x=max(b.c, d), each y(z=if f(p.q) == 1 then 2 else (3), w={g(1), h.i})); connect(a.b, c.d); k = f(a.b);"
    found = [".".join(item.path) for item in modifiers_in(code)]
    assert found == ["a.x", "a.y", "a.y.z", "a.y.w"]
