"""Systems as TOML: the same system back, one clear line for every mistake, and nothing a hostile file can do."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import mechanisms
import numpy as np
import pytest
from harness import examples, extra
from hypothesis import given

import mbfmu
from mbfmu.dae import derive
from mbfmu.errors import (
    AxisError,
    ExpressionError,
    FrameConnectionError,
    MassError,
    MbfmuError,
    ModelError,
    ModelFileError,
    NameInUseError,
    UnknownNameError,
    ValueRangeError,
)
from mbfmu.model import (
    Block,
    Body,
    BodyShape,
    Component,
    Defined,
    Gear,
    ModalBody,
    Parameter,
    Port,
    Revolute,
    RotationalMaxwellDamper,
    Sampled,
    State,
    Subsystem,
    System,
    Tyre,
    World,
    connect,
    guess,
    wire,
)
from mbfmu.model import __all__ as exported
from mbfmu.model.library import folder, known_models
from mbfmu.model.source import LONGEST_MESSAGE
from mbfmu.model.toml import from_toml, is_model, read_toml, schema, to_toml
from mbfmu.model.toml.kinds import component_types, fields_of
from mbfmu.model.toml.reader import LARGEST, tomllib

ROOT = Path(__file__).parents[1]
PENDULUM = """\
name = "pendulum"
description = "one rod"
planar = true
connections = [
  ["world.frame_b", "hinge.frame_a"],
  ["hinge.frame_b", "rod.frame_a"],
]

[parameters]
m = 1.0
l = {value = 0.5, unit = "m", description = "length", min = 1e-6}

[components]
world = {type = "World", n = [0, -1]}

[components.hinge]
type = "Revolute"
phi = "pi/6"
w = 0
actuated = true

[components.rod]
type = "BodyShape"
m = "m"
r = ["l", 0]
r_CM = ["l/2", 0]
I_33 = "m*l**2/12"
"""


SCHEMA = schema()
NAMES = [*known_models(), *mechanisms.MECHANISMS]


def model_of(name: str) -> Any:
    return mechanisms.MECHANISMS[name]() if name in mechanisms.MECHANISMS else mbfmu.load(name)


def _own(model: Any) -> bool:
    """Whether a model is no system or block, or has a component of a class of its own or with the data of a file."""
    if isinstance(model, System):
        return any(_own(item.system if isinstance(item, Subsystem) else item) for item in model.components)
    return isinstance(model, ModalBody | Tyre) or type(model) not in {*component_types().values(), Block, Sampled}


def refused(text: str) -> MbfmuError:
    with pytest.raises(MbfmuError) as caught:
        from_toml(text, "x.toml", mbfmu.load)
    message = str(caught.value)
    assert re.match(r"'x\.toml', line \d+: ", message), message
    assert "\n" not in message
    assert len(message) < LONGEST_MESSAGE + 50
    return caught.value


# -- the system ------------------------------------------------------------------------------------------------------


def test_a_document_is_the_system_it_says() -> None:
    assert from_toml(PENDULUM) == System(
        "pendulum",
        description="one rod",
        planar=True,
        parameters=(Parameter("m", 1.0), Parameter("l", 0.5, "m", "length", min=1e-6)),
        components=(
            World(n=(0, -1)),
            Revolute("hinge", phi="pi/6", w=0, actuated=True),
            BodyShape("rod", m="m", r=("l", 0), r_CM=("l/2", 0), I_33="m*l**2/12"),
        ),
        connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "rod.frame_a")),
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_system_written_and_read_is_the_same_system_and_satisfies_the_schema(name: str) -> None:
    """One that is not made of components of mbfmu is refused."""
    model = model_of(name)
    if _own(model):
        with pytest.raises(ModelFileError, match=r"of a model file of its own|is given by its energies|data of a file"):
            to_toml(model)
        return
    text = to_toml(model)
    assert from_toml(text) == model
    extra("jsonschema", "test").validate(tomllib.loads(text), SCHEMA)


def test_writing_is_tried_on_systems_of_both_kinds() -> None:
    written = [model_of(name) for name in ("two_link", "rigid_body", "robot")]
    assert {item.planar for item in written} == {True, False}
    assert not any(map(_own, written))


@given(st.text(), st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**63), 2**63))
def test_texts_and_numbers_come_back_to_the_last_bit(text: str, number: float, integer: int) -> None:
    system = System(
        "s",
        (Subsystem("inner", System("t", (World(),), parameters=(Parameter("a_1", integer),)), {"a_1": number}),),
        parameters=(Parameter("x", number, text, text, min=min(number, 0)), Parameter("y", f"{number!r}*x")),
        description=text,
    )
    assert from_toml(to_toml(system)) == system


def test_a_component_of_a_users_own_class_is_not_written() -> None:
    with pytest.raises(ModelFileError, match="'carriage' is a Carriage, a component of a model file of its own"):
        to_toml(mbfmu.load("driven_pendulum"))
    with pytest.raises(ModelFileError, match="'rolling_disk' is given by its energies"):
        to_toml(mbfmu.load("rolling_disk"))


def test_entries_of_start_values_may_be_left_free() -> None:
    text = 'name = "s"\n[components]\nb = {type = "Body", r_0 = [0, "?", 1]}'
    (body,) = from_toml(text).components
    assert body == Body("b", r_0=(0, None, 1))
    assert '"?"' in to_toml(from_toml(text))


def test_guesses_and_degrees_are_written_and_read() -> None:
    text = (
        'name = "s"\n[components]\nb = {type = "Body", r_0 = [0, "guess(0.5)", "?"]}\n'
        'h = {type = "Revolute", phi = "guess(deg(30))", w = "deg(90)"}'
    )
    body, hinge = from_toml(text).components
    assert body == Body("b", r_0=(0, guess(0.5), None))
    assert hinge == Revolute("h", phi="guess(deg(30))", w="deg(90)")
    assert from_toml(to_toml(from_toml(text))) == from_toml(text)
    extra("jsonschema", "test").validate(tomllib.loads(text), SCHEMA)


# -- sub-systems -----------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with an arm, and a system that uses it twice."""
    arm = PENDULUM
    for line in ('world = {type = "World", n = [0, -1]}\n', '["world.frame_b", "hinge.frame_a"],'):
        arm = arm.replace(line, "")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.toml").write_text(arm, encoding="utf-8")
    (tmp_path / "two.toml").write_text(
        'name = "two"\nplanar = true\n'
        'connections = [["world.frame_b", "a.hinge.frame_a"], ["a.rod.frame_b", "b.hinge.frame_a"]]\n'
        "[parameters]\nL = 2.0\n"
        '[components]\nworld = {type = "World"}\na = {system = "parts/arm.toml", values = {l = "L/2", m = 3}}\n'
        'b = {system = "parts/arm.toml"}\n',
        encoding="utf-8",
    )
    return tmp_path


def test_a_sub_system_is_read_from_its_file(tree: Path) -> None:
    arm, two = mbfmu.load(tree / "parts" / "arm.toml"), mbfmu.load(tree / "two.toml")
    assert isinstance(arm, System)
    assert isinstance(two, System)
    assert two.components[1:] == (Subsystem("a", arm, {"l": "L/2", "m": 3}), Subsystem("b", arm))
    assert from_toml(to_toml(two)) == two


@pytest.mark.parametrize(
    "path",
    ["../two.toml", "parts/../two.toml", "/etc/passwd", "/x.toml", "C:\\\\x.toml", "parts\\\\arm.toml", "x.py", "",
     "parts/", "a\\u0000.toml", "file:x.toml"],
)  # fmt: skip
def test_a_path_that_leaves_the_folder_is_refused(path: str, tree: Path) -> None:
    file = tree / "two.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("parts/arm.toml", path), encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"two\.toml', line 8: system = .* must be the path of a \.toml file in"):
        mbfmu.load(file)


def test_a_link_that_leads_out_of_the_folder_is_refused(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = shutil.copy(tree / "parts" / "arm.toml", tmp_path_factory.mktemp("outside") / "arm.toml")
    (tree / "parts" / "arm.toml").unlink()
    (tree / "parts" / "arm.toml").symlink_to(outside)
    with pytest.raises(ModelFileError, match=r"line 8: 'parts/arm\.toml' leads out of the folder"):
        mbfmu.load(tree / "two.toml")


@pytest.mark.parametrize("path", ["loop.toml", f"{'x' * 300}.toml", "two.toml/x.toml", "missing.toml"])
def test_a_path_that_leads_nowhere_is_refused(path: str, tree: Path) -> None:
    (tree / "loop.toml").symlink_to("loop.toml")
    file = tree / "two.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("parts/arm.toml", path), encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"two\.toml', line 8: there is no model file"):
        mbfmu.load(file)


def test_files_that_use_each_other_in_a_circle_are_refused(tree: Path) -> None:
    user = 'name = "c"\n[components]\nx = {system = "NEXT.toml"}\n'
    for name, following in (("one", "two"), ("two", "three"), ("three", "one")):
        (tree / f"{name}.toml").write_text(user.replace("NEXT", following), encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"in a cycle: one\.toml -> two\.toml -> three\.toml -> one\.toml"):
        mbfmu.load(tree / "one.toml")


def test_files_that_double_each_other_are_refused_at_once(tree: Path) -> None:
    """Twelve files of a hundred sub-systems each would be 1e24 bodies."""
    for number in range(12):
        inner = "\n".join(f'x{k} = {{system = "f{number + 1}.toml"}}' for k in range(100))
        (tree / f"f{number}.toml").write_text(f'name = "f"\n[components]\n{inner}\n', encoding="utf-8")
    shutil.copy(tree / "parts" / "arm.toml", tree / "f12.toml")
    with pytest.raises(ModelFileError, match=r"f10\.toml', line \d+: more than 5000 components"):
        mbfmu.load(tree / "f0.toml")
    for number in range(30):
        text = f'name = "g"\n[components]\nx = {{system = "g{number + 1}.toml"}}\n'
        (tree / f"g{number}.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ModelFileError, match="more than 16 files use each other in a row"):
        mbfmu.load(tree / "g0.toml")


def test_a_mistake_in_the_file_of_a_sub_system_is_said_where_it_stands(tree: Path) -> None:
    file = tree / "parts" / "arm.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("Revolute", "Revolte"), encoding="utf-8")
    with pytest.raises(UnknownNameError, match=r"parts.arm\.toml', line \d+: 'hinge': .* did you mean 'Revolute'"):
        mbfmu.load(tree / "two.toml")
    (tree / "parts" / "arm.toml").unlink()
    with pytest.raises(ModelFileError, match=r"two\.toml', line 8: there is no model file"):
        mbfmu.load(tree / "two.toml")


# -- mistakes --------------------------------------------------------------------------------------------------------

MISTAKES: dict[tuple[str, str], tuple[type[MbfmuError], int, str]] = {
    ('name = "pendulum"\n', ""): (ModelFileError, 1, "a system needs a name"),
    ('name = "pendulum"', 'name = "a b"'): (ModelFileError, 1, "'a b' cannot name a system"),
    ("planar = true", 'planar = "yes"'): (ModelFileError, 3, "planar must be a boolean, not a text"),
    ("planar = true", "planr = true"): (UnknownNameError, 3, "did you mean 'planar'"),
    ("planar = true", 'model = "two_link"'): (ModelFileError, 3, "this is an export recipe"),
    ("planar = true", "planar = true\nplanar = true"): (ModelFileError, 4, "Cannot overwrite a value (column 14)"),
    ("planar = true", "planar = true,"): (ModelFileError, 3, "column 14"),
    ('"hinge.frame_a"]', '"hing.frame_a"]'): (UnknownNameError, 5, "did you mean 'hinge.frame_a'"),
    ('["world.frame_b", "hinge.frame_a"]', '["world.frame_b"]'): (ModelFileError, 5, "a connection is an array of two"),
    ('["world.frame_b", "hinge.frame_a"]', "[1, 2]"): (ModelFileError, 5, "a connection is an array of two"),
    ('["hinge.frame_b", "rod.frame_a"]', '["hinge.frame_a", "world.frame_b"]'): (
        FrameConnectionError, 6, "stated twice",
    ),
    ('["hinge.frame_b", "rod.frame_a"]', '["rod.frame_a", "world.frame_b"]'): (
        FrameConnectionError, 16, "frame_b is connected to nothing",
    ),
    ("m = 1.0", "m = true"): (ValueRangeError, 10, "m = True is not a value: give a number in 1 or an expression"),
    ("m = 1.0", "m = 1979-05-27"): (ModelFileError, 10, "not a date or time"),
    ("m = 1.0", "m = nan"): (ValueRangeError, 10, "m = nan must be a finite number"),
    ("m = 1.0", "m = -inf"): (ValueRangeError, 10, "m = -inf must be a finite number"),
    ("m = 1.0", "m = {unit = 1}"): (ModelFileError, 10, "needs a value"),
    ("m = 1.0", "m = {value = 1, unit = 1}"): (ModelFileError, 10, "unit must be a text, not an integer"),
    ("m = 1.0", "m = {value = 1, minimum = 1}"): (UnknownNameError, 10, "did you mean 'min'"),
    ("m = 1.0", "m = -1.0"): (ValueRangeError, 24, "rod.m = -1 is outside its bounds"),
    ("m = 1.0", 'm = "l"\nl2 = "k"'): (UnknownNameError, 11, "no parameter 'k'"),
    ("m = 1.0", 'm = "n"\nn = "m"'): (ExpressionError, 10, "in a cycle: m -> n -> m"),
    ("m = 1.0", f"m = 1{'0' * 400}"): (ModelFileError, 10, "more than 64 bits"),
    ("m = 1.0", f"m = 1{'0' * 5000}"): (ModelFileError, 0, "4300 digits"),
    ("m = 1.0", "m = 1e999"): (ValueRangeError, 10, "m = inf"),
    ("m = 1.0", "pi = 1.0"): (NameInUseError, 10, "'pi' cannot name a parameter"),
    ("m = 1.0", "hinge = 1.0"): (NameInUseError, 16, "two things named 'hinge'"),
    ("value = 0.5", "value = 0"): (ValueRangeError, 11, "l = 0 is outside its bounds 1e-06"),
    ('type = "Revolute"', 'type = "Revolution"'): (UnknownNameError, 17, "did you mean 'Revolute'"),
    ('type = "Revolute"', 'type = "Joint"'): (UnknownNameError, 17, "no component 'Joint'"),
    ('type = "Revolute"', 'type = "os"'): (UnknownNameError, 17, "no component 'os'"),
    ('type = "Revolute"', "type = 1"): (ModelFileError, 17, "has an integer as its type"),
    ('type = "Revolute"', ""): (ModelFileError, 16, "'hinge' needs a type"),
    ('type = "Revolute"', 'type = "Revolute"\nsystem = "x.toml"'): (UnknownNameError, 18, "has no 'system'"),
    ('phi = "pi/6"', 'psi = "pi/6"'): (UnknownNameError, 18, "a Revolute has no 'psi'; did you mean 'phi'"),
    ('phi = "pi/6"', "name = 'x'"): (UnknownNameError, 18, "put 'name' above the first [table]"),
    ('phi = "pi/6"', "phi = []"): (ModelFileError, 18, "must be a number or an expression, not an array"),
    ('phi = "pi/6"', "phi = [[1]]"): (ModelFileError, 18, "hinge.phi[1] must be a number or an expression"),
    ('phi = "pi/6"', "phi = {x = 1}"): (ModelFileError, 18, "hinge.phi must be a number or an expression, not a table"),
    ('phi = "pi/6"', "phi = 12:00:00"): (ModelFileError, 18, "not a date or time"),
    ('phi = "pi/6"', "phi = true"): (ValueRangeError, 18, "hinge.phi = True is not a value"),
    ('phi = "pi/6"', 'phi = "__import__(\'os\')"'): (ExpressionError, 18, "is not allowed in the expression"),
    ('phi = "pi/6"', f'phi = "{"(" * 5000}"'): (ExpressionError, 18, "cannot read the expression"),
    ('phi = "pi/6"', f'phi = "{"-" * 5000}1"'): (ExpressionError, 18, "expression"),
    ('phi = "pi/6"', f'phi = "{"1+" * 50000}1"'): (ExpressionError, 18, "too long"),
    ('phi = "pi/6"', f'phi = "x if 0x{"f" * 5000} else 1"'): (ExpressionError, 18, "so many digits"),
    ("actuated = true", "actuated = 1"): (ModelFileError, 20, "actuated must be true or false, not an integer"),
    ("actuated = true", "n = [0, 0, 0]"): (AxisError, 20, "has no direction"),
    ("actuated = true", 'n = ["x", 0, 1]'): (AxisError, 20, "must be 2 or 3 numbers"),
    ("actuated = true", "n = 1"): (AxisError, 20, "must be 2 or 3 numbers"),
    ('m = "m"', "m = -1"): (ValueRangeError, 24, "rod.m = -1 is outside its bounds"),
    ('m = "m"', "m = nan"): (ValueRangeError, 24, "rod.m = nan"),
    ('r = ["l", 0]', 'r = ["l", 0, 0, 0]'): (ValueRangeError, 25, "must be a vector of 2 or 3 entries"),
    ('r = ["l", 0]', 'r = ["l", 0, 1]'): (ValueRangeError, 25, "rod.r[3] = 1 must be 0 in a planar system"),
    ('r = ["l", 0]', 'r = ["?", 0]'): (ExpressionError, 25, "cannot read the expression"),
    ('I_33 = "m*l**2/12"', 'I_33 = "-m"'): (ValueRangeError, 27, "rod.I_33 = -1 is outside its bounds"),
    ('world = {type = "World", n = [0, -1]}', "world = 1"): (ModelFileError, 14, "must be a table with a type"),
    ('world = {type = "World", n = [0, -1]}', '"a b" = {type = "World"}'): (NameInUseError, 14, "'a b' cannot name"),
    ('"World", n = [0, -1]}', '"World"}\nearth = {type = "World"}'): (FrameConnectionError, 14, "has 2 World"),
    ("[components.rod]", '[components.coil]\ntype = "Gear"\njoint_a = "hinge"\njoint_b = "x"\n[components.rod]'): (
        UnknownNameError, 22, "Gear 'coil' acts on the joint 'x'",
    ),
    ("[components.rod]", "[components.coil]\nsystem = 1\n[components.rod]"): (
        ModelFileError, 23, "system must be a path, a name or a table",
    ),
    ("[components.rod]", '[components.coil]\nsystem = "x.toml"\n[components.rod]'): (
        ModelFileError, 23, "a text that is in no file",
    ),
    ("[components.rod]", '[components.c.system]\nname = "c"\ncomponents = 1\n[components.rod]'): (
        ModelFileError, 24, "components must be a table",
    ),
    ("[components.rod]", f"[components.rod{'.x' * 100}]\n[components.rod]"): (ModelFileError, 22, "more than 32"),
    ("planar = true", f"planar = {'[' * 1_000}"): (ModelFileError, 3, "nested more than 32 deep"),
    ("planar = true", f"planar = {'{a=' * 1_000}"): (ModelFileError, 3, "nested more than 32 deep"),
    ("planar = true", f"{'a.' * 1_000}b = 1"): (ModelFileError, 3, "nested more than 32 deep"),
    ("planar = true", f"{'a' * 1_000} = 1"): (ModelFileError, 3, "a key of 1000 characters is too long"),
    ("planar = true", 'x = """'): (ModelFileError, 0, "Unterminated string"),
    ("planar = true", "x = '''"): (ModelFileError, 0, ""),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), MISTAKES, ids=lambda text: re.sub(r"\W+", "_", text)[:30])
def test_a_mistake_is_one_line_with_the_file_the_line_and_the_remedy(old: str, new: str) -> None:
    kind, line, text = MISTAKES[old, new]
    assert PENDULUM.count(old) >= 1
    error = refused(PENDULUM.replace(old, new, 1))
    assert isinstance(error, kind)
    assert text in str(error)
    if line:
        assert f", line {line}: " in str(error), str(error)


SPATIAL = """\
name = "body"
connections = [["world.frame_b", "free.frame_a"], ["free.frame_b", "body.frame_a"]]
[parameters]
J = 1.0
[components]
world = {type = "World"}
free = {type = "FreeMotion"}
[components.body]
type = "Body"
m = 1
"""


@pytest.mark.parametrize(
    ("inertia", "reason"),
    [
        ('I_11 = "J"\nI_22 = 1\nI_33 = 2.1', "none may exceed the sum of the other two"),
        ("I_11 = 1\nI_22 = 1\nI_33 = 1\nI_21 = 1.5", "the inertia is not positive"),
        ("I_11 = 1\nI_22 = 1\nI_33 = 1\nI_32 = 0.9", "none may exceed"),
        ("I_33 = 1", "none may exceed"),
        ("I_11 = 1e300\nI_22 = 1e300\nI_33 = 1e301", "none may exceed"),
    ],
)
def test_an_inertia_that_no_body_has_is_refused(inertia: str, reason: str) -> None:
    error = refused(SPATIAL + inertia)
    assert isinstance(error, MassError)
    assert "line 11: body.I_11" in str(error) or "line 8: body.I_11" in str(error)
    assert reason in str(error)


@pytest.mark.parametrize("inertia", ["", "I_11 = 1\nI_22 = 1\nI_33 = 2", "I_11 = 0.083\nI_22 = 0.083\nI_33 = 0.167"])
def test_points_plates_and_rounded_data_are_bodies(inertia: str) -> None:
    assert from_toml(SPATIAL + inertia).name == "body"


# -- hostile files ---------------------------------------------------------------------------------------------------


def test_a_file_that_is_no_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(PENDULUM.encode().replace(b"one rod", b"\xe4"))
    with pytest.raises(ModelFileError, match=r"x\.toml', line 2: this is not UTF-8"):
        mbfmu.load(tmp_path / "x.toml")
    (tmp_path / "x.toml").write_bytes(b"\xef\xbb\xbf" + PENDULUM.encode())  # as Windows' Notepad saves it
    assert mbfmu.load(tmp_path / "x.toml") == from_toml(PENDULUM)


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(ModelFileError, match=r"x\.toml' is larger than 1 MB"):
        mbfmu.load(tmp_path / "x.toml")


NONSENSE = (
    "[" * LARGEST, "{" * LARGEST, "a." * (LARGEST // 2), "a=" + "[" * LARGEST, "'a'." * (LARGEST // 4),
    "a\n" * (LARGEST // 2), '"""\\"\\' * (LARGEST // 7), "x = " + "9" * LARGEST, "x = 1." + "9" * LARGEST,
    "x = '''" + "'\\" * (LARGEST // 2), "[a]\n" * (LARGEST // 4), "a = {" + "b = 1, " * (LARGEST // 8) + "}",
    'x = "' + "\\n" * (LARGEST // 2) + '"', "\0" * LARGEST,
    "\r" * LARGEST, "x = 0x" + "f" * LARGEST,
    'name = "x"\n[components]\n' + "".join(f'w{k} = {{type = "World"}}\n' for k in range(4_900))
    + f'a = {{type = "{"W" * 100_000}"}}',
)  # fmt: skip
VALID = (
    "x = [" + "1," * (LARGEST // 2 - 9) + "]", "".join(f"[a.b{k}]\n" for k in range(LARGEST // 12)),
    'name = "x"\ncomponents = {a = {type = "World", n = [' + "0," * (LARGEST // 2 - 50) + "]}}",
    'name = "x"\n[components]\n' + "".join(f'w{k} = {{type = "World"}}\n' for k in range(30_000)),
)  # fmt: skip
"""Long files of valid TOML, which takes a second to read."""


@pytest.mark.parametrize(
    "text",
    [*NONSENSE, *(pytest.param(text, marks=pytest.mark.further) for text in VALID)],
    ids=lambda text: re.sub(r"\W+", "_", text[:20]) + str(len(text)),
)
def test_a_long_file_of_nonsense_is_refused_at_once(text: str) -> None:
    refused(text[:LARGEST])


def test_parameters_that_double_each_other_are_read_at_once() -> None:
    chain = "\n".join(f'p{k + 1} = "p{k} + p{k}"' for k in range(50))
    text = SPATIAL.replace("J = 1.0", f"p0 = 1.0\n{chain}")
    script = f"from mbfmu.model.toml import from_toml; print(from_toml({text!r}).name)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=False)
    assert done.stdout.strip() == "body", done.stderr


def test_definitions_in_a_long_row_are_refused_or_read() -> None:
    chain = "\n".join(f'p{k} = "p{k + 1}"' for k in range(5_000)) + "\np5000 = 1.0"
    try:
        from_toml(SPATIAL.replace("J = 1.0", chain), "x.toml")
    except MbfmuError as error:
        assert re.search("go too deep|nested too deeply", str(error))  # noqa: PT017 - it may be read as well


KEYS = st.sampled_from(
    ["name", "planar", "components", "parameters", "connections", "system", "values", "type", "m", "n", "r", "phi",
     "I_11", "world", "a", "", "value", "min", "joint", "description", "a.b"]
)  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8),
    st.sampled_from(["World", "Body", "Revolute", "a", "world.frame_b", "pi", "Gear", "x.toml", "m*2", "?"]),
)  # fmt: skip
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5))


def document(value: Any) -> str:
    """A TOML value, its tables inline; None is something that is no TOML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {document(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(document, value)) + "]"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def read_or_refused(text: str) -> None:
    try:
        from_toml(text, "x.toml")
    except MbfmuError as error:
        assert re.fullmatch(r"'x\.toml', line \d+: .+", str(error))  # noqa: PT017 - it may be read as well


@given(st.dictionaries(KEYS, VALUES, max_size=6))
@examples(2)
def test_a_random_document_is_read_or_refused(data: dict[str, Any]) -> None:
    read_or_refused("\n".join(f"{json.dumps(key)} = {document(value)}" for key, value in data.items()))


@given(VALUES, st.data())
@examples(2)
def test_a_valid_document_with_one_random_value_is_read_or_refused(value: Any, data: st.DataObject) -> None:
    assignments = list(re.finditer(r"(?<= = )[^,{}\n]+(?=[\n}])", PENDULUM))
    place = data.draw(st.sampled_from(assignments))
    read_or_refused(PENDULUM[: place.start()] + document(value) + PENDULUM[place.end() :])


@given(st.integers(0, len(PENDULUM)), st.integers(0, 20), st.text(max_size=6) | st.sampled_from("[]{}=,.\"'#\n\\"))
@examples(3)
def test_a_valid_document_with_a_piece_replaced_is_read_or_refused(start: int, length: int, new: str) -> None:
    read_or_refused(PENDULUM[:start] + new + PENDULUM[start + length :])


@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "random.toml"
    path.write_bytes(content)
    with pytest.raises(MbfmuError):
        read_toml(path)


@given(st.dictionaries(KEYS, VALUES, max_size=6))
@examples()
def test_the_line_of_a_key_is_where_it_stands(data: dict[str, Any]) -> None:
    """Two routes: every key that the parser finds, the walk finds, and its line begins with it."""
    from mbfmu.model.toml.lines import lines_of

    text = "\n\n".join(f"[{json.dumps(key)}]\nx = {document(value)}" for key, value in data.items())
    try:
        parsed = tomllib.loads(text)
    except ValueError:
        return
    lines = lines_of(text, lambda line, what: ModelFileError(f"{line} {what}"))
    for key, table in parsed.items():
        assert text.splitlines()[lines[key,] - 1] == f"[{json.dumps(key)}]"
        assert lines[key, "x"] == lines[key,] + 1
        if isinstance(table["x"], list):
            assert {(key, "x", number) for number in range(len(table["x"]))} <= set(lines)
        if isinstance(table["x"], dict):
            assert {(key, "x", inner) for inner in table["x"]} <= set(lines)


# -- blocks and wires ------------------------------------------------------------------------------------------------

PLANT = """\
name = "axis"
planar = true
connections = [["world.frame_b", "hinge.frame_a"], ["hinge.frame_b", "rod.frame_a"]]
wires = [
  ["hinge.phi", "drive.phi"],
  {from = "hinge.w", to = "drive.w", factor = "n", offset = 0.0},
  ["drive.tau", "hinge.tau"],
  ["hinge.phi", "sampled.e"],
]

[names]
q = "hinge.phi"

[parameters]
n = 2.0

[components.world]
type = "World"

[components.hinge]
type = "Revolute"
actuated = true

[components.rod]
type = "Body"
m = 1
r_CM = [0.5, 0]

[components.drive]
type = "Block"
description = "a spring behind a filter"

[components.drive.parameters]
c = {value = 10.0, unit = "N.m/rad", min = 0}

[components.drive.inputs]
phi = {unit = "rad"}
w = {unit = "rad/s", nominal = 10.0}

[components.drive.states]
x = {rate = "(phi - x)/0.1", unit = "rad", start = "0.1/c"}
old = "w - old"

[components.drive.defined]
tau = {value = "-c*x - old", unit = "N.m", output = true}
square = "x**2"

[components.sampled]
type = "Sampled"
period = "T"
offset = 0.5

[components.sampled.parameters]
T = 0.1

[components.sampled.inputs]
e = {unit = "rad", start = 1}

[components.sampled.defined]
sum = {value = "previous(sum) + T*e", start = 2.0, output = true}
"""
DRIVE = Block(
    "drive",
    description="a spring behind a filter",
    parameters=(Parameter("c", 10.0, "N.m/rad", min=0),),
    inputs=(Port("phi", "rad"), Port("w", "rad/s", nominal=10.0)),
    states=(State("x", "(phi - x)/0.1", "rad", "0.1/c"), State("old", "w - old")),
    defined=(Defined("tau", "-c*x - old", "N.m", output=True), Defined("square", "x**2")),
)


def test_a_document_with_blocks_and_wires_is_the_system_it_says() -> None:
    sampled = Sampled(
        Block(
            "sampled",
            parameters=(Parameter("T", 0.1),),
            inputs=(Port("e", "rad", start=1),),
            defined=(Defined("sum", "previous(sum) + T*e", output=True, start=2.0),),
        ),
        "T",
        0.5,
    )
    axis = from_toml(PLANT)
    assert axis == System(
        "axis",
        planar=True,
        components=(World(), Revolute("hinge", actuated=True), Body("rod", m=1, r_CM=(0.5, 0)), DRIVE, sampled),
        connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "rod.frame_a")),
        wires=(
            wire("hinge.phi", "drive.phi"),
            wire("hinge.w", "drive.w", "n"),
            wire("drive.tau", "hinge.tau"),
            wire("hinge.phi", "sampled.e"),
        ),
        names={"q": "hinge.phi"},
        parameters=(Parameter("n", 2.0),),
    )
    assert from_toml(to_toml(axis)) == axis
    extra("jsonschema", "test").validate(tomllib.loads(PLANT), SCHEMA)
    extra("jsonschema", "test").validate(tomllib.loads(to_toml(axis)), SCHEMA)


def test_a_block_in_a_file_of_its_own_runs_and_is_a_component_of_others(tmp_path: Path) -> None:
    lag = 'name = "lag"\ntype = "Block"\n[inputs]\nu = {start = 1.0}\n[states]\nx = "(u - x)/T"\n'
    lag += '[defined]\ny = {value = "x", output = true}\n[parameters]\nT = {value = 2.0, unit = "s"}\n'
    (tmp_path / "lag.toml").write_text(lag, encoding="utf-8")
    assert is_model(tmp_path / "lag.toml")
    run = mbfmu.simulate(tmp_path / "lag.toml", 1.0, step=0.1)
    assert run["y"][-1] == pytest.approx(1 - np.exp(-0.5), rel=1e-6)
    (tmp_path / "two.toml").write_text(
        'name = "two"\nwires = [["a.y", "b.u"]]\n[components]\na = {system = "lag.toml", values = {T = 1, x = 0.5}}\n'
        'b = {system = "lag.toml"}\n',
        encoding="utf-8",
    )
    two, block = mbfmu.load(tmp_path / "two.toml"), mbfmu.load(tmp_path / "lag.toml")
    assert two == System(
        "two", (Subsystem("a", block, {"T": 1, "x": 0.5}), Subsystem("b", block)), wires=(wire("a.y", "b.u"),)
    )
    assert from_toml(to_toml(two)) == two
    for model in (two, block):
        extra("jsonschema", "test").validate(tomllib.loads(to_toml(model)), SCHEMA)
    run = mbfmu.simulate(two, 1.0, step=0.01)
    # x_a = 1 - exp(-t)/2;  2 x_b' + x_b = x_a
    assert run["b.y"][-1] == pytest.approx(1 + 0.5 * np.exp(-1) - 1.5 * np.exp(-0.5), rel=1e-9)


def test_a_component_may_be_a_model_of_the_library_by_its_name() -> None:
    text = 'name = "s"\nwires = [["motor.i", "law.measured"]]\n[components]\nlaw = {system = "pid", values = {K = 2}}\n'
    text += 'motor = {system = "dc_motor"}\n'
    wires = (wire("motor.i", "law.measured"),)
    parts = (Subsystem("law", mbfmu.load("pid"), {"K": 2}), Subsystem("motor", mbfmu.load("dc_motor")))
    assert from_toml(text, library=mbfmu.load) == System("s", parts, wires=wires)
    extra("jsonschema", "test").validate(tomllib.loads(text), SCHEMA)
    assert "did you mean 'pid'" in str(refused(text.replace('"pid"', '"pdi"')))
    assert "given by its energies" in str(refused(text.replace('"pid"', '"rolling_disk"')))
    with pytest.raises(ModelFileError, match="line 4: there is no library of models to take 'pid' from"):
        from_toml(text)


def test_start_values_of_a_block_follow_its_parameters() -> None:
    run = mbfmu.simulate(from_toml(PLANT.partition("[components.sampled]")[0].replace("sampled.e", "drive.w2").replace(
        '  ["hinge.phi", "drive.w2"],\n', "")), 0.01, values={"drive.c": 5.0})  # fmt: skip
    assert run["drive.x"][0] == 0.1 / 5.0
    assert run["q"][0] == 0.0


def test_switches_and_modes_are_read_and_written() -> None:
    text = """\
name = "clutch"
type = "Block"

[parameters]
back = {value = true, type = "Boolean"}
gear = {value = 3, type = "Integer"}

[inputs]
enable = {start = true, type = "Boolean"}

[defined]
w = {value = "where(enable, gear, back)", output = true}
"""
    clutch = Block(
        "clutch",
        inputs=(Port("enable", start=True, type="Boolean"),),
        defined=(Defined("w", "where(enable, gear, back)", output=True),),
        parameters=(Parameter("back", True, type="Boolean"), Parameter("gear", 3, type="Integer")),
    )
    assert from_toml(text) == clutch
    assert to_toml(clutch) == text
    extra("jsonschema", "test").validate(tomllib.loads(text), SCHEMA)
    twice = System("twice", (clutch, Subsystem("other", clutch, {"back": False})))
    assert from_toml(to_toml(twice)) == twice
    extra("jsonschema", "test").validate(tomllib.loads(to_toml(twice)), SCHEMA)
    error = refused(text.replace('{value = true, type = "Boolean"}', "true"))
    assert "line 5: back = True is not a value" in str(error)


def test_first_order_states_of_components_are_read_and_written() -> None:
    text = """name = "s"\n[components]\nf = {type = "RotationalMaxwellDamper", joint = "h", c = 1, tau = "2*k"}"""
    (damper,) = from_toml(text).components
    assert damper == RotationalMaxwellDamper("f", joint="h", c=1, tau="2*k")
    assert from_toml(to_toml(from_toml(text))) == from_toml(text)
    extra("jsonschema", "test").validate(tomllib.loads(text), SCHEMA)
    assert (
        "torque on the axis [N.m]"
        in SCHEMA["definitions"]["RotationalMaxwellDamper"]["properties"]["tau"]["description"]
    )


WIRED = """name = "wired"
planar = true
connections = [["world.frame_b", "hinge.frame_a"], ["hinge.frame_b", "rod.frame_a"]]
wires = [
  ["hinge.w", "law.u"],
  ["law.y", "hinge.tau"],
]
[components.world]
type = "World"
[components.hinge]
type = "Revolute"
actuated = true
[components.rod]
type = "Body"
m = 1.0
r_CM = [0.5, 0.0]
I_33 = 0.1
[components.law]
type = "Block"
inputs.u = {unit = "rad/s"}
defined.y = {value = "-u", unit = "N.m", output = true}
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ("actuated = true", "", 6, "there is no input 'hinge.tau'; 'hinge' has inputs if it is given actuated = true"),
        ('"rad/s"', '"m/s"', 5, "'hinge.w' is in rad/s and 'law.u' in m/s; give a factor that converts it"),
        ('"hinge.w"', '"hinge.a"', 5, "no wire can carry 'hinge.a'"),
        ('"hinge.w"', '"hinge.v"', 5, "there is no signal 'hinge.v'; did you mean 'hinge.w'?"),
    ],
)
def test_a_wire_that_the_equations_refuse_is_named_with_file_and_line_as_it_is_written(
    old: str, new: str, line: int, text: str
) -> None:
    derive(from_toml(WIRED))
    with pytest.raises(ModelError) as caught:
        derive(from_toml(WIRED.replace(old, new), "machine.toml"))
    assert str(caught.value).startswith(f"'machine.toml', line {line}: [\"")
    assert f" in 'wired': {text}" in str(caught.value)
    assert from_toml(WIRED) == from_toml(to_toml(from_toml(WIRED)))


BLOCK_MISTAKES: dict[tuple[str, str], tuple[type[MbfmuError], int, str]] = {
    ('["hinge.phi", "drive.phi"]', '["hinge.phi"]'): (ModelFileError, 5, "a wire is an array of two names"),
    ('["hinge.phi", "drive.phi"]', "[1, 2]"): (ModelFileError, 5, "source must be a text, not an integer"),
    ('["hinge.phi", "drive.phi"]', '{from = "hinge.phi"}'): (ModelFileError, 5, "a wire is an array of two names"),
    ('["hinge.phi", "drive.phi"]', '["hinge.phi", "drve.phi"]'): (UnknownNameError, 5, "did you mean 'drive'"),
    ('["hinge.phi", "drive.phi"]', '["hinge.phi", "drive.psi"]'): (UnknownNameError, 5, "did you mean 'phi'"),
    ('["drive.tau", "hinge.tau"]', '["drive.tao", "hinge.tau"]'): (UnknownNameError, 7, "did you mean 'tau'"),
    ('["hinge.phi", "sampled.e"]', '["hinge.phi", "drive.phi"]'): (ModelError, 8, "go to one input"),
    ('factor = "n"', 'factr = "n"'): (UnknownNameError, 6, "a wire has no 'factr'; did you mean 'factor'"),
    ('factor = "n"', 'factor = "m"'): (UnknownNameError, 6, "there is no parameter 'm'"),
    ('factor = "n"', "factor = []"): (ModelFileError, 6, "factor must be a number or a text"),
    ('factor = "n"', 'factor = "1/(n - n)"'): (ValueRangeError, 6, "is inf"),
    ('q = "hinge.phi"', 'q = "hinge.phi"\np = "hinge.phi"'): (NameInUseError, 13, "'hinge.phi' has two other names"),
    ('q = "hinge.phi"', "q = 1"): (ModelFileError, 12, "names.q must be the name of a variable"),
    ('q = "hinge.phi"', 'rod = "hinge.phi"'): (NameInUseError, 12, "'rod' cannot be another name"),
    ('q = "hinge.phi"', '"a b" = "hinge.phi"'): (NameInUseError, 12, "'a b' cannot be another name"),
    ('type = "Block"', 'type = "Blok"'): (UnknownNameError, 30, "no component 'Blok'; did you mean 'Block'"),
    ('type = "Block"', 'type = "Block"\nperiod = 1'): (UnknownNameError, 31, 'a period has type = "Sampled"'),
    ('type = "Block"', 'type = "Block"\ninput = 1'): (UnknownNameError, 31, "did you mean 'inputs'"),
    ('type = "Block"', 'type = "Block"\nstepper = 1'): (ModelFileError, 31, "stepper must be a text"),
    ("c = {value = 10.0", "c = {value = -1.0"): (ValueRangeError, 34, "c = -1.0 is outside its bounds"),
    ('phi = {unit = "rad"}', 'phi = "rad"'): (ModelFileError, 37, "input 'phi' must be a table, such as"),
    ('phi = {unit = "rad"}', 'phi = {units = "rad"}'): (UnknownNameError, 37, "a Port has no 'units'"),
    ('phi = {unit = "rad"}', 'phi = {start = "c"}'): (ModelFileError, 37, "start must be true or false or a number"),
    ("nominal = 10.0", "nominal = 0.0"): (ValueRangeError, 38, "nominal = 0.0 must be a positive number"),
    ('rate = "(phi - x)/0.1", ', ""): (ModelFileError, 41, "state 'x' needs a rate"),
    ('"(phi - x)/0.1"', '"(psi - x)/0.1"'): (UnknownNameError, 41, "there is no 'psi'; did you mean 'phi'"),
    ('start = "0.1/c"', 'start = "0.1/d"'): (UnknownNameError, 41, "start of x = '0.1/d' of 'drive'"),
    ('old = "w - old"', 'x2 = "w - old"'): (UnknownNameError, 42, "there is no 'old'"),
    ('old = "w - old"', "old = 1"): (ModelFileError, 42, "rate must be a text, not an integer"),
    ('square = "x**2"', 'square = "tau*square"'): (ModelError, 46, "in a cycle: square -> square"),
    ('square = "x**2"', 'x = "x**2"'): (NameInUseError, 46, "two things named 'x'"),
    ('square = "x**2"', 'sin = "x**2"'): (NameInUseError, 46, "'sin' cannot name a quantity"),
    ('square = "x**2"', 'square = "x^2"'): (ExpressionError, 46, "a power is written **"),
    ('period = "T"\n', ""): (ModelFileError, 48, "needs a period"),
    ('period = "T"', 'period = "S"'): (UnknownNameError, 50, "there is no parameter 'S'"),
    ('period = "T"', "period = -1"): (ValueRangeError, 50, "period = -1 is outside its bounds"),
    ("offset = 0.5", "offset = -1"): (ValueRangeError, 51, "offset = -1 is outside its bounds"),
    ('[components.sampled.inputs]', '[components.sampled.states]\nz = "1"\n[components.sampled.inputs]'): (
        ModelError, 57, "has the rate der(z)",
    ),
    ("[components.drive.states]", "[components.drive]\nstates = 1\n[components.drive.stats]"): (
        ModelFileError, 0, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), BLOCK_MISTAKES, ids=lambda text: re.sub(r"\W+", "_", text)[:30])
def test_a_mistake_in_a_block_or_wire_is_one_line_with_the_file_the_line_and_the_remedy(old: str, new: str) -> None:
    kind, line, text = BLOCK_MISTAKES[old, new]
    assert PLANT.count(old) >= 1
    error = refused(PLANT.replace(old, new, 1))
    assert isinstance(error, kind)
    assert text in str(error)
    if line:
        assert f", line {line}: " in str(error), str(error)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["hinge.phi", "drive.phi"]', '["hinge.phi"]'),
        ('factor = "n"', 'factr = "n"'),
        ('factor = "n"', "factor = []"),
        ('q = "hinge.phi"', "q = 1"),
        ('q = "hinge.phi"', '"a b" = "hinge.phi"'),
        ('type = "Block"', 'type = "Blok"'),
        ('type = "Block"', 'type = "Block"\nperiod = 1'),
        ('phi = {unit = "rad"}', 'phi = "rad"'),
        ('phi = {unit = "rad"}', 'phi = {units = "rad"}'),
        ('rate = "(phi - x)/0.1", ', ""),
        ('old = "w - old"', "old = 1"),
        ('period = "T"\n', ""),
        ("output = true", "output = 1"),
    ],
)
def test_the_schema_refuses_of_blocks_and_wires_what_the_reader_refuses(old: str, new: str) -> None:
    refused(PLANT.replace(old, new))
    with pytest.raises(extra("jsonschema", "test").ValidationError):
        extra("jsonschema", "test").validate(tomllib.loads(PLANT.replace(old, new)), SCHEMA)


def test_the_blocks_of_the_documentation_run(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "toml.md").read_text(encoding="utf-8")
    text = page.split("\n```\nwires = ")[1].split("\n```\n")[0]
    wires, table, block = text.partition("[components.control]")
    whole = PENDULUM.replace("[parameters]", f"wires = {wires}[parameters]\nn = 1.0") + table + block
    (tmp_path / "x.toml").write_text(whole, encoding="utf-8")
    run = mbfmu.simulate(tmp_path / "x.toml", 0.1)
    assert run["control.x"][0] == 0.0
    assert run["control.I"][0] == 0.02
    assert run["hinge.phi"][-1] != run["hinge.phi"][0]


EXPRESSIONS = st.sampled_from(["1", "a", "a*u + x", "sin(time)", "-x/a", "max(u, 0)"])
BLOCKS = st.builds(
    Block,
    st.just("b"),
    inputs=st.builds(lambda *given: (Port("u", *given),), st.text(), st.text(), st.floats(-1e300, 1e300)),
    states=st.builds(
        lambda rate, unit, start: (State("x", rate, unit, start),),
        EXPRESSIONS, st.text(), st.floats(-1e300, 1e300) | st.sampled_from(["a", "2*a"]),
    ),
    defined=st.builds(
        lambda value, unit, text, nominal: (Defined("y", value, unit, text, True, nominal), Defined("w", "y")),
        EXPRESSIONS, st.text(), st.text(), st.floats(1e-300, 1e300),
    ),
    parameters=st.builds(lambda value: (Parameter("a", value),), st.floats(-1e300, 1e300) | st.sampled_from(["1/3"])),
    description=st.text(),
    stepper=st.text(),
)  # fmt: skip


@given(BLOCKS, st.floats(1e-9, 1e9), st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["k", "2*k"]))
@examples(0.5)
def test_every_block_and_wire_written_and_read_is_the_same(block: Block, period: float, number: Any) -> None:
    sampled = Sampled(Block("s", (Port("u"),), (), block.defined[:1], (), block.description), period) if (
        not {"x", "a"} & set(re.findall("[a-z]+", block.defined[0].value))
    ) else Sampled(Block("s", (Port("u"),), (), (Defined("y", "previous(u)", output=True),)), period, 1)  # fmt: skip
    system = System(
        "s",
        (block, sampled, Subsystem("inner", System("t", (Subsystem("c", block, {"x": number}),)))),
        wires=(wire("b.y", "s.u", number, number), wire("s.y", "b.u"), wire("b.x", "inner.c.u", offset=number)),
        names={"other": "b.x"},
    )
    text = to_toml(system)
    try:
        assert from_toml(text) == system
    except UnknownNameError as error:
        assert "there is no parameter 'k'" in str(error)  # noqa: PT017 - a factor without its parameter
    assert from_toml(to_toml(block)) == block
    assert from_toml(to_toml(sampled)) == sampled
    extra("jsonschema", "test").validate(tomllib.loads(text), SCHEMA)


def test_definitions_of_a_block_that_double_each_other_are_read_at_once() -> None:
    chain = "\n".join(f'a{k + 1} = "a{k} + b{k}"\nb{k + 1} = "a{k} - b{k}"' for k in range(100))
    text = f'name = "b"\ntype = "Block"\n[defined]\na0 = "1"\nb0 = "1"\n{chain}\ny = {{value = "a9", output = true}}\n'
    script = f"from mbfmu.model.toml import from_toml; print(from_toml({text!r}).name)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=False)
    assert done.stdout.strip() == "b", done.stderr


@given(VALUES, st.data())
@examples(2)
def test_a_document_with_blocks_and_one_random_value_is_read_or_refused(value: Any, data: st.DataObject) -> None:
    assignments = list(re.finditer(r"(?<= = )[^,{}\n]+(?=[,\n}])", PLANT))
    place = data.draw(st.sampled_from(assignments))
    read_or_refused(PLANT[: place.start()] + document(value) + PLANT[place.end() :])


@given(st.integers(0, len(PLANT)), st.integers(0, 20), st.text(max_size=6) | st.sampled_from("[]{}=,.\"'#\n\\"))
@examples(3)
def test_a_document_with_blocks_and_a_piece_replaced_is_read_or_refused(start: int, length: int, new: str) -> None:
    read_or_refused(PLANT[:start] + new + PLANT[start + length :])


# -- the schema ------------------------------------------------------------------------------------------------------


def test_the_schema_in_docs_is_that_of_the_classes() -> None:
    """If a component changed: ``python -m mbfmu.model.toml > docs/mbfmu.schema.json``."""
    assert json.loads((ROOT / "docs" / "mbfmu.schema.json").read_text(encoding="utf-8")) == schema()


def test_the_schema_is_a_schema() -> None:
    extra("jsonschema", "test").Draft7Validator.check_schema(SCHEMA)


EXAMPLES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder("models").glob("*.toml"))}


@pytest.mark.parametrize("text", [PENDULUM, PLANT, *EXAMPLES.values()])
def test_valid_documents_satisfy_the_schema(text: str) -> None:
    extra("jsonschema", "test").validate(tomllib.loads(text), SCHEMA)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("planar = true", "planar = 1"),
        ('type = "Revolute"', 'type = "Revolution"'),
        ('phi = "pi/6"', 'psi = "pi/6"'),
        ("actuated = true", "actuated = 1"),
        ('m = "m"', "m = -1"),
        ('r = ["l", 0]', "r = [0, 0, 0, 0]"),
        ('["world.frame_b", "hinge.frame_a"]', '["world.frame_b"]'),
        ('name = "pendulum"', 'name = "a b"'),
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(old: str, new: str) -> None:
    refused(PENDULUM.replace(old, new))
    with pytest.raises(extra("jsonschema", "test").ValidationError):
        extra("jsonschema", "test").validate(tomllib.loads(PENDULUM.replace(old, new)), SCHEMA)


@pytest.mark.parametrize("name", component_types())
def test_every_component_has_its_place_in_the_schema(name: str) -> None:
    definition = SCHEMA["definitions"][name]
    assert definition["description"]
    assert set(definition["properties"]) == {"type", *fields_of(component_types()[name])}


def test_components_are_found_without_being_registered() -> None:
    kinds = {getattr(mbfmu.model, name) for name in exported if isinstance(getattr(mbfmu.model, name), type)}
    bases = {kind for kind in kinds if issubclass(kind, Component)} - set(component_types().values())
    assert {kind.__name__ for kind in bases} >= {"Component", "Part", "Joint", "Force", "AxisForce"}
    assert Gear in component_types().values()


# -- the files of models/ and docs/ ------------------------------------------------------------------------------------


def test_models_and_recipes_are_told_apart() -> None:
    assert is_model(ROOT / "models" / "cart_pendulum.toml")
    assert not is_model(ROOT / "fmus" / "two_link_rattle.toml")
    assert not is_model(ROOT / "missing.toml")
    with pytest.raises(ModelFileError, match="line 2: this is an export recipe"):
        mbfmu.load(ROOT / "fmus" / "two_link_rattle.toml")


def test_the_example_of_the_documentation_is_a_model(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "toml.md").read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    (tmp_path / "example.toml").write_text(text, encoding="utf-8")
    result = mbfmu.simulate(mbfmu.load(tmp_path / "example.toml"), 0.2)
    assert result["constraint.position"].max() < 1e-12


def test_the_cart_pendulum_falls_as_its_linear_equations_say() -> None:
    """The equations in the file's head, from an angle of 1e-6 rad: the upright pose is unstable."""
    M, m, length, d, g = 1.0, 0.2, 0.6, 0.1, 9.81
    mass = np.array([[M + m, -m * length / 2], [-m * length / 2, m * length**2 / 3]])
    rate = np.linalg.solve(mass, np.array([[0, 0, -d, 0], [0, m * g * length / 2, 0, 0]]))
    values, vectors = np.linalg.eig(np.vstack([np.eye(4)[2:], rate]))
    y0, t = np.array([0, 1e-6, 0, 0]), 0.5
    y = (vectors @ np.diag(np.exp(values * t)) @ np.linalg.solve(vectors, y0.astype(complex))).real
    system = mbfmu.load("cart_pendulum").with_values({"hinge.phi": np.pi / 2 + 1e-6})
    result = mbfmu.simulate(system, t, stepper="projected", options={"order": 8}, step=0.01)
    assert result["hinge.phi"][-1] - np.pi / 2 == pytest.approx(y[1], rel=1e-6)
    assert result["rail.s"][-1] == pytest.approx(y[0], rel=1e-5)
