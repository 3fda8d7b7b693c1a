"""Closed loops from robots' files: every way to write one is the same exact loop."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import mbfmu
from mbfmu.dae import Dae, derive
from mbfmu.errors import MbfmuError
from mbfmu.model import Bushing, Coincident, Fixed, Prismatic, Revolute, RotationalStop, SpringDamper, System

INERTIAL = (
    '<inertial><origin xyz="{r}"/><mass value="{m}"/>'
    '<inertia ixx="0.02" iyy="{i}" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LINKS = (("A", "0.15 0 0", 1, 0.01), ("B", "0.25 0 0", 2, 0.04), ("C", "0 0 0.2", 1.5, 0.02))
URDF = "<robot name='loop' xmlns:drake='d'><link name='base'/>{}{}</robot>".format(
    "".join(f"<link name='{name}'>{INERTIAL.format(r=r, m=m, i=i)}</link>" for name, r, m, i in LINKS),
    "".join(
        f"<joint name='{name}' type='continuous'><parent link='{parent}'/><child link='{child}'/>"
        f"<origin xyz='{xyz}'/><axis xyz='0 1 0'/></joint>"
        for name, parent, child, xyz in (("a", "base", "A", "0 0 0"), ("b", "A", "B", "0.3 0 0"),
                                         ("c", "base", "C", "0.8 0 -0.4"))
    ),
)  # fmt: skip
SDF_INERTIAL = "<inertial><pose>{r} 0 0 0</pose><mass>{m}</mass><inertia><ixx>0.02</ixx><iyy>{i}</iyy><izz>0.04</izz></inertia></inertial>"  # noqa: E501
PLACES = {"A": "0 0 0", "B": "0.3 0 0", "C": "0.8 0 -0.4"}
SDF = "<sdf version='1.9'><model name='loop'>{}{}</model></sdf>".format(
    "".join(
        f"<link name='{name}'><pose>{PLACES[name]} 0 0 0</pose>{SDF_INERTIAL.format(r=r, m=m, i=i)}</link>"
        for name, r, m, i in LINKS
    ),
    "".join(
        f"<joint name='{name}' type='revolute'><parent>{parent}</parent><child>{child}</child>"
        "<axis><xyz>0 1 0</xyz></axis></joint>"
        for name, parent, child in (("a", "world", "A"), ("b", "A", "B"), ("c", "world", "C"))
    ),
)
AXIS = "<axis xyz='0 1 0'/>"
LOOPS = {
    "loop_joint": f"<loop_joint name='d' type='continuous'><link1 link='B' xyz='0.5 0 0'/>"
                  f"<link2 link='C' xyz='0 0 0.4'/>{AXIS}</loop_joint>",
    "spherical": "<loop_joint name='d' type='spherical'><link1 link='B' xyz='0.5 0 0' rpy='0.3 1 2'/>"
                 "<link2 link='C' xyz='0 0 0.4'/></loop_joint>",
    "loop": "<loop name='d' type='continuous'><predecessor link='B'><origin xyz='0.5 0 0'/></predecessor>"
            f"<successor link='C'><origin xyz='0 0 0.4'/></successor>{AXIS}</loop>",
    "gazebo": "<gazebo><joint name='d' type='revolute'><parent>B</parent><child>C</child>"
              "<pose>0 0 0.4 0 0 0</pose><axis><xyz>0 1 0</xyz></axis></joint></gazebo>",
    "ball_constraint": "<drake:ball_constraint><drake:ball_constraint_body_A name='B'/>"
                       "<drake:ball_constraint_body_B name='C'/><drake:ball_constraint_p_AP value='0.5 0 0'/>"
                       "<drake:ball_constraint_p_BQ value='0 0 0.4'/></drake:ball_constraint>",
}  # fmt: skip
SECOND = (
    "<joint name='d' type='revolute'><parent>B</parent><child>C</child><pose>0 0 0.4 0 0 0</pose>"
    "<axis><xyz>0 1 0</xyz></axis></joint>"
)
LEVER = 9.81 * (0.15 * 1 + 0.15 * 2) / (0.01 + 1 * 0.15**2 + 0.04 * 0.6**2 + 2 * 0.15**2)
"""Acceleration of a at the start: B turns back at 0.6 of its rate, and C rests, as its lever stands upright."""


def load(folder: Path, text: str, name: str) -> System:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = mbfmu.load(path)
    assert isinstance(system, System)
    return system


def closed(text: str, loop: str, end: str = "</robot>") -> str:
    return text.replace(end, loop + end)


def start_acceleration(dae: Dae) -> dict[str, float]:
    """Return accelerations of the coordinates from rest where all are zero, by an own KKT system."""
    q, v, p = np.zeros(dae.n), np.zeros(dae.n), dae.p_default()
    M, Phi_q = np.array(dae.equations.M(q, p)), np.array(dae.constraints.Phi_q(q, p, 0.0)).reshape(dae.m, dae.n)
    force = np.array(dae.equations.force(q, v, [], np.zeros(len(dae.inputs)), p, 0.0)).ravel()
    matrix = np.block([[M, Phi_q.T], [Phi_q, np.zeros((dae.m, dae.m))]])
    a = np.linalg.lstsq(matrix, np.concatenate([force, np.zeros(dae.m)]), rcond=1e-13)[0]
    return dict(zip(dae.coordinates, a[: dae.n], strict=True))


@pytest.mark.parametrize("way", LOOPS)
def test_a_four_bar_in_a_urdf_is_closed_however_it_is_written(way: str, tmp_path: Path) -> None:
    dae = derive(load(tmp_path, closed(URDF, LOOPS[way]), "loop.urdf"), "joint")
    assert dae.n - dae.m == 1
    assert start_acceleration(dae)["a.phi"] == pytest.approx(LEVER, rel=1e-12)


def test_a_second_parent_in_an_sdf_closes_a_loop(tmp_path: Path) -> None:
    dae = derive(load(tmp_path, closed(SDF, SECOND, "</model>"), "loop.sdf"), "joint")
    assert dae.n - dae.m == 1
    assert start_acceleration(dae)["a.phi"] == pytest.approx(LEVER, rel=1e-12)


def test_a_circle_of_links_in_an_sdf_hangs_on_the_link_that_no_other_carries(tmp_path: Path) -> None:
    text = closed(SDF.replace("<parent>world</parent><child>A</child>", "<parent>C</parent><child>A</child>"),
                  SECOND, "</model>").replace("<parent>world</parent><child>C</child>", "<parent>B</parent><child>C</child>")  # fmt: skip  # noqa: E501
    system = load(tmp_path, text, "loop.sdf")
    assert {item.name for item in system.components if isinstance(item, Revolute)} == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("kind", "component"), [("fixed", Fixed), ("ball", Coincident), ("prismatic", Prismatic)], ids=str
)
def test_a_joint_that_closes_a_loop_keeps_its_kind(kind: str, component: type, tmp_path: Path) -> None:
    system = load(tmp_path, closed(URDF, LOOPS["loop_joint"].replace("continuous", kind)), "loop.urdf")
    assert [item.name for item in system.components if isinstance(item, component)] == ["d"]


def test_a_joint_of_gazebo_has_its_limits(tmp_path: Path) -> None:
    more = "<limit><lower>-1</lower><upper>2</upper><effort>3</effort></limit></axis>"
    system = load(tmp_path, closed(URDF, LOOPS["gazebo"].replace("</axis>", more)), "loop.urdf")
    assert [(item.lower, item.upper) for item in system.components if isinstance(item, RotationalStop)] == [(-1, 2)]


def test_springs_of_drake_stand_between_links(tmp_path: Path) -> None:
    bushing = "".join(f"<drake:bushing_{of}_{by} value='1 2 3'/>" for of in ("force", "torque")
                      for by in ("stiffness", "damping"))  # fmt: skip
    spring = "".join(
        f"<drake:linear_spring_damper_{key}/>"
        for key in ("body_A name='B'", "body_B name='C'", "p_AP value='0.5 0 0'", "p_BQ value='0 0 1'",
                    "free_length value='0.2'", "stiffness value='7'", "damping value='4'")
    )  # fmt: skip
    more = (
        f"<frame name='f' link='C' xyz='0 0 1'/><drake:linear_bushing_rpy><drake:bushing_frameA name='B'/>"
        f"<drake:bushing_frameC name='f'/>{bushing}</drake:linear_bushing_rpy>"
        f"<drake:linear_spring_damper>{spring}</drake:linear_spring_damper>"
    )
    system = load(tmp_path, closed(URDF, more), "spring.urdf")
    (soft,) = (item for item in system.components if isinstance(item, Bushing))
    (line,) = (item for item in system.components if isinstance(item, SpringDamper))
    assert (soft.c, soft.d, soft.c_phi_2, soft.d_phi_3) == ((1, 2, 3), (1, 2, 3), 2, 3)
    assert (line.c, line.s_unstretched, line.d) == (7, 0.2, 4)
    derive(system, "joint")


@pytest.mark.parametrize(
    ("name", "content", "refused"),
    [("loop_closures.yaml", "pin_loops:\n- a: B\n", True), ("loop_closures.yaml", "closures: []\n", False),
     ("robot_data.yaml", "closing_joints:\n  d: 1\n", True), ("robot_data.yaml", "masses: 1\n", False)],
)  # fmt: skip
def test_loops_that_stand_in_a_file_beside_a_urdf_are_not_left_open(
    name: str, content: str, refused: bool, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    if refused:
        with pytest.raises(MbfmuError, match=f"'{name}' beside it closes loops, which is not read from there"):
            load(tmp_path, URDF, "loop.urdf")
    else:
        load(tmp_path, URDF, "loop.urdf")


def test_hinges_that_an_exporter_of_cad_cut_close_loops_again(tmp_path: Path) -> None:
    """Points and axes are in the frame of base_link, or of the root, where all joints are at zero."""
    pytest.importorskip("yaml")
    beside = tmp_path / "loop_closures.yaml"
    entry = "closures:\n- {link_a: B, link_b: C, point: [0.8, 0, 0], axis: [0, 2, 0]}\nindependent: [a]\n"
    beside.write_text(entry, encoding="utf-8")
    dae = derive(load(tmp_path, URDF, "loop.urdf"), "joint")
    assert dae.n - dae.m == 1
    assert start_acceleration(dae)["a.phi"] == pytest.approx(LEVER, rel=1e-12)
    beside.write_text(entry.replace("axis", "way"), encoding="utf-8")
    with pytest.raises(MbfmuError, match="closures: entry 1 needs link_a, link_b, a point and an axis"):
        load(tmp_path, URDF, "loop.urdf")


TIPS = (
    '<link name="P"/><joint name="p" type="fixed"><parent link="B"/><child link="P"/><origin xyz="0.5 0 0"/></joint>'
    '<link name="Q"/><joint name="q" type="{}"><parent link="C"/><child link="Q"/><origin xyz="0 0 0.4"/>'
    '<axis xyz="0 1 0"/></joint>'
)


@pytest.mark.parametrize(
    ("joint", "content"),
    [("fixed", "closed_loop: [[P, Q]]\ntype: ['3d']\n"), ("continuous", "closed_loop: [[P, Q]]\ntype: ['6D']\n"),
     ("continuous", "closed_loop: [[p, q]]\ntype: ['6d']\n"),
     ("continuous", "closed_loop: [[P, Q]]\ntype: [3d]\njoint_name: [q]\njoint_type: [FIXED]\n")],
)  # fmt: skip
def test_pairs_of_frames_in_a_file_beside_a_urdf_close_its_loops(joint: str, content: str, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "robot.yaml").write_text(content, encoding="utf-8")
    dae = derive(load(tmp_path, closed(URDF, TIPS.format(joint)), "loop.urdf"), "joint")
    assert dae.n - dae.m == 1
    assert start_acceleration(dae)["a.phi"] == pytest.approx(LEVER, rel=1e-12)


def test_a_universal_joint_of_such_a_file_is_two_hinges(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    content = "closed_loop: [[P, Q]]\ntype: [6d]\njoint_name: [c]\njoint_type: [UJOINT_YZ]\n"
    (tmp_path / "robot.yaml").write_text(content, encoding="utf-8")
    system = load(tmp_path, closed(URDF, TIPS.format("fixed")), "loop.urdf")
    axes = {item.name: item.n for item in system.components if isinstance(item, Revolute)}
    assert (axes["c_Y"], axes["c_Z"]) == ((0, 1, 0), (0, 0, 1))
    assert "c" not in axes


@pytest.mark.parametrize(
    ("content", "message"),
    [("closed_loop: [[B, D]]\ntype: [6d]", "there is no link 'D'"), ("closed_loop: [[B, C]]", "lists of one length"),
     ("closed_loop: [[B, C]]\ntype: [2d]", "not a pair of links of type 3d or 6d"), ("closed_loop: [[B", "is not YAML"),
     ("closed_loop: [[B, C]]\ntype: [6d]\njoint_name: [a]\njoint_type: [UJOINT_XX]", "'UJOINT_XX' of 'a' is not read")],
)  # fmt: skip
def test_a_file_beside_a_urdf_that_closes_nothing_is_refused(content: str, message: str, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "robot.yaml").write_text(content, encoding="utf-8")
    with pytest.raises(MbfmuError, match=rf"robot.yaml', line 1: .*{message}"):
        load(tmp_path, URDF, "loop.urdf")


WRONG = {
    "no loop closes by the type 'planar'": ("loop_joint", "continuous", "planar"),
    "there is no link 'D'": ("loop_joint", "link='C'", "link='D'"),
    "the axis has no direction": ("loop_joint", "'0 1 0'", "'0 0 0'"),
    "there are two joints 'a'": ("loop_joint", "name='d'", "name='a'"),
    "joins links that are fixed": ("loop_joint", "link='C'", "link='B'"),
    "resolves the axis in the model": (
        "gazebo", "</axis>", "<use_parent_model_frame>1</use_parent_model_frame></axis>"
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_a_loop_that_closes_nothing_is_refused(message: str, tmp_path: Path) -> None:
    way, before, after = WRONG[message]
    with pytest.raises(MbfmuError, match=message):
        load(tmp_path, closed(URDF, LOOPS[way].replace(before, after)), "loop.urdf")
