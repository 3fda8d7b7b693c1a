"""Roles of joints in the equations: which carry coordinates, which are constraints, and why."""

from mbfmu.dae.bodies import Bodies
from mbfmu.dae.dae import Role
from mbfmu.dae.edges import way


def roles(bodies: Bodies) -> tuple[Role, ...]:
    """Return the role of each joint."""
    return tuple(
        Role(
            path,
            path in bodies.coordinates.carried,
            item.Phi.numel() + item.velocity.numel(),
            "on the tree" if path in bodies.coordinates.carried else _reason(bodies, path),
        )
        for path, item in bodies.equations.items()
    )


def _reason(bodies: Bodies, path: str) -> str:
    """Return why a joint carries no coordinates, in a few words."""
    tree, weights = bodies.tree, bodies.weights
    if not bodies.coordinates.recursive:
        return "absolute coordinates"
    if path not in bodies.open_rows:
        return "cannot carry coordinates"
    closing = next((loop for loop in tree.loops if loop[0] == path), None)
    parents = {edge.far: edge for edge in tree.order}
    around = way(parents, *(bodies.anchors[f"{path}.{frame}"][0] for frame in ("frame_a", "frame_b")))
    others = [edge.path for edge in around if edge.path in bodies.coordinates.carried]
    if path not in bodies.carrying or closing is None or any(edge.free and not edge.path for edge in around):
        return "as asked"
    alike = [other for other in others if weights.rank[other] == weights.rank[path]]
    if not alike:
        return "fewest rows"
    if path not in weights.acting and any(other in weights.acting for other in alike):
        return "nothing acts on it"
    return "short chains"
