"""Assembly: the start values a user gives, as equations, and a first pose along the spanning tree."""

import casadi as ca

from mbfmu.dae.bodies import Bodies, labels
from mbfmu.dae.dae import Assembly, Loop, ParameterSignal
from mbfmu.model.frame import SX, Pose, identity
from mbfmu.model.joints import Joint
from mbfmu.model.mechanism import Entry, resolve


def assembly(bodies: Bodies, constraint_names: tuple[str, ...]) -> Assembly:
    """Return the start values, what they ask for, and the pose the spanning tree gives."""
    given = [entry for entry in bodies.mechanism.starts.values() if entry.free]
    symbols = {entry.name: ca.SX.sym(entry.name) for entry in given}
    s = ca.vertcat(ca.SX(0, 1), *symbols.values())
    every = {**bodies.symbols, **symbols}

    def wanted(name: str, like: SX) -> list[SX | None]:
        entries = [bodies.mechanism.starts.get(label) for label in labels(name, like)]
        return [None if entry is None else resolve(bodies.mechanism, entry, every) for entry in entries]

    positions: list[tuple[str, SX]] = []
    rates: list[tuple[str, SX]] = []
    placed: dict[str, dict[str, SX]] = {}
    for path, item in bodies.equations.items():
        placed[path] = {}
        for motion, rate in zip(item.motion, item.rates, strict=True):
            value, rate = ca.vertcat(motion.value), ca.vertcat(rate)
            asked = wanted(f"{path}.{motion.position}", value)
            if motion.neutral and all(entry is not None for entry in asked):
                column = ca.vertcat(*asked)
                asked = ca.vertsplit(column / ca.norm_2(column))
            neutral = motion.neutral or (0.0,) * value.numel()
            placed[path][motion.position] = ca.vertcat(
                *(rest if entry is None else entry for entry, rest in zip(asked, neutral, strict=True))
            )
            for into, name, shown, target in (
                (positions, motion.position, value, asked),
                (rates, motion.rate, rate, wanted(f"{path}.{motion.rate}", rate)),
            ):
                for number, label in enumerate(labels(f"{path}.{name}", shown)):
                    if (number_wanted := target[number]) is not None:
                        into.append((label, shown[number] - number_wanted))
    q, v, p, t = bodies.q, bodies.v, bodies.p, bodies.t
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(constraint_names):
        rows.setdefault(name, []).append(row)
    empty = ca.SX(0, 1)
    return Assembly(
        starts=tuple(parameter(entry, tunable=False) for entry in given),
        positions=ca.Function("positions", [q, s, p, t], [ca.vertcat(empty, *(row for _, row in positions))]),
        rates=ca.Function("rates", [q, v, s, p, t], [ca.vertcat(empty, *(row for _, row in rates))]),
        guess=ca.Function("guess", [s, p, t], [ca.cse(_placed(bodies, placed))]),
        position_names=tuple(name for name, _ in positions),
        rate_names=tuple(name for name, _ in rates),
        loops=tuple(
            Loop(joints, tuple(row for joint in joints for row in rows.get(joint, ()))) for joints in bodies.tree.loops
        ),
        constraint_names=constraint_names,
    )


def _placed(bodies: Bodies, coordinates: dict[str, dict[str, SX]]) -> SX:
    """Walk the spanning tree and put every body where the joints' coordinates say."""
    here: dict[int, Pose] = {0: identity(bodies.planar)}
    for path, near, far, forward in bodies.tree.order:
        joint: Joint = bodies.mechanism.components[path]  # type: ignore[assignment]
        across = joint.pose(bodies.values[path], coordinates[path])
        ends = [bodies.anchors[f"{path}.{frame}"][1] for frame in ("frame_a", "frame_b")]
        if not forward:
            across, ends = across.inverse(), ends[::-1]
        start, stop = bodies.groups[near].poses[ends[0]], bodies.groups[far].poses[ends[1]]
        here[far] = here[near] @ start @ across @ stop.inverse()
    poses = [here[number] for number in range(1, len(bodies.groups))]
    return ca.vertcat(*(ca.vertcat(pose.r, pose.angle) for pose in poses))


def parameter(entry: Entry, *, tunable: bool) -> ParameterSignal:
    """Return what a Dae says of a free parameter or start value."""
    declared = entry.quantity
    return ParameterSignal(
        entry.name,
        declared.unit,
        declared.description,
        float(entry.value),
        declared.min,
        declared.max,
        tunable,
    )
