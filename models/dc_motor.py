"""A DC motor with current loop and gear: a reference of the current to a torque on a joint.

The velocity of the joint comes in, the torque goes out; rotor and joint are coupled by the gear's elasticity, so that
the rotor's inertia is felt. Equations: armature, rotor and PI current controller, whose zero cancels the armature's
pole (k_p = w_c L, k_i = w_c R), with back-calculation against windup (Astrom & Hagglund, PID Controllers, 1995, 3.5).

Sources of the numbers: maxon motor, RE 40, 150 W, 24 V, order number 148867 (resistance from its stall current,
inductance, torque constant, rotor inertia, no-load current and continuous current); gear, its elasticity and damping
and the bandwidth of the loop: own choice of usual size. Known facts: stalled with a current i it gives n k_t i.
"""

from mbfmu.model import Block, Defined, Parameter, Port, State


def dc_motor() -> Block:
    """Return the motor: `i_ref`, `w` in, `tau` out."""
    return Block(
        name="dc_motor",
        description="DC motor with current loop and elastic gear: reference of the current and velocity in, torque out",
        inputs=(
            Port("i_ref", "A", "reference of the current", nominal=10.0),
            Port("w", "rad/s", "angular velocity of the joint"),
        ),
        states=(
            State("i", "(u - R*i - k_t*w_m)/L", "A", 0.0, "current"),
            State("u_i", "k_i*(asked - i) + (u - u_raw)*w_c", "V", 0.0, "integral part of the current controller"),
            State("w_m", "(k_t*i - tau_0*tanh(w_m/w_0) - tau/n)/J", "rad/s", 0.0, "velocity of the rotor", 1e2),
            State("twist", "w_m/n - w", "rad", 0.0, "twist of the gear, on the side of the joint", 1e-3),
        ),
        defined=(
            Defined("asked", "max(-i_max, min(i_max, i_ref))", "A", "reference within its limits"),
            Defined("u_raw", "k_p*(asked - i) + u_i", "V", "voltage asked for", nominal=10.0),
            Defined("u", "max(-u_max, min(u_max, u_raw))", "V", "voltage", nominal=10.0),
            Defined("tau", "c*twist + b*(w_m/n - w)", "N.m", "torque on the joint", output=True, nominal=10.0),
            Defined("P", "u*i", "W", "electric power", nominal=1e2),
        ),
        parameters=(
            Parameter("R", 0.317, "Ohm", "resistance of the armature", min=1e-6),
            Parameter("L", 8.23e-5, "H", "inductance of the armature", min=1e-9),
            Parameter("k_t", 0.0302, "N.m/A", "torque constant", min=1e-9),
            Parameter("J", 1.38e-5, "kg.m2", "inertia of the rotor", min=1e-12),
            Parameter("tau_0", "k_t*0.137", "N.m", "torque of the friction, from the current without load"),
            Parameter("w_0", 1.0, "rad/s", "velocity within which friction changes its sign", min=1e-6),
            Parameter("u_max", 24.0, "V", "limit of the voltage", min=0),
            Parameter("i_max", 20.0, "A", "limit of the current; 5.77 A may last", min=0),
            Parameter("w_c", 3000.0, "rad/s", "bandwidth of the current loop", min=0),
            Parameter("k_p", "w_c*L", "Ohm", "gain of the current controller"),
            Parameter("k_i", "w_c*R", "Ohm/s", "integral gain of the current controller"),
            Parameter("n", 156.0, "1", "ratio of the gear", min=1e-6),
            Parameter("c", 2e4, "N.m/rad", "stiffness of the gear", min=1e-6),
            Parameter("b", 20.0, "N.m.s/rad", "damping of the gear", min=0),
        ),
    )
