"""Poses of frames, and what multiplies v to their velocities."""

import casadi as ca

from mbfmu.analysis.equations.functions import EquationFunctions
from mbfmu.errors import UnknownNameError, nearest
from mbfmu.model.frame import rotation_2d, rotation_of

SX = ca.SX


def pose(equations: EquationFunctions, frame: str) -> dict[str, SX]:
    """Return position r and rotation matrix R of a frame, from the outputs of its part; see `ModelEquations.pose`."""
    stem, known = frame.removesuffix(".frame_a"), set(equations.names["y"])
    owner = stem.rpartition(".")[0]
    turns = [
        [f"{item}.{label}" for label in labels]
        for item in (stem, owner)
        for labels in (["phi"], [f"Q[{k}]" for k in range(1, 5)])
    ]
    turned = next((names for names in turns if known.issuperset(names)), None)
    positions = [name for name in (f"{stem}.r_0[{k}]" for k in range(1, 4)) if name in known]
    flexible = {name for name, _ in equations.dae.about.flexible}
    bent = owner in flexible and stem not in flexible  # its frames turn against frame_a
    if not positions or turned is None or bent:
        frames = [name.removesuffix(".r_0[1]") for name in known if name.endswith(".r_0[1]")]
        raise UnknownNameError(f"'{equations.dae.name}' shows no pose of '{frame}'; {nearest(frame, frames)}")
    r, turn = (equations.y[[equations.row(name) for name in names]] for names in (positions, turned))
    return {"r": r, "R": rotation_2d(turn) if turn.numel() == 1 else rotation_of(turn)}


def frame_jacobian(equations: EquationFunctions, frame: str) -> dict[str, SX]:
    """Return J_r = r_q, and J_w of the angular velocity, the axial vector of R_q R^T; see the method of this name."""
    r, R = pose(equations, frame).values()
    q = equations.symbols[0]
    R_q = ca.jacobian(ca.vec(R), q)
    turns = [ca.reshape(R_q[:, k], *R.shape) @ R.T for k in range(q.numel())]
    if R.shape == (2, 2):
        columns = [turn[1, 0] for turn in turns]
    else:
        pairs = ((2, 1), (0, 2), (1, 0))
        columns = [ca.vertcat(*((turn[i, j] - turn[j, i]) / 2 for i, j in pairs)) for turn in turns]
    return {"J_r": ca.jacobian(r, q), "J_w": ca.horzcat(SX(1 if R.shape == (2, 2) else 3, 0), *columns)}
