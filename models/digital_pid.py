"""A sampled PID controller with filtered derivative, setpoint weight, limits, anti-windup and a switch to manual.

Source: Astrom & Hagglund, PID Controllers: Theory, Design, and Tuning, 1995, section 3.6, the discretisation of the
controller in `pid`: the integral by a forward difference, the derivative of the measurement, behind a filter of T_d/N,
by a backward difference. Anti-windup is back-calculation with the tracking time T_t: what the limits take from the
output goes back to the integral. With `enable` = 0 the output is `manual`, which the integral tracks the same way, so
that switching back does not jump. T_t is to be longer than Ts/2; Ts makes the integral follow within one period. The
derivative is zero at the first sampling. The numbers are to be chosen; those here are of no system. Known facts: with a
constant error e the output grows by K e Ts/T_i each period until its limit.
"""

from mbfmu.model import Block, Defined, Parameter, Port, Sampled


def digital_pid() -> Sampled:
    """Return the controller: `reference`, `measured`, `forward`, `enable`, `manual` in, `y` out."""
    block = Block(
        name="digital_pid",
        description="Sampled PID controller with filter, limits and anti-windup",
        inputs=(
            Port("reference", "1", "what should be"),
            Port("measured", "1", "what is"),
            Port("forward", "1", "added to the output before its limits"),
            Port("enable", "1", "1: the controller decides; 0: the output is manual", 1.0),
            Port("manual", "1", "output while the controller is not enabled"),
        ),
        defined=(
            Defined("started", "1", "1", "1 from the first sampling on"),
            Defined("proportional", "K*(weight*reference - measured)", "1", "proportional part"),
            Defined(
                "integral",
                "previous(integral) + previous(started)*(K*Ts/T_i*(previous(reference) - previous(measured))"
                " + Ts/T_t*(previous(y) - previous(raw)))",
                "1", "integral part",
            ),
            Defined(
                "derivative",
                "previous(started)*(T_d*previous(derivative) - K*N*T_d*(measured - previous(measured)))/(T_d + N*Ts)",
                "1", "derivative part",
            ),
            Defined("raw", "proportional + integral + derivative + forward", "1", "output without limits"),
            Defined("y", "max(y_min, min(y_max, where(enable >= 0.5, raw, manual)))", "1", "output", True),
        ),
        parameters=(
            Parameter("K", 1.0, "1", "gain"),
            Parameter("T_i", 1.0, "s", "integral time", min=1e-9),
            Parameter("T_d", 0.1, "s", "derivative time", min=0),
            Parameter("N", 10.0, "1", "the filter's time constant is T_d/N", min=1e-3),
            Parameter("T_t", 0.3, "s", "tracking time of the anti-windup", min=1e-9),
            Parameter("weight", 1.0, "1", "weight of the reference in the proportional part"),
            Parameter("y_min", -1e9, "1", "least output"),
            Parameter("y_max", 1e9, "1", "greatest output"),
            Parameter("Ts", 0.001, "s", "period", min=1e-6),
        ),
    )  # fmt: skip
    return Sampled(block, period="Ts")
