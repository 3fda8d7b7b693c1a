"""Modelica's multibody library: files move as systems built by hand, and every mistake is one clear line."""

import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbfmu
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError, UsageError
from mbfmu.model import (
    Body,
    BodyShape,
    Connection,
    FixedTranslation,
    Prismatic,
    Revolute,
    RotationalDamper,
    RotationalSpring,
    SpringDamper,
    System,
    World,
    connect,
)

FOLDER = Path(__file__).parent / "modelica"
ROD = {"I_11": 0.001, "I_22": 0.001, "I_33": 0.001}


def chain(*parts: str) -> tuple[Connection, ...]:
    """Return connections of one component's frame_b with the next one's frame_a."""
    return tuple(connect(f"{a}.frame_b", f"{b}.frame_a") for a, b in pairwise(parts))


def box(width: float) -> dict[str, object]:
    """Return what a box of 0.4 m by `width` by 0.1 m, with a hole of 0.05 m by 0.05 m, has as mass properties."""
    mo, mi = 1000 * 0.4 * width * 0.1, 1000 * 0.4 * 0.05 * 0.05
    return {
        "m": mo - mi,
        "r_CM": (0.2, 0, 0),
        "I_11": (mo * (width**2 + 0.01) - mi * 0.005) / 12,
        "I_22": (mo * (0.16 + 0.01) - mi * (0.16 + 0.0025)) / 12,
        "I_33": (mo * (0.16 + width**2) - mi * (0.16 + 0.0025)) / 12,
    }


def bob() -> dict[str, object]:
    """Return what a hollow cylinder along y, 0.3 m long, has as mass properties."""
    mo, mi = (500 * np.pi * 0.3 * d**2 / 4 for d in (0.1, 0.02))
    across = (mo * (0.09 + 3 * 0.05**2) - mi * (0.09 + 3 * 0.01**2)) / 12
    around = (mo * 0.05**2 - mi * 0.01**2) / 2
    return {"m": mo - mi, "r_CM": (0, 0.15, 0), "I_11": across, "I_22": around, "I_33": across}


PENDULUM = System(
    "Pendulum",
    (
        World(),
        Revolute("hinge", phi=0.3, w=0.0),
        BodyShape("rod", r=(1.2, 0, 0), r_CM=(0.6, 0, 0), m=2.0, I_11=0.01, I_22=0.24, I_33=0.24),
    ),
    chain("world", "hinge", "rod"),
)
DOUBLE = System(
    "Double",
    (
        World(),
        Revolute("one_joint", phi=0.2, w=0.0),
        BodyShape("one_link", r=(0.8, 0, 0), r_CM=(0.4, 0, 0), m=1.0, **ROD),
        Revolute("two_joint", phi=-0.4, w=0.0),
        BodyShape("two_link", r=(1.6, 0, 0), r_CM=(0.8, 0, 0), m=2.0, **ROD),
        RotationalSpring("bush", joint="two_joint", c=3.0, phi_rel0=-0.1),
        RotationalDamper("bush_damper", joint="two_joint", d=0.2),
    ),
    chain("world", "one_joint", "one_link", "two_joint", "two_link"),
)
FOURBAR = System(
    "FourBar",
    (
        World(),
        Revolute("crank", phi=1.2, w=2.0),
        BodyShape("bar", m=1.0, r=(0.3, 0, 0), r_CM=(0.15, 0, 0), **ROD),
        Revolute("pin", phi="guess(-0.9)"),
        BodyShape("rod", m=2.0, r=(1, 0, 0), r_CM=(0.5, 0, 0), **ROD),
        Revolute("eye"),
        BodyShape("rocker", m=1.5, r=(0, 0.8, 0), r_CM=(0, 0.4, 0), **ROD),
        Revolute("pivot"),
        FixedTranslation("ground", r=(0.9, 0, 0)),
    ),
    (
        *chain("world", "crank", "bar", "pin", "rod"),
        connect("rod.frame_b", "eye.frame_b"),
        connect("eye.frame_a", "rocker.frame_b"),
        connect("rocker.frame_a", "pivot.frame_b"),
        connect("pivot.frame_a", "ground.frame_b"),
        connect("ground.frame_a", "world.frame_b"),
    ),
)
SPRING = System(
    "Spring",
    (
        World(),
        Prismatic("guide", n=(1, 0, 0), s=0.1, v=0.5),
        BodyShape("box", r=(0.4, 0, 0), **box(0.2)),
        Revolute("hinge", phi=-1.0, w=0.0),
        BodyShape("bob", r=(0, 0.3, 0), **bob()),
        SpringDamper("strut", c=200.0, d=5.0, s_unstretched=0.7),
        FixedTranslation("wall", r=(1.5, 0.2, 0)),
    ),
    (
        *chain("world", "guide", "box", "hinge", "bob"),
        connect("world.frame_b", "wall.frame_a"),
        connect("strut.frame_a", "wall.frame_b"),
        connect("strut.frame_b", "bob.frame_b"),
    ),
)
CASES = {
    "pendulum": (PENDULUM, {"hinge.phi": "hinge.phi"}),
    "arms": (DOUBLE, {"one.joint.phi": "one_joint.phi", "two.joint.phi": "two_joint.phi"}),
    "fourbar": (FOURBAR, {"crank.phi": "crank.phi", "pivot.phi": "pivot.phi"}),
    "spring": (SPRING, {"guide.s": "guide.s", "hinge.phi": "hinge.phi"}),
}


def read(name: str) -> System:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mbfmu.load(FOLDER / f"{name}.mo")


@pytest.mark.parametrize("name", CASES)
def test_a_file_moves_as_the_system_built_by_hand(name: str) -> None:
    by_hand, names = CASES[name]
    ours, theirs = (mbfmu.simulate(system, 0.3, step=0.01, error_samples=0) for system in (read(name), by_hand))
    for one, other in names.items():
        assert np.ptp(ours[one]) > 1e-3
        np.testing.assert_allclose(ours[one], theirs[other], rtol=0, atol=1e-12)


def test_a_pendulum_swings_as_its_equation_says() -> None:
    found = mbfmu.simulate(FOLDER / "pendulum.mo", 1.0, tolerance=1e-9)
    inertia = 2 * 1.2**2 / 3
    exact = solve_ivp(
        lambda _, x: [x[1], -2 * 9.81 * 0.6 * np.cos(x[0]) / inertia], (0, 1), (0.3, 0), rtol=1e-11, atol=1e-12
    ).y[0, -1]
    assert found["hinge.phi"][-1] == pytest.approx(exact, abs=1e-7)


def test_a_body_between_spring_and_damper_moves_as_its_equation_says() -> None:
    """s'' = -g + (c (-s - s_unstretched) - d s')/m, below the world."""
    found = mbfmu.simulate(read("hanging"), 1.0, stepper="projected", step=1e-3)
    known = solve_ivp(
        lambda _, y: [y[1], -9.81 + (100 * (-y[0] - 0.2) - 3 * y[1]) / 2], (0, 1), [-0.5, 0], rtol=1e-11, atol=1e-12
    )
    assert found["slide.s"][-1] == pytest.approx(known.y[0, -1], abs=1e-9)


def joints(model: str, duration: float = 0.4) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = mbfmu.load(f"{FOLDER / 'joints.mo'}:{model}")
    return mbfmu.simulate(system, duration, step=0.01, tolerance=1e-9)


def test_a_body_on_a_cylindrical_joint_slides_and_swings() -> None:
    """The axis is horizontal: phi'' = m g r sin(phi) / (I + m r**2) from the vertical, and s' stays."""
    found = joints("Slide")
    inertia = 0.1 + 2 * 0.3**2
    known = solve_ivp(
        lambda _, y: [y[1], 2 * 9.81 * 0.3 * np.sin(y[0]) / inertia], (0, 0.4), (0.4, 0), rtol=1e-11, atol=1e-12
    )
    assert found["rail.phi"][-1] == pytest.approx(known.y[0, -1], abs=1e-7)
    assert found["rail.s"][-1] == pytest.approx(0.1 + 0.5 * 0.4, abs=1e-9)


def test_a_disk_on_a_planar_joint_falls_along_the_first_axis_of_its_plane() -> None:
    found = joints("Fall")
    assert found["plane.s_x"][-1] == pytest.approx(1 + 2 * 0.4 - 9.81 * 0.4**2 / 2, abs=1e-9)
    assert found["plane.s_y"][-1] == pytest.approx(3 * 0.4, abs=1e-9)
    assert found["plane.phi"][-1] == pytest.approx(4 * 0.4, abs=1e-9)


def test_a_body_on_a_universal_joint_moves_as_on_two_hinges() -> None:
    found = joints("Cross")
    hinges = System(
        "Hinges",
        (
            World(),
            Revolute("a", n=(0, 0, 1), phi=0.3, w=1.0),
            Revolute("b", n=(1, 0, 0), phi=0.2, w=-2.0),
            Body("body", m=2.0, r_CM=(0.3, -0.2, 0.1), I_11=0.1, I_22=0.2, I_33=0.3),
        ),
        chain("world", "a", "b", "body"),
    )
    known = mbfmu.simulate(hinges, 0.4, step=0.01, tolerance=1e-9)
    for ours, theirs in (("phi_a", "a.phi"), ("phi_b", "b.phi")):
        np.testing.assert_allclose(found[f"cross.{ours}"], known[theirs], rtol=0, atol=1e-7)


def test_constant_efforts_accelerate_evenly() -> None:
    found = joints("Pull")
    assert found["hinge.phi"][-1] == pytest.approx(3 / (0.25 + 2 * 0.5**2) * 0.4**2 / 2, abs=1e-9)
    assert found["guide.s"][-1] == pytest.approx(-6 / 4 * 0.4**2 / 2, abs=1e-9)


def test_inertias_between_an_axis_and_what_acts_on_it_turn_and_slide_with_the_joint() -> None:
    """(I + m r**2 + J) phi'' = -m g r cos(phi) - c phi - d phi', and (m + load) s'' = f."""
    found = joints("Rotors")
    known = solve_ivp(
        lambda _, y: [y[1], (-2 * 9.81 * 0.5 * np.cos(y[0]) - 5 * y[0] - 0.3 * y[1]) / (0.1 + 2 * 0.25 + 0.4)],
        (0, 0.4),
        (0.2, 1.5),
        rtol=1e-11,
        atol=1e-12,
    )
    assert found["hinge.phi"][-1] == pytest.approx(known.y[0, -1], abs=1e-7)
    assert found["guide.s"][-1] == pytest.approx(0.1 + 3 / (4 + 2) * 0.4**2 / 2, abs=1e-9)


def test_a_point_mass_on_a_spring_flies_on_an_ellipse() -> None:
    found = joints("Orbit")
    np.testing.assert_allclose(found["mass.r_0[1]"], np.cos(5 * found["time"]), rtol=0, atol=1e-7)
    np.testing.assert_allclose(found["mass.r_0[2]"], 3 / 5 * np.sin(5 * found["time"]), rtol=0, atol=1e-7)


def test_a_free_body_starts_and_flies_as_its_joint_says() -> None:
    found = mbfmu.simulate(read("flying"), 1.0)
    place = [found[f"body.r_0[{k}]"][-1] for k in (1, 2, 3)]
    np.testing.assert_allclose(place, [0.1 + 1, 0.2 + 2 - 9.81 / 2, 0.3 + 3], atol=1e-12)
    turn = [found[f"body.Q[{k}]"][-1] for k in (1, 2, 3, 4)]  # from 0.3 rad by 0.5 rad about x
    np.testing.assert_allclose(turn, [np.cos(0.4), np.sin(0.4), 0, 0], atol=1e-12)


def test_parameters_of_the_user_stay_parameters() -> None:
    found = mbfmu.load(FOLDER / "arms.mo", {"a": 0.5, "M": 3.0})
    changed = DOUBLE.with_values(
        {"one_link.r[1]": 0.5, "one_link.r_CM[1]": 0.25, "two_link.r[1]": 1.0, "two_link.r_CM[1]": 0.5, "two_link.m": 3}
    )
    ours, theirs = (mbfmu.simulate(item, 0.2, step=0.01) for item in (found, changed))
    np.testing.assert_allclose(ours["two.joint.phi"], theirs["two_joint.phi"], rtol=0, atol=1e-12)
    wider = mbfmu.load(FOLDER / "spring.mo", {"w": 0.3})
    by_hand = SPRING.with_values({f"box.{key}": value for key, value in box(0.3).items() if key != "r_CM"})
    ours, theirs = (mbfmu.simulate(item, 0.1, step=0.01) for item in (wider, by_hand))
    np.testing.assert_allclose(ours["guide.s"], theirs["guide.s"], rtol=0, atol=1e-12)


def test_one_of_several_models_is_chosen_by_name(tmp_path: Path) -> None:
    path = tmp_path / "two.mo"
    path.write_text(
        (FOLDER / "pendulum.mo").read_text(encoding="utf-8") + (FOLDER / "fourbar.mo").read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    assert mbfmu.load(f"{path}:Pendulum").name == "Pendulum"
    assert mbfmu.load(path).name == "FourBar"
    with pytest.raises(MbfmuError, match=r"two\.mo', line 1: there is no model 'Pendulums'; did you mean 'Pendulum'"):
        mbfmu.load(f"{path}:Pendulums")


SHARED = """
model Stick
  parameter Real L = 1;
  parameter Real m = 2*L;
  Modelica.Mechanics.MultiBody.Parts.Body body(m=m, r_CM={L,0,0});
end Stick;
model Outer
  extends Whole;
end Outer;
partial model Whole
  parameter Real L = 3;
  inner Modelica.Mechanics.MultiBody.World world;
  Modelica.Mechanics.MultiBody.Joints.Revolute hinge[2];
  Stick stick[2](each L=L/2, body(m={L, 2*stick[1].m}));
equation
  connect(world.frame_b, hinge[1].frame_a);
  connect(hinge[1].frame_b, stick[1].body.frame_a);
  connect(stick[1].body.frame_a, hinge[2].frame_a);
  connect(hinge[2].frame_b, stick[2].body.frame_a);
end Whole;
"""


def test_names_of_inner_and_outer_parameters_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "shared.mo"
    path.write_text(SHARED, encoding="utf-8")
    with pytest.warns(UserWarning, match=r"'stick_1\.m' is a number where it is used in 'stick_2'"):
        system = mbfmu.load(f"{path}:Outer")
    outputs = mbfmu.simulate(system, 0.01, step=0.01)
    assert {"hinge_1.phi", "hinge_2.phi"} <= set(outputs.names)
    values = {item.name: item for item in system.components}
    assert values["stick_1"].values == {"L": "(L)/2.0", "L_": "L"}
    assert values["stick_2"].system.components[0].m == "2.0*(3.0)"


FREE = """model Free
  inner Modelica.Mechanics.MultiBody.World world(g=9.81);
  Modelica.Mechanics.MultiBody.Parts.Body body(
    m=1, r_CM={0,0,0}, r_0(start={1,2,3}, each fixed=true), v_0(start={0,4,0}, each fixed=true), angles_fixed=true,
    angles_start={0,0,0.4}, w_0_fixed=true, w_0_start={1,0,0});
end Free;
"""


def test_start_angles_that_are_not_fixed_are_left_out_where_a_joint_holds_the_body(tmp_path: Path) -> None:
    path = tmp_path / "held.mo"
    path.write_text(TEXT.replace("r={L,0,0}", "r={L,0,0}, angles_start={0,0,1}"), encoding="utf-8")
    with pytest.warns(UserWarning, match=r"'rod\.angles_start' is left out: it is not fixed, and a joint decides"):
        held = mbfmu.load(path)
    path.write_text(TEXT, encoding="utf-8")
    assert held == mbfmu.load(path)


def test_a_body_that_hangs_on_nothing_falls(tmp_path: Path) -> None:
    path = tmp_path / "free.mo"
    path.write_text(FREE, encoding="utf-8")
    (_, body, *_) = mbfmu.load(path).components
    assert pytest.approx((np.cos(0.2), 0, 0, np.sin(0.2)), abs=1e-15) == body.Q  # a turn of 0.4 about z
    assert body.w_a == pytest.approx((np.cos(0.4), -np.sin(0.4), 0), abs=1e-15)
    found = mbfmu.simulate(path, 0.5, step=0.01)
    assert found["body_free.r_rel[2]"][-1] == pytest.approx(2 + 4 * 0.5 - 9.81 * 0.5**2 / 2, abs=1e-9)
    assert found["body_free.r_rel[3]"][-1] == pytest.approx(3, abs=1e-12)


ROTORS = "model Rotors" + (FOLDER / "joints.mo").read_text(encoding="utf-8").partition("model Rotors")[2]
TEXT = (FOLDER / "pendulum.mo").read_text(encoding="utf-8")
FLANGED = TEXT.replace("w(start=0, fixed=true)", "w(start=0, fixed=true), useAxisFlange=true").replace(
    "equation", "  Modelica.Mechanics.Rotational.Components.Fixed held;\nequation"
)
MISTAKES = {
    "fixed axis": (
        FLANGED.replace("equation\n", "equation\n  connect(hinge.axis, held.flange);\n"),
        r"line 5: 'hinge\.axis' is connected to 'held\.flange', which holds it",
    ),
    "axis on its support": (
        FLANGED.replace("equation\n", "equation\n  connect(hinge.support, hinge.axis);\n"),
        r"line 5: 'hinge\.axis' is connected to 'hinge\.support', which holds it",
    ),
    "two axes": (
        FLANGED.replace(
            "held;\n", "held;\n  Modelica.Mechanics.MultiBody.Joints.Revolute other(useAxisFlange=true);\n"
        ).replace("equation\n", "equation\n  connect(hinge.axis, other.axis);\n"),
        r"line 5: 'hinge\.axis' and 'other\.axis' are connected, so that two joints move as one",
    ),
    "two starts": (
        ROTORS.replace("w(start=1.5", "phi(fixed=true), w(start=1.5"),
        r"line 6: 'rotor\.phi' and 'hinge\.phi' both have a start: leave one out",
    ),
    "length": (ROTORS.replace("load(m=2", "load(L=0.1, m=2"), r"line 11: 'load': a mass with a length is not read"),
    "mass without value": (TEXT.replace("m=m, ", ""), r"line 6: 'rod\.m' has no value, and the library has no default"),
    "stiffness without value": (
        FLANGED.replace("held;\n", "held;\n  Modelica.Mechanics.Rotational.Components.Spring bush;\n").replace(
            "equation\n", "equation\n  connect(hinge.axis, bush.flange_b);\n  connect(held.flange, bush.flange_a);\n"
        ),
        r"line 9: 'bush\.c' has no value, and the library has no default",
    ),
    "fixed angular acceleration": (
        TEXT.replace("r={L,0,0}", "r={L,0,0}, z_0_fixed=true"),
        r"line 6: the start of 'rod\.z_0' is fixed, but accelerations follow .* leave 'z_0_fixed=true' out",
    ),
    "fixed acceleration": (
        TEXT.replace("w(start=0, fixed=true)", "w(start=0, fixed=true), a(fixed=true)"),
        r"line 5: the start of 'hinge\.a' is fixed, but accelerations follow",
    ),
    "rate that is not fixed": (
        TEXT.replace("w(start=0, fixed=true)", "w(start=2)"),
        r"line 5: the start of 'hinge\.w' is not fixed, .*: write fixed=true, or leave it out",
    ),
    "angular velocity that is not fixed": (
        TEXT.replace("r={L,0,0}", "r={L,0,0}, w_0_start={0,0,1}"),
        r"line 6: 'rod\.w_0_start' is not fixed, .*: write w_0_fixed=true, or leave it out",
    ),
    "angles that are not fixed": (
        FREE.replace("angles_fixed=true", "angles_fixed=false"),
        r"line 3: 'body\.angles_start' are not fixed, .*: write angles_fixed=true, or leave them out",
    ),
    "syntax": (TEXT.replace("rod(\n", "rod rod(\n"), "line 6: unexpected"),
    "class": (TEXT.replace("Joints.Revolute", "Joints.Revolut"), "line 5: the class .*Revolut' is not read"),
    "modifier": (TEXT.replace("g=9.81", "gg=9.81"), "line 4: .*unknown modifier `gg`"),
    "equation": (
        TEXT.replace("equation", "  Real x;\n  Real y;\nequation\n  x + y = hinge.phi;\n  x - y = hinge.w;"),
        "line 10: equations of .* are not read",
    ),
    "world": (TEXT.replace("inner ", "inner outer_is_no_word_ "), "line 4"),
    "no value": (TEXT.replace("L = 1.2", "L = 0/0"), "line 2: .*division by zero"),
    "axis": (TEXT.replace("{0,0,1}", "{0,0,0}"), "line 5: hinge.n = .* has no direction"),
    "nested": (TEXT.replace("L = 1.2", "L = " + "(" * 5000 + "1" + ")" * 5000), "line 2: parentheses are nested"),
    "empty": ("", "line 1: there is no model in the file"),
    "zero bytes": ("model A\0 end A;", "line 1: not a text"),
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


def test_a_binary_file_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "wrong.mo"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(MbfmuError, match=r"line 1: not a text in UTF-8"):
        mbfmu.load(path)


def test_a_torque_of_time_acts_as_an_input_of_the_same_values(tmp_path: Path) -> None:
    connected = FLANGED.replace("equation\n", "equation\n  connect(motor.flange, hinge.axis);\n")
    torque = "held;\n  Modelica.Mechanics.Rotational.Sources.Torque motor"
    fixed = connected.replace("held;\n", f"{torque}(tau=L*sin(3*time));\n")
    driven = connected.replace("held;\n", f"{torque};\n  Modelica.Blocks.Interfaces.RealInput tau;\n")
    driven = driven.replace("equation\n", "equation\n  connect(tau, motor.tau);\n")
    (tmp_path / "fixed.mo").write_text(fixed, encoding="utf-8")
    (tmp_path / "driven.mo").write_text(driven, encoding="utf-8")
    first = mbfmu.simulate(tmp_path / "fixed.mo", 0.5, step=1e-4)
    second = mbfmu.simulate(tmp_path / "driven.mo", 0.5, step=1e-4, inputs={"tau": "1.2*sin(3*time)"})
    assert first["hinge.phi"][-1] == pytest.approx(second["hinge.phi"][-1], abs=1e-6)
    assert abs(first["hinge.phi"][-1] - mbfmu.simulate(tmp_path / "driven.mo", 0.5)["hinge.phi"][-1]) > 1e-3


def test_parameters_that_something_else_decides_are_told_and_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "told.mo"
    given = TEXT.replace("r={L,0,0}", "r={L,0,0}, z_0_start={1,2,3}")
    path.write_text(given, encoding="utf-8")
    with pytest.warns(UserWarning, match=r"'rod\.z_0_start' is left out"):
        assert mbfmu.load(path) == read("pendulum")


def test_a_file_is_read_at_its_place_in_a_library_of_the_users(tmp_path: Path) -> None:
    path = tmp_path / "within.mo"
    path.write_text(f"within My . Library;\n{TEXT}", encoding="utf-8")
    for name in ("", ":Pendulum", ":My.Library.Pendulum"):
        assert mbfmu.load(f"{path}{name}") == read("pendulum")
    path.write_text(f"within My.Library;\n{TEXT.replace('Joints.Revolute', 'Joints.Revolut')}", encoding="utf-8")
    with pytest.raises(MbfmuError, match=r"line 6: the class .*Revolut' is not read"):
        mbfmu.load(path)


def test_without_the_compiler_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rumoca", None)
    with pytest.raises(UsageError, match=r"pip install .*\[modelica\]"):
        mbfmu.load(FOLDER / "pendulum.mo")
