"""Roles of joints in the equations: which carry coordinates, which are constraints, and why."""

from mbfmu.dae.bodies import Bodies
from mbfmu.dae.parts.about import Role


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
    if path not in bodies.carrying or closing is None:
        return "as asked"
    alike = [other for other in closing[1:] if weights.rank[other] == weights.rank[path]]
    if not alike:
        return "fewest rows"
    if any(edge.path in closing and {edge.near, edge.far} & set(weights.light) for edge in tree.order):
        return "mass at the ends"
    if path not in weights.needed and any(other in weights.needed for other in alike):
        return "nothing acts on it"
    return "short chains"
