"""Robots as MJCF: the XML of MuJoCo."""

from mbfmu.model.mjcf.model import MjcfModel, read_model
from mbfmu.model.mjcf.reader import read_mjcf, read_robot

__all__ = ["MjcfModel", "read_mjcf", "read_model", "read_robot"]
