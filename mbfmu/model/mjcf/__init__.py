"""Robots as MJCF: the XML of MuJoCo."""

from mbfmu.model.mjcf.model import Model, read_model
from mbfmu.model.mjcf.reader import read_mjcf

__all__ = ["Model", "read_mjcf", "read_model"]
