"""mbfmu reduce."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from mbfmu.cli.choices import number, present
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.expansion import OptionGroup
from mbfmu.errors import UsageError

if TYPE_CHECKING:
    from mbfmu.analysis.reduction import FiniteElementModel, Frequency, Reduction


@dataclass(frozen=True, kw_only=True)
class Elements(OptionGroup):
    """A finite element model: a mesh with its material, or matrices with what stands beside them."""

    source: Annotated[
        Path,
        typer.Argument(
            metavar="MESH|MATRICES",
            help="a mesh, such as an .inp of CalculiX or a .msh of Gmsh, or matrices: an .npz file, or K as .mtx",
        ),
    ]
    elasticity: Annotated[
        float | None, typer.Option("--E", metavar="E", help="modulus of elasticity of a mesh, N/m2")
    ] = None
    poisson: Annotated[float | None, typer.Option("--nu", metavar="NU", help="Poisson's ratio of a mesh")] = None
    density: Annotated[float | None, typer.Option("--rho", metavar="RHO", help="density of a mesh, kg/m3")] = None
    mass: Annotated[Path | None, typer.Option("--mass", metavar="M.mtx", help="mass matrix beside K.mtx")] = None
    nodes: Annotated[
        Path | None, typer.Option("--nodes", metavar="NODES.csv", help="nodes beside K.mtx: node, x, y, z, set")
    ] = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read."""
        return (self.source, *present(self.mass, self.nodes))

    def read(self) -> "FiniteElementModel":
        """Return the model.

        Raises:
            UsageError: the file is not there, or options do not go with one of its kind.
        """
        from mbfmu.analysis.reduction import Material, read_matrices, read_mesh
        from mbfmu.analysis.reduction.matrices import ENDINGS

        source, material = self.source, {"E": self.elasticity, "nu": self.poisson, "rho": self.density}
        if not source.is_file():
            raise UsageError(f"there is no file '{source}'")
        if source.suffix.lower() in ENDINGS:
            if supplied := [name for name, value in material.items() if value is not None]:
                raise UsageError(f"matrices have their material in them: leave out --{supplied[0]}")
            return read_matrices(source, self.mass, self.nodes)
        if self.mass or self.nodes:
            raise UsageError("--mass and --nodes go with a stiffness matrix in an .mtx file")
        values = {name: value for name, value in material.items() if value is not None}
        if missing := [name for name in material if name not in values]:
            raise UsageError(f"a mesh needs a material: give --{' and --'.join(missing)}")
        return read_mesh(source, Material(**values))


@dataclass(frozen=True, kw_only=True)
class Basis(OptionGroup):
    """The modes that are kept."""

    modes: Annotated[int, typer.Option("--modes", metavar="N", help="modes beside the static shapes of the frames")] = (
        10
    )
    averaged: Annotated[
        list[str] | None,
        typer.Option(
            "--averaged", metavar="NODESET", help="interface that moves as its nodes do on average; default: rigid"
        ),
    ] = None
    free_frames: Annotated[
        bool,
        typer.Option("--free-frames", help="modes with the frames besides frame_a free; default: with all frames held"),
    ] = False
    planar: Annotated[bool, typer.Option("--planar", help="only modes in the x-y plane, for planar systems")] = False
    below: Annotated[float | None, typer.Option("--below", metavar="F", help="leave out modes above F Hz")] = None


def reduce(
    tell: Tell,
    *,
    interface: Annotated[
        list[str],
        typer.Option(
            "--interface",
            metavar="NODESET[=X,Y,Z]",
            help="node set that becomes a frame, the first frame_a, at the mean of its nodes or a position; repeatable",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="BODY.npz", help="file to write, .npz or .sid_fem")],
    elements: Elements,
    basis: Basis,
    stress: Annotated[
        list[str] | None,
        typer.Option(
            "--stress",
            metavar="NODESET|NAME=X,Y,Z",
            help="nodes whose stresses become outputs: a node set, or the node nearest to a position; repeatable",
        ),
    ] = None,
    surface: Annotated[
        bool, typer.Option("--surface/--no-surface", help="the surface of a mesh for pictures; default: with it")
    ] = True,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="P.png", help="figure of each mode")] = None,
) -> Report:
    """Reduce a finite element model to the modes of a flexible body (Craig and Bampton), for a ModalBody."""
    from mbfmu.analysis.reduction import reduce as reduced
    from mbfmu.base.files import check_outputs, ending_of
    from mbfmu.model import write_modal
    from mbfmu.model.flexible.modal_data import ENDINGS
    from mbfmu.model.flexible.sid import SID

    if ending_of(output, ENDINGS) == SID and stress:
        raise UsageError(f"a {SID} file holds no stresses that are outputs: write a .npz file, or leave out --stress")
    check_outputs((output, plot), elements.files)
    if plot:
        from mbfmu.show.plot import picture_format

        picture_format(plot)
    tell("read", 0.0)
    model = elements.read()
    names, positions = _placed("--interface", interface)
    points, at = _placed("--stress", stress or [])
    result = reduced(
        model,
        names,
        basis.modes,
        averaged=basis.averaged or (),
        places=positions,
        free_frames=basis.free_frames,
        planar=basis.planar,
        below=basis.below,
        stress={name: at.get(name) for name in points},
        picture=surface,
        tell=tell,
    )
    if plot:
        from mbfmu.show.plot import plot_modes

        tell("plot", 0.0)
        shapes = [model.translations(mode) for mode in result.modes.T]
        plot_modes(model.nodes, model.faces, shapes, result.frequencies, plot)
    write_modal(output, result.data)
    return Report(_data(result, names), tuple(_shown(result, names)), (output, *present(plot)), _notices(result))


def _placed(option: str, texts: list[str]) -> tuple[list[str], dict[str, tuple[float, ...]]]:
    """Return names, of node sets or points, and the positions of some.

    Raises:
        UsageError: a name is there twice, or a position is none.
    """
    names: list[str] = []
    positions = {}
    for text in texts:
        name, equals, position = (item.strip() for item in text.partition("="))
        if name in names:
            raise UsageError(f"{option} {name} is there twice: give each a separate name")
        names.append(name)
        if equals:
            positions[name] = tuple(number(f"{option} {name}", item) for item in position.split(","))
    return names, positions


def _data(result: "Reduction", interface: list[str]) -> dict[str, Any]:
    data = result.data
    return {
        "frames": dict(zip(("frame_a", *data.frames), interface, strict=True)),
        "origin": result.origin,
        "places": dict(zip(data.frames, data.r0, strict=True)),
        "degrees_of_freedom": len(result.model.dofs),
        "modes": len(data.Me),
        "frequencies": result.frequencies,
        "clamped": [_pair(item) for item in result.clamped],
        "free": [_pair(item) for item in result.free],
        "effective_mass": result.effective,
        "mass": data.m,
        "centre_of_mass": data.c0 / data.m,
        "inertia": data.J0,
        "volume_difference": result.volume_difference,
        "stiffening": result.stiffening,
        "stresses": dict(zip(data.stresses.names, data.stresses.r, strict=True)) if data.stresses else {},
        "corners": len(data.surface.r) if data.surface else 0,
    }


def _pair(item: "Frequency") -> dict[str, float]:
    return {"reduced": item.reduced, "whole": item.whole, "error": item.error}


def _notices(result: "Reduction") -> tuple[str, ...]:
    if result.stiffening:
        return ()
    return (
        "matrices do not say how loads stiffen or soften the body: these terms are left out, so a body that rotates "
        "fast or is pressed hard needs a mesh",
    )


def _shown(result: "Reduction", interface: list[str]) -> list[RenderableType]:
    data, x = result.data, result.data.c0 / result.data.m
    frames = Table()
    for heading in ("frame", "node set"):
        frames.add_column(heading)
    frames.add_column("position seen from frame_a [m]", justify="right")
    positions = [[0.0, 0.0, 0.0], *data.r0.tolist()]
    for name, source, position in zip(("frame_a", *data.frames), interface, positions, strict=True):
        frames.add_row(escape(name), escape(source), _vector(position))
    modes = Table()
    for heading in ("mode", "clamped at frame_a [Hz]", "effective mass x", "y", "z"):
        modes.add_column(escape(heading), justify="right")
    for mode, (frequency, parts) in enumerate(zip(result.frequencies, result.effective, strict=True), 1):
        modes.add_row(str(mode), f"{frequency:.6g}", *(f"{part:.1%}" for part in parts))
    modes.add_row("all", "", *(f"{part:.1%}" for part in result.effective.sum(axis=0)))
    table = Table()
    for heading in ("clamped [Hz]", "whole model", "error", "free [Hz]", "whole model", "error"):
        table.add_column(escape(heading), justify="right")
    for clamped, free in zip(result.clamped, result.free, strict=True):
        table.add_row(*_beside(clamped), *_beside(free))
    lines: list[RenderableType] = [
        f"{len(result.model.dofs)} degrees of freedom -> {len(data.Me)} modes",
        frames,
        modes,
        table,
        f"mass {data.m:.9g} kg, centre of mass {_vector(x)} m from frame_a",
        f"inertia about frame_a [kg.m2]: {', '.join(_vector(row) for row in data.J0)}",
    ]
    if data.stresses:
        table = Table()
        table.add_column("point with stresses")
        table.add_column("position seen from frame_a [m]", justify="right")
        for name, position in zip(data.stresses.names, data.stresses.r.tolist(), strict=True):
            table.add_row(escape(name), _vector(position))
        lines.append(table)
    if result.volume_difference is not None:
        lines.append(f"mass and inertia differ from the integrals over the volume by {result.volume_difference:.1e}")
    return lines


def _beside(item: "Frequency") -> tuple[str, str, str]:
    return f"{item.reduced:.6g}", f"{item.whole:.6g}", f"{item.error:.1e}"


def _vector(values: Any) -> str:
    rounded = (0.0 if abs(value) < 1e-12 else value for value in values)
    return f"({', '.join(f'{value:.6g}' for value in rounded)})"
