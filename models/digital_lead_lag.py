"""A sampled lead or lag compensator: K (1 + T_1 s)/(1 + T_2 s) by Tustin's method, s = (2/Ts)(z - 1)/(z + 1).

Source: Astrom & Wittenmark, Computer-Controlled Systems, 1997, chapter 8. The numbers are those of `lead_lag`. Known
facts: its response at the frequency w is that of `lead_lag` at (2/Ts) tan(w Ts/2).
"""

from mbfmu.model import Block, Defined, Parameter, Port, Sampled


def digital_lead_lag() -> Sampled:
    """Return the compensator: `u` in, `y` out."""
    block = Block(
        name="digital_lead_lag",
        description="Sampled lead or lag compensator",
        inputs=(Port("u", "1", "signal"),),
        defined=(
            Defined(
                "y",
                "((2*T_2 - Ts)*previous(y) + K*((2*T_1 + Ts)*u - (2*T_1 - Ts)*previous(u)))/(2*T_2 + Ts)",
                "1", "signal, compensated", True,
            ),
        ),
        parameters=(
            Parameter("K", 1.0, "1", "gain at low frequencies"),
            Parameter("T_1", 0.1, "s", "time constant of the numerator", min=0),
            Parameter("T_2", 0.01, "s", "time constant of the denominator", min=1e-9),
            Parameter("Ts", 0.001, "s", "period", min=1e-6),
        ),
    )  # fmt: skip
    return Sampled(block, period="Ts")
