"""Inputs of Modelica's models: each drives what it is connected to, under its own name, or is refused."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbfmu
from mbfmu.dae import derive
from mbfmu.errors import MbfmuError
from mbfmu.model import (
    BodyShape,
    Revolute,
    RotationalDamper,
    RotationalSpring,
    System,
    World,
    WorldForce,
    connect,
)

FILE = Path(__file__).parent / "modelica" / "driven.mo"
TEXT = FILE.read_text(encoding="utf-8")
CART = "model Cart" + TEXT.partition("model Cart")[2]


def names_of_inputs(model: str) -> list[str]:
    return [item.name for item in derive(mbfmu.load(f"{FILE}:{model}")).inputs]


def test_an_input_of_the_system_has_the_name_and_start_of_the_modelica_input() -> None:
    assert names_of_inputs("One") == ["tau"]
    assert names_of_inputs("Two") == ["f[1]", "f[2]", "f[3]", "drive[1]", "drive[2]", "both"]
    found = mbfmu.simulate(f"{FILE}:One", 0.1, step=0.01)
    np.testing.assert_array_equal(found["tau"], 0.5)


def test_a_driven_arm_with_a_spring_moves_as_its_equation_says() -> None:
    """(I + m r**2) phi'' = tau - c phi - d phi' - m g r cos(phi)."""
    found = mbfmu.simulate(f"{FILE}:One", 0.5, step=0.01, tolerance=1e-9, inputs={"tau": "4*cos(3*time)"})
    known = solve_ivp(
        lambda t, y: [y[1], (4 * np.cos(3 * t) - 3 * y[0] - 0.2 * y[1] - 9.81 * 0.5 * np.cos(y[0])) / (0.1 + 0.25)],
        (0, 0.5),
        (0, 0),
        rtol=1e-11,
        atol=1e-12,
    )
    assert found["angle"][-1] == pytest.approx(known.y[0, -1], abs=1e-7)


def test_torques_of_several_inputs_on_a_joint_add_and_one_input_drives_several_joints() -> None:
    parts = []
    for name, m in (("one", 1.0), ("two", 2.0)):
        parts += [
            Revolute(name, phi=0.0, w=0.0, actuated=True),
            RotationalSpring(f"{name}_spring", joint=name, c=3.0),
            RotationalDamper(f"{name}_damper", joint=name, d=0.2),
            BodyShape(f"{name}_link", m=m, r=(1, 0, 0), r_CM=(0.5, 0, 0), I_11=0.001, I_22=0.001, I_33=0.1),
        ]
    ends = ("world.frame_b", "one.frame_a", "one.frame_b", "one_link.frame_a", "one_link.frame_b", "two.frame_a")
    ends += ("two.frame_b", "two_link.frame_a", "two_link.frame_b", "push.frame_b")
    by_hand = System(
        "ByHand",
        (World(g=9.81), *parts, WorldForce("push", resolve="frame_b")),
        tuple(connect(*pair) for pair in zip(ends[::2], ends[1::2], strict=True)),
    )
    ours = mbfmu.simulate(f"{FILE}:Two", 0.3, step=0.01, inputs={"drive[2]": -1.0, "both": 0.7, "f[2]": "3*time"})
    inputs = {"one.tau": 1.5 + 0.7, "two.tau": -1.0 + 0.7 - 2.0, "push.f[2]": "3*time"}
    theirs = mbfmu.simulate(by_hand, 0.3, step=0.01, inputs=inputs)
    for one, other in (("arm_1.joint.phi", "one.phi"), ("arm_2.joint.phi", "two.phi")):
        assert np.ptp(ours[one]) > 0.1
        np.testing.assert_allclose(ours[one], theirs[other], rtol=0, atol=1e-12)


def test_a_force_on_a_cart_and_a_torque_in_the_world_accelerate_as_newton_says() -> None:
    found = mbfmu.simulate(f"{FILE}:Cart", 0.4, step=0.01, inputs={"push": 6.0, "turn[3]": 0.25})
    assert found["guide.s"][-1] == pytest.approx(6 / 4 * 0.4**2 / 2, abs=1e-9)
    assert found["pin.phi"][-1] == pytest.approx(0.25 / 0.5 * 0.4**2 / 2, abs=1e-9)


@pytest.mark.parametrize(("bound", "inputs"), [("push[2]", {"push[2]": 6.0}), ("2*3", {})])
def test_a_force_is_bound_to_an_entry_of_an_input_or_to_a_value(
    bound: str, inputs: dict[str, float], tmp_path: Path
) -> None:
    path = tmp_path / "bound.mo"
    text = CART.replace("push(unit", "push[2](each unit").replace("  force.f = push;\n", "")
    path.write_text(text.replace("Force force;", f"Force force(f={bound});"), encoding="utf-8")
    with pytest.warns(UserWarning, match=r"the input 'push\[1\]' is left out"):
        system = mbfmu.load(path)
    found = mbfmu.simulate(system, 0.4, step=0.01, inputs=inputs)
    assert found["guide.s"][-1] == pytest.approx(6 / 4 * 0.4**2 / 2, abs=1e-9)


def test_an_input_that_drives_nothing_is_told(tmp_path: Path) -> None:
    path = tmp_path / "told.mo"
    path.write_text(TEXT.replace("  input Real both;", "  input Real both; input Real idle;"), encoding="utf-8")
    with pytest.warns(UserWarning, match=r"the input 'idle' is left out: it is connected to nothing"):
        system = mbfmu.load(f"{path}:Two")
    assert "idle" not in [item.name for item in derive(system).inputs]


MISTAKES = {
    "loose": (CART.replace("  force.f = push;\n", ""), r"line 7: 'force\.f' is connected to no input"),
    "loose vector": (
        CART.replace("  connect(turn, torque.torque);\n", ""),
        r"line 8: 'torque\.torque' is connected to no input",
    ),
    "unit": (
        CART.replace('push(unit="N")', 'push(unit="N.m")'),
        r"line 7: the input 'push' is in N\.m, and 'force\.f'",
    ),
    "no axis": (
        CART.replace("  connect(force.flange, guide.axis);\n", ""),
        r"line 7: 'force\.flange', on which 'force' acts, moves no mass",
    ),
    "kinds of flanges": (
        CART.replace("Translational.Sources.Force force", "Rotational.Sources.Torque force").replace(
            "force.f = push", "force.tau = push"
        ),
        r"line 4: 'guide\.axis' is a Translational flange, and 'force\.flange', which it is connected to, a Rotational",
    ),
    "frame on a flange": (
        CART.replace("connect(guide.frame_b, pin.frame_a)", "connect(guide.axis, pin.frame_a)"),
        r"line 4: 'guide\.axis' is a Translational flange, and 'pin\.frame_a', which it is connected to, a frame",
    ),
    "support": (
        CART.replace("Force force;", "Force force(useSupport=true);"),
        r"line 7: 'force\.support' must be connected to the support of a joint or a fixed flange",
    ),
    "resolve": (
        CART.replace(
            "WorldTorque torque;",
            "WorldTorque torque(resolveInFrame=Modelica.Mechanics.MultiBody.Types.ResolveInFrameB.frame_resolve);",
        ),
        r"line 8: 'torque\.frame_resolve' is connected to no frame",
    ),
    "formula": (
        CART.replace("Force force;", "Force force(f=2*push);").replace("  force.f = push;\n", ""),
        r"line \d: 'push' is a variable",
    ),
    "output": (
        CART.replace("equation\n", "  output Real y;\nequation\n  2*y = guide.s;\n"),
        r"line 9: the output 'y' is not read: write an equation for it",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_clear_line(name: str, tmp_path: Path) -> None:
    text, said = MISTAKES[name]
    path = tmp_path / "wrong.mo"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MbfmuError, match=said) as found:
        mbfmu.load(path)
    assert "\n" not in str(found.value)
    assert str(found.value).startswith(f"'{path}'")
