"""Words of Modelica: identifiers, texts, and positions on an icon."""

import re
from collections.abc import Iterable

KEYWORDS = frozenset({
    "algorithm", "and", "annotation", "block", "break", "class", "connect", "connector", "constant", "constrainedby",
    "der", "discrete", "each", "else", "elseif", "elsewhen", "encapsulated", "end", "enumeration", "equation",
    "expandable", "extends", "external", "false", "final", "flow", "for", "function", "if", "import", "impure", "in",
    "initial", "inner", "input", "loop", "model", "not", "operator", "or", "outer", "output", "package", "parameter",
    "partial", "protected", "public", "pure", "record", "redeclare", "replaceable", "return", "stream", "then",
    "true", "type", "when", "while", "within",
})  # fmt: skip


def identifier(name: str) -> str:
    """Return a variable's name as a Modelica identifier: ``load.f[1]`` is ``load_f_1_``, as in OpenModelica."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    text = text if re.match(r"[A-Za-z_]", text) else f"_{text}"
    return f"{text}_" if text in KEYWORDS else text


def text_of(text: str) -> str:
    """Return a Modelica string."""
    return '"' + " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"') + '"'


def row(items: Iterable[str], none: str) -> str:
    """Return a vector of some expressions, or without any a vector of nothing, filled with `none`."""
    listed = list(items)
    return f"{{{', '.join(listed)}}}" if listed else f"fill({none}, 0)"


def places(count: int) -> list[float]:
    """Return the positions of a number of connectors along the side of an icon."""
    return [round(100 - 200 * (index + 1) / (count + 1), 1) for index in range(count)]


def placed(x: float, y: float, turned: bool = False) -> str:
    """Return the annotation that places a connector."""
    spin = ", rotation=-90" if turned else ""
    size = "extent={{-8,-8},{8,8}}"
    return f" annotation(Placement(transformation(origin={{{x},{y}}}, {size}{spin})))"


def icon(picture: str | None = None) -> str:
    """Return the annotation of the icon of a model: a frame, its name and a picture, of which the URI is given."""
    shown = f'Bitmap(extent={{{{-95,-95}},{{95,95}}}}, fileName="{picture}"), ' if picture else ""
    return (
        f"annotation(Icon(graphics={{Rectangle(extent={{{{-100,-100}},{{100,100}}}}, lineColor={{0,0,127}}), {shown}"
        'Text(extent={{-150,145},{150,105}}, textString="%name")}));'
    )


PACKAGE_ICON = (
    "Icon(graphics={Rectangle(extent={{-100,-100},{80,50}}, lineColor={0,0,127}), "
    "Polygon(points={{-100,50},{-80,70},{100,70},{80,50}}, lineColor={0,0,127}), "
    "Polygon(points={{100,70},{100,-80},{80,-100},{80,50}}, lineColor={0,0,127})})"
)
"""The icon of a package, a box, as part of an annotation."""
