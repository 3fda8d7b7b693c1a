"""Arguments are described once: functions show them one by one, and commands make their options of them."""

import inspect
from dataclasses import KW_ONLY, dataclass, fields
from typing import Annotated, Any

import pytest
import typer

import mbfmu
from mbfmu.base.described import Described, descriptions, part_of, refuse_wrong, takes
from mbfmu.cli import app
from mbfmu.cli.expansion import OptionGroup, expanded, shared
from mbfmu.cli.run_options import OPTIONS, run_options
from mbfmu.errors import UsageError
from mbfmu.prepared.settings import RunSettings, StateSettings


def positive(value: float) -> None:
    """Raise an error unless a value is positive."""
    if value <= 0:
        raise UsageError(f"{value} is not positive")


@dataclass(frozen=True, kw_only=True)
class Shared:
    """Arguments that several functions have."""

    step: Annotated[float, Described("length of a step", unit="s", more=" (default 0.5)", check=positive)] = 0.5


@dataclass(frozen=True)
class Taken(Shared):
    """The arguments of a function."""

    name: Annotated[str, Described("name of the model")]
    count: Annotated[int, Described("number of runs")] = 1
    _: KW_ONLY
    again: Annotated[bool, Described("whether it runs again")] = False


@takes(Taken)
def run(wanted: Taken) -> tuple[Any, ...]:
    """Run it.

    Raises:
        UsageError: it is wrong.
    """
    refuse_wrong(wanted)
    return wanted.name, wanted.count, wanted.again, wanted.step


def test_a_function_of_described_arguments_is_called_with_them_one_by_one() -> None:
    assert run("arm", 2, step=0.25) == ("arm", 2, False, 0.25)
    assert run(name="arm", again=True) == ("arm", 1, True, 0.5)
    assert str(inspect.signature(run)) == (
        "(name: str, count: int = 1, *, step: float = 0.5, again: bool = False) -> tuple[typing.Any, ...]"
    )


def test_described_arguments_are_refused_as_those_of_any_function_are() -> None:
    wrong: Any = run
    for arguments, named, message in (
        (("arm",), {"stepp": 1.0}, "unexpected keyword argument 'stepp'"),
        ((), {}, "missing a required argument: 'name'"),
        (("arm", 1, True), {}, "too many positional arguments"),
    ):
        with pytest.raises(TypeError, match=message):
            wrong(*arguments, **named)
    with pytest.raises(UsageError, match="run: count = '2' must be a whole number, not a str"):
        wrong("arm", "2")
    with pytest.raises(UsageError, match=r"-1\.0 is not positive"):
        run("arm", step=-1.0)


def test_the_docstring_has_what_is_said_about_each_argument() -> None:
    assert inspect.getdoc(run) == (
        "Run it.\n\nArgs:\n    name: name of the model.\n    count: number of runs.\n"
        "    step: length of a step, s (default 0.5).\n    again: whether it runs again.\n\n"
        "Raises:\n    UsageError: it is wrong."
    )
    for function in (mbfmu.simulate, mbfmu.sweep, mbfmu.optimize, mbfmu.fit, mbfmu.view, mbfmu.linearize, mbfmu.bode):
        text = inspect.getdoc(function) or ""
        assert [name for name in inspect.signature(function).parameters if f"\n    {name}: " not in text] == []


def test_a_part_of_settings_has_the_fields_that_both_classes_have() -> None:
    point = StateSettings(stepper="rattle", step=0.25)
    whole = part_of(point, RunSettings)
    assert whole == RunSettings(stepper="rattle", step=0.25)
    assert whole.named() == {"stepper": "rattle", "step": 0.25}
    assert part_of(whole, StateSettings) == point


def test_options_of_commands_say_what_the_settings_of_a_run_say() -> None:
    said = descriptions(RunSettings)
    assert {setting for _, setting, _ in OPTIONS.values()} | {"values"} == {item.name for item in fields(RunSettings)}
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    shown = 0
    for command in commands.values():
        for item in command.params:
            row = OPTIONS.get(item.name)
            if row and command.name not in {"compat", "couple", "ssp"}:  # whose steps are others
                described = said[row[1]]
                assert item.opts == [described.option.split()[0]]
                assert item.help == (described.help or described.line) or item.name == "output_interval"
                shown += 1
    assert shown > 5 * len(OPTIONS)


def test_settings_are_made_of_options_and_hold_what_is_given_alone() -> None:
    made = run_options("stepper option step input_hold inputs")
    values = {
        "stepper": "rattle",
        "option": ["a=1", "b=x"],
        "step": None,
        "input_hold": False,
        "inputs": None,
        "more": 1,
    }
    settings = made.made(values)
    assert values == {"more": 1}
    assert settings.named() == {"stepper": "rattle", "options": {"a": "1", "b": "x"}}


@dataclass(frozen=True, kw_only=True)
class Inner(OptionGroup):
    """Options that are one argument."""

    first: int
    last: Annotated[int, shared({"a": (int, 1), "b": (int, 2)}, lambda a, b: 10 * a + b, panel="Last")] = 12
    second: int = 3


def test_an_argument_that_stands_for_options_is_made_of_them() -> None:
    def command(tell: Any, *, group: Inner, own: int = 5) -> tuple[int, ...]:
        return tell, group.first, group.second, group.last, own

    whole = expanded(command)
    assert [*inspect.signature(whole).parameters] == ["tell", "first", "second", "own", "a", "b"]
    assert whole(0, first=1, second=2, own=4, a=7, b=8) == (0, 1, 2, 78, 4)
