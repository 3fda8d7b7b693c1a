"""Systems: every wrong use has its named error, and a system in a system is the same mechanism written flat."""

import inspect
import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import casadi as ca
import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from harness import examples
from hypothesis import given
from mechanisms import MECHANISMS

from mbfmu.dae import Dae, absolute
from mbfmu.errors import (
    AxisError,
    ExpressionError,
    FrameConnectionError,
    MassError,
    ModelError,
    NameInUseError,
    StartError,
    UnknownNameError,
    ValueRangeError,
)
from mbfmu.model import (
    AbsoluteSensor,
    Block,
    Body,
    BodyShape,
    Component,
    Connection,
    Coordinate,
    FixedRotation,
    FixedTranslation,
    Joint,
    LagrangianSystem,
    Parameter,
    Prismatic,
    Revolute,
    RotationalEndStop,
    RotationalSpring,
    RotationalStop,
    Spherical,
    Spring,
    State,
    Subsystem,
    System,
    TranslationalDamper,
    World,
    connect,
    flatten,
)
from mbfmu.run.simulate import simulate

Array = npt.NDArray[np.float64]

BODY = BodyShape("link", m=1.0, r=(1.0, 0, 0), r_CM=(0.5, 0, 0), I_11=0.1, I_22=0.1, I_33=0.1)
HUNG = (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "link.frame_a"))


def pendulum(
    *more: Component | Subsystem,
    joint: Joint | None = None,
    body: Body = BODY,
    world: World | None = None,
    connections: tuple[Connection, ...] = HUNG,
    parameters: tuple[Parameter, ...] = (),
    planar: bool = True,
) -> System:
    """One body on one joint, with whatever a test adds to it."""
    first = (world or World(), joint or Revolute("hinge", phi=0.1, w=0.0), body)
    return System("pendulum", (*first, *more), connections, parameters, planar)


def arm() -> System:
    """A body on a hinge that is open at the inner end, its length a parameter."""
    return System(
        "arm",
        (
            Revolute("hinge", phi="phi0", w=0.0, actuated=True),
            BodyShape("link", m="2*l", r=("l", 0), r_CM=("l/2", 0), I_33="2*l**3/12"),
        ),
        (connect("hinge.frame_b", "link.frame_a"),),
        (Parameter("l", 1.0, "m", "length", min=1e-3), Parameter("phi0", 0.0, "rad")),
        planar=True,
    )


def two_arms(**values: float | str) -> System:
    """Two instances of the arm beside each other, the left one with other values."""
    return System(
        "two_arms",
        (World(), Subsystem("left", arm(), values), Subsystem("right", arm())),
        (connect("world.frame_b", "left.hinge.frame_a"), connect("world.frame_b", "right.hinge.frame_a")),
        (Parameter("k", 0.5, "m"),),
        planar=True,
    )


def parameters_of(dae: Dae) -> dict[str, float]:
    return {item.name: item.value for item in dae.parameters}


def bound_of(dae: Dae, p: Array | None = None) -> dict[str, float]:
    values = np.array(dae.bound_values(dae.p_default() if p is None else p), dtype=float).reshape(-1)
    return dict(zip((item.name for item in dae.bound), values.tolist(), strict=True))


# -- frames ---------------------------------------------------------------------------------------------------------


def test_a_body_that_nothing_holds_is_refused() -> None:
    system = pendulum(Body("stone", m=1.0, I_33=1.0))
    with pytest.raises(FrameConnectionError, match=r"Body 'stone' is connected to nothing.*stone\.frame_a.*FreeMotion"):
        absolute(system)


def test_bodies_joined_to_each_other_only_are_refused() -> None:
    other = (BodyShape("far", m=1.0, I_33=1.0), Body("farther", m=1.0, I_33=1.0), Revolute("between"))
    ends = (connect("far.frame_b", "between.frame_a"), connect("between.frame_b", "farther.frame_a"))
    with pytest.raises(FrameConnectionError, match="'far' is not connected to the world by joints"):
        absolute(pendulum(*other, connections=(*HUNG, *ends)))


def test_a_system_without_joints_is_refused() -> None:
    system = System("statue", (World(), BODY), (), planar=True)
    with pytest.raises(FrameConnectionError, match=r"BodyShape 'link' is connected to nothing: add connect"):
        absolute(system)


@pytest.mark.parametrize(
    "item",
    [Revolute("loose"), FixedTranslation("loose", r=(1.0, 0.0)), Spring("loose", c=1.0), AbsoluteSensor("loose")],
)
def test_a_component_that_is_connected_to_nothing_is_called_that(item: Component) -> None:
    kind, end = type(item).__name__, f"loose.{item.frames[0]}"
    with pytest.raises(FrameConnectionError, match=rf'{kind} \'loose\' is connected to nothing: add connect\("{end}"'):
        absolute(pendulum(item))


COMPONENTS = (World(), Revolute("hinge"), BODY)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"connections": HUNG[0]},
            r"connections of .* single Connection.* with a comma, .*=\(connect\(...\),\)",
        ),
        ({"components": World()}, r"components of .* single World, .* components=\(World\(\.\.\.\),\)"),
        ({"parameters": Parameter("l", 1.0)}, r"parameters of .* single Parameter, .*comma"),
        ({"components": (World, BODY)}, r"World is a class; write World\(\.\.\.\)"),
        ({"components": (*COMPONENTS, HUNG[0])}, r"is a Connection; it must be a Component or Subsystem"),
        ({"components": (*COMPONENTS, arm())}, r"is a System; it must be a Component or Subsystem"),
        ({"connections": (("world.frame_b", "hinge.frame_a"),)}, r"is a tuple; it must be a Connection"),
        ({"connections": None}, r"connections of 'x' = None must be a tuple"),
        ({"stepper": ["radau"]}, r"stepper of a \w+ = \['radau'\] must be a text"),
        ({"components": "world"}, r"components of 'x' = 'world' must be a tuple"),
        ({"conections": ()}, r"a System has no field 'conections'; did you mean 'connections'"),
    ],
)
def test_a_field_with_something_else_in_it_is_named_with_what_belongs_there(fields: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message.replace("of 'x'", "of system 'x'")):
        System(**{"name": "x", "components": COMPONENTS, "planar": True, **fields})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Body("b", mass=1.0), r"Body has no field 'mass'; did you mean 'm'\? Its fields: name, m, r_CM, I_11"),
        (lambda: Revolute("b", angle=1.0), r"a Revolute has no field 'angle'; .*phi"),
        (lambda: Revolute("b", ph=1.0), r"did you mean 'phi'\? Its fields: name, actuated, n, phi"),
        (lambda: Parameter("l", val=1.0), r"a Parameter has no field 'val'; did you mean 'value'"),
        (lambda: Subsystem("s", arm(), value={}), r"a Subsystem has no field 'value'; did you mean 'values'"),
        (lambda: Coordinate("x", "m", begin=1.0), r"a Coordinate has no field 'begin'; known: .*start"),
        (lambda: State("x", "-x", nominl=1.0), r"a State has no field 'nominl'; did you mean 'nominal'"),
        (lambda: Body(3), r"'3' cannot name a Body"),
        (lambda: Subsystem("s", BODY), r"'s': .* is a BodyShape, not a System"),
        (lambda: LagrangianSystem("s", Coordinate("x", "m"), "0"), r"coordinates of .* single Coordinate"),
        (lambda: LagrangianSystem("s", (Coordinate("x", "m"),), "0", position="x"), r"position=\(\.\.\.,\)"),
        (lambda: Block("s", states=State("x", "-x")), r"states of block 's' is a single State.*comma"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_with_those_there_are(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_the_signature_of_a_component_shows_its_fields() -> None:
    assert list(inspect.signature(Revolute).parameters)[:3] == ["name", "actuated", "n"]
    assert inspect.signature(World).parameters["g"].default == 9.81


def test_a_system_in_which_nothing_can_move_is_refused() -> None:
    system = System("statue", (World(), BODY), (connect("world.frame_b", "link.frame_a"),), planar=True)
    with pytest.raises(ModelError, match="'statue' has no body that can move: add one"):
        absolute(system)


@pytest.mark.parametrize("again", [HUNG[0], HUNG[0][::-1], ("link.frame_a", "link.frame_a")])
def test_a_connection_said_twice_is_refused(again: tuple[str, str]) -> None:
    with pytest.raises(FrameConnectionError, match=rf"connect\('{again[0]}', '{again[1]}'\) in 'pendulum'.*drop one"):
        pendulum(connections=(*HUNG, Connection(*again)))


def test_a_rod_with_both_ends_on_the_world_is_refused() -> None:
    ends = (connect("world.frame_b", "rod.frame_a"), connect("rod.frame_b", "world.frame_b"))
    with pytest.raises(FrameConnectionError, match=r"'rod\.frame_a' and 'rod\.frame_b'.*rigidly connected already"):
        absolute(pendulum(FixedTranslation("rod", r=(1.0, 0)), connections=(*HUNG, *ends)))


def test_a_rigid_loop_is_refused_with_its_frames_and_what_to_do() -> None:
    rods = (FixedTranslation("upper", r=(1.0, 0)), FixedTranslation("lower", r=(1.0, 0)))
    ends = (
        connect("link.frame_a", "upper.frame_a"),
        connect("link.frame_b", "lower.frame_a"),
        connect("upper.frame_b", "lower.frame_b"),
    )
    with pytest.raises(FrameConnectionError, match="rigidly connected already; drop one connection, or put a joint"):
        absolute(pendulum(*rods, connections=(*HUNG, *ends)))


def test_a_body_hung_on_a_joint_and_fixed_too_is_refused() -> None:
    ends = (*HUNG, connect("link.frame_a", "world.frame_b"))
    with pytest.raises(FrameConnectionError, match=r"'hinge': frame_a and frame_b are on one rigid body \(world, link"):
        absolute(pendulum(connections=ends))


def test_a_joint_with_both_frames_on_one_body_is_refused() -> None:
    ends = (connect("link.frame_a", "knee.frame_a"), connect("link.frame_b", "knee.frame_b"))
    with pytest.raises(FrameConnectionError, match=r"joint 'knee': frame_a and frame_b are on one rigid body \(link\)"):
        absolute(pendulum(Revolute("knee"), connections=(*HUNG, *ends)))


@pytest.mark.parametrize("loose", [Revolute("knee"), Spring("knee", c=1.0)])
def test_a_joint_or_force_with_an_open_frame_is_refused(loose: Component) -> None:
    kind = type(loose).__name__
    with pytest.raises(FrameConnectionError, match=rf"{kind} 'knee': frame_b is connected to nothing; add connect"):
        absolute(pendulum(loose, connections=(*HUNG, connect("link.frame_b", "knee.frame_a"))))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0], r"input_starts = \[1\.0\] must be a dictionary of numbers"),
        ({"hinge.tau": float("nan")}, r"hinge\.tau = nan must be a finite number$"),
        ({"hinge.tau": "1"}, r"hinge\.tau = '1': the start value of an input is a number"),
    ],
)
def test_start_values_of_inputs_that_are_no_numbers_by_name_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        replace(arm(), input_starts=given)


@pytest.mark.parametrize(("wrong", "right"), [("link.frame_c", "link.frame_"), ("lnk.frame_a", "link.frame_a")])
def test_an_unknown_frame_is_refused_with_the_nearest_name(wrong: str, right: str) -> None:
    with pytest.raises(UnknownNameError, match=f"in 'pendulum': there is no frame '{wrong}'; did you mean '{right}"):
        pendulum(connections=(HUNG[0], connect("hinge.frame_b", wrong)))


@pytest.mark.parametrize("worlds", [(), (World("earth"), World("moon"))])
def test_a_system_has_exactly_one_world(worlds: tuple[World, ...]) -> None:
    joint = (connect("hinge.frame_b", "link.frame_a"),)
    system = System("lost", (*worlds, Revolute("hinge"), BODY), joint, planar=True)
    said = r"2 World components \(earth, moon\): .*exactly one" if worlds else r"no World, .*: add World\(\)"
    with pytest.raises(FrameConnectionError, match=f"'lost' has {said}"):
        absolute(system)


def test_a_world_in_a_subsystem_is_a_second_world() -> None:
    system = System("nested", (World(), Subsystem("inner", pendulum()), Revolute("hinge"), BODY), HUNG, planar=True)
    with pytest.raises(FrameConnectionError, match=r"'nested' has 2 World components \(world, inner\.world\)"):
        absolute(system)


# -- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("twin", [Body("link", m=1.0), Revolute("hinge"), Subsystem("link", arm())])
def test_two_components_with_one_name_are_refused(twin: Component | Subsystem) -> None:
    with pytest.raises(NameInUseError, match=f"'pendulum' has two things named '{twin.name}': rename one"):
        pendulum(twin)


def test_a_parameter_with_the_name_of_a_component_is_refused() -> None:
    with pytest.raises(NameInUseError, match="'pendulum' has two things named 'link': rename one"):
        pendulum(parameters=(Parameter("link", 1.0),))


@pytest.mark.parametrize("name", ["", "2nd", "left arm", "left.arm", "l-1", "l[1]"])
def test_a_name_that_is_no_identifier_is_refused(name: str) -> None:
    for make in (Body, Revolute, World):
        with pytest.raises(NameInUseError, match=r"letters \(a to z, A to Z\), digits and underscores"):
            make(name)
    with pytest.raises(NameInUseError, match=r"letters \(a to z, A to Z\), digits and underscores"):
        Parameter(name, 1.0)


@pytest.mark.parametrize("name", ["", "2nd", "left arm", "left.arm", "l-1", "l[1]"])
def test_a_name_of_a_subsystem_that_is_no_identifier_is_refused(name: str) -> None:
    with pytest.raises(NameInUseError, match=r"letters \(a to z, A to Z\), digits and underscores"):
        Subsystem(name, arm())


@pytest.mark.parametrize("name", ["pi", "lambda"])
def test_a_parameter_whose_name_no_expression_could_use_is_refused(name: str) -> None:
    # pi would silently be the number, lambda cannot be read
    with pytest.raises(NameInUseError):
        Parameter(name, 3.0)


def test_an_unknown_parameter_in_an_expression_is_refused_with_the_nearest_name() -> None:
    system = pendulum(body=Body("link", m="2*lenght", I_33=1.0), parameters=(Parameter("length", 1.0),))
    with pytest.raises(
        UnknownNameError,
        match=r"link\.m = '2\*lenght': there is no parameter 'lenght'; did you mean 'length'\?",
    ):
        absolute(system)


def test_an_unknown_parameter_is_looked_up_in_the_system_that_says_it() -> None:
    inner = replace(arm(), parameters=(Parameter("l", "k"), Parameter("phi0", 0.0)))
    system = System("outer", (World(), Subsystem("left", inner)), (connect("world.frame_b", "left.hinge.frame_a"),),
                    (Parameter("k", 1.0),), planar=True)  # fmt: skip
    with pytest.raises(UnknownNameError, match=r"left\.l = 'k': there is no parameter 'k'"):
        absolute(system)


@pytest.mark.parametrize("ring", [("a",), ("a", "b"), ("a", "b", "c")])
def test_parameters_defined_in_a_circle_are_refused_with_the_circle(ring: tuple[str, ...]) -> None:
    following = (*ring[1:], ring[0])
    parameters = tuple(Parameter(name, f"2*{other}") for name, other in zip(ring, following, strict=True))
    with pytest.raises(ExpressionError, match=f"in a cycle: {' -> '.join((*ring, ring[0]))}"):
        absolute(pendulum(parameters=parameters))


def test_an_axis_force_on_an_unknown_joint_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        UnknownNameError, match=r"RotationalSpring 'coil' acts on the joint 'hing'.*did you mean 'hinge'"
    ):
        absolute(pendulum(RotationalSpring("coil", joint="hing", c=1.0)))


@pytest.mark.parametrize(
    ("force", "joint", "unit"),
    [
        (TranslationalDamper("coil", joint="hinge", d=1.0), Revolute("hinge"), "m"),
        (RotationalSpring("coil", joint="hinge", c=1.0), Prismatic("hinge"), "rad"),
        (RotationalSpring("coil", joint="hinge", c=1.0), Joint("hinge"), "rad"),
    ],
)
def test_an_axis_force_on_an_axis_of_another_unit_is_refused(force: Component, joint: Joint, unit: str) -> None:
    with pytest.raises(ModelError, match=f"'coil' does not fit the joint 'hinge': it needs an axis measured in {unit}"):
        absolute(pendulum(force, joint=joint))


# -- mass, axes, dimension ------------------------------------------------------------------------------------------


def test_a_body_that_moves_has_mass() -> None:
    with pytest.raises(MassError, match="'link' can move but its mass is 0 kg: give m > 0"):
        absolute(pendulum(joint=Prismatic("hinge", n=(1.0, 0.0, 0.0)), body=Body("link", I_33=1.0)))


def test_a_body_that_turns_has_inertia_in_the_plane() -> None:
    with pytest.raises(MassError, match=r"'link' can turn but an inertia .* is 0 kg\.m2: give I_33 > 0"):
        absolute(pendulum(body=Body("link", m=1.0)))


@pytest.mark.parametrize("missing", ["I_11", "I_22", "I_33"])
def test_a_body_that_turns_has_inertia_about_every_axis_in_space(missing: str) -> None:
    values = {name: 0.0 if name == missing else 1.0 for name in ("I_11", "I_22", "I_33")}
    with pytest.raises(MassError, match=r"'link' can turn but an inertia .* is 0 kg\.m2: give I_11, I_22, I_33 > 0"):
        absolute(pendulum(joint=Spherical("hinge"), body=Body("link", m=1.0, **values), planar=False))


def test_products_of_inertia_that_make_it_indefinite_are_refused() -> None:
    body = Body("link", m=1.0, I_11=1.0, I_22=1.0, I_33=1.0, I_21=2.0)
    with pytest.raises(MassError, match=r"'link' can turn but an inertia about its centre of mass is -1 kg\.m2"):
        absolute(pendulum(body=body, planar=False))


def test_a_massless_part_that_moves_is_refused() -> None:
    ends = (connect("link.frame_b", "knee.frame_a"), connect("knee.frame_b", "rod.frame_a"))
    with pytest.raises(MassError, match="'rod' can move but has no mass: fix it to a Body"):
        absolute(pendulum(Revolute("knee"), FixedTranslation("rod"), connections=(*HUNG, *ends)))


@pytest.mark.parametrize("make", [Revolute, Prismatic, FixedRotation])
@pytest.mark.parametrize("axis", [(1, 1, 0), (0, 0, -2.0), (1e-200, 0, 0)])
def test_a_direction_of_any_length_is_the_unit_vector_along_it(
    make: Callable[..., Component], axis: tuple[float, ...]
) -> None:
    ((_, unit),) = make("skew", n=axis).directions()
    assert math.hypot(*unit) == pytest.approx(1.0, abs=1e-15)
    assert np.dot(unit, axis) == pytest.approx(math.hypot(*axis), rel=1e-15)


@pytest.mark.parametrize("kind", [RotationalStop, RotationalEndStop])
@pytest.mark.parametrize("lower", [1.0, "2*half"])
def test_a_lower_limit_above_the_upper_one_is_refused_by_name(
    kind: Callable[..., Component], lower: float | str
) -> None:
    def stopped(lower: float | str) -> System:
        stop = kind("stop", joint="hinge", lower=lower, upper=0.5)
        return pendulum(stop, parameters=(Parameter("half", 0.5, "rad"),))

    with pytest.raises(ValueRangeError, match=r"stop\.lower = 1.* is above stop\.upper = 0\.5: swap them"):
        flatten(stopped(lower))
    flatten(stopped("half"))


def test_a_unit_vector_stays_as_it_is_bit_by_bit() -> None:
    rounded = (0.7071067812, 0.7071067812, 0.0)
    assert Revolute("skew", n=rounded).n == rounded


@pytest.mark.parametrize(
    "axis",
    [
        (math.nan, 0, 0),
        (math.inf, 0, 0),
        (0, 0, 0),
        None,
        1.0,
        "xyz",
        (),
        (1.0,),
        (0.5, 0.5, 0.5, 0.5),
        ("1", "0", "0"),
    ],
)
def test_something_that_is_no_axis_is_refused(axis: Any) -> None:
    with pytest.raises(AxisError, match=r"hinge\.n = "):
        Revolute("hinge", n=axis)


@pytest.mark.parametrize(
    ("joint", "world"),
    [(Revolute("hinge", n=(1, 0)), World()), (Prismatic("hinge", n=(1, 0)), World()), (None, World(n=(0, -1)))],
)
def test_a_direction_of_two_numbers_is_refused_in_space(joint: Joint | None, world: World) -> None:
    with pytest.raises(AxisError):
        absolute(pendulum(joint=joint, world=world, planar=False))


def test_an_axis_out_of_the_plane_is_refused_for_sliding_in_it() -> None:
    with pytest.raises(AxisError):
        absolute(pendulum(joint=Prismatic("hinge", n=(0, 0, 1))))


@pytest.mark.parametrize("start", [None, (1.0, 0.0, 0.0, 0.0)])
def test_a_spherical_joint_in_the_plane_is_refused_with_what_to_take(start: Any) -> None:
    with pytest.raises(
        ModelError, match="'hinge': a Spherical joint needs a spatial system; in the plane use Revolute"
    ):
        absolute(pendulum(joint=Spherical("hinge", Q_rel=start)))


def test_a_planar_system_inside_a_spatial_one_is_refused() -> None:
    system = System("mixed", (World(), Subsystem("left", arm())), (connect("world.frame_b", "left.hinge.frame_a"),))
    with pytest.raises(ModelError, match="sub-system 'left' is planar, the system around it is spatial"):
        absolute(system)


def test_a_spatial_system_inside_a_planar_one_is_refused() -> None:
    system = System(
        "mixed",
        (World(), Subsystem("left", replace(arm(), planar=False))),
        (connect("world.frame_b", "left.hinge.frame_a"),),
        planar=True,
    )
    with pytest.raises(ModelError, match="sub-system 'left' is spatial, the system around it is planar"):
        absolute(system)


def test_a_third_coordinate_in_the_plane_is_refused() -> None:
    with pytest.raises(ValueRangeError, match=r"link\.r_CM\[3\] = 0\.5 must be 0 in a planar system, or left out"):
        absolute(pendulum(body=replace(BODY, r_CM=(0, 0, 0.5))))


def test_a_third_coordinate_left_out_in_space_is_refused() -> None:
    with pytest.raises(ValueRangeError, match=r"link\.r_CM = \(0, 1\) has 2 entries; a spatial system needs 3"):
        absolute(pendulum(body=replace(BODY, r_CM=(0, 1)), planar=False))


# -- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused_where_it_enters(value: float) -> None:
    with pytest.raises(ValueRangeError, match=rf"link\.m = {value} must be a finite number \(in kg\)"):
        Body("link", m=value)
    with pytest.raises(ValueRangeError, match=rf"l = {value} must be a finite number \(in m\)"):
        Parameter("l", value, "m")
    with pytest.raises(ValueRangeError, match=rf"link\.r_CM\[2\] = {value} must be a finite number"):
        Body("link", r_CM=(0.0, value, 0.0))
    with pytest.raises(ValueRangeError, match=rf"hinge\.phi = {value} must be a finite number \(in rad\)"):
        Revolute("hinge", phi=value)


@pytest.mark.parametrize("value", [None, True, False, object(), 1j, b"1", {}])
def test_something_that_is_no_value_is_refused(value: Any) -> None:
    with pytest.raises(ValueRangeError, match=r"link\.m = .* is not a value: give a number in kg or an expression"):
        Body("link", m=value)
    with pytest.raises(ValueRangeError, match=r"l = .* is not a value: give a number in m or an expression"):
        Parameter("l", value, "m")


@pytest.mark.parametrize("value", [True, object(), 1j])
def test_something_that_is_no_start_value_is_refused(value: Any) -> None:
    with pytest.raises(ValueRangeError, match=r"hinge\.phi = .* is not a value"):
        Revolute("hinge", phi=value)


@pytest.mark.parametrize("value", [(1.0, 2.0), (1.0,), (), [1.0, 2.0]])
def test_a_vector_where_a_number_belongs_is_refused(value: Any) -> None:
    with pytest.raises(ValueRangeError, match=r"link\.m"):
        Body("link", m=value)


@pytest.mark.parametrize("value", [1.0, "l", (), (1.0,), (1, 2, 3, 4), ((1, 2), (3, 4)), None])
def test_something_else_where_a_vector_belongs_is_refused(value: Any) -> None:
    with pytest.raises(ModelError, match=r"link\.r_CM"):
        absolute(pendulum(body=replace(BODY, r_CM=value), parameters=(Parameter("l", 1.0),)))


@pytest.mark.parametrize("value", [1.0, (1.0, 0, 0), (1.0, 0, 0, 0, 0)])
def test_a_quaternion_of_another_length_than_four_is_refused(value: Any) -> None:
    with pytest.raises(ModelError, match=r"hinge\.Q_rel"):
        absolute(pendulum(joint=Spherical("hinge", Q_rel=value), planar=False))


@pytest.mark.parametrize("value", [-1e-9, -1])
def test_a_value_outside_its_bounds_is_refused(value: float) -> None:
    with pytest.raises(ValueRangeError, match=rf"link\.m = {value} is outside its bounds 0 to inf kg"):
        Body("link", m=value)


def test_a_parameter_outside_the_bounds_it_was_given_is_refused() -> None:
    with pytest.raises(ValueRangeError, match="l = 3 is outside its bounds 0 to 2 m"):
        Parameter("l", 3, "m", min=0, max=2)


def test_bounds_of_a_plain_number_are_told_without_a_unit() -> None:
    with pytest.raises(ValueRangeError, match=r"e = 1\.5 is outside its bounds 0 to 1$"):
        Parameter("e", 1.5, min=0, max=1)


def test_an_expression_that_leaves_the_bounds_is_refused() -> None:
    system = pendulum(body=replace(BODY, m="1 - 2*l"), parameters=(Parameter("l", 1.0),))
    with pytest.raises(ValueRangeError, match=r"link\.m = -1 is outside its bounds 0 to inf kg"):
        absolute(system)


@pytest.mark.parametrize("text", ["1/(l - 1)", "sqrt(-l)", "9**9**9", "log(l - 1)"])
def test_an_expression_that_is_not_finite_is_refused(text: str) -> None:
    system = pendulum(body=replace(BODY, m=text), parameters=(Parameter("l", 1.0),))
    with pytest.raises(ValueRangeError, match=r"link\.m = .*correct the expression or its parameters"):
        absolute(system)


def test_a_text_that_is_no_expression_is_refused_where_it_enters() -> None:
    with pytest.raises(ExpressionError, match=r"cannot read the expression '2\*'"):
        Body("link", m="2*")


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, None, True, (1.0, 2.0), "k -", "k - 1", "unknown"])
def test_a_bad_value_given_to_a_subsystem_is_refused(value: Any) -> None:
    with pytest.raises(ModelError):
        absolute(two_arms(l=value))


def test_an_unknown_value_given_to_a_subsystem_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="sub-system 'left' has no parameter 'phi_0'; did you mean 'phi0'"):
        two_arms(phi_0=1.0)


ANYTHING: st.SearchStrategy[Any] = st.one_of(
    st.floats(), st.text(max_size=8), st.sampled_from(("l", "l*2", "l - 1", "link.I_33", "link.m", "1/(l-l)")),
    st.none(), st.booleans(), st.integers(), st.integers(10**300, 10**320), st.tuples(st.floats()), st.binary(),
)  # fmt: skip


@given(ANYTHING)
@examples(3, derandomize=True)
def test_any_mass_gives_a_mechanism_or_a_model_error(value: Any) -> None:
    try:
        system = pendulum(body=Body("link", m=value, I_33=1.0), parameters=(Parameter("l", 1.0),))
        dae = absolute(system)
    except ModelError:
        return
    M = np.array(dae.equations.M(np.zeros(3), dae.p_default()))
    assert M[0, 0] > 0
    assert np.isfinite(M).all()


@given(ANYTHING)
@examples(2, derandomize=True)
def test_any_coordinate_gives_a_mechanism_or_a_model_error(value: Any) -> None:
    try:
        system = pendulum(body=replace(BODY, r=(1.0, value)), parameters=(Parameter("l", 1.0),))
        dae = absolute(system)
    except ModelError:
        return
    assert dae.n == 3


@given(ANYTHING)
@examples(2, derandomize=True)
def test_any_start_value_gives_a_mechanism_or_a_model_error(value: Any) -> None:
    try:
        system = pendulum(joint=Revolute("hinge", phi=value), parameters=(Parameter("l", 1.0),))
        dae = absolute(system)
    except ModelError:
        return
    assert dae.n == 3


@given(
    st.text(alphabet="abhinlkgewrpml.[]²_0123 ", max_size=14), st.one_of(st.floats(), st.none(), st.text(max_size=3))
)
@examples(5, derandomize=True)
def test_with_values_of_any_name_gives_a_system_or_a_model_error(name: str, value: Any) -> None:
    try:
        assert isinstance(pendulum().with_values({name: value}), System)
    except ModelError:
        return


# -- with_values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lenght", "'pendulum' has no parameter or start value 'lenght'; did you mean 'length'"),
        ("link.n", "'link.n': a BodyShape has no 'n'; known: I_11, .*, r_CM"),
        ("lnk.m", "'pendulum' has no parameter or start value 'lnk.m'; did you mean 'link.m'"),
        ("link", "'pendulum' has no parameter or start value 'link'"),
        ("link.r[4]", r"'link.r\[4\]': a BodyShape has no 'r\[4\]'"),
        ("link.r[0]", r"'link.r\[0\]': a BodyShape has no 'r\[0\]'"),
        ("link.r[²]", r"'link.r\[²\]': a BodyShape has no 'r\[²\]'"),
        ("link.r[1", r"'link.r\[1': a BodyShape has no"),
        ("hinge.actuated", "'hinge.actuated': a Revolute has no 'actuated'"),
        ("", "has no parameter or start value ''"),
    ],
)
def test_with_values_refuses_an_unknown_name_with_the_nearest(name: str, said: str) -> None:
    with pytest.raises(UnknownNameError, match=said):
        pendulum(parameters=(Parameter("length", 1.0),)).with_values({name: 1.0})


def test_with_values_refuses_an_unknown_name_in_a_subsystem_with_its_full_name() -> None:
    with pytest.raises(UnknownNameError, match=r"'left\.lnk\.m'.*did you mean 'left\.link\.m'"):
        two_arms().with_values({"left.lnk.m": 1.0})


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, None, True])
def test_with_values_refuses_a_bad_value(value: Any) -> None:
    with pytest.raises(ValueRangeError, match=r"link\.m = "):
        pendulum().with_values({"link.m": value})


def test_with_values_replaces_exactly_what_it_names() -> None:
    system = pendulum(parameters=(Parameter("l", 1.0, "m", "length"),))
    changed = system.with_values({"l": 2.0, "world.g": 1.62, "link.r[2]": 0.25, "hinge.phi": "l/4"})
    expected = pendulum(
        world=World(g=1.62),
        joint=Revolute("hinge", phi="l/4", w=0.0),
        body=replace(BODY, r=(1.0, 0.25, 0)),
        parameters=(Parameter("l", 2.0, "m", "length"),),
    )
    assert changed == expected


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_with_values_takes_every_name_that_values_lists(name: str) -> None:
    system = MECHANISMS[name]()
    for label in system.values():
        assert system.with_values({label: 0.123}) != system


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_with_values_leaves_the_original_as_it_was(name: str) -> None:
    system = MECHANISMS[name]()
    system.with_values(dict.fromkeys(system.values(), 0.123))
    assert system == MECHANISMS[name]()


def test_with_values_frees_a_start_value() -> None:
    dae = absolute(pendulum().with_values({"hinge.phi": None}))
    assert [item.name for item in dae.start.starts] == ["hinge.w"]


def test_with_values_reaches_a_parameter_of_a_subsystem() -> None:
    parameters = parameters_of(absolute(two_arms().with_values({"left.l": 3.0})))
    assert (parameters["left.l"], parameters["right.l"]) == (3.0, 1.0)


def test_with_values_reaches_a_parameter_that_the_outer_system_has_given_a_value() -> None:
    for value in (2.0, "2*k"):
        dae = absolute(two_arms(l=value).with_values({"left.l": 3.0}))
        assert {**parameters_of(dae), **bound_of(dae)}["left.l"] == 3.0


@pytest.mark.parametrize("attribute", ["name", "components", "planar"])
def test_a_system_is_frozen(attribute: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(pendulum(), attribute, None)


def test_a_component_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        BODY.m = 2.0  # type: ignore[misc]


# -- systems in systems ---------------------------------------------------------------------------------------------


def flat_arms() -> System:
    """`two_arms(l="2*k", phi0=0.3)` written without sub-systems, dots replaced by underscores."""

    def parts(side: str) -> tuple[Component, ...]:
        l = f"{side}_l"  # noqa: E741 - the length, as in the arm
        return (
            Revolute(f"{side}_hinge", phi=f"{side}_phi0", w=0.0, actuated=True),
            BodyShape(f"{side}_link", m=f"2*{l}", r=(l, 0), r_CM=(f"{l}/2", 0), I_33=f"2*{l}**3/12"),
        )

    def ends(side: str) -> tuple[Connection, ...]:
        return (
            connect(f"{side}_hinge.frame_b", f"{side}_link.frame_a"),
            connect("world.frame_b", f"{side}_hinge.frame_a"),
        )

    return System(
        "flat_arms",
        (World(), *parts("left"), *parts("right")),
        (*ends("left"), *ends("right")),
        (
            Parameter("k", 0.5, "m"),
            Parameter("left_l", "2*k", "m"),
            Parameter("left_phi0", 0.3, "rad"),
            Parameter("right_l", 1.0, "m"),
            Parameter("right_phi0", 0.0, "rad"),
        ),
        planar=True,
    )


def test_names_inside_a_subsystem_are_dotted() -> None:
    dae = absolute(two_arms())
    assert dae.coordinates[:3] == ("left.link.x", "left.link.y", "left.link.phi")
    assert [item.name for item in dae.inputs] == ["left.hinge.tau", "right.hinge.tau"]
    assert {"left.hinge.phi", "right.link.v_0[2]", "left.link.frame_b.r_0[1]"} <= {item.name for item in dae.outputs}
    assert {"left.l", "right.phi0", "k"} <= parameters_of(dae).keys()


def test_names_are_dotted_through_every_level() -> None:
    middle = System("middle", (Subsystem("lower", arm(), {"l": "size"}),), (), (Parameter("size", 4.0),), planar=True)
    outer = System(
        "outer",
        (World(), Subsystem("upper", middle, {"size": "3*k"})),
        (connect("world.frame_b", "upper.lower.hinge.frame_a"),),
        (Parameter("k", 0.25),),
        planar=True,
    )
    dae = absolute(outer)
    bound = bound_of(dae)
    assert dae.coordinates[0] == "upper.lower.link.x"
    assert (bound["upper.size"], bound["upper.lower.l"], bound["upper.lower.link.m"]) == (0.75, 0.75, 1.5)


def test_a_value_given_to_a_subsystem_replaces_its_own() -> None:
    parameters = parameters_of(absolute(two_arms(l=2.5)))
    assert (parameters["left.l"], parameters["right.l"]) == (2.5, 1.0)


def test_a_value_given_as_an_expression_follows_the_outer_parameters() -> None:
    dae = absolute(two_arms(l="2*k + 0.5"))
    p = dae.p_default()
    assert bound_of(dae, p)["left.l"] == 1.5
    p[[item.name for item in dae.parameters].index("k")] = 2.0
    assert bound_of(dae, p)["left.l"] == 4.5
    assert bound_of(dae, p)["left.link.m"] == 9.0


def test_a_subsystem_gives_the_equations_of_the_flat_system() -> None:
    nested, flat = absolute(two_arms(l="2*k", phi0=0.3)), absolute(flat_arms())
    names = [item.name.replace(".", "_") for item in nested.parameters]
    assert sorted(names) == sorted(item.name.replace(".", "_") for item in flat.parameters)
    order = [names.index(item.name.replace(".", "_")) for item in flat.parameters]
    rng = np.random.default_rng(1)
    for _ in range(5):
        p = nested.p_default() * rng.uniform(0.5, 2.0, len(names))
        q, v, u = rng.normal(size=6), rng.normal(size=6), rng.normal(size=2)
        for part, function, arguments in (
            ("equations", "M", (q,)),
            ("constraints", "Phi", (q,)),
            ("constraints", "Phi_q", (q,)),
            ("equations", "force", (q, v, [], u)),
            ("constraints", "gamma", (q, v)),
            ("energies", "kinetic", (q, v)),
            ("energies", "potential", (q,)),
        ):
            time = () if function in {"M", "kinetic"} else (0.0,)
            one = np.array(getattr(getattr(nested, part), function)(*arguments, p, *time))
            other = np.array(getattr(getattr(flat, part), function)(*arguments, p[order], *time))
            np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-14)


def test_two_instances_of_one_system_do_not_touch_each_other() -> None:
    dae = absolute(two_arms())
    q, v, u, t = ca.SX.sym("q", 6), ca.SX.sym("v", 6), ca.SX.sym("u", 2), ca.SX.sym("t")
    p = ca.vertcat(*(ca.SX.sym(item.name) for item in dae.parameters))
    right = [k for k, item in enumerate(dae.parameters) if item.name.startswith("right.")]
    shown = ca.vertcat(
        dae.equations.force(q, v, [], u, p, t)[:3],
        dae.constraints.Phi(q, p, t)[:2],
        ca.vec(dae.equations.M(q, p)[:3, :]),
        dae.constraints.gamma(q, v, p, t)[:2],
    )
    assert right
    assert not ca.depends_on(shown, ca.vertcat(q[3:], v[3:], u[1], p[right]))


def test_a_subsystem_turns_like_its_twin_when_it_has_the_same_values() -> None:
    result = simulate(
        two_arms(), 0.2, stepper="direct", step=1e-2, inputs={"left.hinge.tau": "1", "right.hinge.tau": "1"}
    )
    np.testing.assert_array_equal(result["left.hinge.phi"], result["right.hinge.phi"])
    assert abs(result["left.hinge.phi"][-1]) > 1e-3


def test_an_axis_force_in_a_subsystem_acts_on_the_joint_of_its_own_system() -> None:
    sprung = replace(arm(), components=(*arm().components, RotationalSpring("coil", joint="hinge", c=8.0)))
    system = System(
        "sprung",
        (World(g=0.0), Revolute("hinge", phi=0.5), Body("link", m=1.0, I_33=1.0), Subsystem("left", sprung)),
        (*HUNG, connect("world.frame_b", "left.hinge.frame_a")),
        planar=True,
    )
    dae = absolute(system)
    q = np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.5])
    assert dae.coordinates[5] == "left.link.phi"
    assert float(dae.energies.potential(q, dae.p_default(), 0.0)) == pytest.approx(8.0 * 0.5**2 / 2, rel=1e-15)
    np.testing.assert_allclose(
        np.array(dae.equations.force(q, np.zeros(6), [], np.zeros(1), dae.p_default(), 0.0)).reshape(-1),
        [0, 0, 0, 0, 0, -4.0],
        atol=1e-15,
    )


def test_start_errors_are_model_errors() -> None:
    assert issubclass(StartError, ModelError)


@pytest.mark.parametrize(
    "make", [lambda: Body("é"), lambda: Parameter("ρ", 1.0), lambda: Subsystem("ñ", System("x", (World(),)))]
)
def test_a_name_that_fmi_has_no_place_for_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(NameInUseError, match="a to z"):
        make()
