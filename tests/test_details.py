"""Tables of what models and components take, against what they take."""

from dataclasses import replace

import pytest

import mbfmu
from mbfmu.dae import derive
from mbfmu.model import BodyShape, FixedTranslation, Revolute, System, World, connect
from mbfmu.model.toml.kinds import component_types
from mbfmu.show.details import component_fields, connections_of, start_fault, text_of, variables
from mbfmu.show.listing import components, description


@pytest.mark.parametrize("kind", component_types().values(), ids=component_types())
def test_every_field_of_a_component_has_a_meaning_and_a_default(kind: type) -> None:
    rows = component_fields(kind)
    assert [row["name"] for row in rows if not row["meaning"] or row["default"] is None] == []
    assert all(row["unit"] for row in rows if row["kind"] in {"parameter", "start value", "state", "formula"})
    assert connections_of(kind)
    assert text_of(kind)


def test_the_fields_of_a_component_are_those_of_its_class() -> None:
    rows = {row["name"]: row for row in component_fields(Revolute)}
    assert rows["phi"] == {
        "name": "phi", "kind": "start value", "unit": "rad", "default": "free",
        "meaning": "start angle of frame_b seen from frame_a, rad",
    }  # fmt: skip
    assert rows["n"]["default"] == ["0.0", "0.0", "1.0"]
    assert connections_of(Revolute) == ["frame_a", "frame_b"]
    listed = {row["name"]: row["frames_or_joints"] for row in components()}
    assert (listed["RotationalSpring"], listed["World"]) == (["joint"], ["frame_b"])


def test_the_variables_of_a_block_are_its_inputs_states_parameters_and_outputs() -> None:
    block = mbfmu.load("dc_motor")
    rows = {row["name"]: row for row in variables(derive(block))}
    for items, kind in ((block.inputs, "input"), (block.states, "state")):
        assert all((rows[item.name]["kind"], rows[item.name]["unit"]) == (kind, item.unit) for item in items)
    plain = [item for item in block.parameters if not isinstance(item.value, str)]
    assert all(rows[item.name]["default"] == item.value for item in plain)
    assert all(rows[item.name]["meaning"] == item.description for item in block.parameters)
    assert all(rows[item.name]["kind"] == "output" for item in block.defined if item.output)


def test_every_start_value_of_a_table_can_be_set_and_what_is_calculated_has_its_value() -> None:
    system = mbfmu.load("slider_crank")
    rows = description(system)["variables"]
    named = [row["name"] for row in rows if row["kind"] == "start value"]
    assert set(named) <= set(system.start_values())
    assert [row for row in rows if row["kind"] == "start value" and row["default"] == "free"]
    shaped = {row["name"]: row["default"] for row in description(mbfmu.load("two_link", {"l2": 3.0}))["variables"]}
    assert shaped["link2.r_CM[1]"] == pytest.approx(1.5)


def dyad(ground: float) -> System:
    """Return two bars of 1 m between two hinges that are some metres apart."""
    return System(
        "dyad",
        planar=True,
        components=(
            World(),
            *(Revolute(name) for name in "abc"),
            *(BodyShape(name, m=1.0, r=(1.0, 0.0), I_33=0.1) for name in ("one", "two")),
            FixedTranslation("ground", r=(ground, 0.0)),
        ),
        connections=(
            connect("world.frame_b", "a.frame_a"), connect("a.frame_b", "one.frame_a"),
            connect("one.frame_b", "b.frame_a"), connect("b.frame_b", "two.frame_a"),
            connect("two.frame_b", "c.frame_b"), connect("world.frame_b", "ground.frame_a"),
            connect("ground.frame_b", "c.frame_a"),
        ),
    )  # fmt: skip


def test_a_loop_that_cannot_close_is_named_and_one_that_can_is_not() -> None:
    assert "the loop b - c - a cannot be closed (residual 3)" in start_fault(derive(dyad(5.0)))
    assert start_fault(derive(dyad(1.5))) == ""
    missing = replace(
        dyad(1.5), components=(*dyad(1.5).components[:1], Revolute("a", phi=1.5, w=0.0), *dyad(1.5).components[2:])
    )
    assert "cannot be closed" in start_fault(derive(missing))
