"""Motions behind the filter of Modelica's Position, whose response to a source of signals is a formula of time.

The filter is ``y'' = ((u - y) w_c - af y') w_c / bf``, a Bessel filter of order 2, with ``y = u`` at the start. Its
poles are ``-sigma +- i nu`` with ``sigma = w_c af/(2 bf)``, ``nu = w_c sqrt(4 bf - af^2)/(2 bf)``.
"""

import math

from mbfmu.errors import ModelError
from mbfmu.model.component import Value
from mbfmu.model.modelica.elements import ModelicaComponent

AF, BF = 1.3617, 0.6180
"""Coefficients of the filter."""
SOURCES = {"Modelica.Blocks.Sources.Sine": 0.0, "Modelica.Blocks.Sources.Cosine": math.pi / 2}
"""Phase by which a source is ahead of a sine, by its class."""


def filtered(e: ModelicaComponent, velocity: str, kind: str, source: str) -> Value:
    """Return the motion of a Position with a filter, as a formula of time.

    With ``theta = w t + phase``, ``R = 1 - bf (w/w_c)^2`` and ``I = af w/w_c``, the lasting part of the response to
    ``sin(theta)`` is ``(R sin(theta) - I cos(theta)) / (R^2 + I^2)``. A decaying part, ``exp(-sigma t)`` times
    ``C cos(nu t) + D sin(nu t)``, gives the start.

    Args:
        e: the component.
        velocity: name of its velocity.
        kind: path of the class of the source.
        source: its name.

    Raises:
        ModelError: the source is not read here.
    """
    if kind not in SOURCES or e.values.number(e.values.of(f"{source}.startTime")) != 0.0:
        names = " and ".join(item.rpartition(".")[2] for item in SOURCES)
        raise ModelError(
            f"'{e.name}': a filtered motion is read from {names} that begin at startTime=0; write exact=true for others"
        )
    A, f, phase, offset = (
        f"({e.local(e.values.of(f'{source}.{key}'))})" for key in ("amplitude", "f", "phase", "offset")
    )
    begin = f"({e.start(velocity) or 0.0})"
    crit = f"(2*pi*({e.value('f_crit')}))"
    w, at = f"(2*pi*{f})", f"({phase} + {SOURCES[kind]!r})"
    R, imaginary = f"(1 - {BF}*({w}/{crit})**2)", f"({AF}*{w}/{crit})"
    square = f"({R}**2 + {imaginary}**2)"
    sigma, nu = f"({crit}*{AF / (2 * BF)!r})", f"({crit}*{math.sqrt(4 * BF - AF**2) / (2 * BF)!r})"
    theta = f"({w}*time + {at})"
    lasting = f"({R}*sin({theta}) - {imaginary}*cos({theta}))/{square}"
    C = f"(sin({at}) - ({R}*sin({at}) - {imaginary}*cos({at}))/{square})"
    slope = f"({w}*({R}*cos({at}) + {imaginary}*sin({at}))/{square})"
    D = f"({begin} + {A}*({sigma}*{C} - {slope}))/{nu}"
    return f"{offset} + {A}*{lasting} + exp(-{sigma}*time)*({A}*{C}*cos({nu}*time) + {D}*sin({nu}*time))"
