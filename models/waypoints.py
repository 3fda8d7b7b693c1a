"""A trajectory through N points, each with its time and its rate, once or over and over.

Between two points it is the polynomial of degree five whose values and rates at the ends are given and whose
accelerations there are zero (Spong, Hutchinson & Vidyasagar, Robot Modeling and Control, 2006, 5.5.2, with rates):
value, rate and acceleration are continuous. The rates are zero at first: it rests at each point. With `repeat` = 1 it
begins again after the last time; it is as smooth there if the last point has the value and the rate of the first. The
numbers are to be chosen; those here make a loop. Known facts: it goes through the points; between two points at rest
the greatest rate is 15/8 (y_2 - y_1)/(t_2 - t_1), half way.
"""

from mbfmu.errors import ValueRangeError
from mbfmu.model import Block, Defined, Parameter

PARTS = (
    ("10*{x}**3 - 15*{x}**4 + 6*{x}**5", "{x} - 6*{x}**3 + 8*{x}**4 - 3*{x}**5", "-4*{x}**3 + 7*{x}**4 - 3*{x}**5"),
    ("30*{x}**2*(1 - {x})**2", "1 - 18*{x}**2 + 32*{x}**3 - 15*{x}**4", "-12*{x}**2 + 28*{x}**3 - 15*{x}**4"),
    ("60*{x}*(1 - {x})*(1 - 2*{x})", "-36*{x} + 96*{x}**2 - 60*{x}**3", "-24*{x} + 84*{x}**2 - 60*{x}**3"),
)
"""Of a way of 1, of a rate of 1 at its start and of one at its end: value, rate and acceleration at the part x."""


def waypoints(N: int = 4) -> Block:
    """Return the generator: `y`, `rate` and `acceleration` out.

    Args:
        N: number of points, at least 2.
    """
    if N < 2:
        raise ValueRangeError(f"N = {N} must be at least 2: a trajectory goes from one point to another")

    def whole(order: int) -> str:
        texts = []
        for k in range(1, N):
            way, begin, end = (part.format(x=f"x_{k}") for part in PARTS[order])
            text = f"((y_{k + 1} - y_{k})*({way}) + (t_{k + 1} - t_{k})*(v_{k}*({begin}) + v_{k + 1}*({end})))"
            over = f"/(t_{k + 1} - t_{k})**{order}" if order else ""
            texts.append(f"where((t >= t_{k})*(t < t_{k + 1}), {text}{over}, 0)" if order else text)
        return " + ".join(texts)

    numbers = range(1, N + 1)
    return Block(
        name="waypoints",
        description="Trajectory through several points",
        defined=(
            Defined(
                "t", f"time - repeat*(t_{N} - t_1)*floor(max(0, time - t_1)/(t_{N} - t_1))", "s", "time of the round"
            ),
            *(
                Defined(
                    f"x_{k}", f"max(0, min(1, (t - t_{k})/(t_{k + 1} - t_{k})))", "1", f"part of way {k} that is over"
                )
                for k in numbers[:-1]
            ),
            Defined("y", f"y_1 + {whole(0)}", "1", "value", True),
            Defined("rate", whole(1), "1/s", "its rate", True),
            Defined("acceleration", whole(2), "1/s2", "the rate's rate", True),
        ),
        parameters=(
            *(Parameter(f"t_{k}", k - 1.0, "s", f"time of point {k}, after that of the one before") for k in numbers),
            *(Parameter(f"y_{k}", float(k == 2), "1", f"value of point {k}") for k in numbers),
            *(Parameter(f"v_{k}", 0.0, "1/s", f"rate at point {k}") for k in numbers),
            Parameter("repeat", 0.0, "1", "1: begins again after the last time; 0: rests there", 0, 1),
        ),
    )
