"""Elements of Gazebo, Drake and Bullet in a URDF: starts, places, springs, followers, screws and propellers."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu.dae import derive
from mbfmu.model import (
    AffineThruster,
    Body,
    FixedRotation,
    FreeMotion,
    Gear,
    Prismatic,
    Revolute,
    RotationalDamper,
    RotationalSpring,
    Screw,
    Spherical,
    System,
)
from mbfmu.model.robot_options import RobotOptions

MASS = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
ARM = f"""<robot name="arm"><link name="base">{MASS}</link><link name="rod">{MASS}</link><link name="tip">{MASS}</link>
  <joint name="hinge" type="continuous"><origin xyz="0 0 1"/><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="wrist" type="continuous"><origin xyz="0 0 1"/><parent link="rod"/><child link="tip"/><axis xyz="0 1 0"/>
  </joint></robot>
"""
FLOATS = '<joint name="root_joint" type="floating"><parent link="world"/><child link="base"/></joint>'
FLOATING = ARM.replace('<link name="base', f'<link name="world"/>{FLOATS}<link name="base', 1)


def read(folder: Path, more: str, text: str = ARM, base: str = "") -> tuple[System, str]:
    """Return the system of the arm with more in it, and its notice."""
    path = folder / "arm.urdf"
    path.write_text(text.replace("</robot>", more + "</robot>"), encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        system = mbfmu.load(path, robot=RobotOptions(base))
    assert isinstance(system, System)
    return system, " ".join(str(item.message) for item in caught)


def named(system: System, name: str) -> Any:
    return next(item for item in system.components if item.name == name)


def test_a_place_in_gazebo_holds_a_fixed_robot_there(tmp_path: Path) -> None:
    system, _ = read(tmp_path, "<gazebo><pose>1 2 3 0 0 1.5</pose></gazebo>")
    holder = named(system, "root_joint_origin")
    assert isinstance(holder, FixedRotation)
    assert (holder.r, holder.n, holder.angle) == ((1.0, 2.0, 3.0), pytest.approx((0, 0, 1)), pytest.approx(1.5))
    result = mbfmu.simulate(system, 1e-6)
    assert [result[f"tip.r_0[{k}]"][0] for k in (1, 2, 3)] == pytest.approx([1, 2, 5], abs=1e-12)


@pytest.mark.parametrize("text", [ARM, FLOATING], ids=["asked", "stated"])
def test_a_place_in_gazebo_is_the_start_of_a_robot_that_floats(text: str, tmp_path: Path) -> None:
    system, _ = read(tmp_path, "<gazebo><pose>1 2 3 0 0 1.5</pose></gazebo>", text, "floating" if text == ARM else "")
    joint = named(system, "root_joint")
    assert isinstance(joint, FreeMotion)
    assert joint.r_rel == pytest.approx((1, 2, 3))
    assert joint.Q_rel == pytest.approx((math.cos(0.75), 0, 0, math.sin(0.75)))


def test_a_robot_that_is_static_has_no_joints_that_move(tmp_path: Path) -> None:
    system, notice = read(tmp_path, "<gazebo><static>1</static></gazebo>")
    assert not [item for item in system.components if isinstance(item, Revolute)]
    assert "<static> holds the whole robot: remove it to let it move" in notice


def test_springs_and_starts_in_gazebo_are_those_of_the_joint(tmp_path: Path) -> None:
    more = """<gazebo reference="hinge"><springStiffness>5</springStiffness><springReference>0.2</springReference>
      <initial_joint_position>-1.0</initial_joint_position></gazebo>"""
    system, notice = read(tmp_path, more)
    spring = named(system, "hinge_spring")
    assert isinstance(spring, RotationalSpring)
    assert (spring.c, spring.phi_rel0, named(system, "hinge").phi) == (5.0, 0.2, -1.0)
    assert "start values of Gazebo: 'hinge'" in notice


@pytest.mark.parametrize(
    "more",
    [
        '<gazebo><plugin name="p" filename="libroboticsgroup_gazebo_mimic_joint_plugin.so"><joint>hinge</joint>'
        "<mimicJoint>wrist</mimicJoint><multiplier>-2</multiplier><offset>0.5</offset></plugin></gazebo>",
        '<ros2_control><joint name="wrist"><param name="mimic">hinge</param><param name="multiplier">-2</param>'
        '<param name="offset">0.5</param></joint></ros2_control>',
    ],
)
def test_a_joint_that_a_program_makes_follow_another_follows_it_exactly(more: str, tmp_path: Path) -> None:
    system, notice = read(tmp_path, more)
    assert [item for item in system.components if isinstance(item, Gear)] == [
        Gear("wrist_mimic", joint_a="wrist", joint_b="hinge", ratio=-2.0, offset=0.5)
    ]
    assert "follow others exactly, as programs have it: 'wrist'" in notice


def test_an_inertial_without_inertia_is_a_point_mass(tmp_path: Path) -> None:
    """Pinocchio 4.1.0 and Drake 1.51.1 have it so: on an arm of 0.5 m, g/l sin(phi)."""
    text = """<robot name="point"><link name="base"/><link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
      </inertial></link><joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/>
      <axis xyz="0 1 0"/></joint></robot>"""
    system, notice = read(tmp_path, "", text)
    body = named(system, "rod")
    assert isinstance(body, Body)
    assert (body.m, body.I_11, body.I_22, body.I_33) == (2.0, 0.0, 0.0, 0.0)
    assert "point masses, as their <inertial> has no <inertia>: 'rod'" in notice
    dae = derive(system, "joint")
    (a,) = np.array(dae.acceleration([0.0], [0.0], [], [0.0], dae.p_default(), 0.0)[0]).ravel()
    assert a == pytest.approx(9.81 / 0.5, rel=1e-13)


def test_the_older_name_of_dynamics_is_read_as_dynamics(tmp_path: Path) -> None:
    system, notice = read(tmp_path, "", ARM.replace('<axis xyz="0 1 0"/>', '<joint_properties damping="0.7"/>', 1))
    damper = named(system, "hinge_damper")
    assert isinstance(damper, RotationalDamper)
    assert damper.d == 0.7
    assert "<joint_properties> is read as <dynamics>, its later name: 'hinge'" in notice


def test_a_spherical_joint_of_bullet_is_a_ball_joint(tmp_path: Path) -> None:
    system, _ = read(tmp_path, "", ARM.replace("continuous", "spherical", 1))
    assert isinstance(named(system, "hinge"), Spherical)


def test_the_axis_of_a_joint_that_floats_may_be_zero(tmp_path: Path) -> None:
    system, _ = read(tmp_path, "", ARM.replace("continuous", "floating", 1).replace("0 1 0", "0 0 0", 1))
    assert isinstance(named(system, "hinge"), FreeMotion)


def test_a_propeller_of_drake_pushes_and_turns_by_its_input(tmp_path: Path) -> None:
    """f = 3 u along n and a torque 0.5 u about it, at a point of the link; u is held within its limits."""
    more = """<force_element name="prop"><propellor lower_limit="0" upper_limit="4" scale_factor_thrust="3"
      scale_factor_moment="0.5"><parent link="base"/><origin xyz="0.2 0 0"/><axis xyz="0 0 2"/></propellor>
      </force_element>"""
    alone = f'<robot name="drone"><link name="base">{MASS}</link></robot>'
    system, _ = read(tmp_path, more, alone, "floating")
    thruster = named(system, "prop_thruster")
    assert isinstance(thruster, AffineThruster)
    assert (thruster.force, thruster.torque) == ((0.0, 0.0, 3.0), (0.0, 0.0, 0.5))
    result = mbfmu.simulate(system, 1e-3, inputs={"prop_thruster.u": "9"})
    assert result["root_joint.v_rel[3]"][-1] == pytest.approx((12.0 - 9.81) * 1e-3, rel=1e-3)
    assert result["root_joint.w_rel[3]"][-1] == pytest.approx(2.0 / 0.1 * 1e-3, rel=1e-3)
    assert result["root_joint.w_rel[2]"][-1] == pytest.approx(-0.2 * 12.0 / 0.1 * 1e-3, rel=1e-3)


def test_a_screw_in_gazebo_closes_a_loop_that_turns_a_slide_into_a_rotation(tmp_path: Path) -> None:
    """A slider lifts a nut on a spindle that only turns: z = -pitch phi / (2 pi), from the nut to the spindle.

    So m_s z'' + J / a^2 z'' = -m_s g with a = pitch / (2 pi).
    """
    text = f"""<robot name="lift"><link name="world"/>
      <link name="slider">{MASS}</link><link name="spindle">{MASS}</link>
      <joint name="slide" type="prismatic"><parent link="world"/><child link="slider"/><axis xyz="0 0 1"/>
        <limit effort="9" velocity="9"/></joint>
      <joint name="turn" type="continuous"><parent link="world"/><child link="spindle"/><axis xyz="0 0 1"/></joint>
      <gazebo><joint name="thread" type="screw"><parent>slider</parent><child>spindle</child>
        <axis><xyz>0 0 1</xyz></axis><thread_pitch>PITCH</thread_pitch></joint></gazebo></robot>"""
    pitch = 0.6
    system, _ = read(tmp_path, "", text.replace("PITCH", str(-2 * math.pi / pitch)))
    assert isinstance(named(system, "thread"), Screw)
    assert isinstance(named(system, "slide"), Prismatic)
    result = mbfmu.simulate(system, 0.1)
    a = pitch / (2 * math.pi)
    assert result["slide.a"][0] == pytest.approx(-9.81 / (1 + 0.1 / a**2), rel=1e-10)
    assert result["slide.s"][-1] == pytest.approx(-a * result["turn.phi"][-1], rel=1e-9)
    assert max(abs(result["constraint.position"])) < 1e-12
