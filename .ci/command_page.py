"""The page on the command line, made of the commands, their help and examples: python .ci/command_page.py."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import typer

from mbfmu.cli import EXAMPLES, PANELS, app

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
READ = {
    "demo": "tutorial", "list": "models", "describe": "modelling", "view": "view", "live": "view#a-page-that-computes",
    "equations": "equations", "reduce": "flexible", "simulate": "inputs", "report": "view#a-report",
    "compare": "choose_stepper", "sweep": "sweep",
    "couple": "couplings", "equilibrium": "equilibrium", "kinematics": "kinematics",
    "inverse": "equilibrium#inverse-dynamics", "modes": "modes", "linearize": "linearize",
    "bode": "modes#frequency-response-mbfmu-bode", "locus": "modes#root-locus-mbfmu-locus", "fit": "fit",
    "optimize": "fit", "export": "choose_fmu", "check": "check", "compat": "any_fmu#write-cross-check-files",
    "ssp": "ssp", "modelica": "flanges", "cache": "limits#the-cache",
}  # fmt: skip
"""Page, and section, on each command."""
EVERYWHERE = {"--json", "--quiet", "--help"}
HEAD = """# Command line

Each command with an example and its options, made from `mbfmu COMMAND --help`. `MODEL` is a name in the
[library](models.md) or a path of a `.py`, `.toml`, `.mo`, `.urdf`, `.xacro`, `.sdf` or MJCF `.xml` file.

Most commands take `--json` for one JSON document, and `--quiet` for results and errors only. The exit status is 0, or 1
after an error, whose JSON document has `error` and `kind`. A value of `--set NAME=VALUE` is a number, an expression
such as `pi/6`, or an angle in degrees such as `deg(30)`.
"""


def cell(text: str) -> str:
    """Return text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def shown(item: click.Parameter) -> str:
    """Return the row of an option or argument, with its default."""
    is_option = item.param_type_name == "option"
    names = ", ".join(f"`{name}`" for name in (*item.opts, *item.secondary_opts)) if is_option else ""
    value = item.metavar or ("" if is_option else (item.name or "").upper())
    text = getattr(item, "help", None) or ""
    if is_option and item.required:
        text += "; required"
    elif is_option and "default" not in text and item.default not in (None, False, True, "", ()):
        text += f"; default: {item.default}"
    return f"| {cell(' '.join(filter(None, (names, value and f'`{value}`'))))} | {cell(text)} |"


def table(rows: list[str]) -> str:
    """Return a table of options."""
    return "\n".join(["| option | meaning |", "|---|---|", *rows])


def panel_of(item: click.Parameter) -> str:
    """Return the title of the panel of an option in the help, empty for the first."""
    return getattr(item, "rich_help_panel", None) or ""


def shared(commands: dict[str, click.Command]) -> dict[str, dict[str, str]]:
    """Return the rows of the options that several commands have alike, by panel and name."""
    rows: dict[str, dict[str, list[str]]] = {}
    for command in commands.values():
        for item in command.params:
            if panel := panel_of(item):
                rows.setdefault(panel, {}).setdefault(item.opts[0], []).append(shown(item))
    alike = {
        panel: {name: found[0] for name, found in items.items() if len(set(found)) == 1 < len(found)}
        for panel, items in rows.items()
    }
    return {panel: found for panel, found in alike.items() if found}


def section(name: str, command: click.Command, common: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield the paragraphs on a command."""
    page, _, anchor = READ[name].partition("#")
    yield f"### {name}"
    yield f"{command.help} [More]({page}.md{'#' + anchor if anchor else ''})"
    yield f"```text\nmbfmu {name} {EXAMPLES[name]}".rstrip() + "\n```"
    own = [item for item in command.params if item.opts[0] not in {*EVERYWHERE, *common.get(panel_of(item), ())}]
    own.sort(key=lambda item: item.param_type_name == "option")
    if own:
        yield table([shown(item) for item in own])
    for panel, rows in common.items():
        names = [f"`{item.opts[0]}`" for item in command.params if panel_of(item) == panel and item.opts[0] in rows]
        if names:
            listed = "all" if len(names) == len(rows) else ", ".join(names)
            yield f"[{panel}](#{re.sub(r'[^a-z]+', '-', panel.lower())}): {listed}."


def page() -> str:
    """Return the text of the page."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    common = shared(commands)
    parts = [HEAD.rstrip()]
    for title, names in PANELS.items():
        rows = [f"| [`{name}`](#{name}) | {cell(commands[name].help or '')} |" for name in names.split()]
        parts += [f"## {title}", "\n".join(["| command | does |", "|---|---|", *rows])]
        for name in names.split():
            parts += section(name, commands[name], common)
    parts.append("## Options of several commands")
    for panel, rows in common.items():
        parts += [f"### {panel}", table(list(rows.values()))]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
