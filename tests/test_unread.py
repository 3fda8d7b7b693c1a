"""What readers of robots' files do not read: told where it changes no motion, refused with line and remedy else."""

import math
import re
import warnings
from pathlib import Path

import pytest

import mbfmu
from mbfmu.errors import MbfmuError
from mbfmu.model import (
    AngularStop,
    Body,
    CartesianFriction,
    ConstantForce,
    EffortLimit,
    Gear,
    RotationalRotor,
    System,
    World,
)
from mbfmu.model.robot_options import RobotOptions

URDF = """<robot name="arm">
  <link name="base"/>
  <link name="rod"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="tip"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/></joint>
  <joint name="wrist" type="continuous"><parent link="rod"/><child link="tip"/><mimic joint="hinge"/></joint>
</robot>
"""
MJCF = """<mujoco model="arm">
  <default><joint damping="0.1"/></default>
  <worldbody>
    <body name="rod"><joint name="hinge" axis="0 1 0"/><inertial pos="0 0 -0.5" mass="2" diaginertia="1 1 1"/>
      <site name="end"/>
      <body name="tip"><joint name="wrist" axis="0 1 0"/><geom size="0.1"/></body>
    </body>
    <body name="hand" mocap="true" pos="1 0 0"/>
  </worldbody>
  <tendon><fixed name="both"><joint joint="hinge" coef="2"/><joint joint="wrist" coef="-1"/></fixed></tendon>
  <equality><joint joint1="wrist" joint2="hinge" active="false"/></equality>
  <actuator><motor name="push" joint="hinge"/></actuator>
  <keyframe><key name="up" qpos="0.3 0.6"/></keyframe>
</mujoco>
"""
MASS = "<mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"
SDF = f"""<sdf version="1.9"><world name="w"><model name="arm">
  <link name="rod"><inertial>{MASS}</inertial></link>
  <link name="tip"><inertial>{MASS}</inertial></link>
  <joint name="hinge" type="revolute"><parent>world</parent><child>rod</child><axis><xyz>0 1 0</xyz></axis></joint>
  <joint name="wrist" type="revolute"><parent>rod</parent><child>tip</child><axis><xyz>0 1 0</xyz></axis></joint>
</model></world></sdf>
"""


def load(folder: Path, text: str, name: str) -> tuple[System, str]:
    """Return the system of a file, and its notice."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        system = mbfmu.load(path)
    assert isinstance(system, System)
    return system, " ".join(str(item.message) for item in caught)


def placed(text: str, place: str, more: str) -> str:
    """Return a file with more at the end of the last element of a tag."""
    before, end, after = text.rpartition(f"</{place}>")
    assert end, place
    return f"{before}\n{more}{end}{after}"


def plugin(name: str, more: str = "") -> str:
    return f'<gazebo><plugin name="p" filename="{name}">{more}</plugin></gazebo>'


FOLLOW = "<joint>hinge</joint><mimicJoint>{}</mimicJoint><multiplier>{}</multiplier>"
HARMLESS = [
    ("robot", '<transmission name="t"><type>SimpleTransmission</type><hardwareInterface/></transmission>'),
    ("robot", '<gazebo reference="rod"><material>Gazebo/Red</material><mu1>0.2</mu1><selfCollide>true</selfCollide>'
              "<turnGravityOff>false</turnGravityOff><sensor/></gazebo>"),
    ("robot", '<gazebo reference="hinge"><implicitSpringDamper>1</implicitSpringDamper><stopKp>1e5</stopKp></gazebo>'),
    ("robot", plugin("libgazebo_ros_control.so", "<robotNamespace>/</robotNamespace>")),
    ("robot", plugin("libroboticsgroup_gazebo_mimic_joint_plugin.so", FOLLOW.format("wrist", "1.0"))),
    ("robot", '<ros2_control><joint name="wrist"><param name="mimic">hinge</param></joint></ros2_control>'),
    ("robot", '<mujoco><compiler meshdir="m" strippath="false"/></mujoco>'),
    ("robot", "<drake:collision_filter_group/>"),
    ("joint", '<safety_controller k_velocity="1"/><calibration rising="0"/>'),
    ("robot", '<properties arm="0.04" kf="3e-10" prop_radius="0.02"/>'),
    ("robot", '<inertial><mass value="1"/></inertial>'),
    ("joint", '<dynamics spring_reference="0" spring_stiffness="0.0"/>'),
    ("link", '<material name="orange"/>'),
    ("joint", '<dynamics K="7000" D="1"/>'),
    ("joint", '<limit effort="1" velocity="1" acceleration="2"/>'),
    ("link", '<collision/><contact><lateral_friction value="1"/><inertia_scaling value="1.0"/></contact>'),
    ("link", "<gravity>1</gravity><kinematic>0</kinematic>"),
]  # fmt: skip
"""Elements of URDF that change no motion, and the element they stand in."""


@pytest.mark.parametrize(("place", "more"), HARMLESS, ids=range(len(HARMLESS)))
def test_what_changes_no_motion_of_a_urdf_is_left_out_and_told(place: str, more: str, tmp_path: Path) -> None:
    system, notice = load(
        tmp_path, placed(URDF, place, more).replace("<robot", '<robot xmlns:drake="d"', 1), "arm.urdf"
    )
    assert system == load(tmp_path, URDF, "arm.urdf")[0]
    tag = re.findall(r"<([\w:]+)", more)[0]
    assert f"1 <{tag}" in notice or tag == "limit"


CLOSES = "closes a loop, which is not read yet: remove it, and add the joint in a TOML file that takes this robot"
REFUSED = [
    ("robot", '<constraint name="close"/>', f"<constraint name='close'> {CLOSES}"),
    ("robot", '<drake:joint name="j" type="ball"/>', "<drake:joint name='j'> is a joint of a kind of Drake's"),
    ("robot", "<coupling/>", "<coupling> couples joints"),
    ("robot", "<drake:spring/>", "<drake:spring> is an element of Drake's that is not read: remove it"),
    ("robot", '<gazebo><joint:hinge name="j"/></gazebo>', CLOSES),
    ("robot", '<gazebo><joint name="g" type="gearbox"/></gazebo>', "no loop closes by the type 'gearbox'"),
    ("robot", '<gazebo reference="rod"><dampingFactor>0.1</dampingFactor></gazebo>', "slows a link down"),
    ("robot", '<gazebo reference="rod"><springStiffness>2</springStiffness></gazebo>', "loads bodies"),
    ("robot", '<gazebo reference="rod"><static>true</static></gazebo>', "holds a link"),
    ("robot", '<gazebo reference="rod"><pose>0 0 1 0 0 0</pose></gazebo>', "moves a link"),
    ("robot", '<gazebo><pose relative_to="rod">0 0 1 0 0 0</pose></gazebo>', "relative to a frame is not read"),
    ("robot", "<gazebo><springy>1</springy></gazebo>", "<springy> is not known in a <gazebo>"),
    ("robot", plugin("libroboticsgroup_gazebo_mimic_joint_plugin.so", FOLLOW.format("wrist", "2")),
     "follow as <mimic joint='hinge' multiplier='2' offset='0'/> says, which the joint contradicts: remove one"),
    ("robot", plugin("libgazebo_underactuated_finger.so"), "joins bodies or loads them"),
    ("robot", '<ros2_control><joint name="hinge"><param name="mimic">wrst</param></joint></ros2_control>',
     "which is not there: remove it; did you mean 'wrist'?"),
    ("robot", '<mujoco><option gravity="0 0 0"/></mujoco>', "sets <option>, which is not read: remove it"),
    ("robot", '<mujoco><compiler settotalmass="3"/></mujoco>', "sets settotalmass"),
    ("robot", '<parameter name="spring_stiffness" value="1"/>', "is not known in a <robot> and could change"),
    ("robot", '<tuning tendonStiffness="1"/>', "<tuning> is not known in a <robot> and could change the motion"),
    ("robot", '<cable name="c"/>', "<cable name='c'> closes a loop"),
    ("robot", "<joints/>", "<joints> is not known in a <robot> and could change the motion: remove it; did you mean"),
    ("robot", '<transmission><joint name="hing"/><actuator name="a"><drake:rotor_inertia value="1"/></actuator>'
              "</transmission>", "is for the joint 'hing', which is not there: remove it; did you mean 'hinge'"),
    ("link", '<origin xyz="0 0 1"/>', "moves a link, which only the <origin> of a <joint> can: remove it"),
    ("link", '<inertia ixx="1"/>', "<inertia> is not known in a <link>"),
    ("inertial", '<density value="1"/>', "<density> is not known in a <inertial>"),
    ("joint", '<joint_properties damping="0.7"/><dynamics/>', "is an older name of <dynamics>: remove one of them"),
    ("joint", '<dynamics spring_stiffness="3"/>', "<dynamics spring_stiffness='3'> is not known"),
    ("joint", '<dynamics damping="1" stiffness="3"/>', "<dynamics stiffness='3'> is not known"),
    ("joint", '<limit lower="-1" uper="1"/>', "<limit uper='1'> is not known and could change the motion: remove"),
    ("joint", "<dynamcs/>", "did you mean 'dynamics'?"),
]  # fmt: skip
"""Elements of URDF that could change the motion, the element they stand in, and what is said of them."""


@pytest.mark.parametrize(("place", "more", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_could_change_the_motion_of_a_urdf_is_refused(place: str, more: str, message: str, tmp_path: Path) -> None:
    text = placed(URDF, place, more).replace("<robot", '<robot xmlns:drake="d"', 1)
    with pytest.raises(MbfmuError) as caught:
        load(tmp_path, text, "arm.urdf")
    said = str(caught.value)
    line = 1 + text.count("\n", 0, text.index(more)) + more.count("\n")
    assert message in said
    assert said.startswith(f"'{tmp_path / 'arm.urdf'}', line {line}: ")
    assert "remove" in said or "write" in said or "move it" in said


def test_what_a_urdf_repeats_or_calls_of_xacro_without_defining_it_is_left_out(tmp_path: Path) -> None:
    """The lower half of the inertia, an axis word by word, and calls of macros that are not there."""
    plain, _ = load(tmp_path, URDF, "plain.urdf")
    inertia = '<inertia ixx="1" iyy="1" izz="1" iyx="0" izx="0.0"/>'
    text = URDF.replace('<inertia ixx="1" iyy="1" izz="1"/>', inertia, 1)
    text = text.replace("<child", '<axis xyz="1 0 0"/><axis xyz="1 0 0"/><child', 1)
    text = placed(text, "robot", '<xacro:imu name="a"/>').replace("<robot", '<robot xmlns:xacro="http://ros.org"', 1)
    system, notice = load(tmp_path, text, "more.urdf")
    assert system.components == plain.components
    assert "<xacro:imu>" in notice
    system, notice = load(tmp_path, text.replace('izx="0.0"', 'izx="0.1"'), "more.urdf")
    assert system.components == plain.components  # as all readers take the upper half
    assert "1 <inertia izx> other than ixz" in notice
    for old, new, message in (('<axis xyz="1 0 0"/><axis', '<axis xyz="0 1 0"/><axis', "has one <axis> at most"),):
        with pytest.raises(MbfmuError, match=message):
            load(tmp_path, text.replace(old, new), "more.urdf")


def test_joints_without_one_axis_take_no_friction_and_mimic_nothing(tmp_path: Path) -> None:
    for more, message in (
        ('<dynamics friction="1"/>', "a planar joint with friction is not modelled: set it to 0"),
        ('<dynamics damping="1"/>', "a planar joint with damping is not modelled: set it to 0"),
        ('<mimic joint="wrist"/>', "a planar joint with a <mimic> is not modelled: remove it"),
    ):
        planar = URDF.replace('"continuous"', '"planar"', 1).replace('<mimic joint="hinge"/>', "")
        text = planar.replace('<child link="rod"/>', f'<child link="rod"/>{more}')
        with pytest.raises(MbfmuError, match=re.escape(message)):
            load(tmp_path, text, "arm.urdf")


QUIET = [
    ("world", '<light name="l"/><physics type="ode"><max_step_size>0.001</max_step_size></physics><scene/>'
              '<plugin name="gz::sim::systems::Physics" filename="gz-sim-physics-system"/>'),
    ("model", '<plugin name="gz::sim::systems::JointController" filename="gz-sim-joint-controller-system"/>'),
    ("model", "<self_collide>true</self_collide><ours:note>mine</ours:note><enable_wind>true</enable_wind>"),
    ("link", "<collision/><velocity_decay><linear>0</linear></velocity_decay><kinematic>false</kinematic>"),
    ("joint", "<physics><ode><implicit_spring_damper>1</implicit_spring_damper></ode></physics><sensor/>"),
    ("axis", "<limit><stiffness>1e8</stiffness><dissipation>1</dissipation></limit>"),
]  # fmt: skip
"""Elements of SDF that change no motion, and the element they stand in."""


@pytest.mark.parametrize(("place", "more"), QUIET, ids=range(len(QUIET)))
def test_what_changes_no_motion_of_an_sdf_is_left_out(place: str, more: str, tmp_path: Path) -> None:
    text = placed(SDF, place, more).replace("<sdf", '<sdf xmlns:ours="o"')
    assert load(tmp_path, text, "arm.sdf")[0] == load(tmp_path, SDF, "arm.sdf")[0]


ACTING = [
    ("world", '<plugin name="gz::sim::systems::Buoyancy" filename="gz-sim-buoyancy-system"/>', "joins bodies or loads"),
    ("world", "<state/>", "<state> sets poses and velocities, which are not read: remove it"),
    ("model", '<plugin name="p" filename="gz-sim-lift-drag-system"/>', "joins bodies or loads them"),
    ("model", '<plugin name="gz::sim::systems::DetachableJoint" filename="x"/>', "joins bodies or loads them"),
    ("world", '<plugin name="gz::sim::systems::WindEffects" filename="gz-sim-wind-effects-system"/>', "or loads them"),
    (
        "model",
        "<lnik/>",
        "<lnik> is not known in a <model> and could change the motion: remove it; did you mean 'link'?",
    ),
    ("link", "<velocity_decay><linear>0.1</linear></velocity_decay>", "slows a link down"),
    ("link", "<kinematic>true</kinematic>", "moves a link by itself"),
    ("inertia", "<iyx>0</iyx>", "<iyx> is not known in a <inertia>"),
    ("inertial", "<fluid_added_mass><xx>1</xx></fluid_added_mass>", "adds the mass of a fluid"),
    ("joint", "<physics><ode><max_force>10</max_force><velocity>1</velocity></ode></physics>", "drives the joint"),
    ("axis", "<dynamics><dampnig>1</dampnig></dynamics>", "did you mean 'damping'?"),
    ("axis", "<limit><uper>1</uper></limit>", "did you mean 'upper'?"),
]
"""Elements of SDF that could change the motion, the element they stand in, and what is said of them."""


@pytest.mark.parametrize(("place", "more", "message"), ACTING, ids=range(len(ACTING)))
def test_what_could_change_the_motion_of_an_sdf_is_refused(place: str, more: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(MbfmuError, match=rf"line \d+: .*{re.escape(message)}"):
        load(tmp_path, placed(SDF, place, more), "arm.sdf")


def test_rotors_mimicking_and_starts_of_an_sdf_are_read(tmp_path: Path) -> None:
    """As Drake has them: the rotor's inertia times the square of the gear's ratio."""
    text = placed(SDF, "joint", "<drake:mimic joint='hinge' multiplier='-2' offset='0.5'/>")
    text = placed(
        text, "joint", "<drake:rotor_inertia>0.001</drake:rotor_inertia><drake:gear_ratio>20</drake:gear_ratio>"
    )
    text = text.replace("</axis>", "<initial_position>0.3</initial_position></axis>", 1)
    system, _ = load(tmp_path, text.replace("<sdf", '<sdf xmlns:drake="d"', 1), "arm.sdf")
    (gear,) = (item for item in system.components if isinstance(item, Gear))
    assert (gear.joint_a, gear.joint_b, gear.ratio, gear.offset) == ("wrist", "hinge", -2.0, 0.5)
    (rotor,) = (item for item in system.components if isinstance(item, RotationalRotor))
    assert (rotor.joint, rotor.J) == ("wrist", pytest.approx(0.4))
    assert next(item for item in system.components if item.name == "hinge").phi == 0.3  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("place", "more"),
    [("robot", '<gazebo reference="rod"><turnGravityOff>true</turnGravityOff></gazebo>'),
     ("robot", '<gazebo reference="rod"><gravity>0</gravity></gazebo>'), ("link", "<gravity>false</gravity>"),
     ("sdf", "<gravity>false</gravity>")],
)  # fmt: skip
def test_a_link_without_gravity_is_held_by_what_it_weighs(place: str, more: str, tmp_path: Path) -> None:
    if place == "sdf":
        system, _ = load(tmp_path, SDF.replace('<link name="rod">', f'<link name="rod">{more}'), "arm.sdf")
    else:
        system, _ = load(tmp_path, placed(URDF, place, more), "arm.urdf")
    (force,) = (item for item in system.components if isinstance(item, ConstantForce))
    bodies = {f"{item.name}_weight": item for item in system.components if isinstance(item, Body)}
    body = bodies[force.name]
    assert isinstance(body.m, float)
    assert force.f == pytest.approx((0, 0, 9.81 * body.m))
    assert force.r == body.r_CM


def test_a_scale_of_bullet_multiplies_the_inertia_of_a_link(tmp_path: Path) -> None:
    text = placed(URDF, "link", '<contact><inertia_scaling value="3"/></contact>')
    moments = [item.I_22 for item in load(tmp_path, text, "arm.urdf")[0].components if isinstance(item, Body)]
    assert sorted(moments) == [1.0, 3.0]


def test_blanks_before_the_declaration_are_taken_as_other_readers_take_them(tmp_path: Path) -> None:
    text = f'<?xml version="1.0"?>{URDF}'
    assert load(tmp_path, "\n  " + text, "arm.urdf") == load(tmp_path, text, "arm.urdf")


def test_the_gravity_of_older_files_stands_in_their_physics(tmp_path: Path) -> None:
    text = placed(SDF, "world", "<physics><gravity>0 0 -1.62</gravity></physics>")
    (world,) = (item for item in load(tmp_path, text, "arm.sdf")[0].components if isinstance(item, World))
    assert world.g == pytest.approx(1.62)


SILENT = [
    ("mujoco", "<statistic extent='1'/><visual/><custom/><size/>"),
    ("mujoco", "<sensor><gyro site='end'/></sensor><contact><exclude body1='rod' body2='tip'/></contact>"),
    ("mujoco", "<option timestep='0.001' integrator='implicitfast' wind='1 0 0'><flag contact='disable'/></option>"),
    ("body", "<light/><camera/>"),
    ("default", "<light active='false'/><pair friction='1 1 1 1 1'/>"),
    ("tendon", "<spatial name='rope'><site site='end'/></spatial>"),
]
"""Elements of MJCF that change no motion, and the element they stand in."""


@pytest.mark.parametrize(("place", "more"), SILENT, ids=range(len(SILENT)))
def test_what_changes_no_motion_of_an_mjcf_is_left_out(place: str, more: str, tmp_path: Path) -> None:
    assert load(tmp_path, placed(MJCF, place, more), "arm.xml")[0] == load(tmp_path, MJCF, "arm.xml")[0]


MOVING = [
    ("mujoco", "<sensr/>", "<sensr> is not known in a <mujoco> and could change the motion: remove it"),
    ("mujoco", "<option gravty='0 0 0'/>", "a <option> has no 'gravty'; did you mean 'gravity'?"),
    ("mujoco", "<option><flag gravty='disable'/></option>", "a <flag> has no 'gravty'"),
    ("mujoco", "<compiler angel='radian'/>", "a <compiler> has no 'angel'; did you mean 'angle'?"),
    ("body", "<plugin/>", "<plugin> acts by a program of its own, which is not modelled: remove it"),
    ("body", "<geon/>", "<geon> is not known in a <body> and could change the motion: remove it; did you mean 'geom'?"),
    ("body", "<geom size='0.1' densty='1'/>", "a <geom> has no 'densty'; did you mean 'density'?"),
    ("default", "<joints damping='1'/>", "<joints> is not known in a <default> and could change the motion"),
    ("default", "<geom mas='1'/>", "a <geom> has no 'mas'; did you mean 'mass'?"),
    ("tendon", "<spatial name='r' range='0 1'><site site='end'/></spatial>",
     "the spatial tendon 'r' has forces, and its path has no two sites"),
    ("body", "<flexcomp name='f'/>", "<flexcomp name='f'> is a body that bends, made of many, which is not read"),
    ("body", "<composite/>", "is not expanded: save the model with MuJoCo first"),
    ("actuator", "<muscle joint='hinge' name='m'/>", "actuator 'm' (a muscle without lengthrange"),
    ("actuator", "<motor joint='hinge' nam='m'/>", "a <motor> has no 'nam'; did you mean 'name'?"),
    ("actuator", "<general joint='hinge' name='m' dyntype='filter' delay='0.1' nsample='2'/>", "it has a delay"),
    ("body", "<frame poss='1 0 0'/>", "a <frame> has no 'poss'"),
    ("equality", "<weld name='w' body1='tip' torquescale='-1'/>", "<weld torquescale>: -1 must be at least 0"),
    ("keyframe", "<key name='home' mpos='0 0 0'/>", "a keyframe does not move mocap bodies here: remove them"),
    ("keyframe", "<key name='home' act='1'/>", "has 1 numbers, and the model 0"),
]  # fmt: skip
"""Elements of MJCF that could change the motion, the element they stand in, and what is said of them."""


@pytest.mark.parametrize(("place", "more", "message"), MOVING, ids=range(len(MOVING)))
def test_what_could_change_the_motion_of_an_mjcf_is_refused(
    place: str, more: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(MbfmuError, match=rf"line \d+: .*{re.escape(message)}"):
        load(tmp_path, placed(MJCF, place, more), "arm.xml")


def test_a_keyframe_may_repeat_the_pose_of_a_mocap_body(tmp_path: Path) -> None:
    text = MJCF.replace('qpos="0.3 0.6"', 'qpos="0.3 0.6" mpos="1 0 0" mquat="1 0 0 0"')
    assert load(tmp_path, text, "arm.xml")[0] == load(tmp_path, MJCF, "arm.xml")[0]


def test_range_and_friction_of_a_ball_joint_act_unless_an_option_leaves_them_out(tmp_path: Path) -> None:
    ball = MJCF.replace('name="hinge" axis="0 1 0"', 'name="hinge" type="ball" range="0 60" frictionloss="1"')
    path = tmp_path / "arm.xml"
    path.write_text(re.sub(r"<(tendon|equality|actuator|keyframe)>.*</\1>", "", ball), encoding="utf-8")
    for limits, friction in ((True, True), (False, True), (False, False)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            system = mbfmu.load(path, robot=RobotOptions(limits=limits, friction=friction))
        assert isinstance(system, System)
        stops = [item for item in system.components if isinstance(item, AngularStop)]
        assert [item.upper for item in stops] == pytest.approx([math.radians(60)] if limits else [])
        acting = [item for item in system.components if isinstance(item, CartesianFriction)]
        assert [item.t_c for item in acting] == ([1.0] if friction else [])
        assert not any(item.f_c for item in acting)


def test_a_limit_of_the_effort_on_a_joint_holds_for_the_sum_of_what_acts_through_it(tmp_path: Path) -> None:
    """Of two drives, from a site, along a spatial tendon, and along a fixed one: see tests/test_frame_drives.py."""
    limited = MJCF.replace('name="hinge"', 'name="hinge" actuatorfrcrange="-1 1"', 1)
    several = placed(limited, "actuator", '<motor name="more" joint="hinge"/>')
    along = limited.replace('joint="hinge"/></actuator>', 'tendon="both"/></actuator>')
    limited = limited.replace('<motor name="push" joint="hinge"/>', "{}")
    limited = limited.replace("<worldbody>", '<worldbody><site name="w"/>')
    rope = '<spatial name="r"><site site="w"/><site site="end"/></spatial></tendon>'
    for text, count in (
        (several, 2),
        (along, 1),
        (limited.format('<motor name="jet" site="end"/>'), 1),
        (limited.format('<motor name="jet" tendon="r"/>').replace("</tendon>", rope), 1),
    ):
        system, _ = load(tmp_path, text, "arm.xml")
        (limit,) = (item for item in system.components if isinstance(item, EffortLimit))
        assert (limit.joint, limit.lower, limit.upper, len(limit.forces)) == ("hinge", -1.0, 1.0, count)


def test_what_acts_on_joints_without_mass_is_refused(tmp_path: Path) -> None:
    """MuJoCo refuses a body without mass that moves; here it is fixed, unless something acts on it."""
    light = MJCF.replace('<geom size="0.1"/>', "")
    plain = re.sub(r"<(tendon|keyframe)>.*</\1>", "", light)
    assert "fixed, as they move nothing with mass: 'wrist'" in load(tmp_path, plain, "arm.xml")[1]
    for old, new, what in (
        ('active="false"', "", "equality 'joint_1'"),
        ('joint="hinge"/></actuator>', 'joint="wrist"/></actuator>', "actuator 'push'"),
        ("</equality>", '<connect name="c" body1="tip" anchor="0 0 1"/></equality>', "equality 'c'"),
    ):
        with pytest.raises(MbfmuError, match=f"joint 'wrist' moves no mass, and the {what} acts on it"):
            load(tmp_path, plain.replace(old, new), "arm.xml")
