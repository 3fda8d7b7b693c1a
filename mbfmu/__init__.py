"""mbfmu: multibody mechanisms as FMI 2.0 co-simulation FMUs with constraint-preserving steppers."""

__version__ = "0.1.0"
