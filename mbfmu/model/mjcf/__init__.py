"""Robots as MJCF: the XML of MuJoCo."""

from mbfmu.model.mjcf.reader import read_mjcf

__all__ = ["read_mjcf"]
