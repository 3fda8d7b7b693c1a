"""Pages and product agree: options of commands, steppers and their values, defaults, units."""

import inspect
import re
import runpy
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
import typer
from fmpy import read_model_description
from test_docs import ROOT, pages_of, rows, table_of, tomllib

import mbfmu
from mbfmu.cli import EXAMPLES, app
from mbfmu.dae import derive
from mbfmu.model.library import known_models
from mbfmu.stepper import family_of, usual_stepper

PAGES = tuple(
    path.relative_to(ROOT).as_posix()
    for path in sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
)
CODE = re.compile(r"^ *```\w*[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
CALL = re.compile(r"\bmbfmu ([a-z]+)\b([^&|;]*)")
OTHER_PROGRAMS = {
    "--peers", "--in-turn", "--list", "--all", "--part", "--fmusim",  # scripts and tests of the repository
    "--inputExtrapolation", "--stopTime", "--final-fmu-state-file", "--debug-logging",
    "--fmiFlags",  # OMSimulator, fmusim, FMPy
}  # fmt: skip
"""Options that pages name without their program."""
FAMILIES = mbfmu.steppers()
STEPPER = re.compile(rf"({'|'.join(FAMILIES)})((?: \w+=[^\s=,;:]+)+)")
OPTIONS = re.compile(r"--stepper (\w+)((?: --option \w+=\S+)+)")


def code_of(page: str) -> Iterator[str]:
    """Yield the lines of code of a page: of its blocks, continued lines joined, and between backticks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in CODE.findall(text):
        yield from block.replace("\\\n", "").splitlines()
    yield from (" ".join(code.split()) for code in INLINE.findall(CODE.sub("", text)))


@cache
def options() -> dict[str, set[str]]:
    """Return the options of each command."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {
        name: {"--help", *chain.from_iterable((*item.opts, *item.secondary_opts) for item in command.params)}
        for name, command in commands.items()
    }


def unknown(line: str) -> list[str]:
    """Return the options in a line of code that no command has, or not the one that is called there."""
    wrong = [
        option
        for command, rest in CALL.findall(line.split("  #")[0])
        for option in OPTION.findall(rest)
        if option not in options().get(command, set())
    ]
    if line.startswith("--"):
        anywhere = {"--version", *OTHER_PROGRAMS}.union(*options().values())
        wrong += [option for option in OPTION.findall(line) if option not in anywhere]
    return wrong


def test_a_page_names_only_options_that_the_command_has() -> None:
    found = {page: [(line, bad) for line in code_of(page) if (bad := unknown(line))] for page in PAGES}
    assert {page: bad for page, bad in found.items() if bad} == {}


def test_an_option_that_does_not_exist_is_noticed() -> None:
    assert unknown("mbfmu simulate two_link --stepp 1") == ["--stepp"]
    assert unknown("mbfmu list models --stop 3 && mbfmu view F --stop 3") == ["--stop"]
    assert unknown("--energy-ballance") == ["--energy-ballance"]
    assert unknown("mbfmu simulate two_link --stop 1") == unknown("--tolerance 1e-8") == []


def impossible(line: str) -> list[str]:
    """Return the steppers with options in a line of code that do not exist, or not with that value."""
    found = (*STEPPER.findall(line), *OPTIONS.findall(line))
    calls = [(name, re.findall(r"(\w+)=(\S+)", rest)) for name, rest in found]
    return [
        f"{name} {key}={value}"
        for name, pairs in calls
        if name in FAMILIES
        for key, value in pairs
        if key not in FAMILIES[name].options or value not in map(str, FAMILIES[name].options[key].choices or (value,))
    ]


def test_a_page_names_only_options_of_steppers_that_exist() -> None:
    found = {page: [bad for line in code_of(page) for bad in impossible(line)] for page in PAGES}
    assert {page: bad for page, bad in found.items() if bad} == {}
    assert impossible("projected order=3") == ["projected order=3"]
    assert impossible("--stepper radau --option stages=4") == ["radau stages=4"]


def defaults(corner: str) -> dict[str, str]:
    """Return the model of each row of a table of the guide to steppers with the default in bold, and that default."""
    head = next(row for row in rows("docs/choose_stepper.md") if row[0] == corner)
    shown = {}
    for row in table_of("docs/choose_stepper.md", corner):
        bold = [name.strip("`") for name, cell in zip(head, row, strict=True) if cell.startswith("**")]
        if bold:
            shown[row[0].split("`")[1]] = bold[0]
    return shown


QUICK = ("hydraulic_monolith",)
MACHINES = [
    pytest.param(model, marks=() if model in QUICK else pytest.mark.further)
    for model in defaults("machine")
    if model in known_models()
]


@pytest.mark.parametrize("model", [*defaults("model"), *MACHINES])
def test_the_default_stepper_of_a_model_is_the_one_that_the_guide_shows(model: str) -> None:
    system = mbfmu.load(model)
    usual = usual_stepper(derive(system), 1e-3)
    options = [f"{name}={value}" for name, value in usual.options.items()]
    chosen = system.stepper or " ".join([usual.name, *options])
    assert chosen == {**defaults("model"), **defaults("machine")}[model]


def test_residuals_of_constraints_have_the_unit_of_a_pure_number(two_link_fmu: Path) -> None:
    names = {"constraint.position", "constraint.velocity"}
    shown = {item.name: item.unit for item in read_model_description(two_link_fmu).modelVariables if item.name in names}
    assert set(shown) == names
    assert set(shown.values()) <= {None, "1"}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_reference_of_a_stepper_lists_its_options_with_their_values_and_defaults(name: str) -> None:
    choice = family_of(name).choice
    text = inspect.getdoc(choice) or ""
    for key, option in choice.table().items():
        entry = text.split(f"{key}: ")[1].split("\n    ")[0]
        values = [value for value in option.choices if value is not None]
        assert all(f"`{value}`" in entry for value in values)
        default = f"`{option.default}` (default)" if values else f"default {option.default}"
        assert option.default is None or default in entry


AVOIDED = {
    r"refuse[sd]?": 4,
    r"(is|are) told": 0,
    r"efforts?": 5,
    r"us (a|per) step": 0,
    r"slip rates?": 0,
    r"rates?": 21,
    r"corrections?": 4,
    r"places?": 15,
    r"largest|greatest": 14,
    r"smallest|lowest": 11,
    r"the least": 1,
    r"alone": 9,
    r"pictures?": 14,
    r"ask(s|ed)?": 2,
    r"the same bits|to the (last )?bit": 1,
    r"else": 4,
    r"(is|are) met|meets?": 2,
    r"bends": 3,
    r"goe?s? on": 1,
    r"as long as": 7,
    r"hits?|rubs?": 2,
    r"anew": 0,
    r"surroundings": 0,
    r"equal steps": 0,
    r"inner steps?": 0,
    r"chosen steps|steps chosen": 1,
    r"slaves?": 3,
    r"(that|those) of": 30,
    r"of (its|their|your|our) own": 25,
    r"by name": 8,
    r"by us": 0,
}
"""Words that the pages avoid, with the number of uses that are left, some in another sense: lower it when some go."""


MADE = {"commands", "rules"}
"""Pages that are made of help texts and of the claims of rules."""


def prose(path: Path) -> str:
    """Return the text of a page without code and addresses."""
    return re.sub(r"\]\([^)]*\)", "]", INLINE.sub("", CODE.sub("", path.read_text(encoding="utf-8"))))


def prose_of_the_manual() -> str:
    """Return the text of the pages but for records and those that are made of other texts."""
    pages = [*(path for path in (ROOT / "docs").glob("*.md") if path.stem not in MADE), ROOT / "README.md"]
    return "\n".join(map(prose, pages))


@pytest.mark.parametrize("word", AVOIDED)
def test_a_word_that_pages_avoid_does_not_come_back(word: str) -> None:
    assert len(re.findall(rf"\b{word}\b", prose_of_the_manual(), re.IGNORECASE)) <= AVOIDED[word]


def sentences(text: str) -> list[int]:
    """Return the number of words of each sentence of a text, without tables, headings and formulas."""
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:\*|\d+\.) )", text)
    lines = [" ".join(block.split()) for block in blocks if not block.lstrip().startswith(("|", "#", "!", "$"))]
    parts = chain.from_iterable(re.split(r"(?<=[.!?]) ", line) for line in lines)
    return [len(words) for part in parts if len(words := part.split()) > 2]


def test_sentences_of_the_manual_are_short() -> None:
    counts = sentences(prose_of_the_manual())
    assert sum(counts) / len(counts) < 16


PARTS = {
    str(title): list(pages_of(pages if isinstance(pages, list) else [pages]))
    for part in tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    for title, pages in part.items()
}
"""Pages of each part of the navigation."""
LENGTHS = {"Get started": 1500, "Build a model": 1200, "Run and analyse": 1200, "Use the FMU": 1200, "Understand": 2000}
"""Words that a page of a part may have, without code."""
LONG = {"flexible.md", "import.md", "fit.md", "view.md"}
"""Pages that are longer."""


@pytest.mark.parametrize("part", LENGTHS)
def test_a_page_is_as_long_as_its_part_allows(part: str) -> None:
    words = {page: len(re.findall(r"\S*\w\S*", prose(ROOT / "docs" / page))) for page in PARTS[part]}
    assert {page for page, count in words.items() if count > LENGTHS[part]} <= LONG


def test_the_manual_has_six_parts() -> None:
    assert list(PARTS) == ["Home", *LENGTHS, "Reference"]


WIDE = {"masters.md", "sweep.md", "compared.md"}
"""Pages with tables of tools by versions of FMI, and with tables that a program prints."""


@pytest.mark.parametrize("page", [page for part in LENGTHS for page in PARTS[part] if page not in WIDE])
def test_tables_of_a_guide_have_four_columns_at_most(page: str) -> None:
    assert max((len(row) for row in rows(f"docs/{page}")), default=0) <= 4


def test_the_page_on_the_command_line_is_made_of_the_help_of_the_commands() -> None:
    """If a command changed: `python .ci/command_page.py`."""
    space = runpy.run_path(str(ROOT / ".ci" / "command_page.py"))
    assert space["PAGE"].read_text(encoding="utf-8") == space["page"]()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_a_command_is_one_that_the_command_takes(name: str) -> None:
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    with command.make_context(name, shlex.split(EXAMPLES[name])) as context:
        assert set(context.params) == {item.name for item in command.params}


def test_the_page_on_tools_has_the_summary_of_its_record() -> None:
    """What `python -m benchmarks.masters` wrote: how many models agree, by tool and form."""
    record = (ROOT / "docs" / "records" / "masters.md").read_text(encoding="utf-8").splitlines()
    first = next(n for n, line in enumerate(record) if line.startswith("|"))
    summary = record[first : record.index("", first)]
    assert len(summary) > 5
    assert "\n".join(summary) in (ROOT / "docs" / "masters.md").read_text(encoding="utf-8")
