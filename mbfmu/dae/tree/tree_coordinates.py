"""The coordinates of the joints on a spanning tree, and of the bodies that no joint carries."""

import casadi as ca

from mbfmu.dae.bodies import Bodies, Carried, Coordinates
from mbfmu.dae.tree.edges import Edge
from mbfmu.dae.tree.links import Branch, Links, bond, unit
from mbfmu.model.frame import SX, G_matrix, Pose, identity
from mbfmu.model.joints import Joint


def tree_links(bodies: Bodies) -> Links:
    """Return the links of all bodies on the tree."""
    tree = Links(bodies)
    for edge in bodies.tree.order:
        tree.add(_branch(bodies, edge))
    return tree


def tree_coordinates(bodies: Bodies, tree: Links) -> Coordinates:
    """Return the coordinates of the joints on the tree.

    Args:
        bodies: the bodies.
        tree: their links.
    """
    origins = [tree.origin(index) for index in range(len(bodies.groups))]
    return Coordinates(
        names=tuple(tree.names),
        q=tree.q,
        v=tree.v,
        poses=tuple(pose for pose, _, _ in origins),
        rates=tuple((velocity, w) for _, velocity, w in origins),
        intrinsic=tuple(tree.intrinsic),
        carried={branch.label: branch.carried for branch in tree.branches if branch.label in bodies.tree_joints},
        order=tuple(edge.far for edge in bodies.tree.order),
        recursive=True,
        links=tuple(tree.links),
    )


def _branch(bodies: Bodies, edge: Edge) -> Branch:
    path, near, far, forward, start, stop, free = edge
    if free:
        label, carried, quaternions = _free(bodies, far)
        here, rigid = identity(bodies.planar), bodies.shape_of(far) is None
        center = Pose(bodies.inertias[far - 1].r_CM, here.angle) if rigid else here
        return Branch(0, far, label, carried, quaternions, True, here, center)
    if not path:
        return bond(bodies, edge)
    component: Joint = bodies.mechanism.components[path]  # type: ignore[assignment]
    carried, quaternions = _carried(bodies, path, component)
    poses = bodies.groups[near].poses[start], bodies.groups[far].poses[stop]
    return Branch(near, far, path, carried, quaternions, forward, *poses)


def _carried(bodies: Bodies, path: str, joint: Joint) -> tuple[Carried, tuple[slice, ...]]:
    """Return the coordinates of a joint, and the slices of them that are quaternions."""
    coordinates = bodies.symbols_of(path)
    rates = {name: ca.SX.sym(f"der({path}.{name})", symbol.numel()) for name, symbol in coordinates.items()}
    quaternions: list[slice] = []
    turned, turning = dict(coordinates), dict(rates)
    n = 0
    for item in bodies.at_rest[path]:
        name, size = item.position, coordinates[item.position].numel()
        if item.neutral:
            quaternions.append(slice(n, n + size))
            turned[name], turning[name] = unit(coordinates[name], rates[name])
        n += size
    pose = joint.pose(bodies.values[path], turned)
    if quaternions:
        velocity, w_b = _twist(bodies, path, joint, turned, turning)
    else:
        velocity, w_b = joint.twist(bodies.values[path], coordinates, rates)
    return Carried(coordinates, rates, pose, velocity, w_b), tuple(quaternions)


def _twist(bodies: Bodies, path: str, joint: Joint, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
    """Return a joint's twist at coordinates that need not be symbols."""
    plain = bodies.symbols_of(path)
    moving = bodies.symbols_of(path)
    twist = joint.twist(bodies.values[path], plain, moving)
    old = ca.vertcat(ca.SX(0, 1), *plain.values(), *moving.values())
    new = ca.vertcat(ca.SX(0, 1), *(coordinates[name] for name in plain), *(rates[name] for name in moving))
    velocity, w_b = ca.substitute(list(twist), [old], [new])
    return velocity, w_b


def _free(bodies: Bodies, index: int) -> tuple[str, Carried, tuple[slice, ...]]:
    """Return the coordinates of a body that no joint carries: position of its centre of mass, and orientation."""
    owner = bodies.owner(index)
    sizes = {"x": 1, "y": 1, "phi": 1} if bodies.planar else {"r": 3, "Q": 4}
    coordinates = {name: ca.SX.sym(f"{owner}.{name}", size) for name, size in sizes.items()}
    rates = {name: ca.SX.sym(f"der({owner}.{name})", size) for name, size in sizes.items()}
    if bodies.planar:
        (*r, angle), (*velocity, w_b) = coordinates.values(), rates.values()
        return owner, Carried(coordinates, rates, Pose(ca.vertcat(*r), angle), ca.vertcat(*velocity), w_b), ()
    angle, turning = unit(coordinates["Q"], rates["Q"])
    pose, w_b = Pose(coordinates["r"], angle), 2 * G_matrix(angle) @ turning
    return owner, Carried(coordinates, rates, pose, rates["r"], w_b), (slice(3, 7),)
