"""Inverse dynamics: a run gives back its inputs, robots give what Pinocchio's rnea gives."""

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_robots import ROBOTS, loaded, plain, unit

import mbfmu
from mbfmu.analysis.motion.inverse import Motion, efforts_of
from mbfmu.dae import derive
from mbfmu.dae.energy import with_balance
from mbfmu.dae.inverse import inverse_of
from mbfmu.errors import ModelFileError, UnknownNameError, UsageError
from mbfmu.model import AffineDrive, Body, BodyShape, FreeMotion, Joint, Revolute, System, World, connect
from mbfmu.model.library import known_models

H = 0.01
OWN = known_models()["robot"]
SAMPLE = {"panda", "ur5_robot", "talos_reduced", "double_pendulum", "kinova"}
"""Robots that the default suite takes, besides the one in models/."""
BASES = [(OWN, ""), *((path, "floating" if n % 4 == 1 else "") for n, path in enumerate(ROBOTS))]


LINK = """<link name="{name}"><inertial><origin xyz="0.1 -0.2 {z}" rpy="0.3 0.2 -0.4"/><mass value="{m}"/>
<inertia ixx="0.3" iyy="0.25" izz="0.2" ixy="0.01" ixz="-0.02" iyz="0.03"/></inertial></link>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{near}"/><child link="{far}"/><axis xyz="{axis}"/>
<origin xyz="0.2 0.1 -0.3" rpy="0.5 -0.3 0.2"/><limit effort="9" velocity="9" lower="-9" upper="9"/></joint>"""
WALKER = "".join((
    '<robot name="walker">',
    *(LINK.format(name=name, z=z, m=m) for name, z, m in (("trunk", 0.0, 5), ("left", -0.3, 2), ("right", -0.2, 3))),
    LINK.format(name="foot", z=-0.1, m=1),
    JOINT.format(name="hip", kind="revolute", near="trunk", far="left", axis="0 1 0"),
    JOINT.format(name="arm", kind="continuous", near="trunk", far="right", axis="0.6 0 0.8"),
    JOINT.format(name="leg", kind="prismatic", near="left", far="foot", axis="0 0 1"),
    "</robot>",
))  # fmt: skip
"""A robot with a trunk, two limbs and a foot that slides."""


# -- robots ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "base"),
    [
        pytest.param(
            path, base, id=path.stem, marks=() if path == OWN or path.stem in SAMPLE else pytest.mark.represented
        )
        for path, base in BASES
    ],
)
def test_the_efforts_of_a_robots_motion_are_those_of_pinocchios_rnea(path: Path, base: str, tmp_path: Path) -> None:
    """All joints of the robot are driven, and so is a floating base: by the force and torque on it."""
    assert difference(path, base, tmp_path) < 1e-12  # measured: up to 2.2e-15, for icub_reduced


def test_the_efforts_of_a_floating_robot_are_those_of_pinocchios_rnea(tmp_path: Path) -> None:
    """Measured: 1.2e-15 of the largest effort."""
    (tmp_path / "walker.urdf").write_text(WALKER, encoding="utf-8")
    assert difference(tmp_path / "walker.urdf", "floating", tmp_path) < 1e-12


def difference(path: Path, base: str, folder: Path) -> float:
    """Return the largest difference from Pinocchio's efforts, relative to the largest; 0 if neither reads the robot.

    A robot that is refused for what Pinocchio leaves out is read without that, from the folder.
    """
    import pinocchio as pin

    try:
        fixed = pin.buildModelFromUrdf(str(path))
    except ValueError:
        with pytest.raises(ModelFileError):
            loaded(path, base)
        return 0.0
    base = base or ("" if fixed.nv else "floating")
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if base else fixed
    system = loaded(plain(path, folder), base)
    driven = (replace(item, actuated=True) if isinstance(item, Joint) else item for item in system.components)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inertias that no body has
        dae = derive(replace(system, components=tuple(driven)), "joint")
    known = {name.partition(".")[0]: name for name in dae.coordinates}
    names = {name: "".join(c if c.isascii() and c.isalnum() else "_" for c in name) for name in model.names}
    still = [model.getJointId(name) for name in list(model.names)[1:] if names[name] not in known]
    if still:
        model = pin.buildReducedModel(model, still, pin.neutral(model))
    rng = np.random.default_rng(len(path.stem))
    q, v, a = pin.neutral(model), rng.uniform(-1.5, 1.5, model.nv), rng.uniform(-5, 5, model.nv)
    rate_of = {item.derivative_of: item.name for item in dae.outputs if item.derivative_of}
    motion = Motion(np.zeros(1), {}, {}, {})
    axes: dict[str, int] = {}
    R = np.eye(3)
    for name, joint in list(zip(model.names, model.joints, strict=True))[1:]:
        if joint.nv == 6:
            q[: joint.nq] = [*rng.normal(size=3), *(Q := unit(rng.normal(size=4)))]
            R = pin.Quaternion(Q).toRotationMatrix()
            groups = (
                (motion.places, "r_rel", q[:3]), (motion.places, "Q_rel", np.roll(Q, 1)),
                (motion.speeds, "v_rel", R @ v[:3]), (motion.speeds, "w_rel", R @ v[3:6]),
                (motion.gains, "a_rel", R @ (a[:3] + np.cross(v[3:6], v[:3]))), (motion.gains, "z_rel", R @ a[3:6]),
            )  # fmt: skip
            for group, label, values in groups:
                group.update({f"root_joint.{label}[{k}]": np.array([x]) for k, x in enumerate(values, 1)})
            continue
        value = rng.uniform(-1.5, 1.5)
        q[joint.idx_q : joint.idx_q + joint.nq] = [math.cos(value), math.sin(value)] if joint.nq == 2 else [value]
        coordinate = known[names[name]]
        motion.places[coordinate] = np.array([value])
        motion.speeds[rate_of[coordinate]] = v[joint.idx_v : joint.idx_v + 1]
        motion.gains[rate_of[rate_of[coordinate]]] = a[joint.idx_v : joint.idx_v + 1]
        effort = coordinate.replace(".phi", ".tau") if coordinate.endswith(".phi") else f"{coordinate[:-1]}f"
        axes[effort] = joint.idx_v
    theirs = pin.rnea(model, model.createData(), q, v, a)
    found = efforts_of(dae, motion)
    expected = {effort: theirs[place] for effort, place in axes.items()}
    if base:
        for label, at in (("f_rel", 0), ("t_rel", 3)):
            wrench = R @ theirs[at : at + 3]
            expected |= {f"root_joint.{label}[{k + 1}]": wrench[k] for k in range(3)}
    assert len(expected) == model.nv
    size = max(map(abs, expected.values()))
    return float(max(abs(found[name][0] - value) / size for name, value in expected.items()))


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "inputs", "step"),
    [
        ("two_link", {"shoulder.tau": "3*sin(5*time)", "elbow.tau": "2*time"}, 1e-3),
        ("crane", {"lift.f": "27000+3000*sin(5*time)", "tilt.f": "-16000*time"}, 1e-3),
    ],
)
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_the_motion_of_a_run_gives_back_its_inputs_and_all_that_follows(
    name: str, inputs: dict[str, str], step: float, coordinates: str, tmp_path: Path
) -> None:
    run = mbfmu.simulate(name, 0.1, step=step, output_interval=H, inputs=inputs)
    table = run.write(tmp_path / "run.csv")
    found = mbfmu.inverse(name, table, coordinates=coordinates)
    assert found.notices == ()
    for label in inputs:
        size = np.abs(run[label]).max()
        assert np.abs(found[label] - run[label]).max() < 1e-10 * size  # measured: up to 8e-13
    for label in set(run.names) & set(found.names) - {"constraint.position", "constraint.velocity"}:
        size = max(1.0, float(np.abs(run[label]).max()))
        assert np.abs(found[label] - run[label]).max() < 1e-8 * size


def test_a_lagrangian_system_has_its_inverse_too(tmp_path: Path) -> None:
    values = {"x": 0.6, "y": -0.8}
    run = mbfmu.simulate("pendulum", 0.2, output_interval=H, inputs={"f_x": "2*time"}, values=values)
    found = mbfmu.inverse("pendulum", run.write(tmp_path / "run.csv"), values=values)
    np.testing.assert_allclose(found["f_x"], 2 * run.time, rtol=0, atol=1e-12)  # measured: 7e-15
    held = mbfmu.inverse("pendulum", {"x": "0.6"}, H, values=values)
    np.testing.assert_allclose(held["f_x"], 9.81 * 0.6 / 0.8, rtol=1e-12)


def test_expressions_are_differentiated_exactly(two_link: System) -> None:
    """Torques of two uniform rods by Lagrange's equations, as in textbooks."""
    found = mbfmu.inverse(two_link, {"shoulder.phi": "0.3 + sin(2*time)", "elbow.phi": "-time**2"}, 1.0)
    t = found.time
    a, w, x = 0.3 + np.sin(2 * t), 2 * np.cos(2 * t), -4 * np.sin(2 * t)
    b, n, y = -(t**2), -2 * t, -2.0
    l1, l2, g = 1.0, 2.0, 9.8
    c, s, far = np.cos(b), np.sin(b), l2 / 2 * g * np.cos(a + b)
    M11, M12, M22 = l1**2 / 3 + l1**2 + l2**2 / 3 + l1 * l2 * c, l2**2 / 3 + l1 * l2 / 2 * c, l2**2 / 3
    h = l1 * l2 / 2 * s
    elbow = M12 * x + M22 * y + h * w**2 + far
    shoulder = M11 * x + M12 * y - h * (2 * w * n + n**2) + 1.5 * l1 * g * np.cos(a) + far
    np.testing.assert_allclose(found["elbow.tau"], elbow, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["shoulder.tau"], shoulder, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["shoulder.w"], w, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_the_torque_on_a_slider_crank_works_what_its_energy_gains(coordinates: str) -> None:
    """The power of the only drive is the rate of the energy, which is an output: by differences of order 4."""
    found = mbfmu.inverse(
        "slider_crank", {"crank.phi": "0.8 + 0.5*sin(3*time)"}, 0.4, output_interval=1e-3, coordinates=coordinates
    )
    E = found["energy.total"]
    rate = (E[:-4] - 8 * E[1:-3] + 8 * E[3:-1] - E[4:]) / 12e-3
    power = (found["crank.tau"] * found["crank.w"])[2:-2]
    assert np.abs(power).max() > 10
    np.testing.assert_allclose(power, rate, rtol=0, atol=1e-8)  # measured: 1.9e-9


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_an_axis_in_space_turns_on_beyond_a_full_turn(coordinates: str) -> None:
    """A rod about y, whose weight pulls +x down; in absolute coordinates its angle is known up to full turns."""
    system = System(
        name="rod",
        components=(
            World(g=9.81, n=(0, 0, -1)),
            Revolute("hinge", n=(0, 1, 0), phi=0.0, w=0.0, actuated=True),
            BodyShape("bar", m=2.0, r=(1, 0, 0), r_CM=(0.5, 0, 0), I_11=0.01, I_22=0.2, I_33=0.2),
        ),
        connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "bar.frame_a")),
    )
    found = mbfmu.inverse(system, {"hinge.phi": "8*time**2"}, 1.0, output_interval=0.05, coordinates=coordinates)
    phi = 8 * found.time**2
    np.testing.assert_allclose(found["hinge.phi"], phi, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["hinge.tau"], 16 * (0.2 + 0.5) - 9.81 * np.cos(phi), rtol=0, atol=1e-11)


def test_a_free_body_moves_by_quaternions_over_time_too() -> None:
    """It spins about z, its principal axis, ever faster, and its centre of mass is on that axis."""
    system = System(
        name="thrown",
        components=(
            World(g=9.81, n=(0, 0, -1)),
            FreeMotion("flight", Q_rel=(1, 0, 0, 0), actuated=True),
            Body("stone", m=2.0, I_11=0.3, I_22=0.3, I_33=0.4),
        ),
        connections=(connect("world.frame_b", "flight.frame_a"), connect("flight.frame_b", "stone.frame_a")),
    )
    place = {"flight.r_rel[1]": "time**2", "flight.r_rel[2]": "0", "flight.r_rel[3]": "sin(time)"}
    turn = {"flight.Q_rel[1]": "cos(time**2)", "flight.Q_rel[2]": "0", "flight.Q_rel[3]": "0"}
    found = mbfmu.inverse(system, {**place, **turn, "flight.Q_rel[4]": "sin(time**2)"}, 1.0, output_interval=0.1)
    names = [f"flight.{label}[{k}]" for label in ("f_rel", "t_rel") for k in (1, 2, 3)]
    t, none = found.time, np.zeros(len(found.time))
    expected = [4 + none, none, 2 * (9.81 - np.sin(t)), none, none, 0.4 * 4 + none]
    for name, values in zip(names, expected, strict=True):
        np.testing.assert_allclose(found[name], values, rtol=0, atol=1e-12)


def test_a_table_of_coordinates_alone_is_differentiated_by_the_spline_through_its_points(
    two_link: System, tmp_path: Path
) -> None:
    """A polynomial of degree 5 is its own spline of degree 5."""
    exact = mbfmu.inverse(
        two_link, {"shoulder.phi": "time**5 - time", "elbow.phi": "time**3"}, 1.0, output_interval=0.05
    )
    t = exact.time
    rows = "".join(f"{x!r},{x**5 - x!r},{x**3!r}\n" for x in t.tolist())
    (tmp_path / "points.csv").write_text(f"time,shoulder.phi,elbow.phi\n{rows}", encoding="utf-8")
    found = mbfmu.inverse(two_link, tmp_path / "points.csv")
    for name in ("shoulder.tau", "elbow.tau"):
        np.testing.assert_allclose(found[name], exact[name], rtol=0, atol=1e-10)  # measured: 3e-12
    assert "interpolating spline of degree 5" in found.notices[0]


def test_accelerations_of_a_table_are_taken_where_its_rates_are_missing(two_link: System, tmp_path: Path) -> None:
    """The spline's own accelerations are 1e-6 off, which is not to be a contradiction."""
    t = np.linspace(0, 1, 21)
    table = np.column_stack([t, np.sin(t), -np.sin(t), np.cos(t), -np.cos(t)])
    head = "time,shoulder.phi,shoulder.a,elbow.phi,elbow.a"
    np.savetxt(tmp_path / "points.csv", table, delimiter=",", header=head, comments="", fmt="%.17g")
    found = mbfmu.inverse(two_link, tmp_path / "points.csv")
    np.testing.assert_allclose(found["shoulder.a"], -np.sin(t), rtol=0, atol=1e-14)
    np.testing.assert_allclose(found["elbow.a"], -np.cos(t), rtol=0, atol=1e-14)
    assert found.notices


def test_the_reactions_of_a_rod_that_turns_steadily_are_weight_and_centripetal_force(two_link: System) -> None:
    w = 3.0
    found = mbfmu.inverse(two_link, {"shoulder.phi": f"{w}*time", "elbow.phi": "0"}, 1.0, output_interval=0.1)
    pull = 1.0 * w**2 * 0.5 + 1.0 * w**2 * 2.0
    phi = w * found.time
    along = found["shoulder.frame_b.f[1]"]
    np.testing.assert_allclose(along, pull - 2 * 9.8 * np.sin(phi), rtol=1e-12)


def test_forces_that_do_not_depend_on_states_have_an_inverse_beside_them(two_link: System) -> None:
    """The energy by the balance of power is a first-order state that nothing depends on."""
    motion = Motion(
        np.zeros(1), {"shoulder.phi": np.zeros(1), "elbow.phi": np.zeros(1)},
        {"shoulder.w": np.zeros(1), "elbow.w": np.zeros(1)}, {"shoulder.a": np.zeros(1), "elbow.a": np.zeros(1)},
    )  # fmt: skip
    found = efforts_of(with_balance(derive(two_link)), motion)
    assert found["shoulder.tau"][0] == pytest.approx(9.8 * 2.5, rel=1e-12)


# -- FMUs --------------------------------------------------------------------------------------------------------------

WAVES = {
    "shoulder.phi": "0.3+sin(2*time)", "shoulder.w": "2*cos(2*time)", "shoulder.a": "-4*sin(2*time)",
    "elbow.phi": "-time**2", "elbow.w": "-2*time", "elbow.a": "-2",
}  # fmt: skip


@pytest.mark.parametrize("backend", ["python", "native"])
def test_an_fmu_of_the_inverse_takes_motions_and_gives_efforts_and_reactions(
    two_link: System, backend: str, tmp_path: Path
) -> None:
    """Its outputs follow its inputs at once, at every communication point. Measured: equal to 2e-15."""
    path = mbfmu.export(two_link, tmp_path / "inverse.fmu", kind="inverse", backend=backend)
    places = {name: text for name, text in WAVES.items() if name.endswith(".phi")}
    expected = mbfmu.inverse(two_link, places, 0.1, output_interval=H)
    found = mbfmu.simulate(path, 0.1, output_interval=H, inputs=WAVES)
    assert {"shoulder.tau", "elbow.tau", "elbow.frame_b.f[1]", "link2.frame_b.r_0[2]"} <= set(found.names)
    assert set(found.roles.inputs) == set(WAVES)
    for name in found.names:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, atol=1e-12)
    assert mbfmu.check(path) == []


def test_the_inputs_of_an_inverse_fmu_start_at_the_models_start(two_link: System) -> None:
    dae = inverse_of(derive(two_link.with_values({"shoulder.phi": 0.4})))
    assert (dae.n, dae.n_z, dae.m) == (0, 0, 0)
    starts = {item.name: item.start for item in dae.inputs}
    assert starts == {**dict.fromkeys(WAVES, 0.0), "shoulder.phi": 0.4}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("crane", r"has constraints \(lift, tilt\): inverse dynamics is exported for trees"),
        ("cart_pendulum", r"nothing drives hinge\.phi: make these joints actuated"),
        ("pid", "a block of equations"),
    ],
)
def test_what_has_no_inverse_fmu_is_refused_by_name(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        mbfmu.export(name, tmp_path / "x.fmu", kind="inverse")
    assert not list(tmp_path.iterdir())


def test_there_are_two_kinds_of_fmu() -> None:
    with pytest.raises(UsageError, match="no kind 'invers' of FMU; did you mean 'inverse'"):
        mbfmu.export("two_link", kind="invers")


# -- mistakes ----------------------------------------------------------------------------------------------------------


def test_motions_that_are_wrong_are_refused_by_name(two_link: System, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"no coordinate of a joint 'elbow\.fi'; did you mean 'elbow\.phi'"):
        mbfmu.inverse(two_link, {"elbow.fi": "time"}, 1.0)
    with pytest.raises(UsageError, match=r"expression of 'time', not of 'x'"):
        mbfmu.inverse(two_link, {"elbow.phi": "2*x"}, 1.0)
    with pytest.raises(UsageError, match=r"is not finite at all times"):
        mbfmu.inverse(two_link, {"elbow.phi": "sqrt(time)", "shoulder.phi": "0"}, 1.0)
    with pytest.raises(UsageError, match="needs a stop time"):
        mbfmu.inverse(two_link, {"elbow.phi": "time"})
    with pytest.raises(UsageError, match=r"leaves 1 freedom\(s\) open at t = 0 s"):
        mbfmu.inverse(two_link, {"elbow.phi": "time"}, 1.0)
    with pytest.raises(UsageError, match=r"nothing drives hinge\.phi as the motion asks for"):
        mbfmu.inverse("cart_pendulum", {"rail.s": "0", "hinge.phi": "time"}, 1.0)
    with pytest.raises(UsageError, match=r"the motion contradicts the constraints at t = 0 s by"):
        mbfmu.inverse("slider_crank", {"crank.phi": "0", "slider.s": "1"}, 1.0)
    with pytest.raises(UsageError, match="the rates of the motion contradict"):
        mbfmu.inverse("slider_crank", {"crank.phi": "0.1", "slider.s": "cos(0.1)+sqrt(4-sin(0.1)**2)+time"}, 1.0)
    with pytest.raises(UsageError, match="a block of equations"):
        mbfmu.inverse("pid", {"x": "0"}, 1.0)
    with pytest.raises(UnknownNameError, match=r"no input 'elbow\.tou'"):
        mbfmu.inverse(two_link, {"shoulder.phi": "0", "elbow.phi": "0"}, 1.0, efforts=["elbow.tou"])
    (tmp_path / "two.csv").write_text("time,elbow.phi,shoulder.phi\n0,0,0\n1,1,1\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has 2 rows: a spline of degree 5 needs 6"):
        mbfmu.inverse(two_link, tmp_path / "two.csv")
    with pytest.raises(UsageError, match="a table has its own times"):
        mbfmu.inverse(two_link, tmp_path / "two.csv", 1.0)
    (tmp_path / "none.csv").write_text("time,x\n0,0\n1,1\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has no column of a joint's coordinate"):
        mbfmu.inverse(two_link, tmp_path / "none.csv")


def test_more_drives_than_freedoms_are_named_and_one_can_be_chosen() -> None:
    crank = mbfmu.load("slider_crank")
    assert isinstance(crank, System)
    parts = (replace(item, actuated=True) if item.name == "slider" else item for item in crank.components)
    both = replace(crank, components=tuple(parts))
    with pytest.raises(UsageError, match=r"does not determine crank\.tau, slider\.f at t = 0 s: there are more drives"):
        mbfmu.inverse(both, {"crank.phi": "0.5"}, 0.1)
    found = mbfmu.inverse(both, {"crank.phi": "0.5"}, 0.1, efforts=["slider.f"])
    assert found["crank.tau"].max() == 0.0
    slope = -math.sin(0.5) - math.sin(0.5) * math.cos(0.5) / math.sqrt(4 - math.sin(0.5) ** 2)
    np.testing.assert_allclose(found["slider.f"], 9.81 * 1.5 * math.cos(0.5) / slope, rtol=1e-10)


# -- the command -------------------------------------------------------------------------------------------------------


def test_drives_with_limits_have_inputs_up_to_them() -> None:
    arm = System(
        name="arm",
        planar=True,
        components=(
            World(g=9.81),
            Revolute("joint", phi=0.0, w=0.0),
            BodyShape("rod", m=1.0, r=(1.0, 0), r_CM=(0.5, 0), I_33=0.1),
            AffineDrive("drive", joints=("joint",), ratios=(1.0,), gain=2.0, u_least=-4.0, u_greatest=4.0),
        ),
        connections=(connect("world.frame_b", "joint.frame_a"), connect("joint.frame_b", "rod.frame_a")),
    )
    found = mbfmu.inverse(arm, {"joint.phi": "0.5*time**2"}, 1.0, efforts=["drive.u"])
    torque = 0.35 * 1.0 + 0.5 * 9.81 * np.cos(found["joint.phi"])
    np.testing.assert_allclose(found["drive.u"], torque / 2.0, rtol=1e-12)
    with pytest.raises(UsageError, match=r"drive\.u = .*beyond their limits"):
        mbfmu.inverse(arm, {"joint.phi": "8*time**2"}, 1.0, efforts=["drive.u"])


def test_the_command_takes_expressions_or_a_table_and_writes_a_table(said: Callable[..., str]) -> None:
    given = ("--motion", "shoulder.phi=0.3", "--motion", "elbow.phi=-0.5", "--stop", "0.1")
    text = said("inverse", "two_link", *given, "-o", "efforts.csv")
    assert "shoulder.tau" in text
    assert "wrote efforts.csv" in text
    again = json.loads(said("inverse", "two_link", "--motion", "efforts.csv", "--json"))
    far = 9.8 * math.cos(-0.2)
    assert again["variables"]["elbow.tau"]["last"] == pytest.approx(far, rel=1e-12)
    assert again["variables"]["shoulder.tau"]["last"] == pytest.approx(9.8 * 1.5 * math.cos(0.3) + far, rel=1e-12)
    assert "one table, or expressions" in said("inverse", "two_link", "--motion", "efforts.csv", *given)
